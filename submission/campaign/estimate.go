package campaign

import (
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// overhead is about the time that a test's process needs beside its test: reading the data set, probing the endpoint,
// reading the logs (0.2 to 0.4 s in tiny rehearsals with the simulator). A lower bound does not include it.
const overhead = 300 * time.Millisecond

// usualOverhead returns the overhead of a step that was not measured.
func usualOverhead(s Step) time.Duration {
	if s.IsRun() {
		return overhead
	}
	return overhead / 2
}

// sum adds estimates of steps.
type sum struct {
	takes, overhead time.Duration // the overhead is part of the other duration
	unsure          bool
}

// estimate is how long a step takes. It is a lower bound without the overhead if it is not sure.
type estimate struct {
	takes, overhead time.Duration // the overhead is part of the other duration
	sure            bool
}

func (s *sum) add(e estimate) {
	s.takes += e.takes
	if e.sure {
		s.overhead += min(e.takes, e.overhead)
	}
	s.unsure = s.unsure || !e.sure
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
		all.add(c.estimate(t))
	}
	return all.total()
}

// estimate returns how long a task takes.
func (c *Campaign) estimate(t Task) estimate {
	return (estimator{&c.Runs, c.Tasks, c.state, c.speed}).of(t)
}

// speed is the speed of the servers, as far as it is known before the first test.
type speed struct {
	answer   time.Duration // of one answer of the test, alone; 0: unknown
	parallel int           // number of answers that take no longer together than one alone; 0: unknown
}

// simulatorSpeed returns the speed of the simulator, whose answers do not slow each other down.
func simulatorSpeed(answer time.Duration) speed { return speed{answer, rehearse.Parallel} }

// rate returns the answers per second to that many samples at once. If it is not sure, it is an upper bound.
func (s speed) rate(samples int) (perS float64, sure bool) {
	if s.answer <= 0 {
		return 0, false
	}
	at := max(1, samples)
	if s.parallel > 0 {
		at = min(at, s.parallel)
	}
	return float64(at) / s.answer.Seconds(), s.parallel > 0
}

// estimator estimates how long tasks take.
type estimator struct {
	runs  *Runs
	tasks []Task // of the campaign
	state *State
	speed speed
}

// of returns how long a task takes, from the rate of its schedule, from earlier runs, or from the servers' speed.
func (e estimator) of(t Task) estimate {
	over := e.overheadOf(t.Step)
	copied := t.Tuned && t.Test == layout.Performance // from the tune
	if copied || !t.IsRun() && t.Test != Tune {
		return estimate{over, over, true}
	}
	load, guessed := e.runs.follow(t).Load, false
	if measured := e.runs.measured(t); measured > 0 && (t.Scenario == models.Offline || load.PerS == 0) {
		load.PerS = measured
	}
	if load.PerS == 0 {
		perS, sure := e.speed.rate(load.Samples)
		load.PerS, guessed = t.offered(perS), !sure
	}
	takes, sure := load.Takes()
	if sure = sure && !guessed && t.Test != Tune; sure { // at least the confirming run
		takes += over + e.drain(t)
	}
	return estimate{takes, over, sure}
}

// drain returns how long the last answers take after the last query of a schedule; 0: unknown, or there is no schedule.
func (e estimator) drain(t Task) time.Duration {
	if t.Scenario == models.Offline || t.Scenario == models.SingleStream {
		return 0
	}
	for _, test := range []string{layout.Performance, layout.Accuracy} {
		r, err := record.Read(e.runs.folder(Step{t.Scenario, test}))
		if err == nil && r.LatencyS.E2E != nil {
			return time.Duration(r.LatencyS.E2E.Mean * float64(time.Second))
		}
	}
	if e.speed.parallel > 0 { // only the longest possible answer of other servers is known
		return e.speed.answer
	}
	return 0
}

// overheadOf returns the overhead of a step, from steps of its kind that this campaign has run.
func (e estimator) overheadOf(s Step) time.Duration {
	var seen time.Duration
	n := 0
	for _, t := range e.tasks {
		entry := e.state.Entry(t.Step)
		like := t.IsRun() == s.IsRun() && (s.IsRun() || t.Test == s.Test) && t.Test != Tune
		if entry.Status != Done || entry.TookS == 0 || !like {
			continue
		}
		took := entry.TookS
		if r, err := record.Read(e.runs.folder(t.Step)); t.IsRun() && err == nil {
			took -= r.DurationS
		}
		if took > 0 {
			seen, n = seen+time.Duration(took*float64(time.Second)), n+1
		}
	}
	if n == 0 {
		return usualOverhead(s)
	}
	return seen / time.Duration(n)
}

// offered returns the rate of a task for a server's rate in Offline, if the campaign derives the one from the other.
func (t *Task) offered(offline float64) float64 {
	if t.MostPerS > 0 {
		return min(t.MostPerS, loadShare*offline)
	}
	return offline
}

// reckon records the expected duration of each task from the given one on, for `submission status`.
func (c *Campaign) reckon(from int) {
	for _, t := range c.Tasks[from:] {
		e, took := c.state.Entry(t.Step), c.estimate(t)
		e.TakesS, e.AtLeast = took.takes.Seconds(), !took.sure
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
		all.add(estimate{takes, usualOverhead(o.Step), known})
	}
	return all.total()
}

// left returns the estimate as the end of a line.
func (c *Campaign) left(from int) string {
	d, sure := c.Estimate(from)
	return ", " + needs.About(d, sure) + " left"
}
