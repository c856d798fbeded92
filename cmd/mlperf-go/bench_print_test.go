package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// The printed result has no exponents, names the stage of each window if there are several, and has the share of
// failures that the two numbers beside it make.
func TestTheFiguresOfAPrintedResult(t *testing.T) {
	m := &measure.Measured{Stages: []measure.Part{{Number: 0}, {Number: 1}},
		Steady: &measure.Steady{Stage: 1, DurationS: 4.88, InFlight: 1, OutputTokenRate: 320.17, RequestRate: 9.85},
		MLPerf: &measure.Completed{Stage: 1, DurationS: 4.99, OutputTokenRate: 320.68, RequestRate: 9.82}}
	m.Total.Throughput.Requests, m.Total.Throughput.OutputTokens = 192.606, 38521.19
	r := &bench.Record{Profile: "two", Verdict: "VALID", Measured: m}
	r.Client.RSSMaxBytes, r.Client.ClientDelayUS.P99 = 1<<20, 99_167_373
	m.Total.Requests = measure.Counts{Total: 11, OK: 8, Failed: 2, Cancelled: 1, FailureRate: .2}
	var text bytes.Buffer
	printBench(page{to: &text}, r, m)
	require.Contains(t, text.String(), "4.88 s of stage 1 with 1.0 in flight")
	require.Contains(t, text.String(), "4.99 s of stage 1 to the end of the request due last")
	require.Contains(t, text.String(), "p99 99167 ms from ready to sent")
	require.Regexp(t, `failures +2 of 10 \(20.00 %\)`, text.String())
	require.Regexp(t, `cancelled +1 request in flight`, text.String())
	require.Equal(t, "192.6 requests/s, 38521 output tokens/s", r.Headline())
	require.Equal(t, "9917 us", delay(9917))
}
