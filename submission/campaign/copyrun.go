package campaign

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/tune"
)

// findTuned finds the scenarios whose target QPS a tune finds: those with a target, if the user named none.
func (p *Plan) findTuned(scenarios []models.Scenario) error {
	p.tuned = map[models.Scenario]bool{}
	for _, s := range scenarios {
		row, err := p.row.Scenario(string(s))
		if err != nil {
			return err
		}
		if !p.options.Tune || row.LoadGen != models.Server {
			continue
		}
		e, err := p.stepConfig(Step{s, layout.Performance})
		if err != nil {
			return err
		}
		test, err := plan.Resolve(e)
		if err != nil {
			return err
		}
		// a rehearsal's default is no target of the user's
		if !test.Config.IsSet(keyTargetQPS) || test.Config.Origin(keyTargetQPS).Layer <= config.FromProgram {
			p.tuned[s] = true
		}
	}
	return nil
}

// placeholder sets a target QPS that no test uses: plans of tuned scenarios are made before it is known.
func (p *Plan) placeholder(s Step, plan *plan.Plan) error {
	if !p.tuned[s.Scenario] {
		return nil
	}
	return plan.Suggest(foundOrigin, keyTargetQPS, "1")
}

var foundOrigin = plan.ProgramOrigin("found by " + Tune)

// lookTuned judges a tune's folder: it is done if its confirming run counts as the scenario's performance run.
func (c *Campaign) lookTuned(t Task) Finding {
	s, err := tune.ReadState(c.folder(t.Step))
	switch {
	case errors.Is(err, statefile.ErrNone):
		return Finding{Status: Pending}
	case err != nil:
		return Finding{Status: Crashed, Code: "crashed", Why: err.Error()}
	case s.Result == nil:
		return Finding{Status: Pending, Code: string(exit.CodeInterrupted), Why: "its tune was interrupted, and is continued"}
	case !s.Result.Confirmed:
		return Finding{Status: Invalid, Code: codeUnconfirmed, Why: "no rate was confirmed: " + s.Result.Why}
	}
	f := c.want(Task{Step: Step{t.Scenario, layout.Performance}, Settings: t.Settings}).
		Judge(filepath.Join(c.folder(t.Step), s.Result.Run))
	if f.Status != Done && f.Why != "" {
		f.Why = "its confirming run does not count: " + f.Why
	}
	return f
}

// codeUnconfirmed is the code of a tune that ended without a confirmed rate.
const codeUnconfirmed = "not_confirmed"

func (c *Campaign) want(t Task) Want {
	return Want{Model: c.Model, Step: t.Step, Settings: t.Settings, Real: c.Real}
}

// continues reports whether the next process of a tune continues the one in the folder, which was interrupted.
func (c *Campaign) continues(t Task, entry *Entry) bool {
	s, err := tune.ReadState(c.folder(t.Step))
	return err == nil && s.Result == nil && (entry.Settings == nil || len(changes(entry.Settings, t.Settings)) == 0)
}

// followTune sets the target QPS that the scenario's tune has confirmed.
func (c *Campaign) followTune(t Task) Task {
	s, err := tune.ReadState(c.folder(Step{t.Scenario, Tune}))
	if err != nil || s.Result == nil || !s.Result.Confirmed {
		return t
	}
	settings := maps.Clone(t.Settings)
	if settings == nil {
		settings = Settings{}
	}
	settings[keyTargetQPS] = strconv.FormatFloat(s.Result.TargetQPS, 'f', -1, 64)
	t.Settings, t.Load.PerS = settings, s.Result.TargetQPS
	return t
}

// takeConfirmed makes the run that confirmed a scenario's tune its performance run, and reports whether there is one
// that counts. It copies the run: the tune's folder stays whole.
func (c *Campaign) takeConfirmed(t Task, entry *Entry) (bool, error) {
	tuned := Step{t.Scenario, Tune}
	again := c.Force && !slices.ContainsFunc(c.Tasks, func(t Task) bool { return t.Step == tuned })
	if !t.Tuned || t.Test != layout.Performance || again {
		return false, nil
	}
	s, err := tune.ReadState(c.folder(tuned))
	if err != nil || s.Result == nil || !s.Result.Confirmed {
		return false, nil // blocked has the reason
	}
	from := filepath.Join(c.folder(tuned), s.Result.Run)
	f := c.want(t).Judge(from)
	if f.Status != Done {
		return false, nil
	}
	if err := c.moveAside(t, entry); err != nil {
		return false, err
	}
	copied := filepath.Join(c.folder(tuned), "performance") // whole before it has its place
	err = errors.Join(os.RemoveAll(copied), copyRun(from, copied))
	if err == nil {
		err = os.Rename(copied, c.folder(t.Step))
	}
	if err != nil {
		return false, exit.Environment(exit.CodeOutputDir, "Free some space, and continue with --resume",
			"cannot copy the run that confirmed %s: %w", tuned.ID(), err)
	}
	entry.Status, entry.Code, entry.Why, entry.Exit = Done, "", "", 0
	entry.Started, entry.TookS = f.Record.Started, f.Record.DurationS
	entry.Settings, entry.Hash = t.Settings, t.Settings.Hash()
	c.report(t.Step, "", "%s is the run that confirmed %s", t.ID(), tuned.ID())
	return true, c.state.write(c.Folder)
}

// copyRun copies the regular files of a folder, and keeps who may read them.
func copyRun(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		const others = 0o077
		access := atomicfile.Shared
		if info.Mode().Perm()&others == 0 {
			access = atomicfile.Private
		}
		switch target := filepath.Join(to, below); {
		case d.IsDir():
			return os.MkdirAll(target, access.Folder())
		case d.Type().IsRegular():
			_, err = access.Copy(path, target)
		}
		return err
	})
}
