package engine

import (
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
	require.InDelta(t, 45, o.Stages[2].Rate, 20, "one request at a time")
	require.InDelta(t, 180, o.Stages[3].Rate, 80, "four at a time")
	require.True(t, o.Stages[1].Warmup)
	require.False(t, o.Stages[3].Warmup)
}
