package tune

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/run/child"
)

// What a probe may have measured, by its kind, at the edge of each bound and beside it.
func TestProbesThatAreRejected(t *testing.T) {
	below := math.Nextafter(maxRate, 0)
	two := make([]float64, 2)
	figures := func(k Kind) Measured {
		m := Measured{Kind: k, Answers: 1, Rate: 1, Concurrency: 1, Counts: make([]Count, 2), Medians: two, Tails: two}
		if k == Confirm {
			m.Medians, m.Tails = nil, nil
		}
		return m
	}
	for name, c := range map[string]struct {
		change func(m *Measured)
		fails  string // kinds that it makes impossible
	}{
		"unchanged":      {func(*Measured) {}, ""},
		"no answers":     {func(m *Measured) { m.Answers = 0 }, "saturate"},
		"fewer than no":  {func(m *Measured) { m.Answers = -0.1 }, "idle saturate reference rate confirm"},
		"most answers":   {func(m *Measured) { m.Answers = below }, ""},
		"more answers":   {func(m *Measured) { m.Answers = maxRate }, "idle saturate reference rate confirm"},
		"NaN answers":    {func(m *Measured) { m.Answers = math.NaN() }, "idle saturate reference rate confirm"},
		"no rate":        {func(m *Measured) { m.Rate = 0 }, "reference rate confirm"},
		"most rate":      {func(m *Measured) { m.Rate = below }, ""},
		"more rate":      {func(m *Measured) { m.Rate = maxRate }, "reference rate confirm"},
		"NaN rate":       {func(m *Measured) { m.Rate = math.NaN() }, "reference rate confirm"},
		"none in flight": {func(m *Measured) { m.Concurrency = 0 }, "saturate"},
		"most in flight": {func(m *Measured) { m.Concurrency = mostConcurrency }, ""},
		"more in flight": {func(m *Measured) { m.Concurrency = mostConcurrency + 1 }, "saturate"},
		"one count":      {func(m *Measured) { m.Counts = m.Counts[:1] }, "idle saturate reference rate confirm"},
		"three counts":   {func(m *Measured) { m.Counts = make([]Count, 3) }, "idle saturate reference rate confirm"},
		"one median":     {func(m *Measured) { m.Medians = two[:1] }, "idle saturate reference rate"},
		"one tail":       {func(m *Measured) { m.Tails = two[:1] }, "idle saturate reference rate"},
		"queries":        {func(m *Measured) { m.Counts[1].Queries = -1 }, "idle saturate reference rate confirm"},
		"late":           {func(m *Measured) { m.Counts[1].Late = -1 }, "idle saturate reference rate confirm"},
		"full":           {func(m *Measured) { m.Counts[1].Full = -0.1 }, "idle saturate reference rate confirm"},
		"most full":      {func(m *Measured) { m.Counts[1].Full = 1e12 - 1 }, ""},
		"more full":      {func(m *Measured) { m.Counts[1].Full = 1e12 }, "idle saturate reference rate confirm"},
		"NaN full":       {func(m *Measured) { m.Counts[1].Full = math.NaN() }, "idle saturate reference rate confirm"},
		"another kind":   {func(m *Measured) { m.Kind += "x" }, "idle saturate reference rate confirm"},
	} {
		for _, k := range []Kind{Idle, Saturate, Reference, Rate, Confirm} {
			m := figures(k)
			c.change(&m)
			fails := false
			for _, word := range words(c.fails) {
				fails = fails || word == string(k)
			}
			err := m.check(2)
			require.Equal(t, fails, err != nil, "%s of kind %s: %v", name, k, err)
			// A state rejects it too, unless the probe is spoiled.
			s := &State{Goal: *statedGoal(), Probes: []Probe{{Measured: m}}}
			require.Equal(t, fails, s.check() != nil)
			s.Probes[0].Spoiled = "by a step of the clock"
			require.NoError(t, s.check())
		}
	}
}

func words(text string) (list []string) {
	word := ""
	for _, c := range text + " " {
		if c != ' ' {
			word += string(c)
		} else if word != "" {
			list, word = append(list, word), ""
		}
	}
	return list
}

func statedGoal() *Goal {
	return &Goal{Percentile: 0.99, Confidence: 0.95, Limits: []Limit{{TTFT, time.Second}, {TPOT, time.Second}}}
}

// The run of a result lies below the tune's folder.
func TestRunsOfAState(t *testing.T) {
	for run, ok := range map[string]bool{"": true, "run": true, "a/b": true, "../run": false, "/run": false,
		"a/../..": false} {
		err := (&State{Goal: *statedGoal(), Result: &Result{Run: run}}).check()
		require.Equal(t, ok, err == nil, "%q", run)
	}
	require.NoError(t, (&State{Goal: *statedGoal()}).check())
	require.Error(t, (&State{}).check(), "its goal is invalid")
}

// A tune continues with an equal goal only.
func TestEqualGoals(t *testing.T) {
	require.True(t, statedGoal().equal(statedGoal()))
	for name, change := range map[string]func(g *Goal){
		"Offline": func(g *Goal) { g.Offline = true }, "in flight": func(g *Goal) { g.InFlight = 1 },
		"percentile": func(g *Goal) { g.Percentile = 0.9 }, "limits": func(g *Goal) { g.Limits = g.Limits[:1] },
		"a limit": func(g *Goal) { g.Limits[1].Limit++ }, "load": func(g *Goal) { g.Load.Set = 1 },
		"confidence": func(g *Goal) { g.Confidence = 0.9 },
	} {
		g := statedGoal()
		change(g)
		require.False(t, g.equal(statedGoal()), name)
		require.False(t, statedGoal().equal(g), name)
	}
}

// A tune continues with the same terms only, and the error names those that differ.
func TestSameTunes(t *testing.T) {
	state := func() *State {
		return &State{Model: "m", Scenario: "Server", Dataset: "12ab", Settings: []string{"--samples=3"}, Goal: *statedGoal()}
	}
	require.True(t, state().same(state()))
	for name, change := range map[string]func(s *State){
		"--model=": func(s *State) { s.Model = "n" }, "--scenario=": func(s *State) { s.Scenario = "Interactive" },
		"SHA-256 of the data set=": func(s *State) { s.Dataset = "34cd" },
		"--samples=":               func(s *State) { s.Settings = []string{"--samples=4"} },
		"--confidence=":            func(s *State) { s.Goal.Confidence = 0.9 },
	} {
		s := state()
		change(s)
		require.False(t, s.same(state()), name)
		require.Contains(t, child.Differences(state().terms(), s.terms()), "before "+name)
	}
}

// A limit is missed for good above half of the queries, or above the share that a run may have.
func TestMissedLimits(t *testing.T) {
	for _, c := range []struct {
		percentile    float64
		late, queries int
		want          bool
	}{{0.99, 50, 100, false}, {0.99, 51, 100, true}, {0.5, 50, 100, false}, {0.3, 70, 100, false}, {0.3, 71, 100, true},
		{0.99, 0, 0, false}} {
		got := (&Goal{Percentile: c.percentile}).missed(Count{Late: c.late, Queries: c.queries})
		require.Equal(t, c.want, got, "%+v", c)
	}
}

// The length of the full run at a rate.
func TestLengthOfTheRun(t *testing.T) {
	g := &Goal{Offline: true, Load: schedule.Load{MinQueries: 100, MinDuration: 10 * time.Second}}
	require.Equal(t, 100, g.Queries(1))
	require.Equal(t, int(math.Ceil(slack*20*10)), g.Queries(20))
	require.Equal(t, 100*time.Second, g.Duration(1))
	g.Offline = false
	require.InDelta(t, 1000, g.Queries(100), 150, "a random number of about 10 s")
	require.InDelta(t, 100, g.Queries(1), 1)
}

// A time has at most four digits in the unit of the limits beside it.
func TestShownTimes(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 0.0000014: "1µs", 0.009999: "9.999ms", 0.0099994: "9.999ms",
		0.01: "10ms", 0.0123456: "12.35ms", 0.123456: "123.5ms", 1.23456: "1.235s", 12.3456: "12.35s", 123.456: "2m3.5s"} {
		require.Equal(t, want, shown(s).String(), s)
	}
}

// The pace is that of tokens if they are limited, and else of whole answers.
func TestDriftOfTheServer(t *testing.T) {
	reference := func(answer time.Duration, tpot float64) Measured {
		return Measured{Kind: Reference, Answer: answer, Medians: []float64{9, tpot}}
	}
	for _, c := range []struct {
		limits   []Limit
		measured []Measured
		want     float64
	}{
		{statedGoal().Limits, nil, 0},
		{statedGoal().Limits, []Measured{reference(1, 0.02)}, 0},
		{statedGoal().Limits, []Measured{reference(1, 0.02), {Kind: Rate, Medians: []float64{9, 7}},
			reference(9, 0.03)}, 0.5},
		{statedGoal().Limits[:1], []Measured{reference(time.Second, 0.02), reference(3*time.Second, 0.02)}, 2},
		{statedGoal().Limits, []Measured{reference(1, 0), reference(1, 0.5)}, 0},
	} {
		s := &Search{goal: &Goal{Limits: c.limits}, measured: c.measured}
		require.InDelta(t, c.want, s.drift(), 1e-9, "%+v", c.measured)
	}
}

func TestQuantiles(t *testing.T) {
	require.Zero(t, quantile(nil, 0.5))
	list := []time.Duration{4, 1, 3, 2}
	for p, want := range map[float64]time.Duration{0: 1, 0.24: 1, 0.25: 2, 0.5: 3, 0.75: 4, 0.99: 4, 1: 4} {
		require.Equal(t, want, quantile(list, p), p)
	}
}
