package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func rates(stages []profile.Stage) (list []float64) {
	for _, s := range stages {
		list = append(list, s.Rate)
	}
	return list
}

func TestSweptRates(t *testing.T) {
	require.Equal(t, []float64{1, 25.75, 50.5, 75.25, 100},
		rates(swept(&profile.Sweep{Kind: "linear", Stages: 5}, 1, 100)))
	require.Equal(t, []float64{20.8, 40.6, 60.4, 80.2, 100}, // linspace(1, 100, 6)[1:]
		rates(swept(&profile.Sweep{Kind: "linear", Stages: 5, Probe: "throughput"}, 1, 100)))
	// 1 + 100 - geomspace(100, 1, 5)
	require.Equal(t, []float64{1, 69.38, 91, 97.84, 100},
		rates(swept(&profile.Sweep{Kind: "geometric", Stages: 5}, 1, 100)))
}

// 100 requests at once, of which 10 end in each of ten half seconds: 20 per second.
func TestDrainRate(t *testing.T) {
	var begins, ends []int64
	for i := range int64(100) {
		begins = append(begins, 1)
		ends = append(ends, 1+(i/10+1)*int64(drainEvery)-1000)
	}
	require.InDelta(t, 20, drainRate(begins, ends, 95), 1e-9)
	require.InDelta(t, 1, drainRate(nil, nil, 95), 0)
}

// A server that answers four requests at a time in 20 ms is saturated at 200 per second.
func TestSweep(t *testing.T) {
	s := serve(t, 20*time.Millisecond, nil)
	p := profileOf()
	p.Load.Sweep = &profile.Sweep{Kind: "linear", Stages: 2, StageDuration: 300 * time.Millisecond, Probe: "throughput",
		Arrival: profile.Constant, InFlight: 4}
	o, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 2)
	require.NotEmpty(t, all)
	require.Len(t, o.Stages, 4)
	require.Len(t, o.Spans, 4)
	require.InDelta(t, 112, o.Stages[2].Rate, 50, "halfway from 45, which is one request at a time")
	require.InDelta(t, 180, o.Stages[3].Rate, 80, "four at a time")
	require.Equal(t, 4, o.Stages[3].Concurrency)
	require.True(t, o.Stages[1].Warmup)
	require.False(t, o.Stages[3].Warmup)
}

// The rates of a sweep have two digits, and are at least 0.01. Its stages have the sweep's arrival and length.
func TestStagesOfASweep(t *testing.T) {
	s := &profile.Sweep{Kind: "linear", Stages: 3, Arrival: profile.Poisson, StageDuration: 7 * time.Second}
	stage := func(rate float64) profile.Stage {
		return profile.Stage{Arrival: profile.Poisson, Rate: rate, Duration: 7 * time.Second}
	}
	require.Equal(t, []profile.Stage{stage(.01), stage(.17), stage(.33)}, swept(s, .001, 1./3))
	s.Kind = "geometric"
	require.Equal(t, []profile.Stage{stage(2), stage(6), stage(8)}, swept(s, 2, 8))
}

// The limits follow from the measured answers, with the sweep's percentile, or the 95th.
func TestLimitsOfASweep(t *testing.T) {
	const s, half = int64(1e9), int64(drainEvery)
	d := &director{ends: [][]int64{{0, 4 * s, s}, {s, s + s/2, 2 * s, 3 * s, 5 * s}}}
	low, high := d.limits(&profile.Sweep{Probe: "throughput"})
	require.Equal(t, []float64{.5, 1}, []float64{low, high})
	require.Equal(t, 1., answersPerS([]int64{5}))
	require.Equal(t, 1., answersPerS(nil))
	require.Equal(t, 2., answersPerS([]int64{0, s / 2}))
	// 15 requests, of which 1, 2, 4 and 8 end in four half seconds: 2, 4, 8 and 16 per second
	begins, ends := make([]int64, 15), []int64{}
	for i, n := range []int{1, 2, 4, 8} {
		for range n {
			ends = append(ends, int64(i+1)*half-1)
		}
	}
	for i := range begins {
		begins[i] = -1
	}
	begins[0] = 0 // the clock of the half seconds begins with the first
	begins = append(begins[1:], 0)
	for percent, want := range map[float64]float64{100: 16, 0: 14.8, 50: 6, 10: 2.6, 95: 14.8, 1e-9: 2} {
		d := &director{begins: [][]int64{slices.Clone(begins)}, ends: [][]int64{slices.Clone(ends)}}
		for i := range d.begins[0] {
			d.begins[0][i]++
		}
		for i := range d.ends[0] {
			d.ends[0][i]++
		}
		low, high := d.limits(&profile.Sweep{Probe: "drain", Percentile: percent})
		require.Equal(t, 1., low)
		require.InDelta(t, want, high, 1e-6, percent)
	}
	require.InDelta(t, 2, drainRate([]int64{0, 1}, []int64{s / 2, s}, 95), 1e-9, "it never decreases at a look")
	require.Equal(t, 1., drainRate([]int64{0}, nil, 95))
	require.Equal(t, 1., drainRate(nil, []int64{0}, 95))
}
