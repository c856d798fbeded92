package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/probe"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/study"
)

// Observer receives the progress of an experiment. Its methods are never called concurrently.
type Observer interface {
	run.Observer
	// Begins is called before each trial; round is 0 for the warm-up, which does not count.
	Begins(name string, round, of int)
	// Repeats is called when a trial does not count and is measured again.
	Repeats(t *Trial)
	// Measured is called after each trial, with about how long the rest will take.
	Measured(t *Trial, left time.Duration)
}

// Options configure an experiment.
type Options struct {
	Plan         *plan.Plan
	Folder       string
	Of           Of
	Arrangements []Arrangement
	Repeats      int
	Resume       bool
	Observer     Observer
}

// owner is an experiment as the owner of its folder.
var owner = child.Owner{What: "experiment", File: ".experiment.lock", Busy: exit.CodeExperimentRunning,
	Access: atomicfile.Shared,
	Hint:   "Wait for its end, or choose another --output-dir"}

// made are the settings that an experiment sets itself, or that only name its folder.
var made = map[string]bool{"output-dir": true, "resume": true, "force": true, "offline-strategy": true,
	"metrics-interval": true, "concurrency": true}

// meaningless are the settings of a run that would have no effect in an experiment, with advice.
var meaningless = [][2]string{
	{"concurrency", "Use --windows or --window"}, {"offline-strategy", "Leave it out: the strategies are compared"},
	{"batch-size", "Use --batches"}, {"target-qps", "Leave it out"}, {"min-duration", "Use --samples and --repeats"},
	{"min-queries", "Use --samples"}, {"max-duration", "Use --samples"}, {"max-queries", "Use --samples"},
	{"audit-config", "Leave it out"}, {"trace-spans", "Use it with `mlperf-go run`"}, {"live", "Leave it out"},
	{"serve-metrics", "Use it with `mlperf-go run`"},
	{"profile-window", "Use it with `mlperf-go run`"},
}

// readMetrics is how often the servers' metrics are read: a trial may be short.
const readMetrics = "250ms"

// experimenter is one experiment in this process.
type experimenter struct {
	Options
	state  *State
	client *run.ProbeClient
	items  []item
}

// Run performs the trials. It returns the state. After an error experiment.json has the trials so far, and
// Options.Resume continues it.
func Run(ctx context.Context, o Options) (*State, error) {
	x := &experimenter{Options: o}
	if err := o.Check(); err != nil {
		return nil, err
	}
	var before *State
	err := o.study().Run(ctx, func() (err error) {
		before, err = o.earlier()
		return err
	}, func(client *run.ProbeClient) error {
		x.client = client
		if err := x.begin(before); err != nil {
			return err
		}
		return x.run(ctx)
	})
	return x.state, err
}

func (o *Options) study() *study.Study {
	return &study.Study{Owner: owner, Folder: o.Folder, Plan: o.Plan, Resume: o.Resume, Observer: o.Observer,
		Unreadable: exit.CodeExperimentState, Assigned: o.Of == Partition,
		Suggest: [][2]string{{"offline-strategy", "all"}, {"concurrency", "0"}, {"metrics-interval", readMetrics}}}
}

// Check rejects options that no experiment can measure, and a folder in use. It contacts no server.
func (o *Options) Check() error {
	p := o.Plan
	if p.Scenario.LoadGen != models.Offline || p.Mode != models.Performance {
		return exit.Usage(exit.CodeScenario, "Give --scenario Offline, or none, and no --mode",
			"an experiment measures performance in Offline, not in %s %s", p.Scenario.Scenario, p.Mode)
	}
	if err := study.Reject(p, "an experiment", meaningless); err != nil {
		return err
	}
	if o.Repeats < 1 || o.Repeats > MaxRepeats {
		return exit.Usage(exit.CodeRepeats, "Give --repeats from 2 to 1000: one pass has no confidence interval",
			"--repeats %d is not between 1 and %d", o.Repeats, MaxRepeats)
	}
	if len(o.Arrangements) > MaxArrangements {
		return exit.Usage(exit.CodeSizes, "Give fewer --windows and --batches", "%d arrangements are more than %d",
			len(o.Arrangements), MaxArrangements)
	}
	if o.Of == Partition {
		if n := len(p.Config.Strings("endpoint")); n < 2 {
			return exit.Usage(exit.CodeEndpoint, "Give --endpoint for each replica", "a partition needs at least two replicas; "+
				"there are %d", n)
		}
		if p.Config.IsSet("lb") {
			return exit.Usage(exit.CodeSetting, "Leave it out", "--lb has no meaning in a partition, which chooses the replicas")
		}
	}
	if o.Folder == "" {
		return nil
	}
	_, err := o.earlier()
	return err
}

// earlier returns the state of the folder, if it has one that Resume continues.
func (o *Options) earlier() (*State, error) {
	before, err := ReadState(o.Folder)
	if continues, err := o.study().Continues(err); !continues {
		return nil, err
	}
	return before, nil
}

// begin makes the state, or continues that of an earlier process.
func (x *experimenter) begin(before *State) error {
	c := x.client
	dataset, err := x.Plan.ReadDataset() // the client has read it
	if err != nil {
		return err
	}
	for _, index := range probe.NewOrder(c.SampleSeed(), c.Samples(), 0).Next(c.Samples()) {
		x.items = append(x.items, item{index, c.Length(index)})
	}
	x.state = &State{Schema: Schema, Kind: "experiment", Experiment: x.Of, Model: x.Plan.Row.Name,
		Dataset: dataset.SHA256, Settings: study.Settings(x.Plan, made), Replicas: c.Endpoints(), Samples: len(x.items),
		Seed: c.SampleSeed(), Repeats: x.Repeats, Arrangements: x.Arrangements,
		Rehearsal: append([]string{}, x.Plan.Rehearsal...), Notes: []string{}, Started: time.Now(), Trials: []Trial{}}
	if before != nil {
		before.Dataset = cmp.Or(before.Dataset, x.state.Dataset)
		if !x.state.same(before) {
			return exit.Usage(exit.CodeExperimentChanged, "Give the same settings, or choose another --output-dir",
				"the experiment in %s had other settings: %s", x.Folder, child.Differences(before.terms(), x.state.terms()))
		}
		x.state.continues(before)
	}
	return x.save()
}

func (x *experimenter) access() atomicfile.Access { return x.Plan.Access() }

func (x *experimenter) save() error { return x.state.write(x.Folder, x.access()) }

// order returns the arrangements in the order of a round.
func (s *State) order(round int) []int {
	return rand.New(rand.NewPCG(s.Seed, uint64(round))).Perm(len(s.Arrangements))
}

func (x *experimenter) run(ctx context.Context) error {
	warm := false
	for {
		round, a, more := x.state.next()
		if !more {
			x.state.finish()
			return errors.Join(x.save(), x.state.writeViews(x.Folder, x.access()))
		}
		if cause := context.Cause(ctx); cause != nil { // a signal may have come when the last trial had just ended
			return fmt.Errorf("the experiment was ended: %w", cause)
		}
		if !warm {
			if err := x.warmUp(ctx); err != nil {
				return err
			}
			warm = true
		}
		x.Observer.Begins(x.state.Arrangements[a].Name(), round+1, x.Repeats)
		t, err := x.settled(ctx, round, a)
		if err != nil {
			return err
		}
		x.state.Trials = append(x.state.Trials, *t)
		if err := x.save(); err != nil {
			return err
		}
		x.Observer.Measured(t, x.left())
	}
}

// warmUp sends all samples once. It does not count, because engines compile and caches fill in the first pass.
func (x *experimenter) warmUp(ctx context.Context) error {
	a := x.Arrangements[0]
	x.Observer.Begins(a.Name(), 0, x.Repeats)
	p, err := x.send(ctx, a)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.Causes, func(c record.Cause) bool { return c.Code == record.CodeFailedSamples }) {
		x.Observer.Waiting("the warm-up failed: " + p.Spoiled)
		return x.client.AwaitEndpoints(ctx)
	}
	if !x.client.RepeatsPrompts() {
		x.note("the servers do not empty their prefix caches, so all trials find the prompts in them")
	}
	return nil
}

// note adds a note to the table, once.
func (x *experimenter) note(text string) {
	if !slices.Contains(x.state.Notes, text) {
		x.state.Notes = append(x.state.Notes, text)
	}
}

// mostRepeats is how often a trial that does not count is repeated.
const mostRepeats = 2

// settled performs a trial, and repeats it after a failure.
func (x *experimenter) settled(ctx context.Context, round, a int) (*Trial, error) {
	for n := 0; ; n++ {
		t, err := x.trial(ctx, round, a)
		if err != nil || t.counts() || n == mostRepeats {
			return t, err
		}
		x.Observer.Repeats(t)
		if err := x.client.AwaitEndpoints(ctx); err != nil {
			return nil, err
		}
	}
}

// trialsFolder contains a folder for each trial.
const trialsFolder = "trials"

// trial sends all samples in one arrangement, and writes its folder.
func (x *experimenter) trial(ctx context.Context, round, a int) (*Trial, error) {
	t := &Trial{Round: round, Arrangement: a, Started: time.Now(), Spoiled: []record.Cause{},
		Folder: filepath.Join(trialsFolder, fmt.Sprintf("%03d-%02d-%s", round+1, a+1, x.Arrangements[a].label()))}
	folder := filepath.Join(x.Folder, t.Folder)
	if err := os.MkdirAll(folder, x.access().Folder()); err != nil {
		return nil, err
	}
	pages := filepath.Join(folder, filepath.Base(record.MetricsName))
	stop, err := x.client.Watch(ctx, pages)
	if err != nil {
		return nil, err
	}
	sent, err := x.send(ctx, x.Arrangements[a])
	lost := stop()
	if err != nil {
		return nil, err
	}
	t.Figures = measure(sent.Data.Entries, len(x.state.Replicas))
	if set, err := series.Read(pages, series.IsSignal); lost == nil && err == nil { // otherwise its figures are absent
		if !t.serve(set) {
			x.note(fmt.Sprintf("a pass was too short for %d readings of the servers' metrics, so it has no KV cache and no "+
				"preemptions; give more --samples or a shorter --metrics-interval", leastReadings))
		}
	}
	x.judge(t, sent)
	if x.Plan.Config.Bool("request-log") {
		err = ledger.WriteRequests(x.access(), filepath.Join(folder, record.RequestsName), sent.Data)
	}
	return t, errors.Join(err, x.access().WriteJSON(filepath.Join(folder, trialName),
		trialFile{"mlperf-go/experiment-probe/1", "experiment", *t}))
}

// trialName is the file of a trial. Readers of runs do not accept its folder as a run.
const trialName = "probe.json"

type trialFile struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Trial
}

// label names an arrangement in a path.
func (a Arrangement) label() string {
	if a.Size == 0 {
		return string(a.How)
	}
	return string(a.How) + "-" + strconv.Itoa(a.Size)
}

// judge records why a trial does not count: by the rules of a run, or because a sample was not sent exactly once.
func (x *experimenter) judge(t *Trial, sent *run.Probe) {
	t.Spoiled = append(t.Spoiled, sent.Causes...)
	if len(t.Spoiled) > 0 && sent.Spoiled != "" {
		t.Spoiled[0].Text = sent.Spoiled
	}
	if index, times, ok := missent(sent.Data.Entries, x.client.Samples()); !ok && len(t.Spoiled) == 0 {
		t.Spoiled = append(t.Spoiled, record.Cause{Code: record.CodeMisreported,
			Text: fmt.Sprintf("sample %d was sent %d times instead of once", index, times)})
	}
}

// send sends all samples in one arrangement.
func (x *experimenter) send(ctx context.Context, a Arrangement) (*run.Probe, error) {
	l, err := probe.NewFed(a.feed(x.items, len(x.state.Replicas), x.client.Place), x.client.Shards())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	over, followed := make(chan struct{}), make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(followed)
		x.follow(l, over)
	}()
	p, err := x.client.Send(ctx, l)
	close(over)
	<-followed
	return p, err
}

// showEvery is how often the progress of a trial is reported.
const showEvery = 500 * time.Millisecond

// follow reports the progress of a load until it is over.
func (x *experimenter) follow(l *probe.Load, over <-chan struct{}) {
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	var batch []probe.End
	done := 0
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		batch = l.Take(batch)
		done += len(batch)
		since := time.Duration(l.Now()).Seconds()
		rate := float64(done) / since
		g := run.Progress{Done: int64(done), Total: int64(len(x.items)), InFlight: int64(l.Issued() - done), RatePerS: rate}
		if rate > 0 {
			g.Left = time.Duration(float64(len(x.items)-done) / rate * float64(time.Second))
		}
		x.Observer.Progress(g)
	}
}

// left estimates the remaining time from the duration of the measured trials.
func (x *experimenter) left() time.Duration {
	total := 0.0
	for i := range x.state.Trials {
		total += x.state.Trials[i].DurationS
	}
	done := len(x.state.Trials)
	rest := len(x.Arrangements)*x.Repeats - done
	return time.Duration(total / float64(done) * float64(rest) * float64(time.Second))
}
