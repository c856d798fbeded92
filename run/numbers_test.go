package run

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func replaced(keys, percent string) string { return strings.Replace(keys, "%", percent, 1) }

func text(t *testing.T, v any) string {
	t.Helper()
	require.NotNil(t, v)
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%f", f)
	}
	return fmt.Sprint(v)
}

// attempts of a measurement: other work on the machine can spoil some of them. One good attempt shows that the program
// reaches the figure.
const attempts = 3

// 200 queries a second of 128 streamed tokens, on two cores shared with the simulator, whose true TTFT is 5 ms.
func TestServerAt200QPS(t *testing.T) {
	server := simulate(t, "--ttft", "5ms", "--answers", "random", "--output-tokens", "128", "--max-num-seqs", "1024")
	var seen []string
	spoiled := 0
	for range attempts {
		m := watchMachine(t, server.pid)
		r := start(t, "--model", "llama3.1-8b", "--scenario", "Server", "--endpoint", server.url, "--samples", "512",
			"--target-qps", "200", "--min-duration", "15s")
		others := m.others(t)
		r.sound(t, "scenario_limit", "loadgen_invalid")
		require.Equal(t, 128*r.Samples.Completed, r.Tokens.Output)
		completed, scheduled := r.LoadGen.Result["result_completed_samples_per_sec"].(float64),
			r.LoadGen.Result["result_scheduled_samples_per_sec"].(float64)
		line := fmt.Sprintf("TTFT mean %.2f ms p99 %.2f ms, TPOT mean %.3f ms, completed %.2f of %.2f scheduled /s, "+
			"dispatch lag p99 %.0f us, %.0f us CPU a sample, %d threads, %d MiB; others used %.0f %% of the machine",
			1e3*r.LatencyS.TTFT.Mean, 1e3*r.LatencyS.TTFT.P99, 1e3*r.LatencyS.TPOT.Mean, completed, scheduled,
			r.Client.DispatchLagUS.P99, r.Client.CPUUSPerSample, r.Client.ThreadsMax, r.Client.RSSMaxBytes>>20, 100*others)
		t.Log(line)
		if r.LatencyS.TTFT.Mean < 0.010 && completed > 0.97*scheduled {
			return
		}
		seen = append(seen, line)
		if others > tooBusy {
			spoiled++
		}
	}
	if spoiled == attempts {
		t.Skip("other work keeps this machine too busy to measure milliseconds")
	}
	t.Fatalf("no attempt had a mean TTFT under 10 ms and completed within 3 %% of scheduled:\n%s",
		strings.Join(seen, "\n"))
}

func TestThreadsWithThousandsInFlight(t *testing.T) {
	server := simulate(t, "--ttft", "5s", "--tpot", "0", "--answers", "random", "--output-tokens", "4", "--max-num-seqs",
		"16384", "--max-model-len", "4096")
	r := start(t, "--model", "llama3.1-8b", "--scenario", "Server", "--endpoint", server.url, "--samples", "256",
		"--target-qps", "1300", "--min-queries", "9000", "--min-duration", "1s")
	r.sound(t, "scenario_limit", "loadgen_invalid")
	log, err := ledger.ReadRequests(filepath.Join(r.Folder, record.RequestsName))
	require.NoError(t, err)
	peak := mostInFlight(log.Entries)
	t.Logf("%d in flight at most, %d threads, %d MiB, dispatch lag p99 %.0f us", peak, r.Client.ThreadsMax,
		r.Client.RSSMaxBytes>>20, r.Client.DispatchLagUS.P99)
	require.GreaterOrEqual(t, peak, 5000)
	require.Less(t, r.Client.ThreadsMax, 64)
}

// mostInFlight is the largest number of samples that were in flight at once.
func mostInFlight(entries []ledger.Entry) int {
	type change struct {
		at int64
		by int
	}
	var changes []change
	for _, e := range entries {
		changes = append(changes, change{e.SentNS, 1}, change{e.DoneNS, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

func TestMemoryOfAFullSet(t *testing.T) {
	set := filepath.Join(t.TempDir(), "set.json")
	out, err := exec.Command(program(t), "dataset", "synth", "--model", "llama3.1-8b", "--samples", "13368", "--output",
		set).CombinedOutput()
	require.NoError(t, err, "%s", out)
	info, err := os.Stat(set)
	require.NoError(t, err)
	server := simulate(t, "--tpot", "0", "--answers", "random", "--output-tokens", "8", "--max-num-seqs", "1024")
	r := start(t, "--model", "llama3.1-8b", "--scenario", "Offline", "--endpoint", server.url, "--dataset", set,
		"--min-duration", "0", "--min-queries", "13368")
	r.sound(t, "loadgen_invalid")
	require.Equal(t, 13368, r.Dataset.Samples)
	require.EqualValues(t, 13368, r.Samples.Completed)
	t.Logf("set of %d MiB, request bytes %d MiB, largest RSS %d MiB, %.1f s", info.Size()>>20, r.Client.RequestBytes>>20,
		r.Client.RSSMaxBytes>>20, r.Took.Seconds())
	require.Less(t, r.Client.RSSMaxBytes, int64(400<<20))
}
