package peers

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lists have the figures of each request, and null for what is unknown.
func TestRequestsOfGuideLLM(t *testing.T) {
	l := hand()
	l.Requests = append(l.Requests, l.Requests[3])
	l.Requests[4].Failure, l.Requests[4].Cancelled, l.Requests[4].EndNS = "cancelled", true, 0
	files, notes := convert(t, "guidellm", l)
	require.Contains(t, notes, "the requests have no prompts and answers")
	require.NotContains(t, notes, "lists")
	got := values(t, files["benchmarks.json"])
	for key, after := range map[string]float64{"info/timings/targeted_start": 0, "info/timings/request_start": 0,
		"info/timings/first_token_iteration": .1, "info/timings/last_token_iteration": .4, "request_start_time": 0,
		"info/timings/request_end": .41, "info/timings/resolve_end": .41, "request_end_time": .41} {
		at := got["benchmarks/0/requests/successful/0/"+key]
		require.InDelta(t, after, at.(float64)-float64(l.Started.Unix()), 1e-6, key)
	}
	requireValues(t, got, "benchmarks/0/requests/successful/0", map[string]float64{"info/timings/token_iterations": 4,
		"request_latency": .41, "prompt_tokens": 10, "output_tokens": 4, "total_tokens": 14, "output_metrics/text_tokens": 4,
		"time_to_first_token_ms": 100, "time_per_output_token_ms": 100, "inter_token_latency_ms": 100,
		"tokens_per_second": 14 / .41, "output_tokens_per_second": 4 / .41, "iter_tokens_per_iteration": 1,
		"output_tokens_per_iteration": 1})
	requireValues(t, got, "benchmarks/0/requests/successful", map[string]float64{"1/request_dispatch_delay": .05,
		"1/request_scheduled_latency": .26, "2/inter_token_latency_ms": 300, "2/iter_tokens_per_iteration": 2})
	failed := "benchmarks/0/requests/errored/0/"
	require.Equal(t, []any{"errored", "http_500", nil, nil, nil}, []any{got[failed+"info/status"],
		got[failed+"info/error"], got[failed+"output_tokens"], got[failed+"time_to_first_token_ms"],
		got[failed+"output_metrics/text_tokens"]})
	for _, key := range []string{"successful/1/inter_token_latency_ms", "successful/0/output", "successful/0/info/error"} {
		v, has := got["benchmarks/0/requests/"+key]
		require.True(t, has, key)
		require.Nil(t, v, key)
	}
	require.Equal(t, "cancelled", got["benchmarks/0/requests/incomplete/0/info/status"])
	require.NotContains(t, got, "benchmarks/0/requests/successful/3/type_")
}

// A list is bounded, and its requests are spread over the whole test.
func TestListsOfGuideLLMAreBounded(t *testing.T) {
	l := hand()
	one := l.Requests[1]
	for range mostGuideRequests * 2 {
		one.DueNS, one.SentNS, one.FirstTokenNS, one.LastTokenNS, one.EndNS =
			one.DueNS+1e6, one.SentNS+1e6, one.FirstTokenNS+1e6, one.LastTokenNS+1e6, one.EndNS+1e6
		one.TokenNS = nil
		l.Requests = append(l.Requests, one)
	}
	files, notes := convert(t, "guidellm", l)
	require.Contains(t, notes, fmt.Sprintf("requests.successful lists %d of %d requests", mostGuideRequests,
		2*mostGuideRequests+3))
	var report struct {
		Benchmarks []struct {
			Requests map[string][]struct {
				ID string `json:"request_id"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(files["benchmarks.json"]), &report))
	list := report.Benchmarks[0].Requests["successful"]
	require.Len(t, list, mostGuideRequests)
	require.Equal(t, "id-0-0", list[0].ID)
	require.Equal(t, "id-0-20001", list[len(list)-1].ID)
	require.Len(t, report.Benchmarks[0].Requests["errored"], 1)
}
