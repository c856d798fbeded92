package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Options are one search.
type Options struct {
	Profile  *profile.Profile
	Limits   []measure.Limit // besides the profile's
	Terms    Terms           // From and To of 0 follow from the profile
	Settings []string        // of the client, as flags
	Folder   string
	Access   atomicfile.Access
	Resume   bool
	// Measure makes a run of a profile in a folder, which may hold an unfinished one.
	Measure  func(ctx context.Context, p *profile.Profile, folder string) (*bench.Record, error)
	Observer Observer
}

// Observer receives the progress of a search. Its methods are called one at a time.
type Observer interface {
	// Begins announces a measurement.
	Begins(s *State, step Step)
	// Measured reports what one has shown.
	Measured(s *State, p *Probe)
}

// owner holds the folder of a search.
var owner = child.Owner{What: "search", File: ".search.lock", Flag: "--output", Busy: exit.CodeRunActive,
	Hint: "Wait for its end, or choose another --output"}

// Check rejects options that no search can measure, and a folder in use. It contacts no server.
func (o *Options) Check() error {
	_, err := o.begin()
	return err
}

// begin returns the state of a new search, or of the earlier one that Resume continues.
func (o *Options) begin() (*State, error) {
	_, kind, load, err := template(o.Profile)
	if err != nil {
		return nil, exit.Usage(exit.CodeProfile, "Give another --workload", "the profile cannot be searched: %w", err)
	}
	t := o.Terms
	if t.To == 0 {
		t.To = kind.most()
	}
	if t.From == 0 {
		t.From = min(kind.round(load), t.To)
	}
	if err := t.check(kind); err != nil {
		return nil, exit.Usage(exit.CodeFlagValue, "", "%w", err)
	}
	text, err := o.Profile.Encode()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	s := &State{Schema: Schema, Kind: "search", Profile: o.Profile.Name, SHA256: hex.EncodeToString(sum[:]),
		Settings: append([]string{}, o.Settings...), Load: kind, Terms: t, Started: time.Now(), Probes: []Probe{},
		Limits: append(measure.ProfileLimits(&o.Profile.SLO), o.Limits...)}
	if len(s.Limits) == 0 {
		return nil, exit.Usage(exit.CodeSLO, "Give --slo with limits such as ttft:p99<500ms,tpot:p95<40ms",
			"a search needs at least one limit, and neither the command line nor the profile has one")
	}
	if _, err := at(o.Profile, t.From, t.Probe, 0); err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	return s, o.resume(s)
}

// resume takes over the measurements of an earlier search in the folder.
func (o *Options) resume(s *State) error {
	before, err := ReadState(o.Folder)
	switch {
	case errors.Is(err, statefile.ErrNone):
		if kind := results.Holds(o.Folder, owner.What); kind != "" {
			return exit.Usage(exit.CodeOutputUsed, "Choose another --output", "the output folder %s holds the results of "+
				"another command (%s)", o.Folder, kind)
		}
		return nil
	case !o.Resume:
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output, or give --resume",
			"the output folder %s holds an earlier search", o.Folder)
	case err != nil:
		return exit.Usage(exit.CodeSearch, "Choose another --output", "the search cannot be continued: %w", err)
	case !slices.Equal(before.terms(), s.terms()):
		return exit.Usage(exit.CodeSearch, "Give the same settings, or choose another --output",
			"the search in %s had other settings: %s", o.Folder, child.Differences(before.terms(), s.terms()))
	}
	before.Terms.Budget, before.Result = s.Terms.Budget, nil
	*s = *before
	return nil
}

// Run measures loads until the search ends. It returns the state. After an error search.json has the measurements so
// far, and Options.Resume continues it.
func Run(ctx context.Context, o Options) (*State, error) {
	lock, err := child.Acquire(ctx, o.Folder, owner)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	s, err := o.begin()
	if err != nil {
		return nil, err
	}
	for s.Result == nil {
		step, done := s.Next()
		if over := s.overBudget(step); done == nil && over != "" {
			done = s.result(0, over)
		}
		if s.Result = done; done != nil {
			break
		}
		if cause := context.Cause(ctx); cause != nil {
			return s, fmt.Errorf("the search was ended: %w", cause)
		}
		o.Observer.Begins(s, step)
		p, err := o.measure(ctx, s, step)
		if err != nil {
			return s, err
		}
		s.Probes = append(s.Probes, *p)
		if err := s.write(o.Folder, o.Access); err != nil {
			return s, exit.Environment(exit.CodeOutput, "Free some space, and give --resume", "the search cannot be saved: %w",
				err)
		}
		o.Observer.Measured(s, p)
	}
	return s, s.write(o.Folder, o.Access)
}

// overBudget returns a sentence if a step does not fit into the budget any more; empty: it does.
func (s *State) overBudget(step Step) string {
	if t := s.Terms.Budget; t > 0 && s.took()+step.Length > t {
		return fmt.Sprintf("the budget of %v is used up; --resume with a larger --budget continues", t)
	}
	return ""
}

// measure makes the run of a step.
func (o *Options) measure(ctx context.Context, s *State, step Step) (*Probe, error) {
	number := len(s.Probes) + 1
	own, err := at(o.Profile, step.Load, step.Length, number)
	if err != nil {
		return nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	p := &Probe{Load: step.Load, Confirm: step.Confirm, Started: time.Now(), Missed: make([]int64, len(s.Limits)),
		Reasons: []record.Cause{}, Folder: filepath.Join(probesDir, fmt.Sprintf("%02d-%s-%v", number, s.Load, step.Load))}
	folder := filepath.Join(o.Folder, p.Folder)
	if err := os.MkdirAll(filepath.Dir(folder), o.Access.Folder()); err != nil {
		return nil, exit.Environment(exit.CodeOutputDir, "Choose another --output", "no folder for a run: %w", err)
	}
	r, err := o.Measure(ctx, own, folder)
	if err != nil {
		return nil, err
	}
	if cause := context.Cause(ctx); r.Verdict == record.Interrupted && cause != nil {
		return nil, fmt.Errorf("the search was ended: %w", cause)
	}
	p.TookS = time.Since(p.Started).Seconds()
	s.Model, s.Rehearsal = r.Model, r.Rehearsal
	p.take(r)
	return p, nil
}

// take takes over what a run has shown. A failed request is a miss of each limit, so failures spoil no measurement.
func (p *Probe) take(r *bench.Record) {
	p.Verdict, p.Reasons = r.Verdict, append(p.Reasons, r.Reasons...)
	total := &r.Measured.Total
	p.RequestsPerS, p.TokensPerS = total.Throughput.Requests, total.Throughput.OutputTokens
	if g := total.Goodput; g != nil {
		p.Requests = g.Requests
		for k, l := range g.Limits {
			p.Missed[k] = g.Requests - l.Good
		}
		p.Met = g.Met && p.Verdict == record.Valid
	}
	p.Client = slices.ContainsFunc(p.Reasons, record.Cause.LimitsClient)
	p.Broken = p.Verdict != record.Valid && !p.Client && !slices.ContainsFunc(p.Reasons, func(c record.Cause) bool {
		return c.Code == record.CodeFailedSamples
	})
}
