package tune

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
)

// played is a tune without a client: a function measures its steps, and another makes the records of its confirming
// runs, which are processes of this program. It observes itself.
type played struct {
	*tuner
	t       *testing.T
	serve   func(s Step) Measured
	confirm func(s Step, r *record.Record)
	begins  func(s Step)                    // before a step; nil: nothing
	harm    func(m *measured)               // after a measurement; nil: nothing
	within  context.Context                 // of the last measurement
	awaits  func(ctx context.Context) error // nil: each endpoint answers at once
	said    []string                        // what the observer was told
	abouts  map[string]time.Duration        // by step, as announced
	lefts   []time.Duration
}

// play returns a tune towards a goal.
func play(t *testing.T, g *Goal) *played {
	p := &played{t: t, abouts: map[string]time.Duration{}}
	settings := plan.Settings{}
	if g.Offline {
		settings["scenario"] = "Offline"
	}
	p.tuner = confirming(t, settings)
	p.state = &State{Schema: Schema, Kind: "tune", Goal: *g, Settings: []string{}, Probes: []Probe{}}
	p.search = NewSearch(&p.state.Goal, everySample)
	p.bench, p.Observer = p, p
	return p
}

// playOffline returns a tune in Offline whose server answers one query per second and slot, and has 64 slots. Each
// closed loop takes 2 s.
func playOffline(t *testing.T) *played {
	g := &Goal{Offline: true, Percentile: 0.99, Confidence: 0.95,
		Load: schedule.Load{MinDuration: time.Second, MinQueries: 1}}
	p := play(t, g)
	p.serve = func(s Step) Measured {
		return Measured{Answers: float64(min(s.Concurrency, 64)), Answer: time.Second, Took: 2 * time.Second}
	}
	p.confirm = func(_ Step, r *record.Record) { r.Throughput.Requests = 63 }
	return p
}

// inOffline are the steps of playOffline.
var inOffline = []string{"idle: 1 in flight", "saturate: 16 in flight", "saturate: 32 in flight",
	"saturate: 64 in flight", "saturate: 128 in flight", "saturate: 64 in flight", "saturate: 64 in flight",
	"confirm: 64 queries per second"}

// playServer returns a tune of a virtual server whose confirming runs are all INVALID.
func playServer(t *testing.T) *played {
	v := &virtual{shape: shapes[0], rng: rand.New(rand.NewPCG(1, 7))}
	p := play(t, v.goal())
	p.serve = func(s Step) Measured {
		m := v.measure(&p.state.Goal, s)
		m.Tails = slices.Clone(m.Medians)
		return m
	}
	p.confirm = func(s Step, r *record.Record) {
		n := p.state.Goal.Queries(s.Rate)
		r.Verdict, r.Reasons = record.Invalid, []record.Cause{{Code: record.CodeLoadGenInvalid, Text: "LoadGen: INVALID"}}
		r.Tails = []record.Tail{{What: string(TTFT), Limit: time.Second, Queries: n, Over: n / 10},
			{What: string(TPOT), Limit: time.Second, Queries: n}}
	}
	return p
}

func (p *played) measure(ctx context.Context, s Step) (*measured, error) {
	p.within = ctx
	m := &measured{Measured: p.serve(s), data: &ledger.Test{}}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.Kind, m.Rate, m.Concurrency = s.Kind, s.Rate, s.Concurrency
	if p.harm != nil {
		p.harm(m)
	}
	return m, nil
}

func (p *played) await(ctx context.Context) error {
	p.said = append(p.said, "waits")
	if p.awaits != nil {
		return p.awaits(ctx)
	}
	return context.Cause(ctx)
}

// Begins checks that tune.json has everything that was measured before.
func (p *played) Begins(s Step, about time.Duration) {
	p.said = append(p.said, "begins "+s.String())
	p.abouts[s.String()] = about
	if len(p.state.Probes) > 0 {
		written, err := ReadState(p.Folder)
		require.NoError(p.t, err)
		require.Len(p.t, written.Probes, len(p.state.Probes), "before %s", s)
		require.Equal(p.t, p.state.SpentS, written.SpentS)
		require.Nil(p.t, written.Result)
	}
	if s.Kind == Confirm {
		r := runtest.Record("generic", models.Server, models.Performance)
		p.confirm(s, r)
		code := 0
		if r.Verdict != record.Valid {
			code = exit.StatusInvalid
		}
		p.pretend(p.t, 1+p.search.count(Confirm), code, "", r)
	}
	if p.begins != nil {
		p.begins(s)
	}
}

func (p *played) Measured(probe *Probe, left time.Duration) {
	p.said, p.lefts = append(p.said, "measured "+string(probe.Kind)), append(p.lefts, left)
}

func (p *played) Repeats(why string)                 { p.said = append(p.said, "repeats "+why) }
func (*played) Waiting(string)                       {}
func (*played) Preflighted(*run.Preflight, []string) {}
func (*played) Progress(run.Progress)                {}

// begun returns the steps that began.
func (p *played) begun() (list []string) {
	for _, said := range p.said {
		if s, ok := strings.CutPrefix(said, "begins "); ok {
			list = append(list, s)
		}
	}
	return list
}

// A whole tune: each step is announced, measured, written, and reported, and the last one confirms the rate.
func TestStepsOfATune(t *testing.T) {
	p := playOffline(t)
	require.NoError(t, p.steps(t.Context()))
	var want []string
	for _, s := range inOffline {
		kind, _, _ := strings.Cut(s, ":")
		want = append(want, "begins "+s, "measured "+kind)
	}
	require.Equal(t, want, p.said)
	require.Zero(t, p.abouts[inOffline[0]], "nothing is known")
	require.Equal(t, 3*time.Second, p.abouts["saturate: 16 in flight"])
	about := p.state.Goal.Duration(64) + time.Second // with its last answer
	require.Equal(t, about, p.abouts["confirm: 64 queries per second"])
	require.Equal(t, about, p.lefts[6])
	require.Zero(t, p.lefts[7])

	written, err := ReadState(p.Folder)
	require.NoError(t, err)
	require.Len(t, written.Probes, 8)
	for i, probe := range written.Probes {
		require.Equal(t, i >= 6, probe.High > 0, "three loops make an interval: %d", i)
		if i < 7 {
			require.Equal(t, filepath.Join("probes", fmt.Sprintf("%03d", i+1)), probe.Folder)
			require.FileExists(t, filepath.Join(p.Folder, probe.Folder, ProbeName))
			require.FileExists(t, filepath.Join(p.Folder, probe.Folder, record.RequestsName))
			require.Equal(t, []float64{1, 16, 32, 64, 64, 64, 64}[i], probe.Answers)
		}
	}
	last := written.Probes[7]
	require.Equal(t, filepath.Join("confirm", "1"), last.Folder)
	require.InDelta(t, 14+last.Took.Seconds(), written.SpentS, 1e-9)
	require.Equal(t, &Result{TargetQPS: 64, Low: 63, High: 64, InFlight: 64, Confirmed: true, Run: last.Folder,
		RunS: last.Took.Seconds()}, written.Result)
	require.FileExists(t, filepath.Join(p.Folder, PlotName))
}

// Each failing confirmation lowers the next rate, until there were enough of them.
func TestFailingConfirmations(t *testing.T) {
	p := playServer(t)
	require.NoError(t, p.steps(t.Context()))
	require.Equal(t, "4 confirmations failed", p.state.Result.Why)
	require.False(t, p.state.Result.Confirmed)
	require.Empty(t, p.state.Result.Run)
	rate, confirms := 1e9, 0
	for _, probe := range p.state.Probes {
		require.Equal(t, probe.Kind == Idle || probe.High == 0, probe.Low == 0)
		if probe.Kind == Confirm {
			confirms++
			require.LessOrEqual(t, probe.Rate, rate*stepDown*1.001, "rounded")
			require.Equal(t, fmt.Sprintf("confirm/%d", confirms), probe.Folder)
			rate = probe.Rate
			require.Positive(t, probe.High)
		}
	}
	require.Equal(t, mostConfirms, confirms)
	require.LessOrEqual(t, p.state.Result.TargetQPS, rate)
	begun := p.begun()
	require.Equal(t, "idle: 1 in flight", begun[0])
	require.Equal(t, "saturate: 16 in flight", begun[1])
	first := slices.IndexFunc(begun, func(s string) bool { return strings.HasPrefix(s, "r") })
	require.Contains(t, begun[first], "reference: ")
	require.Contains(t, begun[first+1], "rate: ")
}

// A server whose pace changes is no longer measured.
func TestATuneOfADriftingServer(t *testing.T) {
	p, references := playServer(t), 0
	p.harm = func(m *measured) {
		if m.Kind != Reference {
			return
		}
		if references++; references > 1 {
			m.Medians = []float64{m.Medians[0], 1.5 * m.Medians[1]}
		}
	}
	require.NoError(t, p.steps(t.Context()))
	require.Contains(t, p.state.Result.Why, "the server drifts: at the same load its pace has changed by +")
	require.False(t, p.state.Result.Confirmed)
	require.Equal(t, 2, references)
	require.NotContains(t, strings.Join(p.said, " "), "confirm")
}

// After a signal no further step begins, and the step that it stops does not count.
func TestASignalEndsATune(t *testing.T) {
	stopped := errors.New("stopped")
	for name, at := range map[string]string{"between steps": "saturate: 16 in flight",
		"in a step": "saturate: 32 in flight"} {
		t.Run(name, func(t *testing.T) {
			p := playOffline(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			p.Budget = time.Hour
			p.begins = func(s Step) {
				if name == "in a step" && s.String() == at {
					cancel(stopped)
				}
			}
			p.harm = func(m *measured) {
				if name == "between steps" && m.Concurrency == 16 { // as the step ends by itself
					cancel(stopped)
				}
			}
			require.ErrorIs(t, p.steps(ctx), stopped)
			require.Equal(t, at, p.begun()[len(p.begun())-1])
			written, err := ReadState(p.Folder)
			require.NoError(t, err)
			require.Len(t, written.Probes, 2)
			require.Nil(t, written.Result)
		})
	}
}

// The budget ends a tune before a step that it does not allow, and within a step, but never a confirming run.
func TestBudgetOfATune(t *testing.T) {
	t.Run("before a step", func(t *testing.T) {
		for budget, steps := range map[time.Duration]int{5*time.Second - 1: 1, 5 * time.Second: 2, 4 * time.Minute: 8} {
			p := playOffline(t)
			p.Budget = budget
			require.NoError(t, p.steps(t.Context()))
			require.Len(t, p.begun(), steps, budget)
			require.Equal(t, steps == 8, p.state.Result.Confirmed)
			if steps == 1 {
				require.Equal(t, "the budget of 4.999999999s is over: the next step (saturate) would take about 3s",
					p.state.Result.Why)
				require.Equal(t, 2.0, p.state.SpentS)
			}
		}
	})
	t.Run("in a step", func(t *testing.T) {
		p := playOffline(t)
		p.state.SpentS = 10 // in earlier processes
		p.Budget = 10*time.Second + 100*time.Millisecond
		p.serve = func(Step) Measured {
			<-p.within.Done()
			return Measured{}
		}
		require.NoError(t, p.steps(t.Context()))
		require.Equal(t, &Result{Why: "the budget of 10.1s is over: it stopped a step (idle)"}, p.state.Result)
		require.Equal(t, 10.1, p.state.SpentS)
		require.Equal(t, []string{"begins idle: 1 in flight"}, p.said)
	})
	t.Run("not in a confirming run", func(t *testing.T) {
		p := playOffline(t)
		p.state.Goal.Load.MinDuration = time.Millisecond
		for _, level := range []int{1, 16, 32, 64, 128, 64, 64} {
			m := Measured{Kind: Saturate, Concurrency: level, Answers: float64(min(level, 64)), Answer: time.Millisecond}
			if level == 1 {
				m.Kind = Idle
			}
			p.search.Observe(m)
		}
		p.Budget = 100 * time.Millisecond
		p.begins = func(Step) { time.Sleep(p.Budget) } // which began before
		require.NoError(t, p.steps(t.Context()))
		require.Equal(t, inOffline[7:], p.begun())
		require.True(t, p.state.Result.Confirmed)
	})
	t.Run("while it waits for a server", func(t *testing.T) {
		p := playOffline(t)
		p.Budget = time.Hour
		p.harm = func(m *measured) { m.spoiled = "failed" }
		p.awaits = func(context.Context) error { return errors.New("no server") }
		require.EqualError(t, p.steps(t.Context()), "no server")
		require.Equal(t, []string{"begins idle: 1 in flight", "repeats failed", "waits"}, p.said)
		require.Equal(t, 2.0, p.state.SpentS)

		p.Budget = p.spent() + 100*time.Millisecond
		p.serve = func(Step) Measured { return Measured{} }
		p.awaits = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		require.NoError(t, p.steps(t.Context()))
		require.Contains(t, p.state.Result.Why, "it stopped a step (idle)")
	})
}

// A spoiled step does not count, and is repeated when the servers answer again; not for ever.
func TestSpoiledSteps(t *testing.T) {
	for name, c := range map[string]struct {
		spoiled []string // by attempt; "": it counts
		lag     string   // attempts whose client was too late, as digits
		ends    string   // words at the end
		failed  bool     // with an error
	}{
		"now and then": {spoiled: []string{"a", "b", "", "c", "d", "", "e"}},
		"always": {spoiled: []string{"", "a", "b", "c"}, failed: true,
			ends: "a probe was spoiled 3 times in a row; the last time: c"},
		"the client": {spoiled: []string{"", "a", "b", "late"}, lag: "123",
			ends: "the client itself is the limit (saturate: 16 in flight): late"},
		"the client at last": {spoiled: []string{"", "a", "b", "late"}, lag: "3",
			ends: "the client itself is the limit (saturate: 16 in flight): late"},
		"the client before": {spoiled: []string{"", "a", "b", "c"}, lag: "12", failed: true,
			ends: "a probe was spoiled 3 times in a row; the last time: c"},
	} {
		t.Run(name, func(t *testing.T) {
			p, attempt := playOffline(t), 0
			p.harm = func(m *measured) {
				if attempt < len(c.spoiled) {
					m.spoiled, m.lag = c.spoiled[attempt], strings.Contains(c.lag, fmt.Sprint(attempt))
				}
				attempt++
			}
			err := p.steps(t.Context())
			written, bad := ReadState(p.Folder)
			require.NoError(t, bad)
			spoiled, said := []string{}, []string{}
			for i, probe := range written.Probes {
				if probe.Spoiled != "" {
					require.Equal(t, strings.Contains(c.lag, fmt.Sprint(i)), probe.Lag)
					require.Zero(t, probe.High)
					spoiled = append(spoiled, probe.Spoiled)
				}
			}
			for _, why := range p.said {
				if s, ok := strings.CutPrefix(why, "repeats "); ok {
					said = append(said, s)
				}
			}
			require.Equal(t, slices.DeleteFunc(c.spoiled, func(s string) bool { return s == "" }), spoiled)
			if c.ends == "" {
				require.NoError(t, err)
				require.True(t, written.Result.Confirmed)
				require.Equal(t, spoiled, said)
				require.Len(t, p.begun(), len(inOffline)+len(spoiled), "each is repeated")
				return
			}
			require.Equal(t, spoiled[:mostRepeats], said)
			if c.failed {
				require.Equal(t, exit.CodeProbeSpoiled, exit.Classify(err).Code)
				require.ErrorContains(t, err, c.ends)
				require.Nil(t, written.Result)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.ends, written.Result.Why)
		})
	}
}

// A tune ends with an error if it cannot write what it measured.
func TestATuneThatCannotWrite(t *testing.T) {
	for name, c := range map[string]struct {
		file  string // a folder lies there
		steps int    // that begin
	}{
		"tune.json": {FileName, 1}, "the folder of a step": {"probes/002/" + ProbeName, 2},
		"the requests of a step": {"probes/003/" + record.RequestsName, 3}, "the plot": {PlotName, 8},
	} {
		t.Run(name, func(t *testing.T) {
			p := playOffline(t)
			require.NoError(t, os.MkdirAll(filepath.Join(p.Folder, c.file, "x"), 0o700))
			require.ErrorContains(t, p.steps(t.Context()), filepath.Base(c.file))
			require.Len(t, p.begun(), c.steps)
		})
	}
	p := playOffline(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.Folder, "probes"), nil, 0o600))
	require.ErrorContains(t, p.steps(t.Context()), "not a directory")
	require.Empty(t, p.state.Probes)
}
