package tune

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

func offlineGoal() *Goal {
	return &Goal{Offline: true, Percentile: 0.99, Confidence: 0.95,
		Load: schedule.Load{Seed: officialSeed, MinDuration: 600 * time.Second, MinQueries: 5000}}
}

// A server with 256 slots and 128 tokens of 20 ms answers at most 100 requests per second, however many are in flight.
func TestOfflineFindsTheThroughput(t *testing.T) {
	for seed := range uint64(10) {
		o, steps, _ := searchVirtually(shapes[0], offlineGoal(), seed)
		require.True(t, o.Confirmed, o.Why)
		require.InEpsilon(t, 100, o.Rate, 0.05)
		require.LessOrEqual(t, o.Low, o.High)
		require.GreaterOrEqual(t, o.InFlight, 256)
		last := steps[len(steps)-1]
		require.True(t, last.Valid)
		require.InEpsilon(t, 100, last.Answers, 0.1)
	}
}

// The user's number of requests in flight is kept, and measured three times.
func TestOfflineKeepsTheUsersWindow(t *testing.T) {
	for _, n := range []int{1, 64} {
		g := offlineGoal()
		g.InFlight = n
		o, steps, _ := searchVirtually(shapes[0], g, 1)
		require.True(t, o.Confirmed)
		require.Equal(t, n, o.InFlight)
		require.InEpsilon(t, 100*float64(n)/256, o.Rate, 0.5, "%d of the 256 slots", n)
		require.Len(t, steps, 1+settledLoops+1)
	}
}

// offline runs a search. Its closed loops have the given answers per second, by requests in flight, and so have its
// confirming runs.
func offline(loops func(level int) float64, runs ...float64) (*Outcome, int) {
	s, confirms := NewSearch(offlineGoal(), everySample), 0
	for step := s.Next(); step.Kind != Finished; step = s.Next() {
		m := Measured{Kind: step.Kind, Rate: step.Rate, Concurrency: step.Concurrency}
		if m.Kind == Confirm {
			m.Answers = runs[min(confirms, len(runs)-1)]
			m.Valid = float64(s.goal.Queries(step.Rate))/m.Answers >= 600
			confirms++
		} else {
			m.Answers = loops(step.Concurrency)
		}
		s.Observe(m)
	}
	return s.Outcome(), confirms
}

func TestOfflineOutcomes(t *testing.T) {
	steady := func(level int) float64 { return min(float64(level), 100) }
	o, confirms := offline(steady, 120, 118)
	require.True(t, o.Confirmed)
	require.Equal(t, 2, confirms, "the first run was over before 600 s")
	require.InDelta(t, 120, o.Rate, 1e-9, "what the first run achieved")
	require.LessOrEqual(t, o.Low, 118.0)
	require.GreaterOrEqual(t, o.High, 118.0)

	o, confirms = offline(steady, 200, 300, 500, 900)
	require.False(t, o.Confirmed)
	require.Equal(t, mostConfirms, confirms)
	require.Equal(t, "4 confirmations failed", o.Why)

	o, _ = offline(func(level int) float64 { return float64(level) })
	require.Contains(t, o.Why, "the server was not saturated by 16384 requests in flight")
	require.Zero(t, o.High, "unknown")

	calls := 0
	o, _ = offline(func(level int) float64 {
		calls++
		if calls <= 6 { // the throughput has not stopped growing
			return steady(level)
		}
		return steady(level) / float64(1+calls%2)
	})
	require.Contains(t, o.Why, "the server drifts: with 128 requests in flight it answers 50 to 100 per second")
	require.False(t, o.Confirmed)
	require.Equal(t, 6+mostLoops-1, calls)

	calls = 0
	o, _ = offline(func(level int) float64 {
		calls++
		if calls == 5 { // the first loop with 128
			return 60
		}
		return steady(level)
	}, 100)
	require.True(t, o.Confirmed, "a loop that was slow by chance: %s", o.Why)
}

// Quantiles of Student's t distribution with two degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods,
// 1.3.6.7.2).
func TestStudentWithTwoDegrees(t *testing.T) {
	for p, want := range map[float64]float64{0.9: 1.886, 0.95: 2.920, 0.975: 4.303, 0.99: 6.965} {
		require.InDelta(t, want, student2(p), 5e-4)
	}
}

// If other percentiles than the 99th are limited, half of a run's queries may be late, or more.
func TestPercentilesOfGenericModels(t *testing.T) {
	for _, percentile := range []float64{0.3, 0.5, 0.9} {
		g := shapes[0].goal()
		g.Percentile, g.Load.MinDuration = percentile, 100*time.Second
		o, steps, _ := searchVirtually(shapes[0], g, 1)
		require.True(t, o.Confirmed, "%v: %s", percentile, o.Why)
		require.True(t, steps[len(steps)-1].Valid)
		require.Greater(t, o.Rate, 75.0, "of a capacity of 100, at the percentile %v", percentile)
	}
}
