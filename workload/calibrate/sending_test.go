package calibrate

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers vllm
	"github.com/mlperf-go/mlperf-go/workload/floor"
)

// benchProgram names mlperf-go for TestSendTimes, which needs a quiet machine (scripts/bench.sh).
const benchProgram = "WORKLOAD_BENCH_PROGRAM"

// Figures of known gaps.
func TestGaps(t *testing.T) {
	require.Zero(t, variation([]float64{2, 2, 2}))
	require.InDelta(t, 0.5, variation([]float64{1, 3}), 1e-12)

	const n = 10_000
	exponential := make([]float64, n)
	for i := range exponential {
		exponential[i] = -math.Log1p(-(float64(i)+0.5)/n) / sendRate
	}
	require.InDelta(t, 0.5/n, distance(exponential, sendRate), 1e-9)
	together := slices.Clone(exponential)
	for i := range together { // requests that are due within 10 us are sent one after the other
		together[i] = max(together[i], 10e-6)
	}
	require.InDelta(t, -math.Expm1(-10e-6*sendRate), distance(together, sendRate), 1.0/n)
}

// A thread that only waits comes to each time it waits for, not before, and stops with its context.
func TestWaited(t *testing.T) {
	const rate = 1000.0
	began := time.Now()
	gaps := waited(t.Context(), rate, 200*time.Millisecond)
	took := time.Since(began)
	require.Len(t, gaps, 200)
	sum := 0.0
	for _, g := range gaps {
		require.Positive(t, g)
		sum += g
	}
	require.GreaterOrEqual(t, took, 201*time.Millisecond)
	require.LessOrEqual(t, sum, took.Seconds())
	slices.Sort(gaps)
	require.InDelta(t, 1/rate, gaps[len(gaps)/2], 0.5/rate, "most are on time")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, waited(ended, rate, time.Hour))
}

// TestSendTimes measures how well real sending times follow their schedule, and the error of TTFT.
func TestSendTimes(t *testing.T) {
	program := os.Getenv(benchProgram)
	if program == "" {
		t.Skip("measures send times; " + benchProgram + " is the path of mlperf-go")
	}
	c := &calibration{Options: Options{Program: program, Duration: 20 * time.Second, Shards: 1, Gaps: 10_000,
		Step: func(string) {}}, got: &floor.Calibration{}, folder: t.TempDir()}
	require.NoError(t, c.sending(t.Context()))
	fmt.Printf("MEASURED sending/late-mean %.1f us\n", 1e6*c.got.Sending.Late.Mean)
	fmt.Printf("MEASURED sending/constant-variation %.5f x\n", c.got.Sending.Variation)
	fmt.Printf("MEASURED sending/wait-variation %.5f x\n", c.got.Sending.Waiting)
	fmt.Printf("MEASURED sending/poisson-distance %.3f x\n", c.got.Sending.Distance/c.got.Sending.Limit)
	require.NoError(t, c.errors(t.Context()))
	fmt.Printf("MEASURED stamps/ttft-mean %.1f us\n", 1e6*c.got.Errors.TTFT.Mean)
	fmt.Printf("MEASURED stamps/ttft-p99 %.1f us\n", 1e6*c.got.Errors.TTFT.P99)
}
