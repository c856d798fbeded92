package accuracy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A result passes if every required metric is present and within its bounds, inclusive, and no answer is unscored or in
// doubt.
func TestWhatPasses(t *testing.T) {
	targets := []Target{{Metric: "low", Min: 38.391408}, {Metric: "range", Min: 10, Max: 20}, {Metric: "high", Max: 5},
		{Metric: "extra", Min: 1, Optional: true}}
	above, below := func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) },
		func(v float64) float64 { return math.Nextafter(v, 0) }
	whole := map[string]float64{"low": 50, "range": 15, "high": 1, "extra": 2, "without a target": -1}
	with := func(name string, v float64) map[string]float64 {
		out := map[string]float64{name: v}
		for n, old := range whole {
			if n != name {
				out[n] = old
			}
		}
		return out
	}
	without := func(name string) map[string]float64 {
		out := with(name, 0)
		delete(out, name)
		return out
	}
	for _, c := range []struct {
		name    string
		metrics map[string]float64
		short   []string // metrics below their target
		pass    bool
	}{
		{"all within", whole, nil, true},
		{"at the lower edge", with("low", 38.391408), nil, true},
		{"just below it", with("low", below(38.391408)), []string{"low"}, false},
		{"at the lower edge of a range", with("range", 10), nil, true},
		{"at the upper edge of a range", with("range", 20), nil, true},
		{"just below a range", with("range", below(10)), []string{"range"}, false},
		{"just above a range", with("range", above(20)), []string{"range"}, false},
		{"at the upper edge", with("high", 5), nil, true},
		{"just above it", with("high", above(5)), []string{"high"}, false},
		{"no number", with("low", math.NaN()), []string{"low"}, false},
		{"an optional one is missing", without("extra"), nil, true},
		{"an optional one is low", with("extra", below(1)), []string{"extra"}, false},
	} {
		r := &Result{}
		for name, v := range c.metrics {
			r.Metrics = append(r.Metrics, floatMetric(name, v))
		}
		r.judge(targets, 0)
		require.NotNil(t, r.Pass, c.name)
		require.Equal(t, c.pass, *r.Pass, c.name)
		require.Equal(t, c.pass, r.Reached(false), c.name)
		var short []string
		for _, m := range r.Short(false) {
			short = append(short, m.Name)
		}
		require.Equal(t, c.short, short, c.name)
	}
	for _, c := range []struct {
		name string
		r    Result
	}{
		{"answers are unscored", Result{Unscored: []Unscored{{Subset: "MBXP", Samples: 1, Why: "w"}}}},
		{"the log is in doubt", Result{Unclaimed: []string{"doubt"}}},
	} {
		for name, v := range whole {
			c.r.Metrics = append(c.r.Metrics, floatMetric(name, v))
		}
		c.r.judge(targets, 0)
		require.Nil(t, c.r.Pass, c.name)
		require.False(t, c.r.Reached(false), c.name)
		require.False(t, c.r.Reached(true), c.name)
	}
	for _, name := range []string{"low", "range", "high"} {
		r := &Result{}
		for n, v := range without(name) {
			r.Metrics = append(r.Metrics, floatMetric(n, v))
		}
		rehearsal := *r
		r.judge(targets, 0)
		require.Nil(t, r.Pass, name)
		require.False(t, r.Reached(false), name)
		require.Len(t, r.Unclaimed, 1)
		require.Contains(t, r.Unclaimed[0], "targets for "+name+",", "a test with a metric too few is not valid")
		// A rehearsal's data set may lack a part, but such a result still claims no pass.
		rehearsal.Rehearsal = true
		rehearsal.judge(targets, 0)
		require.Empty(t, rehearsal.Unclaimed)
		require.False(t, *rehearsal.Pass)
	}
}
