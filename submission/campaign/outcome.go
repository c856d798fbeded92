package campaign

import (
	"slices"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Outcome is a step with its state, for tables.
type Outcome struct {
	Step   Step
	Entry  Entry
	Folder string
	Kept   bool           // done by an earlier campaign
	Record *record.Record // nil: the step has none
	Score  *accuracy.Result
}

// Outcomes returns the state of each task after Run.
func (c *Campaign) Outcomes() []Outcome {
	var list []Outcome
	for _, t := range c.Tasks {
		o := Outcome{Step: t.Step, Entry: *c.state.Entry(t.Step), Folder: c.folder(t.Step), Kept: c.kept[t.ID()]}
		if unreached := o.Entry.Status == Pending && o.Entry.Code == codeUnreached; t.IsRun() && !unreached {
			o.Record, _ = record.Read(o.Folder) // some steps have no record
		} else if t.Test == Score && o.Entry.Status != Pending {
			o.Score = readScore(o.Folder)
		}
		list = append(list, o)
	}
	return list
}

// OfLastRun returns the outcomes of the steps that the last run of the campaign had, which --only may have chosen.
func (s *State) OfLastRun(all []Outcome) []Outcome {
	if len(s.Chosen) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(o Outcome) bool { return !slices.Contains(s.Chosen, o.Step.ID()) })
}

// scoredLow reports whether a score failed on its value: a log has the same score each time.
func (e *Entry) scoredLow(s Step) bool {
	return s.Test == Score && e.Status == Invalid && e.Code == codeBelowTarget
}

// OnlyLowScores reports whether scores below their targets are all that keeps a campaign from being done. To score the
// same answers again does not help.
func OnlyLowScores(outcomes []Outcome) bool {
	low := false
	for _, o := range outcomes {
		if o.Entry.scoredLow(o.Step) {
			low = true
		} else if o.Entry.Status != Done {
			return false
		}
	}
	return low
}

// ExitCode returns 0 when every step is done, otherwise the exit code of the first step that is not.
func ExitCode(outcomes []Outcome) int {
	for _, o := range outcomes {
		switch {
		case o.Entry.Status == Done:
			continue
		case o.Entry.Exit != 0:
			return o.Entry.Exit
		case o.Record != nil && o.Record.Verdict != record.Valid:
			return o.Record.ExitCode()
		default:
			return run.ExitInvalid
		}
	}
	return run.ExitValid
}
