package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// TestCostOfSpans measures what --trace-spans costs during a Server test at 5,000 requests/s, in pairs of runs with and
// without it whose order alternates. The file is written after the test, and is not part of the figure.
func TestCostOfSpans(t *testing.T) {
	if os.Getenv("SPANS_BENCH") == "" {
		t.Skip("SPANS_BENCH is not set")
	}
	const rate, pairs = 5000, 4
	dir := t.TempDir()
	url, _ := startSim(deferring{t}, filepath.Join(dir, "ready"), "--model", "m", "--ttft", "1ms", "--tpot", "1ms",
		"--output-tokens", "2")
	spent := map[bool][]float64{} // µs per sample
	for i := range 2 * pairs {
		withSpans := i%4 == 1 || i%4 == 2
		folder := filepath.Join(dir, fmt.Sprint(i))
		args := []string{"run", "--model", "generic", "--served-model", "m", "--samples", "64", "--scenario", "Server",
			"--endpoint", url, "--target-qps", fmt.Sprint(rate), "--min-duration", "4s", "--min-queries", "100",
			"--ttft-limit", "5s", "--tpot-limit", "5s", "--output-dir", folder, "--no-progress"}
		if withSpans {
			args = append(args, "--trace-spans", filepath.Join(dir, "spans.json.gz"))
		}
		p := start(t, folder, args...)
		require.Contains(t, []int{0, run.ExitInvalid}, p.end(5*time.Minute), "%s", p.stderr.String())
		r, err := record.Read(folder)
		require.NoError(t, err)
		require.Zero(t, r.Samples.Failed)
		spent[withSpans] = append(spent[withSpans], r.Client.CPUUSPerSample)
	}
	for name, list := range map[string][]float64{"with": spent[true], "without": spent[false]} {
		slices.Sort(list)
		fmt.Printf("MEASURED spans/%s %.4g us\n", name, (list[pairs/2-1]+list[pairs/2])/2)
	}
}
