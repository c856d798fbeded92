package bench

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/schedule"
	"github.com/mlperf-go/mlperf-go/workload/trace"
)

// ReadTraces completes a plan with what the profile's traces determine: the requests and the duration of stages that
// replay one, and the tokens of data that have its lengths. It returns the errors of a trace that a run would return.
func (plan *Plan) ReadTraces(p *profile.Profile) error {
	t := target{} // remembers the trace that arrivals and lengths share
	if f := p.Load.Trace; f != nil {
		recorded, err := t.trace(f)
		if err != nil {
			return fmt.Errorf("load.trace: %w", err)
		}
		if err := plan.replay(p, recorded.TimesNS); err != nil {
			return fmt.Errorf("load.trace: %w", err)
		}
	}
	if f := p.Data.Trace; f != nil && p.Data.Kind == profile.TraceLengths {
		recorded, err := t.trace(f)
		if err == nil {
			err = recorded.CheckLengths(f, p.Data.Output == nil)
		}
		if err != nil {
			return fmt.Errorf("data.trace: %w", err)
		}
		plan.count(p, recorded)
	}
	return nil
}

// replay sets the requests and the duration of the stages that replay a trace.
func (plan *Plan) replay(p *profile.Profile, recorded []int64) error {
	for i := range p.Load.Stages {
		s := &p.Load.Stages[i]
		if s.Arrival != profile.Trace {
			continue
		}
		due, err := schedule.Due(s, schedule.Seed{}, recorded)
		if err != nil {
			return fmt.Errorf("stage %d: %w", i, err)
		}
		plan.Stages[i].Requests, plan.Stages[i].Duration = float64(len(due)), time.Duration(0)
		if len(due) > 0 {
			plan.Stages[i].Duration = time.Duration(due[len(due)-1])
		}
	}
	plan.add(p)
	plan.complete(p)
	return nil
}

// count adds the tokens of requests that take the rows of a trace in turn. Lengths that the trace does not state stay
// unknown.
func (plan *Plan) count(p *profile.Profile, t *trace.Trace) {
	rows, input, output := t.Len(), 0, 0
	if p.Data.Rows > 0 {
		rows = min(rows, p.Data.Rows)
	}
	isKnown := true
	for i := range int(plan.Requests + 0.5) {
		row := i % rows
		input += max(1, int(t.Input[row]))
		output += int(t.Output[row])
		isKnown = isKnown && t.Output[row] > 0
	}
	plan.Input = float64(input)
	if p.Data.Output == nil && isKnown {
		plan.Output = float64(output)
	}
}
