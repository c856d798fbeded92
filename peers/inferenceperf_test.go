package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// talks is the log of hand with two sessions: A and C, and B and D. A and C report the cache.
func talks() *Log {
	l := hand()
	for i := range l.Requests {
		r := &l.Requests[i]
		r.Session, r.Turn = 1+i%2, i/2
	}
	l.Requests[0].CachedTokens, l.Requests[0].HasCached = 4, true
	l.Requests[2].CachedTokens, l.Requests[2].HasCached = 16, true
	l.Requests[2].Retries = 2
	return l
}

// TestPercentilesOfInferencePerf: the report has the percentiles that were asked for.
func TestPercentilesOfInferencePerf(t *testing.T) {
	l := hand()
	l.Asked.Percentiles = []float64{50, 80}
	files, _ := convert(t, "inference-perf", l)
	got := values(t, files["summary_lifecycle_metrics.json"])
	requireValues(t, got, "successes/latency/request_latency", map[string]float64{"median": .41, "p80": .644})
	require.NotContains(t, got, "successes/latency/request_latency/p99")
}

// TestSessionsOfInferencePerf: sessions have reports of their own, and the cache's share of their prompts.
func TestSessionsOfInferencePerf(t *testing.T) {
	files, notes := convert(t, "inference-perf", hand())
	require.Len(t, files, 2, "no sessions")
	require.Contains(t, notes, "the server reported no cached tokens")
	l := talks()
	l.Stages[0] = Stage{Concurrency: 2, Stopped: true, Unsent: 5}
	files, notes = convert(t, "inference-perf", l)
	require.NotContains(t, notes, "the server reported no cached tokens")
	requireValues(t, values(t, files["summary_lifecycle_metrics.json"]), "successes/prompt_tokens",
		map[string]float64{"total": 60, "cached": 20, "uncached": 40, "mean": 20})
	for _, name := range []string{"summary", "stage_0"} {
		got := values(t, files[name+"_session_lifecycle_metrics.json"])
		requireValues(t, got, "", map[string]float64{"num_sessions": 2, "num_sessions_succeeded": 1,
			"num_sessions_failed": 1, "failures/by_label/HTTP Error 500/count": 1, "total_events": 4,
			"total_events_completed": 3, "total_events_cancelled": 0, "sessions_with_retries": 1,
			"total_retry_attempts": 2, "total_retries_recovered": 1, "sessions_per_second": 2,
			"session_duration_sec/max": 1, "session_duration_sec/min": .25, "num_events/mean": 2,
			"total_input_tokens/max": 40, "total_output_tokens/max": 7, "total_cached_tokens/mean": 20,
			"total_cacheable_input_tokens/mean": 40, "sessions_with_cache_info": 1, "kv_cache_hit_percent": 50,
			"kv_cache_hit_per_session_percent/max": 50, "sessions_with_tfut": 0, "tfut_none_reasons/no_user_facing": 2})
		require.Equal(t, "session-2", got["failures/by_label/HTTP Error 500/messages/0/session_ids/0"])
	}
	got := values(t, files["stage_0_session_lifecycle_metrics.json"])
	require.Equal(t, "FAILED", got["stage_metadata/status"])
	requireValues(t, got, "stage_metadata", map[string]float64{"stage_id": 0, "actual_duration": 1,
		"dropped_requests": 5, "concurrent_sessions": 2})
	require.NotContains(t, values(t, files["summary_session_lifecycle_metrics.json"]), "stage_metadata/status")
	require.NotContains(t, files, "per_session_lifecycle_metrics.json")
}

// TestRequestsOfInferencePerf: on demand, each request and each session is an item of a file.
func TestRequestsOfInferencePerf(t *testing.T) {
	l := talks()
	l.Asked.Requests = true
	files, notes := convert(t, "inference-perf", l)
	require.Contains(t, notes, "request, response and response_chunks are left out of the entries of requests")
	got := values(t, files["per_request_lifecycle_metrics.json"])
	requireValues(t, got, "0", map[string]float64{"info/request_metrics/text/input_tokens": 10, "info/input_tokens": 10,
		"info/response_metrics/output_tokens": 4, "computed_metrics/request_latency": .41,
		"computed_metrics/time_to_first_token": .1, "computed_metrics/time_per_output_token": .1,
		"computed_metrics/inter_token_latency": .1, "computed_metrics/inter_token_latencies/2": .1,
		"computed_metrics/normalized_time_per_output_token": .1025})
	first := got["0/start_time"].(float64)
	require.InDelta(t, .41, got["0/end_time"].(float64)-first, 1e-6)
	require.InDelta(t, .4, got["0/info/response_metrics/output_token_times/3"].(float64)-first, 1e-6)
	require.Nil(t, got["1/computed_metrics/time_to_first_token"], "one token is no stream")
	requireValues(t, got, "2/info", map[string]float64{"retries_attempted": 2,
		"response_metrics/server_usage/prompt_tokens":                       30,
		"response_metrics/server_usage/prompt_tokens_details/cached_tokens": 16})
	require.Equal(t, "HTTP Error 500", got["3/error/error_type"])
	require.Contains(t, got, "3/info/response_metrics")
	require.Nil(t, got["3/info/response_metrics"])
	require.NotContains(t, got, "3/computed_metrics/request_latency")

	got = values(t, files["per_session_lifecycle_metrics.json"])
	require.Equal(t, []any{"session-1", true, nil}, []any{got["0/session_id"], got["0/success"], got["0/error"]})
	require.Equal(t, []any{"session-2", false, "http_500"},
		[]any{got["1/session_id"], got["1/success"], got["1/error/error_msg"]})
	requireValues(t, got, "0", map[string]float64{"duration_sec": 1, "num_events": 2, "num_events_completed": 2,
		"retries_attempted": 2, "retries_recovered": 1, "total_input_tokens": 40, "total_output_tokens": 7,
		"total_cached_tokens": 20, "total_cacheable_input_tokens": 40})
	require.Nil(t, got["1/total_cached_tokens"])
	require.NotContains(t, got, "1/retries_attempted")

	l = hand()
	l.Asked.Requests = true
	l.Stages = []Stage{{Warmup: true, Probe: "throughput"}, {RatePerS: 10}}
	for i := range l.Requests {
		l.Requests[i].Stage, l.Requests[i].LeftOut = min(i, 1), i == 0
	}
	files, _ = convert(t, "inference-perf", l)
	require.NotContains(t, values(t, files["per_request_lifecycle_metrics.json"]), "3/start_time",
		"no request of a stage that looked for limits")
}
