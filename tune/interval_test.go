package tune

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// probed returns a search that has measured a rate, and whose reference probes had these times per token.
func probed(paces ...float64) *Search {
	s := NewSearch(shape{ttft: 2, tpot: 0.1}.goal())
	s.capacity, s.met = 100, 100
	full := 0.01 * float64(s.goal.Queries(50)) // as many late queries as a valid run may have
	s.measured = append(s.measured, Measured{Kind: Rate, Rate: 50, Counts: []Count{{Full: full}, {Full: full}}})
	for _, pace := range paces {
		s.measured = append(s.measured, Measured{Kind: Reference, Rate: 50, Medians: []float64{1, pace}})
	}
	s.draw(10)
	return s
}

// If the pace of the reference probes changes by more than 5 %, slower or faster, the interval is wider by as much.
func TestDriftWidensTheInterval(t *testing.T) {
	low, high, ok := probed().Interval()
	require.True(t, ok)
	require.Less(t, low, high)
	for last, wider := range map[float64]float64{0.020: 1, 0.0209: 1, 0.0191: 1, 0.024: 1.2, 0.017: 1.15} {
		l, h, _ := probed(0.02, last).Interval()
		require.InEpsilon(t, low/wider, l, 1e-9, "%v", last)
		require.InEpsilon(t, high*wider, h, 1e-9, "%v", last)
	}
	_, _, ok = NewSearch(shape{ttft: 2, tpot: 0.1}.goal()).Interval()
	require.False(t, ok, "nothing was measured")
}

// A tune whose budget is over has the interval and the best guess so far, and is not confirmed.
func TestBudgetIsOver(t *testing.T) {
	s := probed()
	step := Step{Kind: Confirm, Rate: 50}
	low, high, _ := s.Interval()
	require.Equal(t, &Outcome{Rate: s.candidate(), Low: low, High: high,
		Why: "the budget of 2h0m0s is over: the next step (confirm) would take about 10m5s"},
		s.overBudget(2*time.Hour, step, 10*time.Minute+5*time.Second))
	o := NewSearch(s.goal).overBudget(time.Second, Step{Kind: Idle}, 0)
	require.Zero(t, o.High, "nothing was measured")
	require.Zero(t, o.Rate)

	offline := NewSearch(offlineGoal())
	offline.Observe(Measured{Kind: Idle, Concurrency: 1, Answers: 1})
	for range settledLoops {
		offline.Observe(Measured{Kind: Saturate, Concurrency: 16, Answers: 10})
	}
	o = offline.overBudget(time.Minute, step, time.Minute)
	require.Equal(t, []float64{10, 10, 10, 16}, []float64{o.Rate, o.Low, o.High, float64(o.InFlight)})
	require.False(t, o.Confirmed)
}
