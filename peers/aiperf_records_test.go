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

// A log of too many requests has no records, as a part of them would show wrong rates.
func TestRecordsOfAIPerfAreBounded(t *testing.T) {
	l := hand()
	l.Requests = make([]Request, mostAIPerfRecords+1)
	e := &Export{}
	records, err := aiperfRecords(l, e)
	require.NoError(t, err)
	require.Nil(t, records)
	require.Equal(t, []string{"profile_export.jsonl is left out: the log has 100001 requests, more than 100000"}, e.Notes)
}
