package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/run/study"
)

// Observer receives the progress of a tune. Its methods are never called concurrently.
type Observer interface {
	run.Observer
	// Begins is called before each step.
	Begins(s Step, about time.Duration)
	// Measured is called after each step, with about how long the rest will take.
	Measured(p *Probe, left time.Duration)
	// Repeats is called when a probe does not count and is repeated.
	Repeats(why string)
}

// Options configure a tune.
type Options struct {
	Plan       *plan.Plan
	Folder     string
	Confidence float64       // of the decisions and of the interval, between 0.5 and 1
	Budget     time.Duration // for measuring, over all processes of the tune; 0: no limit
	Resume     bool
	Environ    []string // of the confirming run
	Global     []string // flags of the confirming run before its command
	Stderr     io.Writer
	Observer   Observer
	Live       string // address of the page of a confirming run; "": it has none
}

// owner is a tune as the owner of its folder.
var owner = child.Owner{What: "tune", File: ".tune.lock", Busy: exit.CodeTuneRunning,
	Access: atomicfile.Shared,
	Hint:   "Wait for its end, or choose another --output-dir"}

// made are the settings that a tune sets for its confirming runs.
var made = map[string]bool{"target-qps": true, "output-dir": true, "resume": true, "force": true, "mode": true,
	"live": true, "live-control": true, "serve-metrics": true}

// tuner is one tune in this process.
type tuner struct {
	Options
	state  *State
	search *Search
	bench  prober
	lock   *child.Lock
}

// prober measures the steps of a search but Confirm.
type prober interface {
	measure(ctx context.Context, step Step) (*measured, error)
	await(ctx context.Context) error // until each endpoint answers
}

// Run searches for the highest target QPS at which a run of the plan is VALID, and confirms it with such a run. It
// returns the state. After an error tune.json has the measurements so far, and --resume continues the tune.
func Run(ctx context.Context, o Options) (*State, error) {
	t := &tuner{Options: o}
	if err := t.check(); err != nil {
		return nil, err
	}
	var err error
	if t.lock, err = child.Acquire(ctx, o.Folder, owner); err != nil {
		return nil, err
	}
	defer t.lock.Release()
	before, err := t.earlier()
	if err != nil {
		return nil, err
	}
	rehearsal, err := rehearse.Start(ctx, o.Plan, rehearse.Options{Folder: o.Folder})
	if err != nil {
		return nil, err
	}
	defer rehearsal.Stop()
	if err := t.suggest(); err != nil {
		return nil, err
	}
	client, err := run.OpenProbes(ctx, run.FromPlan(o.Plan), o.Observer, o.Folder)
	if err != nil {
		return nil, err
	}
	err = t.run(ctx, client, before)
	return t.state, errors.Join(err, client.Close())
}

// suggest sets the defaults that the probes need: a rate, in Server enough queries for a verdict, and in Offline no
// limit of the client except that of each closed loop.
func (t *tuner) suggest() error {
	from := plan.ProgramOrigin("found by tune")
	if err := t.lengthen(); err != nil {
		return err
	}
	if err := t.Plan.Suggest(from, "target-qps", "1"); err != nil || !t.offline() {
		return err
	}
	return t.Plan.Suggest(from, "concurrency", "0")
}

// lengthen raises the least number of queries to the number that early stopping needs. A campaign does the same for all
// tests of a scenario that it tunes.
func (t *tuner) lengthen() error {
	p := t.Plan
	least, raised := p.TunedQueries()
	if !raised {
		return nil
	}
	from := plan.ProgramOrigin("least for LoadGen's early stopping")
	if p.Config.IsSet("min-queries") {
		p.Adjusted = append(p.Adjusted, fmt.Sprintf("min-queries is raised from %d to %d: with fewer, LoadGen's early "+
			"stopping makes every run INVALID", p.Config.Int("min-queries"), least))
		from.Layer = p.Config.Origin("min-queries").Layer // so that it replaces the user's own number
	}
	return p.Config.Set("min-queries", strconv.Itoa(least), from)
}

// check rejects settings that cannot be tuned.
func (t *tuner) check() error {
	p := t.Plan
	switch {
	case p.Scenario.LoadGen != models.Server && !t.offline() || p.Mode != models.Performance:
		return exit.Usage(exit.CodeScenario, "Give --scenario Server, Interactive or Offline, and no --mode",
			"a tune finds the highest rate of a performance test in Server, Interactive or Offline, not in %s %s",
			p.Scenario.Scenario, p.Mode)
	case t.offline() && p.Config.String("offline-strategy") != "window":
		return exit.Usage(exit.CodeOfflineStrategy, "Leave --offline-strategy out",
			"a tune finds how many requests should be in flight, and --offline-strategy %s has none to find",
			p.Config.String("offline-strategy"))
	case p.Config.IsSet("target-qps"):
		return exit.Usage(exit.CodeTargetQPS, "Leave --target-qps out", "--target-qps is what a tune finds")
	case !t.offline() && !p.Limited():
		return noLimit(p)
	case p.Config.Has("audit-config"):
		return exit.Usage(exit.CodeAuditConfig, "Leave --audit-config out", "an audit cannot be tuned")
	case !(t.Confidence >= 0.5 && t.Confidence < 1):
		return exit.Usage(exit.CodeConfidence, "Give a share such as 0.95", "--confidence %v is not between 0.5 and 1",
			t.Confidence)
	}
	return study.Reject(p, "a tune", meaningless)
}

// meaningless are the settings of a run that a tune cannot use, with advice. The rate of a profiled run is not the
// server's.
var meaningless = [][2]string{{"profile-window", "Use it with `mlperf-go run`"}}

// offline reports whether the tune seeks the highest throughput, without limits.
func (t *tuner) offline() bool { return t.Plan.Scenario.LoadGen == models.Offline }

// earlier returns the state of the folder, if it has one that --resume continues.
func (t *tuner) earlier() (*State, error) {
	s, err := ReadState(t.Folder)
	switch {
	case errors.Is(err, statefile.ErrNone):
		if err := run.CheckFolder(t.Folder, "tune", false); err != nil {
			return nil, err
		}
		return nil, nil
	case err != nil && t.Resume:
		return nil, exit.Usage(exit.CodeTuneState, "Choose another --output-dir", "the tune cannot be continued: %w", err)
	case !t.Resume:
		return nil, exit.Usage(exit.CodeOutputUsed, "Choose another --output-dir, or give --resume",
			"the output folder %s holds an earlier tune", t.Folder)
	}
	return s, nil
}

// begin makes the state, or continues that of an earlier process.
func (t *tuner) begin(client *run.ProbeClient, before *State) error {
	p := t.Plan
	tails, percentile := client.Limits()
	goal := Goal{Percentile: percentile, Confidence: t.Confidence}
	goal.Load.Seed, goal.Load.MinDuration, goal.Load.MinQueries, goal.Load.Set = client.Load()
	if t.offline() {
		goal.Offline, tails = true, nil
		if p.Config.IsSet("concurrency") {
			goal.InFlight = p.Config.Int("concurrency")
		}
	}
	for _, l := range tails {
		goal.Limits = append(goal.Limits, Limit{Metric(l.What), l.Limit})
	}
	if len(goal.Limits) == 0 && !goal.Offline {
		return noLimit(p)
	}
	dataset, err := p.ReadDataset() // the client has read it
	if err != nil {
		return err
	}
	t.state = &State{Schema: Schema, Kind: "tune", Model: p.Row.Name, Scenario: string(p.Scenario.Scenario),
		Dataset: dataset.SHA256, Settings: t.settings(), Goal: goal, Started: time.Now(), Probes: []Probe{}}
	t.search = NewSearch(&t.state.Goal, client.Order)
	if before == nil {
		t.bench = newBench(client, t.Observer, &t.state.Goal, 0)
		return nil
	}
	before.Dataset = cmp.Or(before.Dataset, t.state.Dataset)
	if !t.state.same(before) {
		return exit.Usage(exit.CodeTuneChanged, "Give the same settings, or choose another --output-dir",
			"the tune in %s had other settings: %s", t.Folder, child.Differences(before.terms(), t.state.terms()))
	}
	for _, why := range before.Recheck(t.Folder) {
		t.Observer.Repeats(why)
	}
	t.state.Started, t.state.SpentS, t.state.Probes = before.Started, before.SpentS, before.Probes
	for i := range t.state.Probes {
		if t.state.Probes[i].Spoiled == "" {
			t.search.Observe(t.state.Probes[i].Measured)
		}
	}
	t.bench = newBench(client, t.Observer, &t.state.Goal, len(before.Probes)) // behind earlier prompts
	return nil
}

// settings returns the settings of the runs as flags. It includes only the number of endpoints, because a restarted
// server may have another address.
func (t *tuner) settings() []string {
	except := maps.Clone(made)
	except["endpoint"] = true
	return append(child.Flags(t.Plan.Config, except), fmt.Sprintf("endpoints=%d",
		max(1, len(t.Plan.Config.Strings("endpoint")))))
}

// mostRepeats is how often a spoiled probe is repeated.
const mostRepeats = 2

func (t *tuner) run(ctx context.Context, client *run.ProbeClient, before *State) error {
	if err := t.begin(client, before); err != nil {
		return err
	}
	if before != nil && before.Result != nil && before.Result.Confirmed {
		t.state = before // begin has compared its settings
		return nil
	}
	return t.steps(ctx)
}

// steps measures what the search asks for until it ends, and writes tune.json after each step.
func (t *tuner) steps(ctx context.Context) error {
	bounded, stop := t.bounded(ctx)
	defer stop()
	spoiled := 0
	for step := t.search.Next(); step.Kind != Finished; step = t.search.Next() {
		about := t.about(step)
		if t.Budget > 0 && t.spent()+about > t.Budget {
			return t.end(t.search.overBudget(t.Budget, fmt.Sprintf("the next step (%s) would take about %v", step.Kind,
				about.Round(time.Second))))
		}
		if cause := context.Cause(ctx); cause != nil { // a signal may have come when the last step had just ended
			return fmt.Errorf("the tune was ended: %w", cause)
		}
		t.Observer.Begins(step, about)
		within := bounded
		if step.Kind == Confirm { // its length is known, and a part of it would be worth nothing
			within = ctx
		}
		p, err := t.step(within, step)
		if err != nil {
			return t.stopped(within, step, err)
		}
		if p.Spoiled == "" {
			spoiled = 0
			t.search.Observe(p.Measured)
			if low, high, ok := t.search.Interval(); ok {
				p.Low, p.High, p.ByPace = low, high, t.search.turning != nil
			}
		}
		t.state.Probes = append(t.state.Probes, *p)
		t.state.SpentS += p.Took.Seconds()
		if err := t.state.write(t.Folder, t.Plan.Access()); err != nil {
			return err
		}
		if p.Spoiled != "" {
			if spoiled++; spoiled > mostRepeats && p.Lag {
				return t.end(t.search.clientLimit(step, p.Spoiled))
			}
			if spoiled > mostRepeats {
				return exit.Environment(exit.CodeProbeSpoiled, "Repair the cause, and continue with --resume",
					"a probe was spoiled %d times in a row; the last time: %s", spoiled, p.Spoiled)
			}
			t.Observer.Repeats(p.Spoiled)
			if err := t.bench.await(bounded); err != nil {
				return t.stopped(bounded, step, err)
			}
			continue
		}
		t.Observer.Measured(p, t.left())
	}
	return t.end(t.search.Outcome())
}

// bounded returns a context that ends with the budget.
func (t *tuner) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.Budget <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, t.Budget-t.spent(), errBudget)
}

// stopped ends a tune whose step has failed: with its results so far if the budget is over, and else with the error.
func (t *tuner) stopped(bounded context.Context, step Step, err error) error {
	if !errors.Is(context.Cause(bounded), errBudget) {
		return err
	}
	t.state.SpentS = t.Budget.Seconds()
	return t.end(t.search.overBudget(t.Budget, fmt.Sprintf("it stopped a step (%s)", step.Kind)))
}

// end writes the result.
func (t *tuner) end(o *Outcome) error {
	r := &Result{TargetQPS: o.Rate, InFlight: o.InFlight, Low: o.Low, High: o.High,
		Confirmed: o.Confirmed, Why: o.Why}
	if o.Confirmed {
		for _, p := range t.state.Probes {
			if p.counts() {
				r.Run, r.RunS = p.Folder, p.Took.Seconds()
			}
		}
	}
	t.state.Result = r
	return errors.Join(t.state.write(t.Folder, t.Plan.Access()),
		t.Plan.Access().Write(filepath.Join(t.Folder, PlotName), func(w io.Writer) error { return t.state.Plot(w) }))
}

func (t *tuner) spent() time.Duration { return time.Duration(t.state.SpentS * float64(time.Second)) }

// step performs a step, and writes its folder.
func (t *tuner) step(ctx context.Context, step Step) (*Probe, error) {
	if step.Kind == Confirm {
		return t.confirm(ctx, step)
	}
	p := &Probe{Started: time.Now(), Folder: filepath.Join("probes", fmt.Sprintf("%03d", len(t.state.Probes)+1))}
	m, err := t.bench.measure(ctx, step)
	if err != nil {
		return nil, err
	}
	p.Measured, p.Spoiled, p.Lag = m.Measured, m.spoiled, m.lag
	folder := filepath.Join(t.Folder, p.Folder)
	if err := os.MkdirAll(folder, t.Plan.Access().Folder()); err != nil {
		return nil, err
	}
	err = ledger.WriteRequests(t.Plan.Access(), filepath.Join(folder, record.RequestsName), m.data)
	return p, errors.Join(err, p.write(folder, t.Plan.Access()))
}

// probeFile is probe.json.
type probeFile struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Probe
}

func (p *Probe) write(folder string, access atomicfile.Access) error {
	return access.WriteJSON(filepath.Join(folder, ProbeName), probeFile{probeSchema, probeKind, *p})
}

// confirm runs LoadGen's test of the full length in a process of its own.
func (t *tuner) confirm(ctx context.Context, step Step) (*Probe, error) {
	n := 1
	for _, p := range t.state.Probes {
		if p.Kind == Confirm {
			n++
		}
	}
	p := &Probe{Started: time.Now(), Folder: filepath.Join("confirm", strconv.Itoa(n))}
	folder := filepath.Join(t.Folder, p.Folder)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	more := []string{"--target-qps=" + strconv.FormatFloat(step.Rate, 'f', -1, 64), "--output-dir=" + folder, "--force"}
	if step.InFlight > 0 && t.state.Goal.InFlight == 0 {
		more = append(more, "--concurrency="+strconv.Itoa(step.InFlight))
	}
	args := slices.Concat([]string{"--json"}, t.Global, []string{"run"}, child.Flags(t.Plan.Config, made), more)
	if t.Live != "" {
		args = append(args, "--live="+t.Live)
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr, cmd.Env = t.Stderr, child.Environ(t.Plan.Config, t.Environ)
	end, err := child.Run(ctx, cmd, t.lock, 0)
	if cause := context.Cause(ctx); cause != nil {
		return nil, fmt.Errorf("the tune was ended: %w", cause)
	}
	if err != nil {
		return nil, err
	}
	if end.Code == exit.CodeKilled || end.Code == exit.CodeEndpoint { // ended from outside: nothing was measured
		p.Measured = Measured{Kind: Confirm, Rate: step.Rate, Counts: make([]Count, len(t.state.Goal.Limits))}
		p.Spoiled = "the confirming run: " + end.Why
		p.Took = time.Since(p.Started)
		return p, nil
	}
	if end.Exit != run.ExitValid && end.Exit != run.ExitInvalid {
		return nil, &run.Error{Exit: end.Exit, Code: end.Code, Err: fmt.Errorf("the confirming run in %s failed: %s", folder,
			end.Reason())}
	}
	r, err := record.Read(folder)
	if err != nil {
		return nil, err
	}
	p.Measured, p.Spoiled = t.confirmed(step, r)
	p.Lag = isLag(r.Reasons)
	p.Took = time.Since(p.Started)
	return p, nil
}

// confirmed reads a confirming run. A run that is INVALID for another reason than its latencies is spoiled.
func (t *tuner) confirmed(step Step, r *record.Record) (Measured, string) {
	m := Measured{Kind: Confirm, Rate: step.Rate, Valid: r.Verdict == record.Valid}
	if t.state.Goal.Offline {
		m.Answers = r.Throughput.Requests
	}
	worst := false
	for _, l := range t.state.Goal.Limits {
		c := Count{}
		for i := range r.Tails { // a run without a limit of the first token has a tail of it nevertheless
			if tail := &r.Tails[i]; tail.What == string(l.Metric) {
				c = Count{Queries: tail.Queries, Late: tail.Over, Full: float64(tail.Over)}
				worst = worst || tail.Lost()
			}
		}
		m.Counts = append(m.Counts, c)
	}
	if m.Valid {
		return m, ""
	}
	for _, cause := range r.Reasons {
		if cause.Code != record.CodeLoadGenInvalid && cause.Code != record.CodeScenarioLimit {
			return m, fmt.Sprintf("the confirming run was INVALID: %s", cause.Text)
		}
	}
	if !worst { // LoadGen counted one late query more than this program is certain of
		n := t.state.Goal.Queries(step.Rate)
		for i := range m.Counts {
			m.Counts[i].Full = max(m.Counts[i].Full, Bearable(t.state.Goal.Percentile, n)*float64(n)+1)
		}
	}
	return m, ""
}

// about returns about how long a step takes.
func (t *tuner) about(step Step) time.Duration {
	answer := step.Answer
	if idle := t.search.last(Idle); idle != nil {
		answer = max(answer, idle.Answer)
	}
	switch step.Kind {
	case Confirm:
		return t.state.Goal.Duration(step.Rate) + answer
	case Idle, Saturate:
		return time.Duration(float64(step.Queries) / float64(step.Concurrency) * float64(answer))
	case Reference:
		return time.Duration(float64(step.Queries)/step.Rate*float64(time.Second)) + (fill+1)*answer
	}
	if n := t.search.count(Rate); n > 0 { // like those before it
		return t.search.took(Rate) / time.Duration(n)
	}
	return time.Duration(float64(step.Queries)/step.Rate*float64(time.Second)) + answer // undecided to its end
}

// usualProbes is how many probes a tune needs.
const usualProbes = 4

// left estimates the time of the rest of the tune: a few more probes, and the confirming run.
func (t *tuner) left() time.Duration {
	if t.search.Outcome() != nil || t.search.grid == nil && !t.offline() {
		return 0
	}
	if c := t.search.last(Confirm); c != nil && c.Valid {
		return 0
	}
	rate := t.search.guess()
	if t.offline() {
		if rate == 0 { // nothing has been in flight yet
			return 0
		}
		return t.about(Step{Kind: Confirm, Rate: rate})
	}
	probe, probes := t.search.probe(rate), max(1, usualProbes-t.search.count(Rate))
	switch {
	case t.search.turning != nil:
		probes = 0
	case t.search.studies():
		probe, probes = t.search.study(rate), 1
	}
	return t.about(Step{Kind: Confirm, Rate: rate}) + time.Duration(probes)*t.about(probe)
}
