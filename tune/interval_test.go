package tune

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// probed returns a search that has measured a rate, and whose reference probes had these times per token.
func probed(paces ...float64) *Search {
	s := NewSearch(shape{ttft: 2, tpot: 0.1}.goal(), everySample)
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
	_, _, ok = NewSearch(shape{ttft: 2, tpot: 0.1}.goal(), everySample).Interval()
	require.False(t, ok, "nothing was measured")
}

// A tune whose budget is over has the interval and the best guess so far, and is not confirmed.
func TestBudgetIsOver(t *testing.T) {
	s := probed()
	low, high, _ := s.Interval()
	require.Equal(t, &Outcome{Rate: s.candidate(), Low: low, High: high, Why: "the budget of 2h0m0s is over: too long"},
		s.overBudget(2*time.Hour, "too long"))
	o := NewSearch(s.goal, everySample).overBudget(time.Second, "")
	require.Zero(t, o.High, "nothing was measured")
	require.Zero(t, o.Rate)

	offline := NewSearch(offlineGoal(), everySample)
	offline.Observe(Measured{Kind: Idle, Concurrency: 1, Answers: 1})
	for range settledLoops {
		offline.Observe(Measured{Kind: Saturate, Concurrency: 16, Answers: 10})
	}
	o = offline.overBudget(time.Minute, "")
	require.Equal(t, []float64{10, 10, 10, 16}, []float64{o.Rate, o.Low, o.High, float64(o.InFlight)})
	require.False(t, o.Confirmed)
}

// A step that the budget stops ends the tune with the results so far. Any other end of a step is an error.
func TestAStepThatTheBudgetStops(t *testing.T) {
	failure := errors.New("no space")
	begin := func(budget time.Duration) (*tuner, context.Context, context.CancelFunc) {
		s := probed()
		tn := &tuner{search: s, state: &State{Goal: *s.goal, SpentS: 3600}, Options: Options{Budget: budget,
			Folder: t.TempDir(), Plan: &plan.Plan{Test: &plan.Test{Config: config.New(config.RunSettings())}}}}
		ctx, stop := tn.bounded(t.Context())
		return tn, ctx, stop
	}
	for _, budget := range []time.Duration{0, 2 * time.Hour} {
		tn, ctx, stop := begin(budget)
		require.NoError(t, ctx.Err(), "%v", budget)
		require.Equal(t, failure, tn.stopped(ctx, Step{Kind: Saturate}, failure), "%v", budget)
		require.Nil(t, tn.state.Result)
		stop()
	}
	tn, ctx, stop := begin(time.Hour)
	defer stop()
	require.Error(t, ctx.Err(), "earlier processes of the tune have spent it")
	require.NoError(t, tn.stopped(ctx, Step{Kind: Saturate}, failure))
	require.Equal(t, "the budget of 1h0m0s is over: it stopped a step (saturate)", tn.state.Result.Why)
	require.False(t, tn.state.Result.Confirmed)
	require.Positive(t, tn.state.Result.High)
	require.FileExists(t, filepath.Join(tn.Folder, FileName))
}
