package study

import (
	"context"
	"errors"
	"maps"

	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
)

// Study is a folder of measurements and the client that makes them.
type Study struct {
	Owner      child.Owner
	Folder     string
	Plan       *plan.Plan
	Suggest    [][2]string // names and texts of settings, which apply where the user set none
	Resume     bool
	Unreadable exit.Code // of a state that cannot be continued
	Observer   run.Observer
	Assigned   bool // the caller chooses the endpoint of each query
}

// Reject returns an error if the user set something that a study would ignore. Each row has a setting and what to
// do instead; of is the study with its article, such as "a sweep".
func Reject(p *plan.Plan, of string, settings [][2]string) error {
	for _, s := range settings {
		if p.Config.IsSet(s[0]) {
			return exit.Usage(exit.CodeSetting, s[1], "--%s has no meaning in %s", s[0], of)
		}
	}
	return nil
}

// Continues reports whether the folder has a state that Resume continues. read is the error of reading it.
func (s *Study) Continues(read error) (bool, error) {
	switch {
	case errors.Is(read, statefile.ErrNone):
		return false, run.CheckFolder(s.Folder, s.Owner.What, false)
	case read != nil && s.Resume:
		return false, exit.Usage(s.Unreadable, "Choose another --output-dir", "the %s cannot be continued: %w",
			s.Owner.What, read)
	case !s.Resume:
		return false, exit.Usage(exit.CodeOutputUsed, "Choose another --output-dir, or give --resume; --force does not "+
			"replace it", "the output folder %s holds an earlier %s", s.Folder, s.Owner.What)
	}
	return true, nil
}

// Run locks the folder, calls begin, starts the simulator of a rehearsal, and calls measure with an open client.
func (s *Study) Run(ctx context.Context, begin func() error, measure func(*run.ProbeClient) error) error {
	lock, err := child.Acquire(ctx, s.Folder, s.Owner)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := begin(); err != nil {
		return err
	}
	rehearsal, err := rehearse.Start(ctx, s.Plan, rehearse.Options{Folder: s.Folder})
	if err != nil {
		return err
	}
	defer rehearsal.Stop()
	for _, setting := range s.Suggest {
		if err := s.Plan.Suggest(plan.ProgramOrigin("made by "+s.Owner.What), setting[0], setting[1]); err != nil {
			return err
		}
	}
	open := run.OpenProbes
	if s.Assigned {
		open = run.OpenAssigned
	}
	client, err := open(ctx, run.FromPlan(s.Plan), s.Observer, s.Folder)
	if err != nil {
		return err
	}
	return errors.Join(measure(client), client.Close())
}

// Settings returns the client's settings as flags, except those that the caller makes itself. It leaves out the
// simulator's address, which differs from time to time.
func Settings(p *plan.Plan, made map[string]bool) []string {
	except := map[string]bool{"endpoint": p.Config.Origin("endpoint") == plan.SimulatorOrigin}
	maps.Copy(except, made)
	return append([]string{}, child.Flags(p.Config, except)...)
}
