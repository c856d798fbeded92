package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/engine"
)

// On a terminal the limits have their own line. In a log a lost limit comes first.
func TestProgressNamesTheLimits(t *testing.T) {
	ttft := record.Tail{What: "time to first token", Limit: 2 * time.Second, Over: 17}
	tpot := record.Tail{What: "time per output token", Limit: 100 * time.Millisecond, Over: 1, Bearable: 3}
	now := run.Progress{RatePerS: 12.34, InFlight: 5, TTFTp99: 2500 * time.Millisecond, TPOTp99: 20 * time.Millisecond,
		Left: 61 * time.Second, Tails: []record.Tail{ttft, tpot}}
	require.Equal(t, &view{"12.3/s, 5 in flight, ", "0 failed", ", 1m1s left", []string{
		"TTFT p99 2.5s: 17 queries over 2s, 0 allowed: already INVALID",
		"TPOT p99 20ms: 1 query over 100ms, 3 allowed"}}, newView(now))
	require.Equal(t, "already INVALID (time to first token: 17 queries over 2s, 0 allowed), "+
		"12.3/s, 5 in flight, 0 failed, TTFT p99 2.5s, TPOT p99 20ms, 1m1s left, "+
		"time per output token: 1 query over 100ms, 3 allowed", describe(now))

	both := now
	both.Tails = []record.Tail{ttft, {What: tpot.What, Limit: tpot.Limit, Over: 4, Bearable: 3}}
	require.Contains(t, describe(both), "already INVALID (time to first token: 17 queries over 2s, 0 allowed; "+
		"time per output token: 4 queries over 100ms, 3 allowed), 12.3/s")
	now.TPOTp99 = 0
	require.Equal(t, "time per output token: 1 query over 100ms, 3 allowed", newView(now).limits[1], "not measured yet")
	now.Tails = nil
	require.Equal(t, []string{"TTFT p99 2.5s"}, newView(now).limits)
	now.TTFTp99 = 0
	require.Empty(t, newView(now).limits)
}

// The line of a workload contains the stage, the number of sent requests and their total, and failures if there are
// any.
func TestProgressOfAWorkload(t *testing.T) {
	p := bench.Progress{Live: engine.Live{Stage: 1, Sent: 120, Ended: 112, Failed: 2}, Stages: 3, Requests: 500,
		Elapsed: 12400 * time.Millisecond}
	require.Equal(t, "stage 1 (2 of 3): 120 sent of 500, 110 answered, 2 failed after 12s", benchLine(&p))
	p.Cancelled = 7
	require.Equal(t, "stage 1 (2 of 3): 120 sent of 500, 103 answered, 2 failed, 7 cancelled after 12s", benchLine(&p))
	p.Requests, p.Failed, p.Cancelled = 0, 0, 0
	require.Equal(t, "stage 1 (2 of 3): 120 sent, 112 answered after 12s", benchLine(&p))
}

// Failures stand out on a terminal, with and without colour.
func TestProgressMarksFailures(t *testing.T) {
	g := &progress{console: &console{}}
	none, some := newView(run.Progress{}), newView(run.Progress{Failed: 3})
	require.Equal(t, "0 failed", g.inkFailed(none.failed))
	require.Equal(t, "3 FAILED", g.inkFailed(some.failed))
	g.console.err.ink = g.console.messages
	require.Equal(t, "0 failed", g.inkFailed(none.failed))
	require.Equal(t, "\x1b[31m3 FAILED\x1b[0m", g.inkFailed(some.failed))
}

// After a signal the remaining requests are cancelled, which progress would count as failures.
func TestProgressEndsWithASignal(t *testing.T) {
	var messages bytes.Buffer
	c := newConsole(io.Discard, &messages, nil, &secret.Redactor{})
	(&progress{console: c}).Progress(run.Progress{Failed: 1})
	require.Contains(t, messages.String(), "1 failed")
	messages.Reset()
	c.stopped.Store(true)
	(&progress{console: c}).Progress(run.Progress{Failed: 44})
	require.Empty(t, messages.String())
}
