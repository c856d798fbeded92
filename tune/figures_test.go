package tune

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The answers per second of a closed loop count from the first third of its answers on, when it has settled.
func TestFiguresOfAStep(t *testing.T) {
	goal := &Goal{Percentile: 0.9, Limits: []Limit{{TTFT, time.Second}}}
	for concurrency, want := range map[int]float64{1: 2, 8: 2, 0: 0} {
		f := newFigures(goal, Step{Concurrency: concurrency, Queries: 9})
		for i := range 9 {
			at := time.Duration(i+1) * time.Minute // slow until it has settled
			if i > 2 {
				at = 3*time.Minute + time.Duration(i-2)*time.Second/2
			}
			end := at.Seconds()
			f.add(reply{due: end - float64(i+1), end: end}, []time.Duration{time.Duration(i+1) * time.Millisecond})
		}
		var m Measured
		f.fill(&m)
		require.InDelta(t, want, m.Answers, 1e-9)
		require.Equal(t, 5*time.Second, m.Answer)
		require.InDeltaSlice(t, []float64{0.005}, m.Medians, 1e-9)
		require.Len(t, m.Tails, 1)
		require.Greater(t, m.Tails[0], 0.007)
	}
}

// The plot has a chart for each limit, with the probes that count, and the result if there is one.
func TestPlotOfATune(t *testing.T) {
	s := &State{Goal: Goal{Percentile: 0.99, Limits: []Limit{{TTFT, time.Second}, {TPOT, time.Second}}}}
	for _, p := range []struct {
		kind    Kind
		rate    float64
		spoiled string
	}{{Rate, 30, ""}, {Reference, 10, ""}, {Rate, 20, "lag"}, {Confirm, 25, ""}} {
		s.Probes = append(s.Probes, Probe{Measured: Measured{Kind: p.kind, Rate: p.rate, Tails: []float64{0.5, 99}},
			Spoiled: p.spoiled})
	}
	plotted := func() string {
		var b strings.Builder
		require.NoError(t, s.Plot(&b))
		return b.String()
	}
	before := plotted()
	require.Equal(t, 2, strings.Count(before, "queries per second"))
	require.Equal(t, 2, strings.Count(before, ", 99th percentile"))
	s.Result = &Result{TargetQPS: 25, High: 30}
	require.Contains(t, plotted(), "result")
	require.NotContains(t, before, "result")
}

// Offline's plot has a dot, a small square, for each closed loop that counts.
func TestPlotOfOffline(t *testing.T) {
	s := &State{Goal: Goal{Offline: true}}
	for i, p := range []struct {
		kind    Kind
		spoiled string
	}{{Idle, ""}, {Saturate, ""}, {Saturate, "lag"}, {Idle, "lag"}, {Rate, ""}, {Saturate, ""}, {Idle, ""}} {
		s.Probes = append(s.Probes, Probe{Measured: Measured{Kind: p.kind, Concurrency: 1 << i, Answers: float64(i + 1)},
			Spoiled: p.spoiled})
	}
	var b strings.Builder
	require.NoError(t, s.Plot(&b))
	require.Equal(t, 4, strings.Count(b.String(), `width="4.0" height="4.0"`))
	plain := b.String()
	for qps, drawn := range map[float64]bool{0: false, 3: true} { // 0: the budget was over before
		b.Reset()
		s.Result = &Result{TargetQPS: qps}
		require.NoError(t, s.Plot(&b))
		require.Equal(t, drawn, strings.Contains(b.String(), "expected QPS"))
		require.Equal(t, !drawn, b.String() == plain)
	}
}
