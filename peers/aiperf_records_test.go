package peers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The records have a line for each request: its times, and its metrics if it was answered.
func TestRecordsOfAIPerf(t *testing.T) {
	l := hand()
	l.Requests = append(l.Requests, l.Requests[3])
	l.Requests[4].Failure, l.Requests[4].Cancelled = "cancelled", true
	files, _ := convert(t, "aiperf", l)
	lines := strings.Split(strings.TrimSpace(files["profile_export.jsonl"]), "\n")
	require.Len(t, lines, 5)
	got := values(t, lines[0])
	requireValues(t, got, "metrics", map[string]float64{"request_latency/value": 400, "time_to_first_token/value": 100,
		"time_to_second_token/value": 100, "inter_token_latency/value": 100, "inter_chunk_latency/value/2": 100,
		"output_sequence_length/value": 4, "input_sequence_length/value": 10})
	require.Equal(t, "ms", got["metrics/request_latency/unit"])
	require.Equal(t, "profiling", got["metadata/benchmark_phase"])
	require.Nil(t, got["error"])
	require.Contains(t, lines[1], `"request_start_ns":1795424400150000000,"request_end_ns":1795424400360000000`)
	require.Contains(t, lines[3], `"metrics":{},"error":{"code":500,"type":"http_500","message":"http_500"}`)
	require.Contains(t, lines[4], `"was_cancelled":true`)
	require.Contains(t, lines[4], `"metrics":{},"error":null`)
	files, _ = convert(t, "aiperf", withoutTokenTimes())
	require.NotContains(t, files["profile_export.jsonl"], "inter_chunk_latency")
}

// Logs that distinguish reasoning have the time to the first token of the answer, in all files.
func TestFirstOutputTokenOfAIPerf(t *testing.T) {
	l := hand()
	l.HasVisible = true
	l.Requests[0].VisibleNS = l.Requests[0].TokenNS[2]
	l.Requests[2].Session, l.Requests[2].Turn = 7, 3
	files, _ := convert(t, "aiperf", l)
	got := values(t, files["profile_export_aiperf.json"])
	requireValues(t, got, "time_to_first_output_token", map[string]float64{"avg": 200, "max": 300, "count": 3})
	require.Contains(t, files["profile_export_aiperf.csv"], "Time to First Output Token (ms),200.00,100.00,300.00,600.00,")
	lines := strings.Split(files["profile_export.jsonl"], "\n")
	requireValues(t, values(t, lines[0]), "metrics/time_to_first_output_token", map[string]float64{"value": 300})
	requireValues(t, values(t, lines[2]), "metadata", map[string]float64{"session_num": 6, "turn_index": 3})
	requireValues(t, values(t, lines[3]), "metadata", map[string]float64{"session_num": 3, "turn_index": 0})
	l.HasVisible = false
	files, _ = convert(t, "aiperf", l)
	for _, text := range files {
		require.NotContains(t, strings.ToLower(text), "first_output_token")
	}
}
