package run

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Ten thousand streams with answers after 1 ms: LoadGen sees every first token before its completion (otherwise it logs
// an error), and the record, the request log and LoadGen's logs contain the same figures.
func TestTenThousandStreams(t *testing.T) {
	const streams = 10_000
	server := simulate(t, "--ttft", "1ms", "--tpot", "0", "--answers", "random", "--output-tokens", "8", "--max-num-seqs",
		"4096")
	r := start(t, "--model", "llama3.1-8b", "--scenario", "Server", "--endpoint", server.url, "--samples", "256",
		"--target-qps", "1000", "--min-queries", strconv.Itoa(streams), "--min-duration", "1s")
	t.Logf("TTFT mean %.2f ms, dispatch lag p99 %.0f us, report lag p99 %.0f us, %.0f us CPU a sample",
		1e3*r.LatencyS.TTFT.Mean, r.Client.DispatchLagUS.P99, r.Client.ReportLagUS.P99, r.Client.CPUUSPerSample)
	r.sound(t, "scenario_limit", "loadgen_invalid")
	require.GreaterOrEqual(t, r.Samples.Issued, int64(streams))
	require.Equal(t, r.Samples.Issued, r.Samples.FirstTokens)
	require.Equal(t, 8*r.Samples.Issued, r.Tokens.Output)
	require.Equal(t, ledger.TokensFromIDs, r.Tokens.Source)
	require.Positive(t, r.Client.RequestBytes)

	t.Run("figures from the request log", func(t *testing.T) { checkFigures(t, r) })
	t.Run("LoadGen's figures", func(t *testing.T) { checkLoadGen(t, r) })
	t.Run("the client's figures", func(t *testing.T) { checkClient(t, r) })
}

func checkFigures(t *testing.T, r *ran) {
	log, err := ledger.ReadRequests(filepath.Join(r.Folder, record.RequestsName))
	require.NoError(t, err)
	m := log.Metrics()
	require.Equal(t, r.LatencyS.TTFT, m.TTFT)
	require.Equal(t, r.LatencyS.TPOT, m.TPOT)
	require.Equal(t, r.LatencyS.E2E, m.E2E)
	require.Equal(t, r.LatencyS.NTPOT, m.NTPOT)
	require.Equal(t, r.Client.IssueLagUS, m.IssueLag.LagUS())
	require.Equal(t, r.Client.DispatchLagUS, m.DispatchLag.LagUS())
	require.Equal(t, r.Throughput, m.Throughput)
	require.Equal(t, r.DurationS, m.DurationS)

	// docs/reference/run-record.md: from the first issue to the last completion, successful samples only.
	first, last, tokens := int64(0), int64(0), int64(0)
	for i, e := range log.Entries {
		require.Equal(t, i, int(e.Seq))
		require.True(t, e.IssuedNS <= e.DequeuedNS && e.DequeuedNS <= e.SentNS && e.SentNS <= e.FirstByteNS &&
			e.FirstByteNS <= e.FirstTokenNS && e.FirstTokenNS <= e.LastTokenNS && e.LastTokenNS <= e.DoneNS, e)
		if i == 0 {
			first = e.IssuedNS
		}
		first, last, tokens = min(first, e.IssuedNS), max(last, e.DoneNS), tokens+int64(e.OutputTokens)
	}
	seconds := float64(last-first) / 1e9
	require.InDelta(t, seconds, r.DurationS, 1e-9)
	require.InDelta(t, float64(len(log.Entries))/seconds, r.Throughput.Requests, 1e-6)
	require.InDelta(t, float64(tokens)/seconds, r.Throughput.OutputTokens, 1e-3)
}

// checkClient requires that the client's figures include every sample, and that the parts of a delay add up to it.
func checkClient(t *testing.T, r *ran) {
	c := r.Client
	for name, counts := range map[string][]ledger.Bucket{"issue": c.IssueLagCounts, "dispatch": c.DispatchLagCounts} {
		n := int64(0)
		for _, b := range counts {
			n += b.Count
		}
		require.Equal(t, r.Samples.Issued, n, name)
	}
	require.Len(t, c.StagesUS, 7)
	way := 0.0
	for name, part := range c.StagesUS {
		require.True(t, part.P50 <= part.P99 && part.P99 <= part.P999 && part.P999 <= part.Max, "%s: %+v", name, part)
		way += part.Max
	}
	require.GreaterOrEqual(t, way, r.LatencyS.E2E.Max*1e6-1, "no part of a sample's way is missing")
	require.InDelta(t, c.IssueLagUS.Max, c.StagesUS["scheduled_to_issued"].Max, 1e-6)

	require.Positive(t, c.GCPauses, "one collection comes before the first query")
	require.Positive(t, c.GCPauseMaxS)
	require.Positive(t, c.SchedLatencyMaxS)
	require.LessOrEqual(t, c.SchedLatencyP99S, c.SchedLatencyMaxS)
	require.InDelta(t, c.CPUS/float64(r.Samples.Issued)*1e6, c.CPUUSPerSample, 1e-6)
	require.Positive(t, c.ThreadsMax)
	require.LessOrEqual(t, c.IssueThread.TimerSlackNS, int64(1))
	require.Len(t, c.Loops, 1)
	require.Equal(t, c.Loops[0].Realtime, c.LoopRealtime)
}

// checkLoadGen requires that LoadGen's percentiles are within 1 ms of this program's. LoadGen's stamp is the time of
// the report, the program's the time at which the token could be read. Without a free CPU the difference may be larger.
func checkLoadGen(t *testing.T, r *ran) {
	slack := 1e-3 + r.Client.ReportLagUS.Max/1e6
	near := func(key string, ours float64, slack float64) {
		t.Helper()
		ns, err := strconv.ParseFloat(text(t, r.LoadGen.Result[key]), 64)
		require.NoError(t, err, key)
		require.InDelta(t, ns/1e9, ours, slack, key)
	}
	l := r.LatencyS
	for _, m := range []struct {
		keys string
		of   *ledger.Stats
	}{{"result_first_token_%_percentile_latency_ns", l.TTFT}, {"result_%_percentile_latency_ns", l.E2E},
		{"result_time_per_output_token_%_percentile_ns", l.TPOT}} {
		for percent, ours := range map[string]float64{"50.00": m.of.P50, "90.00": m.of.P90, "95.00": m.of.P95,
			"99.00": m.of.P99, "99.90": m.of.P999} {
			near(replaced(m.keys, percent), ours, slack)
		}
	}
	near("result_first_token_mean_latency_ns", l.TTFT.Mean, slack)
	near("result_mean_latency_ns", l.E2E.Mean, slack)
	near("result_first_token_50.00_percentile_latency_ns", l.TTFT.P50, 1e-3+r.Client.ReportLagUS.P99/1e6)
}
