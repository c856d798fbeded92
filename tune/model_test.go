package tune

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

// On a server without noise, the simulated run has the same late queries as the virtual server itself.
func TestReplayOfAVirtualServer(t *testing.T) {
	sh := shapes[1]
	sh.noise = 0
	g := sh.goal()
	v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(1, 1))}
	const rate = 60.5
	queries := g.Queries(rate)
	r := replay{model: &model{goal: g, limit: sh.tpot, window: 2.5, base: sh.base, per: sh.per, first: 0.05}}
	for i, d := range schedule.ServerDeltas(officialSeed, rate, queries) {
		r.due = append(r.due, float64(d)/1e9)
		r.tokens = append(r.tokens, v.length(i, 0))
	}
	r.extra = 0.45 // the server computes while the first token is on its way
	served := v.measure(g, Step{Kind: Confirm, Rate: rate}).Counts[1].Late
	require.Greater(t, served, 100)
	require.InEpsilon(t, served, r.late(queries, []float64{1}), 0.1)
	for _, bucket := range r.byEnd {
		require.Empty(t, bucket, "all have ended")
	}
	r.extra, r.base = 0, sh.base/2
	require.Less(t, r.late(queries, []float64{1}), served/2, "a faster server")
	require.Greater(t, r.late(queries, []float64{2}), served, "a slower one")
}

// The windows of a closed loop and of a probe show the time per token of the virtual server for its requests in flight,
// and how long the answers are.
func TestWindowsOfAVirtualServer(t *testing.T) {
	sh := shapes[2]
	g := sh.goal()
	v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(2, 1))}
	for _, step := range []Step{{Kind: Saturate, Concurrency: 1024, Queries: 3072},
		{Kind: Rate, Rate: 58, Queries: 8000, Answer: 6 * time.Second, Whole: true}} {
		m := v.measure(g, step)
		require.Greater(t, len(m.Paces), 12)
		var off []float64
		for _, p := range m.Paces {
			off = append(off, math.Log(p.PerToken/(sh.base+sh.per*p.InFlight)))
		}
		mean, deviation := moments(off)
		require.InDelta(t, 0, mean, 0.03)
		require.InDelta(t, sh.noise, deviation, 0.02)
		require.InDelta(t, 0.45, m.Extra, 0.3)
		require.InDelta(t, 0.05, m.First, 1e-6)
		n := 0
		m.Lengths.each(func(sample, tokens int) {
			n++
			require.InDelta(t, 1, v.length(sample, 0)/float64(tokens), 0.2)
		})
		require.Greater(t, n, 3000)
	}
}

// A model needs windows near the limit, and a time per token that grows with the requests in flight.
func TestServersWithoutAModel(t *testing.T) {
	g := shapes[2].goal()
	for name, c := range map[string]struct {
		pace func(i int) Pace
		ok   bool
	}{
		"like the model":     {func(i int) Pace { return Pace{float64(10 * i), 0.02 + 0.001*float64(i)} }, true},
		"far from the limit": {func(i int) Pace { return Pace{float64(i), 0.02 + 0.0001*float64(i)} }, false},
		"always as fast":     {func(i int) Pace { return Pace{float64(10 * i), 0.1} }, false},
		"faster with load":   {func(i int) Pace { return Pace{float64(10 * i), 0.2 - 0.001*float64(i)} }, false},
		"nothing":            {func(int) Pace { return Pace{10, 0.1} }, false},
	} {
		m := Measured{Kind: Saturate, Lengths: Lengths{5, 6}}
		for i := range 100 {
			m.Paces = append(m.Paces, c.pace(i))
		}
		require.Equal(t, c.ok, newModel(g, []Measured{m}) != nil, name)
		if m.First = 0.3; c.ok {
			tokensOnly := &Goal{Limits: []Limit{{TPOT, time.Duration(shapes[2].tpot * float64(time.Second))}}}
			require.InDelta(t, 0.3, newModel(tokensOnly, []Measured{m}).first, 0, "without a limit of the first token too")
		}
		m.Lengths = nil
		require.Nil(t, newModel(g, []Measured{m}), name)
	}
	require.Nil(t, newModel(g, nil))
	require.Nil(t, newModel(&Goal{Limits: []Limit{{TTFT, time.Second}}}, nil))
}

// Lengths are read as they were written, also from a damaged file.
func TestLengthsOfAnswers(t *testing.T) {
	l := lengthsOf([]reply{{sample: 3, tokens: 700}, {sample: 0, tokens: 1}})
	got := map[int]int{}
	l.each(func(sample, tokens int) { got[sample] = tokens })
	require.Equal(t, map[int]int{0: 1, 3: 700}, got)
	Lengths{5, 0x80}.each(func(sample, tokens int) { require.Equal(t, []int{0, 5}, []int{sample, tokens}) })
	longest := Lengths{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	longest.each(func(_, tokens int) { require.Equal(t, mostTokens, tokens) })
}

// Answers of the same length tell nothing of extra tokens, but their windows show the pace.
func TestAnswersOfTheSameLength(t *testing.T) {
	var replies []reply
	for i := range 2 * manyReplies {
		at := float64(i) / 20
		replies = append(replies, reply{due: at, first: at + 0.1, end: at + 3.2, tokens: 32})
	}
	paces, extra := pacesOf(replies, 0, 2.5)
	require.Zero(t, extra)
	require.Greater(t, len(paces), 15)
	for _, p := range paces {
		require.InDelta(t, 0.1, p.PerToken, 5e-3)
	}
}

// Replies with impossible times are left out, and a step without replies or too short has no windows.
func TestStepsWithoutWindows(t *testing.T) {
	whole := reply{due: 0, first: 1, end: 3, tokens: 5}
	for name, c := range map[string]struct {
		replies []reply
		window  float64
	}{
		"nothing":       {nil, 1},
		"no limit":      {[]reply{whole}, 0},
		"too short":     {[]reply{whole}, 4},
		"too long":      {[]reply{whole}, 0.001},
		"no first":      {[]reply{{due: 1, first: -1, end: 3, tokens: 5}}, 1},
		"a single one":  {[]reply{{due: 0, first: 1, end: 3, tokens: 1}}, 1},
		"ends too soon": {[]reply{{due: 0, first: 3, end: 2, tokens: 5}}, 1},
	} {
		paces, extra := pacesOf(c.replies, 1, c.window)
		require.Empty(t, paces, name)
		require.Zero(t, extra, name)
	}
	paces, _ := pacesOf([]reply{whole, {first: 1, end: 2, tokens: 3}, {first: 0, end: 3, tokens: 7}}, 2, 1)
	require.Len(t, paces, 2, "the last window is left out")
	require.InDelta(t, 0.5, paces[1].PerToken, 1e-6)
}

// Late queries that contradict the model make the search go on without it.
func TestAModelThatIsContradicted(t *testing.T) {
	sh := shapes[1]
	g := sh.goal()
	v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(3, 7))}
	s := NewSearch(g, everySample)
	step := s.Next()
	for ; step.Kind != Rate; step = s.Next() {
		s.Observe(v.measure(g, step))
	}
	require.True(t, step.Whole)
	m := v.measure(g, step)
	agreeing := NewSearch(g, everySample)
	for _, m := range append(s.measured, m) {
		agreeing.Next()
		agreeing.Observe(m)
	}
	require.NotNil(t, agreeing.turning)
	low, high, _ := agreeing.Interval()
	require.InDelta(t, agreeing.turning.rate, math.Sqrt(low*high), 1)
	require.InDelta(t, agreeing.turning.rate*0.986, agreeing.candidate(), 0.3)
	require.Greater(t, low, 0.96*high)
	m.Counts[0].Full = 0.9 * float64(g.Queries(step.Rate)) // most first tokens are late
	s.Observe(m)
	require.Nil(t, s.turning)
	require.Equal(t, Rate, nextRate(s, v).Kind)
}

// nextRate returns the next step that is not a reference probe.
func nextRate(s *Search, v *virtual) Step {
	step := s.Next()
	for ; step.Kind == Reference; step = s.Next() {
		s.Observe(v.measure(s.goal, step))
	}
	return step
}
