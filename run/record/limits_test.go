package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// A source that several breaches share is named once.
func TestBreachTexts(t *testing.T) {
	a, b, c := NewBreach("a", "1", "2", "rules"), NewBreach("b", "", "3", "rules"), NewBreach("c", "4", "", "others")
	require.Equal(t, []string{a.Text(), b.String(), c.String()}, BreachTexts([]Breach{a, b, c}))
	require.Empty(t, BreachTexts(nil))
}

func TestLimitsAgainstLoadGensPercentiles(t *testing.T) {
	r := &Record{Throughput: ledger.Throughput{Requests: 97.2}, LoadGen: LoadGenResult{Result: map[string]any{
		"effective_scenario": "Server", "effective_target_qps": 100.0,
		"result_first_token_99.00_percentile_latency_ns":   312_964_000.0,
		"result_time_per_output_token_99.00_percentile_ns": 100_000_000.0}},
		Tails: []Tail{{What: "time to first token", Limit: 2 * time.Second},
			{What: "time per output token", Limit: 100 * time.Millisecond}, {What: "latency", Limit: time.Second}}}
	var texts []string
	for _, l := range r.Limits() {
		texts = append(texts, l.String())
	}
	require.Equal(t, []string{"TTFT p99 313 ms by LoadGen, limit 2000 ms, ok",
		"TPOT p99 100 ms by LoadGen, limit 100 ms, over",
		"latency p99 limit 1000 ms, not measured"}, texts)
	r.Samples = SampleCounts{Issued: 296, Completed: 296, Failed: 296}
	for _, l := range r.Limits() {
		require.Contains(t, l.String(), ", not measured", "no query has an answer: LoadGen's percentiles are of none")
	}
	r.Samples = SampleCounts{}
	r.LatencyS.E2E = &ledger.Stats{P99: 0.5}
	require.Equal(t, "latency p99 500 ms by the client, limit 1000 ms, ok", r.Limits()[2].String())
	r.Verdict, r.Samples.FailedByReason = Interrupted, map[ledger.Reason]int64{ledger.FailCancelled: 7}
	r.LatencyS.TTFT = &ledger.Stats{P99: 0.25}
	require.Equal(t, "TTFT p99 250 ms by the client, limit 2000 ms, ok", r.Limits()[0].String(),
		"LoadGen's percentile counts cancelled queries too")
	require.Equal(t, "no result: the test was interrupted", r.Headline())
	r.Verdict = Invalid
	require.Equal(t, "TTFT p99 313 ms by LoadGen, limit 2000 ms, ok", r.Limits()[0].String())
	short := Tail{What: "latency", Limit: time.Second, Queries: 100, Needed: 662, Over: 3}
	r.Tails = []Tail{short}
	require.Equal(t, "latency p99 500 ms by the client, limit 1000 ms, ok; LoadGen's criterion needs 662 queries, the "+
		"test has 100", r.Limits()[0].String())
	require.False(t, short.Lost(), "the limit decides nothing")
	require.Equal(t, "3 queries over 1s; LoadGen needs 662, has 100", short.String())
	target, achieved, ok := r.Rate()
	require.Equal(t, []any{100.0, 97.2, true}, []any{target, achieved, ok})
	_, _, ok = new(Record).Rate()
	require.False(t, ok)
	require.Equal(t, "1999.999999 ms", inMilliseconds(2*time.Second-1))
}

func TestJoinReasons(t *testing.T) {
	require.Equal(t, []string{"both", "Server: few", "Server, Interactive: short"}, JoinReasons([]ScenarioReasons{
		{"Server", []string{"both", "few"}}, {"Offline", []string{"both"}}, {"Server", []string{"short", "both"}},
		{"Interactive", []string{"both", "short"}}}))
	require.Equal(t, []string{"alone"}, JoinReasons([]ScenarioReasons{{"Server", []string{"alone"}}, {"Server", nil}}))
	require.Equal(t, []string{"Offline, Server: 512 of 13368 rows", "Offline: 32 of 13368 rows", "short"},
		JoinReasons([]ScenarioReasons{{"Offline", []string{"512 of 13368 rows", "32 of 13368 rows", "short"}},
			{"Server", []string{"512 of 13368 rows", "short"}}}))
	require.Empty(t, JoinReasons(nil))
}
