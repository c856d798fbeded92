package campaign

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Load is how much a task has to do, as far as it is known before.
type Load struct {
	Samples     int           // answers to be had
	PerS        float64       // offered load; 0: the server's own speed
	MinDuration time.Duration // the test goes on for at least this long
}

// overhead is what a test's process takes beside its test: reading the data set, asking the endpoint, reading the logs.
const overhead = 2 * time.Second

// Estimate says how long the tasks from the given one on will take. Where a server's own speed decides and nothing of
// the scenario was measured yet, sure is false and the time is the least.
func (c *Campaign) Estimate(from int) (left time.Duration, sure bool) {
	sure = true
	for _, t := range c.Tasks[from:] {
		if c.Look(t).Status == Done && !c.Force {
			continue
		}
		took, known := c.estimate(t)
		left += took
		sure = sure && known
	}
	return left, sure
}

func (c *Campaign) estimate(t Task) (time.Duration, bool) {
	if !t.IsRun() {
		return overhead / 2, true
	}
	rate := t.Load.PerS
	if rate == 0 {
		rate = c.measured(t)
	}
	if rate == 0 {
		return overhead + t.Load.MinDuration, false
	}
	return overhead + max(t.Load.MinDuration, time.Duration(float64(t.Load.Samples)/rate*float64(time.Second))), true
}

// measured is the speed of a scenario's performance run, in answers per second; 0: unknown.
func (c *Campaign) measured(t Task) float64 {
	for _, test := range []string{layout.Performance, layout.Accuracy} {
		if r, err := record.Read(c.folder(Step{t.Scenario, test})); err == nil && r.Throughput.Requests > 0 {
			return r.Throughput.Requests
		}
	}
	return 0
}

// reckon notes how long each task from the given one on will take, for whoever looks at the folder meanwhile.
func (c *Campaign) reckon(from int) {
	for _, t := range c.Tasks[from:] {
		took, sure := c.estimate(t)
		e := c.state.Entry(t.Step)
		e.TakesS, e.AtLeast = took.Seconds(), !sure
	}
}

// Remaining is how long the steps that are not done will take, by what the campaign has noted of them, at a time of
// day. The clock of the machine may have been set since a step was started: it changes the share of that one step,
// between nothing and the whole.
func Remaining(outcomes []Outcome, now time.Time) (left time.Duration, sure bool) {
	sure = true
	for _, o := range outcomes {
		e := &o.Entry
		if e.Status == Done {
			continue
		}
		takes := time.Duration(e.TakesS * float64(time.Second))
		sure = sure && !e.AtLeast && takes > 0
		if e.Status == Active {
			gone := min(max(now.Sub(e.Started), 0), takes)
			sure = sure && gone < takes
			takes -= gone
		}
		left += takes
	}
	return left, sure
}

// left is the estimate as words behind a line; empty where there is nothing to say.
func (c *Campaign) left(from int) string {
	d, sure := c.Estimate(from)
	return ", " + About(d, sure) + " left"
}

// About words an estimate.
func About(d time.Duration, sure bool) string {
	word := "about"
	if !sure {
		word = "at least"
	}
	return fmt.Sprintf("%s %v", word, d.Round(time.Second))
}
