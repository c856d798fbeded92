package campaign

import (
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// overhead is about the time that a test's process needs beside its test: reading the data set, probing the endpoint,
// reading the logs. A lower bound does not include it.
const overhead = 2 * time.Second

// overheadOf returns the overhead of a step.
func overheadOf(s Step) time.Duration {
	if s.IsRun() {
		return overhead
	}
	return overhead / 2
}

// sum adds estimates of steps.
type sum struct {
	takes, overhead time.Duration // the overhead is part of takes
	unsure          bool
}

// add adds an estimate; sure is false if it is a lower bound.
func (s *sum) add(step Step, takes time.Duration, sure bool) {
	s.takes += takes
	if sure {
		s.overhead += min(takes, overheadOf(step))
	}
	s.unsure = s.unsure || !sure
}

// total returns the sum. If one of the estimates is a lower bound, so is the sum, and sure is false.
func (s *sum) total() (takes time.Duration, sure bool) {
	if s.unsure {
		return s.takes - s.overhead, false
	}
	return s.takes, true
}

// Estimate returns how long the tasks from the given one on will take. Where this depends on the server's speed and the
// scenario was not measured yet, sure is false and the time is a lower bound.
func (c *Campaign) Estimate(from int) (left time.Duration, sure bool) {
	var all sum
	for _, t := range c.Tasks[from:] {
		if c.Look(t).Status == Done && !c.Force {
			continue
		}
		took, known := c.estimate(t)
		all.add(t.Step, took, known)
	}
	return all.total()
}

func (c *Campaign) estimate(t Task) (time.Duration, bool) {
	if !t.IsRun() {
		return overheadOf(t.Step), true
	}
	load := c.follow(t).Load
	if measured := c.measured(t); measured > 0 && (t.Scenario == models.Offline || load.PerS == 0) {
		load.PerS = measured
	}
	took, sure := load.Takes()
	if sure {
		took += overheadOf(t.Step)
	}
	return took, sure
}

// measured returns the speed of a scenario's earlier run in answers per second; 0: unknown.
func (c *Campaign) measured(t Task) float64 {
	for _, test := range []string{layout.Performance, layout.Accuracy} {
		if r, err := record.Read(c.folder(Step{t.Scenario, test})); err == nil && r.Throughput.Requests > 0 {
			return r.Throughput.Requests
		}
	}
	return 0
}

// reckon records how long each task from the given one on will take, for `submission status`.
func (c *Campaign) reckon(from int) {
	for _, t := range c.Tasks[from:] {
		took, sure := c.estimate(t)
		e := c.state.Entry(t.Step)
		e.TakesS, e.AtLeast = took.Seconds(), !sure
	}
}

// Remaining returns how long the steps that are not done will take after now, from the campaign's own estimates. If the
// machine's clock was changed since the running step started, only the share of that step is wrong.
func Remaining(outcomes []Outcome, now time.Time) (left time.Duration, sure bool) {
	var all sum
	for _, o := range outcomes {
		e := &o.Entry
		if e.Status == Done {
			continue
		}
		takes := time.Duration(e.TakesS * float64(time.Second))
		known := !e.AtLeast && takes > 0
		if e.Status == Active {
			gone := min(max(now.Sub(e.Started), 0), takes)
			known = known && gone < takes
			takes -= gone
		}
		all.add(o.Step, takes, known)
	}
	return all.total()
}

// left returns the estimate as the end of a line.
func (c *Campaign) left(from int) string {
	d, sure := c.Estimate(from)
	return ", " + needs.About(d, sure) + " left"
}
