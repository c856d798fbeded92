package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers vllm
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// benchProgram names mlperf-go for TestSendTimes, which needs a machine of its own (scripts/bench.sh).
const benchProgram = "WORKLOAD_BENCH_PROGRAM"

// gapsOf returns the gaps between the sendings of a run in seconds.
func gapsOf(t *testing.T, folder string) []float64 {
	var sent []int64
	_, err := eventlog.Read(filepath.Join(folder, eventlog.FileName), func(_ *eventlog.Header, r *eventlog.Request) error {
		sent = append(sent, r.SentNS)
		return nil
	})
	require.NoError(t, err)
	slices.SortFunc(sent, cmp.Compare[int64])
	gaps := make([]float64, len(sent)-1)
	for i := range gaps {
		gaps[i] = float64(sent[i+1]-sent[i]) / 1e9
	}
	return gaps
}

// variation is the coefficient of variation.
func variation(gaps []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, g := range gaps {
		mean += g / float64(len(gaps))
	}
	for _, g := range gaps {
		squares += (g - mean) * (g - mean) / float64(len(gaps))
	}
	return math.Sqrt(squares) / mean
}

// distance is the Kolmogorov-Smirnov statistic against the exponential distribution of a rate, as a multiple of the
// value above which the test rejects at the 1 % level.
func distance(gaps []float64, rate float64) float64 {
	slices.Sort(gaps)
	n, d := float64(len(gaps)), 0.0
	for i, g := range gaps {
		f := -math.Expm1(-rate * g)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d * math.Sqrt(n) / 1.628
}

// TestSendTimes measures how well real sendings follow their schedule, and the error of TTFT.
func TestSendTimes(t *testing.T) {
	program := os.Getenv(benchProgram)
	if program == "" {
		t.Skip("measures send times; " + benchProgram + " is the path of mlperf-go")
	}
	const rate = 1000.0
	c := &calibration{Options: Options{Program: program, Duration: 20 * time.Second, Shards: 1, Step: func(string) {}},
		got: &floor.Calibration{}, folder: t.TempDir()}
	urls, stop, err := c.servers(t.Context(), false)
	require.NoError(t, err)
	defer stop()
	gaps := func(arrival profile.Arrival) []float64 {
		_, folder, err := c.run(t.Context(), urls, 1, 1, profile.Stage{Arrival: arrival, Rate: rate,
			Duration: 10 * time.Second})
		require.NoError(t, err)
		return gapsOf(t, folder)
	}
	fmt.Printf("MEASURED sending/constant-variation %.5f x\n", variation(gaps(profile.Constant)))
	fmt.Printf("MEASURED sending/poisson-distance %.3f x\n", distance(gaps(profile.Poisson), rate))
	require.NoError(t, c.errors(t.Context()))
	fmt.Printf("MEASURED stamps/ttft-mean %.1f us\n", 1e6*c.got.Errors.TTFT.Mean)
	fmt.Printf("MEASURED stamps/ttft-p99 %.1f us\n", 1e6*c.got.Errors.TTFT.P99)
}
