package tune

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

func TestJudge(t *testing.T) {
	const full = 20_000 // LoadGen accepts 167 late queries of them
	for _, c := range []struct {
		queries, late int
		want          Decision
	}{
		{300, 0, Neither}, // too few queries for a decision
		{600, 0, WouldPass},
		{2000, 16, Neither},
		{10_000, 50, WouldPass},
		{10_000, 90, Neither},
		{10_000, 168, WouldFail}, // more than the whole run may have
		{full, 167, WouldPass},   // the whole run, by LoadGen's rule
	} {
		j := NewJudge(0.99, full, 0.95)
		require.Equal(t, 167, j.bearable)
		require.Equal(t, c.want, j.Look(c.queries, c.late), "%+v", c)
	}
	short := NewJudge(0.99, 500, 0.95)
	require.Equal(t, WouldFail, short.Look(100, 1), "a run of 500 bears no late query")
	require.Equal(t, WouldPass, short.Look(500, 0))
}

// Each look may use half of the remaining error.
func TestLooksShareTheError(t *testing.T) {
	j := NewJudge(0.99, 20_000, 0.95)
	sum := 0.0
	for range 50 {
		j.Look(1, 0)
		sum += 0.05 / float64(uint64(1)<<j.looks)
	}
	require.Less(t, sum, 0.05+1e-9)
}

func TestHardestIsTheDensestPartOfTheSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qps := rapid.Float64Range(1, 200).Draw(t, "qps")
		n := rapid.IntRange(10, 3000).Draw(t, "n")
		answer := time.Duration(rapid.IntRange(100, 5000).Draw(t, "answer ms")) * time.Millisecond
		deltas := schedule.ServerDeltas(officialSeed, qps, n)
		all := Hardest(deltas, int64(answer), 10*n)
		counted, seen := 0, map[int]bool{}
		for i, a := range all {
			if i > 0 {
				require.GreaterOrEqual(t, a.AtNS, all[i-1].AtNS, "in order of time")
				require.GreaterOrEqual(t, a.Part, all[i-1].Part)
			}
			if a.Counted {
				counted++
				require.False(t, seen[a.Query], "each query counts once")
				seen[a.Query] = true
			}
		}
		require.Equal(t, n, counted, "all parts together are the whole run")
		require.Equal(t, all[:len(all)/2], Hardest(deltas, int64(answer), len(all)/2))
	})
}

func TestMeterTakesAnyOrder(t *testing.T) {
	g := &Goal{Percentile: 0.99, Confidence: 0.95, Limits: []Limit{{TTFT, time.Second}},
		Load: schedule.Load{Seed: 1, MinQueries: 1000}}
	m := NewMeter(g, 10, everyCounted(4))
	for _, seq := range []int{3, 0, 0, 1} {
		m.Ended(seq, []time.Duration{time.Duration(seq) * time.Second})
	}
	count := m.Counts()[0]
	require.Equal(t, []int{3, 1}, []int{count.Queries, count.Late}, "each query counts once")
	m.Ended(2, []time.Duration{0})
	require.Equal(t, 4, m.Counts()[0].Queries)
}

// The late queries in the rest of a schedule, computed by hand. The number goes on falling from part to part as it fell
// from the harder half of the parts to the easier one; with only two parts it falls by usualFall.
func TestExtrapolate(t *testing.T) {
	for name, c := range map[string]struct {
		late, queries []int
		full          int
		want          float64
	}{
		"no part was begun":      {[]int{0, 0}, []int{0, 0}, 100, 0},
		"the whole schedule":     {[]int{4, 2}, []int{50, 50}, 100, 6},
		"two parts are left":     {[]int{4, 2}, []int{50, 50}, 200, 6 + 1.4 + .98},
		"half a part is left":    {[]int{4, 2}, []int{50, 50}, 125, 6 + 1.4/2},
		"three parts":            {[]int{9, 6, 3}, []int{50, 50, 50}, 200, 18 + 4.5*.6},
		"four parts":             {[]int{8, 8, 2, 2}, []int{10, 10, 10, 10}, 60, 20 + 1 + .5},
		"it never rises":         {[]int{1, 1, 4}, []int{10, 10, 10}, 40, 6 + 2.5},
		"a part not begun":       {[]int{4, 2, 0}, []int{50, 50, 0}, 150, 6 + 1.4},
		"a part hardly begun":    {[]int{4, 2, 0}, []int{50, 50, 10}, 160, 6 + 1.4},
		"a part begun by half":   {[]int{8, 4, 2}, []int{50, 50, 25}, 125, 14},
		"one part and no second": {[]int{4}, []int{50}, 100, 4 + 2.8},
		"one query is left":      {[]int{4, 2}, []int{50, 50}, 101, 6 + 1.4/50},
		"late in the last alone": {[]int{0, 0, 3}, []int{10, 10, 10}, 40, 3 + 1.5*usualFall},
		"nothing was late":       {[]int{0, 0, 0}, []int{10, 10, 10}, 100, 0},
	} {
		require.InDelta(t, c.want, extrapolate(c.late, c.queries, c.full), 1e-9, name)
	}
}

// Without late queries that a run may have, half a query is the share, of however few queries.
func TestBearableShares(t *testing.T) {
	for queries, want := range map[int]float64{0: 0.5, 1: 0.5, 2: 0.25, 5: 0.1} {
		require.InDelta(t, want, Bearable(0.99, queries), 1e-12, queries)
	}
}

// A probe that passed fails after all if queries that were still in flight are late.
func TestTheLastAnswersCount(t *testing.T) {
	g := &Goal{Percentile: 0.99, Confidence: 0.95, Limits: []Limit{{TTFT, time.Second}},
		Load: schedule.Load{Seed: 1, MinQueries: 1000}}
	m := NewMeter(g, 10, everyCounted(1000))
	bearable := m.judges[0].bearable
	require.Positive(t, bearable)
	for seq := range bearable {
		m.Ended(seq, []time.Duration{2 * time.Second})
	}
	require.Equal(t, WouldPass, m.Final(WouldPass))
	require.Equal(t, Neither, m.Final(Neither))
	m.Ended(bearable, []time.Duration{2 * time.Second})
	require.Equal(t, WouldFail, m.Final(WouldPass))
}

func FuzzState(f *testing.F) {
	s := State{Schema: Schema, Kind: "tune", Goal: *shapes[0].goal(), Probes: []Probe{{Measured: Measured{Kind: Saturate,
		Concurrency: 16, Answers: 20, Counts: make([]Count, 2), Medians: make([]float64, 2), Tails: make([]float64, 2)}}}}
	text, err := json.Marshal(s)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"schema":"mlperf-go/tune/1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := stateFile.Parse(text)
		if err != nil {
			return
		}
		for i := range s.Probes {
			require.NoError(t, s.Probes[i].check(len(s.Goal.Limits)))
		}
	})
}
