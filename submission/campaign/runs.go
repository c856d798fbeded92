package campaign

import (
	"errors"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/tune"
)

// Runs finds and judges the runs in a campaign's folder. It only reads them.
type Runs struct {
	Of
	Folder   string
	Place    func(Step) string // returns a step's folder; nil: that of package layout
	Real     bool              // a rehearsal does not count here
	AnyScore bool              // a score below its target is accepted: the open division
}

// folder returns a step's folder; a score is in the accuracy run's.
func (c *Runs) folder(s Step) string {
	test := s.Test
	if test == Score {
		test = layout.Accuracy
	}
	if c.Place != nil {
		return c.Place(Step{s.Scenario, test})
	}
	return layout.Leaf{System: c.System, Benchmark: c.Model, Scenario: s.Scenario, Test: test}.Folder(c.Folder)
}

// Path returns the folder of a step's run.
func (c *Runs) Path(s Step) string { return c.folder(s) }

// lookAlone judges a step that need not be one of the tasks, whatever its settings were.
func (c *Runs) lookAlone(s Step) Finding {
	if s.Test == Tune {
		return c.lookTuned(Task{Step: s})
	}
	return c.want(Task{Step: s}).Judge(c.folder(s))
}

// lookTuned judges a tune's folder: it is done if its confirming run counts as the scenario's performance run.
func (c *Runs) lookTuned(t Task) Finding {
	s, err := tune.ReadState(c.folder(t.Step))
	switch {
	case errors.Is(err, statefile.ErrNone):
		return Finding{Status: Pending}
	case err != nil:
		return Finding{Status: Crashed, Code: CodeCrashed, Why: err.Error()}
	case s.Result == nil:
		return Finding{Status: Pending, Code: codeInterrupted, Why: "its tune was interrupted, and is continued"}
	case !s.Result.Confirmed:
		return Finding{Status: Invalid, Code: CodeNotConfirmed, Why: "no rate was confirmed: " + s.Result.Why}
	}
	f := c.want(Task{Step: Step{t.Scenario, layout.Performance}, Settings: t.Settings}).
		Judge(filepath.Join(c.folder(t.Step), s.Result.Run))
	if f.Status == Done {
		return f
	}
	if lost := s.Recheck(c.folder(t.Step)); len(lost) > 0 && !s.Result.Confirmed {
		return Finding{Status: Pending, Code: codeInterrupted, Why: lost[len(lost)-1]}
	}
	if f.Why != "" {
		f.Why = "its confirming run does not count: " + f.Why
	}
	return f
}

func (c *Runs) want(t Task) Want {
	return Want{Model: c.Model, Step: t.Step, Settings: t.Settings, Real: c.Real}
}

// measured returns the speed of a scenario's earlier run in answers per second; 0: unknown.
func (c *Runs) measured(t Task) float64 {
	for _, test := range []string{layout.Performance, layout.Accuracy} {
		if r, err := record.Read(c.folder(Step{t.Scenario, test})); err == nil && r.Throughput.Requests > 0 {
			return r.Throughput.Requests
		}
	}
	return 0
}
