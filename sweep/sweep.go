package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/probe"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/study"
)

// Observer receives the progress of a sweep. Its methods are never called concurrently.
type Observer interface {
	run.Observer
	// Begins is called before each point. of is 0 if the number of points is not known.
	Begins(load float64, number, of int, about time.Duration)
	// Repeats is called when a point does not count and is measured again.
	Repeats(p *Point)
	// Measured is called after each point, with about how long the rest will take; 0: not known.
	Measured(p *Point, left time.Duration)
}

// Options configure a sweep.
type Options struct {
	Plan         *plan.Plan
	Folder       string
	Loads        Loads
	Length       Length
	Accelerators int // of the system; 0: not known
	Resume       bool
	Observer     Observer
}

// owner is a sweep as the owner of its folder.
var owner = child.Owner{What: "sweep", File: ".sweep.lock", Busy: exit.CodeSweepRunning,
	Access: atomicfile.Shared,
	Hint:   "Wait for its end, or choose another --output-dir"}

// made are the settings that a sweep sets itself, or that only name its folder.
var made = map[string]bool{"target-qps": true, "output-dir": true, "resume": true, "force": true}

// meaningless are the settings of a run that would have no effect in a sweep, with advice.
var meaningless = [][2]string{
	{"target-qps", "Use --rates"}, {"concurrency", "Use --concurrencies"},
	{"min-duration", "Use --point-duration"}, {"min-queries", "Use --point-queries"},
	{"max-duration", "Use --point-longest"}, {"max-queries", "Use --point-longest"}, {"audit-config", "Leave it out"},
	{"trace-spans", "Use it with `mlperf-go run`"}, {"profile-window", "Use it with `mlperf-go run`"},
}

// sweeper is one sweep in this process.
type sweeper struct {
	Options
	state  *State
	client *run.ProbeClient
	bench  *bench
}

// Run measures the loads. It returns the state. After an error sweep.json has the points so far, and Options.Resume
// continues it.
func Run(ctx context.Context, o Options) (*State, error) {
	s := &sweeper{Options: o}
	if err := o.Check(); err != nil {
		return nil, err
	}
	var before *State
	err := o.study().Run(ctx, func() (err error) {
		before, err = o.earlier()
		return err
	}, func(client *run.ProbeClient) error {
		s.client = client
		if err := s.begin(before); err != nil {
			return err
		}
		return s.run(ctx)
	})
	return s.state, err
}

func (o *Options) study() *study.Study {
	return &study.Study{Owner: owner, Folder: o.Folder, Plan: o.Plan, Suggest: [][2]string{{"target-qps", "1"}},
		Resume: o.Resume, Unreadable: exit.CodeSweepState, Observer: o.Observer}
}

// Check rejects options that no sweep can measure, and a folder in use. It contacts no server.
func (o *Options) Check() error {
	p, n := o.Plan, o.Length
	if p.Scenario.LoadGen != models.Server || p.Mode != models.Performance {
		return exit.Usage(exit.CodeScenario, "Give --scenario Server or --scenario Interactive, and no --mode",
			"a sweep measures performance in Server or Interactive, not in %s %s", p.Scenario.Scenario, p.Mode)
	}
	if err := study.Reject(p, "a sweep", meaningless); err != nil {
		return err
	}
	if !(n.WarmupS >= 0 && n.Duration > 0 && n.Longest >= n.Duration) || n.Queries < 1 || n.Longest > longestPoint {
		return exit.Usage(exit.CodePointLength, "Give --point-duration above 0 and --point-longest at least as long, of at "+
			"most a day, and --point-queries above 0", "no point can be measured for %v s and %d queries, %v s at most, after "+
			"%v s", n.Duration, n.Queries, n.Longest, n.WarmupS)
	}
	if o.Accelerators < 0 {
		return exit.Usage(exit.CodeAccelerators, "", "--accelerators %d is negative", o.Accelerators)
	}
	for _, v := range o.Loads.Values {
		if most := n.plan(o.Loads.Kind, v, 0).most(v, 0); most > maxQueries {
			return exit.Usage(exit.CodePointLength, "Give a shorter --point-duration, or lower rates",
				"a point of %s has %d queries, and at most %d are kept in memory", o.Loads.Kind.Text(v), most, maxQueries)
		}
	}
	if o.Folder == "" {
		return nil
	}
	_, err := o.earlier()
	return err
}

// longestPoint is a day in seconds.
const longestPoint = 24 * 60 * 60

// About returns about how long the loads of the list take on a server that answers at once; 0 with Auto.
func (o *Options) About() (total time.Duration) {
	for _, v := range o.Loads.Values {
		total += o.AboutPoint(v)
	}
	return total
}

// AboutPoint returns about how long one load takes on a server that answers at once.
func (o *Options) AboutPoint(load float64) time.Duration {
	return o.Length.plan(o.Loads.Kind, load, 0).about(load, 0)
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
func (s *sweeper) begin(before *State) error {
	p, terms := s.Plan, s.Plan.Terms()
	dataset, err := p.ReadDataset() // the client has read it
	if err != nil {
		return err
	}
	values := s.Loads.Values
	if values == nil {
		values = []float64{}
	}
	s.state = &State{Schema: Schema, Kind: "sweep", Model: p.Row.Name, Scenario: string(p.Scenario.Scenario),
		Dataset: dataset.SHA256, Settings: study.Settings(p, made), Load: s.Loads.Kind, Auto: s.Loads.Auto,
		Values: values, Length: s.Length,
		Limits: Limits{terms.TTFTLimit, terms.TPOTLimit, terms.AnswerLimit}, Accelerators: s.Accelerators,
		Rehearsal: append([]string{}, p.Rehearsal...), Started: time.Now(), Points: []Point{}}
	position := 0
	if before != nil {
		before.Dataset = cmp.Or(before.Dataset, s.state.Dataset)
		if !s.state.same(before) {
			return exit.Usage(exit.CodeSweepChanged, "Give the same settings, or choose another --output-dir",
				"the sweep in %s had other settings: %s", s.Folder, child.Differences(before.terms(), s.state.terms()))
		}
		s.state.continues(before)
		for _, p := range before.Points {
			position += p.Queries
		}
	}
	s.bench = &bench{s.client, probe.NewOrder(s.client.SampleSeed(), s.client.Samples(), position), s.Observer}
	return s.save()
}

func (s *sweeper) save() error { return s.state.write(s.Folder, s.access()) }

func (s *sweeper) access() atomicfile.Access { return s.Plan.Access() }

func (s *sweeper) run(ctx context.Context) error {
	if err := s.idle(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.Folder, pointsFolder), s.access().Folder()); err != nil {
		return err
	}
	for number := len(s.state.Points) + 1; ; number++ {
		load, more, why := s.state.next()
		if !more {
			s.state.finish(why)
			return errors.Join(s.save(), s.state.writeViews(s.Folder, s.access()))
		}
		if cause := context.Cause(ctx); cause != nil { // a signal may have come when the last point had just ended
			return fmt.Errorf("the sweep was ended: %w", cause)
		}
		s.Observer.Begins(load, number, len(s.state.Values), s.about(load))
		p, err := s.settled(ctx, load)
		if err != nil {
			return err
		}
		s.state.add(p)
		if err := errors.Join(s.save(), s.state.writeViews(s.Folder, s.access())); err != nil {
			return err
		}
		s.Observer.Measured(p, s.left())
		if !p.counts() {
			if err := s.recover(ctx); err != nil {
				return err
			}
		}
	}
}

// mostRepeats is how often a point is repeated that was not spoiled by its load.
const mostRepeats = 2

// settled measures one load, and again if it was spoiled by neither the server nor the client, for example by a step of
// the clock.
func (s *sweeper) settled(ctx context.Context, load float64) (*Point, error) {
	for n := 0; ; n++ {
		p, err := s.point(ctx, load)
		if err != nil || !p.repeats(n) {
			return p, err
		}
		s.Observer.Repeats(p)
		if err := s.client.AwaitEndpoints(ctx); err != nil {
			return nil, err
		}
	}
}

// repeats reports whether a point is measured again that was measured again n times.
func (p *Point) repeats(n int) bool { return !p.counts() && !overloads(p.Spoiled) && n < mostRepeats }

// overloads reports whether a server failed at a load, or the client was too late for it.
func overloads(causes []record.Cause) bool {
	return slices.ContainsFunc(causes, func(c record.Cause) bool {
		return c.Code == record.CodeFailedSamples || c.LimitsClient()
	})
}

// idle measures the idle server, which every estimate needs.
func (s *sweeper) idle(ctx context.Context) error {
	if s.state.IdleAnswerS > 0 {
		return nil
	}
	took, p, err := s.bench.idle(ctx)
	if err != nil {
		return err
	}
	if idleFails(took, p.Causes) {
		return exit.Environment(exit.CodeIdle, "Repair the cause: `mlperf-go preflight` asks the server single questions",
			"the server cannot answer one query at a time: %s", p.Spoiled)
	}
	s.state.IdleAnswerS = took.Seconds()
	return s.save()
}

// idleFails reports whether the idle server did not answer. Other causes, such as a step of the clock, spoil no
// estimate.
func idleFails(took time.Duration, causes []record.Cause) bool { return took <= 0 || overloads(causes) }

// recover waits until the endpoints answer again after a spoiled point, and until the rest of its queries has ended.
func (s *sweeper) recover(ctx context.Context) error {
	if _, more, _ := s.state.next(); !more {
		return nil
	}
	if err := s.client.AwaitEndpoints(ctx); err != nil {
		return err
	}
	_, _, err := s.bench.idle(ctx)
	return err
}

// pointsFolder contains a folder for each point.
const pointsFolder = "points"

// point measures one load and writes its folder.
func (s *sweeper) point(ctx context.Context, load float64) (*Point, error) {
	begun := time.Now()
	seed, _, _, _ := s.client.Load()
	sent, window, err := s.bench.measure(ctx, s.Loads.Kind, load, s.Length, s.idleAnswer(), seed)
	if err != nil {
		return nil, err
	}
	p := &Point{Load: load, Started: begun, TookS: time.Since(begun).Seconds(),
		Folder:  filepath.Join(pointsFolder, fmt.Sprintf("%s-%v", s.Loads.Kind, load)),
		Spoiled: append([]record.Cause{}, sent.Causes...),
		Figures: Measure(sent.Data, window, s.state.Limits, s.Accelerators)}
	if len(p.Spoiled) > 0 && sent.Spoiled != "" {
		p.Spoiled[0].Text = sent.Spoiled
	} else if p.Queries == 0 || p.RequestsPerS == 0 {
		p.Spoiled = append(p.Spoiled, record.Cause{Code: record.CodeFailedSamples, Text: fmt.Sprintf("no answer ended in "+
			"the window of %v: give a longer --point-duration", seconds(window.Seconds()).Round(time.Millisecond))})
	}
	if window.FromNS != 0 {
		from := window.FromNS - ledger.FirstIssueNS(sent.Data.Entries)
		p.WindowFromNS = &from
	}
	folder := filepath.Join(s.Folder, p.Folder)
	if err := os.MkdirAll(folder, s.access().Folder()); err != nil {
		return nil, err
	}
	if s.Plan.Config.Bool("request-log") {
		err = ledger.WriteRequests(s.access(), filepath.Join(folder, record.RequestsName), sent.Data)
	}
	return p, errors.Join(err, s.access().WriteJSON(filepath.Join(folder, PointName),
		pointFile{"mlperf-go/sweep-probe/1", "probe", *p}))
}

// pointFile is the probe.json of a point. Readers of runs do not accept it as a run.
type pointFile struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
	Point
}

func (s *sweeper) idleAnswer() time.Duration { return seconds(s.state.IdleAnswerS) }

// about returns about how long a load takes.
func (s *sweeper) about(load float64) time.Duration {
	return s.Length.plan(s.Loads.Kind, load, s.idleAnswer()).about(load, s.idleAnswer())
}

// left returns about how long the loads of the list will take that were not measured; 0 with Auto.
func (s *sweeper) left() (total time.Duration) {
	for _, v := range s.state.Values {
		if s.state.at(v) == nil {
			total += s.about(v)
		}
	}
	return total
}
