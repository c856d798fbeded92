package record

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
)

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// clean is the evidence of a valid Server run of llama3.1-8b.
func clean() *Evidence {
	return &Evidence{
		Terms: Terms{Mode: models.Performance, Scenario: models.Server, Score: true, TokenLatencies: true, FirstTokens: true,
			TTFTLimit: 2 * time.Second, TPOTLimit: 100 * time.Millisecond},
		MedianTokens: 101,
		Record:       &Record{Samples: SampleCounts{Issued: 100, Completed: 100, FirstTokens: 100}},
		Logs: &mllog.Result{Valid: yes(), Complete: true, Result: map[string]any{
			"result_first_token_99.00_percentile_latency_ns":   int64(1_999_999_999),
			"result_time_per_output_token_99.00_percentile_ns": int64(99_999_999),
		}},
	}
}

func ofAccuracy(e *Evidence) *Evidence {
	e.Mode = "accuracy"
	e.Logs.Valid = nil
	e.Logs.Result = map[string]any{}
	e.Record.Accuracy = &Score{Samples: 100}
	return e
}

// tooShort makes an Offline test end before its minimum duration.
func tooShort(e *Evidence) {
	e.Logs.Valid, e.Record.DurationS, e.Record.Throughput.Requests = no(), 1.5, 2300.3
	e.Logs.Result = map[string]any{"result_invalid_reason": "Increase expected QPS for a larger query. ",
		"result_min_duration_met": false, "effective_min_duration_ms": int64(15_000)}
}

// No rate is recommended if the measured one is not the server's, or if LoadGen has another reason.
func TestARateIsOnlyRecommendedFromAnOfflineTestThatWasTooShort(t *testing.T) {
	for name, change := range map[string]func(e *Evidence){
		"another scenario": func(e *Evidence) { e.Scenario = models.SingleStream },
		"failures":         func(e *Evidence) { e.Record.Samples.Failed = 1 },
		"ended early":      func(e *Evidence) { e.Ended = errors.New("enough") },
		"no answers":       func(e *Evidence) { e.Record.Throughput.Requests = 0 },
		"long enough":      func(e *Evidence) { e.Logs.Result["result_min_duration_met"] = true },
	} {
		e := clean()
		e.Scenario = models.Offline
		tooShort(e)
		require.Contains(t, e.tooShort(), "--target-qps 2761 or more")
		change(e)
		require.Empty(t, e.tooShort(), name)
	}
	e := clean()
	e.Scenario = models.Offline
	tooShort(e)
	e.Record.DurationS = 1.49 // less than a tenth
	require.Equal(t, " The test ended after 1.49 s of 15 s: pass --target-qps 4601 or more", e.tooShort())
	for rate, want := range map[float64]string{0.0371234: "0.0372", 4.2: "4.20", 99.91: "100.0", 2760.1: "2761"} {
		require.Equal(t, want, roundUp(rate))
	}
}

// Each row breaks one condition of VALID (docs/reference/troubleshooting.md#verdict-codes), and no other.
func TestEachRuleAlone(t *testing.T) {
	audit := Terms{Mode: models.Performance, Scenario: models.Server, Audit: true}
	alone := make([]bool, len(rules)) // the rules that some case breaks, and no other rule with them
	for name, c := range map[string]struct {
		terms   *Terms // nil: those of clean
		change  func(e *Evidence)
		verdict Verdict
		codes   []Code
		text    string
		exit    int
	}{
		"good":          {verdict: Valid},
		"good accuracy": {change: func(e *Evidence) { ofAccuracy(e) }, verdict: Valid},
		"server died": {change: func(e *Evidence) {
			now := time.Now()
			e.Record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{URL: "http://a:1"},
				{Index: 1, URL: "http://b:2", Died: &now, Exit: "signal: killed"}}}
		}, verdict: Invalid, codes: []Code{CodeServerDied}, text: "replica 1 (http://b:2): signal: killed",
			exit: exit.StatusInvalid},
		"no local port": {change: func(e *Evidence) {
			e.Record.Client.Loops = []backends.LoopStats{{ConnectionsMax: 7}, {ConnectionsMax: 4}}
			e.Record.Client.Exhausted.Ports = 3
		}, verdict: Invalid, codes: []Code{CodeLocalPorts},
			text: "3 times, this machine had no local port for another connection, so requests waited for the client or " +
				"failed: its loops had at most 11 connections open. Widen", exit: exit.StatusInvalid},
		"no local port in accuracy mode": {change: func(e *Evidence) {
			ofAccuracy(e).Record.Client.Exhausted = backends.Exhausted{Ports: 1, Files: 1}
		}, verdict: Valid},
		"no open file": {change: func(e *Evidence) {
			e.Record.Client.Exhausted.Files = 1 // with net/http there are no loops
		}, verdict: Invalid, codes: []Code{CodeOpenFiles},
			text: "1 time, this process could open no further file for a connection, so requests waited for the client or " +
				"failed. Raise the limit (ulimit -n", exit: exit.StatusInvalid},
		"servers live": {change: func(e *Evidence) {
			e.Record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{Gaps: []servers.Gap{{Error: "timeout"}}}}}
		}, verdict: Valid},
		"interrupted": {change: func(e *Evidence) { e.Ended, e.Interrupted = exit.Interrupt{Signal: syscall.SIGINT}, true },
			verdict: Interrupted, codes: []Code{CodeInterrupted}, text: "interrupt", exit: exit.StatusInvalid},
		"interrupted with samples outstanding": {change: func(e *Evidence) {
			e.Ended, e.Interrupted, e.Logs.Complete, e.Logs.Valid = context.Canceled, true, false, nil
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 3, map[ledger.Reason]int64{"cancelled": 3}
			e.Record.Samples.Issued++
			e.Logs.Errors, e.Logs.ErrorTexts = 3, []mllog.Text{{Text: noTokenError + " or more", Count: 3}}
		}, verdict: Interrupted, codes: []Code{CodeInterrupted}, exit: exit.StatusInvalid},
		"interrupted, and LoadGen calls the rest too short": {change: func(e *Evidence) {
			e.Ended, e.Interrupted, e.Logs.Valid = exit.Interrupt{Signal: syscall.SIGTERM}, true, no()
		}, verdict: Interrupted, codes: []Code{CodeInterrupted}, exit: exit.StatusInvalid},
		"interrupted after failures": {change: func(e *Evidence) {
			e.Ended, e.Interrupted, e.Logs.Valid = exit.Interrupt{Signal: syscall.SIGINT}, true, no()
			e.Record.Samples.Failed = 5
			e.Record.Samples.FailedByReason = map[ledger.Reason]int64{"cancelled": 3, "http_500": 2}
			e.Logs.Errors, e.Logs.ErrorTexts = 6, []mllog.Text{{Text: noTokenError, Count: 5}, {Text: "Multiple complete",
				Count: 1}}
		}, verdict: Interrupted, codes: []Code{CodeInterrupted, CodeFailedSamples, CodeLoadGenErrors},
			text: "LoadGen logged 3 errors; the first (2 times): n_tokens", exit: exit.StatusInvalid},
		"interrupted after another failure": {change: func(e *Evidence) {
			e.Ended, e.Interrupted = exit.Interrupt{Signal: syscall.SIGINT}, true
			e.Record.Samples.Failed = 4
			e.Record.Samples.FailedByReason = map[ledger.Reason]int64{"cancelled": 3, "reset": 1}
		}, verdict: Interrupted, codes: []Code{CodeInterrupted, CodeFailedSamples},
			text: "1 of 100 samples failed, reset 1", exit: exit.StatusInvalid},
		"more answers than samples before an interruption": {change: func(e *Evidence) {
			e.Ended, e.Interrupted = exit.Interrupt{Signal: syscall.SIGINT}, true
			e.Record.Samples.Issued = 99
		}, verdict: Interrupted, codes: []Code{CodeInterrupted, CodeFailedSamples}, exit: exit.StatusInvalid},
		"interrupted before the first sample": {change: func(e *Evidence) {
			e.Ended, e.Interrupted, e.Record.Samples = context.Canceled, true, SampleCounts{}
		}, verdict: Interrupted, codes: []Code{CodeInterrupted}, exit: exit.StatusInvalid},
		"the caller's own cause": {change: func(e *Evidence) { e.Ended, e.Interrupted = errors.New("enough"), true },
			verdict: Interrupted, codes: []Code{CodeInterrupted}, text: "enough", exit: exit.StatusInvalid},
		"the caller's deadline": {change: func(e *Evidence) {
			e.Ended, e.Interrupted, e.Logs = context.DeadlineExceeded, true,
				nil
		},
			verdict: Interrupted, codes: []Code{CodeInterrupted}, exit: exit.StatusInvalid},
		"ended by a backend with every sample answered": {change: func(e *Evidence) {
			e.Ended, e.Logs.Complete, e.Logs.Valid = errors.New("the backend broke"), false, nil
		}, verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "the backend broke", exit: exit.StatusInvalid},
		"ended because LoadGen did not return": {change: func(e *Evidence) {
			e.Ended, e.Logs.Complete, e.Logs.Valid = fmt.Errorf("%w: 100 samples", ErrNotReturned), false, nil
		}, verdict: Invalid, codes: []Code{CodeLogIncomplete}, text: "LoadGen did not end the test: 100 samples",
			exit: exit.StatusEnvironment},
		"ended because LoadGen did not return, and it returned then": {change: func(e *Evidence) {
			e.Ended = ErrNotReturned
		}, verdict: Invalid, codes: []Code{CodeLogIncomplete}, exit: exit.StatusEnvironment},
		"ended because LoadGen did not return, with a failed sample": {change: func(e *Evidence) {
			e.Ended, e.Logs.Complete, e.Logs.Valid = ErrNotReturned, false, nil
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 1, map[ledger.Reason]int64{"reset": 1}
		}, verdict: Invalid, codes: []Code{CodeLogIncomplete, CodeFailedSamples}, exit: exit.StatusEnvironment},
		"ended by --max-errors": {change: func(e *Evidence) {
			e.Ended, e.Logs.Complete, e.Logs.Valid = errors.New("more samples failed"), false, nil
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 6, map[ledger.Reason]int64{"http_500": 6}
		}, verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "http_500 6; the test was ended: more samples failed",
			exit: exit.StatusInvalid},
		"failed at one of two endpoints": {change: func(e *Evidence) {
			e.Record.Samples.Failed = 1
			e.Record.Endpoints = []EndpointCounts{{URL: "http://a:1"}, {URL: "http://b:2", Failed: 1}}
		}, verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "all at http://b:2", exit: exit.StatusInvalid},
		"failed in several ways": {change: func(e *Evidence) {
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 12,
				map[ledger.Reason]int64{"reset": 3, "http_500": 6, "connect": 3}
		}, verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "samples failed, http_500 6, connect 3, reset 3",
			exit: exit.StatusInvalid},
		"what causes others stands before them": {change: func(e *Evidence) {
			now := time.Now()
			e.Record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{URL: "http://a:1", Died: &now}}}
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 2, map[ledger.Reason]int64{"reset": 2}
			e.Logs.Errors, e.Logs.ErrorTexts, e.Logs.Valid = 2, []mllog.Text{{Text: "no token", Count: 2}}, no()
			e.Logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(3e9)
		}, verdict: Invalid, codes: []Code{CodeServerDied, CodeFailedSamples, CodeScenarioLimit, CodeLoadGenErrors,
			CodeLoadGenInvalid}, exit: exit.StatusInvalid},
		"log without an end": {change: func(e *Evidence) { e.Logs.Complete, e.Logs.Missing = false, []string{"the summary"} },
			verdict: Invalid, codes: []Code{CodeLogIncomplete}, text: "disk full", exit: exit.StatusEnvironment},
		"a limit in a log without an end": {change: func(e *Evidence) {
			e.Logs.Complete, e.Logs.Missing = false, []string{"the summary"}
			e.Logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(2e9)
			delete(e.Logs.Result, "result_time_per_output_token_99.00_percentile_ns")
		}, verdict: Invalid, codes: []Code{CodeScenarioLimit, CodeLogIncomplete}, text: "time to first token is 2s",
			exit: exit.StatusEnvironment},
		"no log": {change: func(e *Evidence) { e.Logs = nil }, verdict: Invalid, codes: []Code{CodeLogIncomplete},
			exit: exit.StatusEnvironment},
		"LoadGen reports INVALID": {change: func(e *Evidence) {
			e.Logs.Valid = no()
			e.Logs.Result["result_invalid_reason"] = "too few queries"
		},
			verdict: Invalid, codes: []Code{CodeLoadGenInvalid}, text: "too few queries", exit: exit.StatusInvalid},
		"an Offline test that is too short": {terms: &Terms{Mode: models.Performance, Scenario: models.Offline},
			change: tooShort, verdict: Invalid, codes: []Code{CodeLoadGenInvalid},
			text: "a larger query. The test ended after 1.50 s of 15 s: pass --target-qps 2761 or more",
			exit: exit.StatusInvalid},
		"LoadGen says nothing": {change: func(e *Evidence) { e.Logs.Valid = nil }, verdict: Invalid,
			codes: []Code{CodeLoadGenInvalid}, text: "no verdict", exit: exit.StatusInvalid},
		"LoadGen logged an error": {change: func(e *Evidence) {
			e.Logs.Errors, e.Logs.ErrorTexts = 2, []mllog.Text{{Text: "Multiple complete", Count: 2}}
		}, verdict: Invalid, codes: []Code{CodeLoadGenErrors}, text: "the first (2 times): Multiple complete",
			exit: exit.StatusInvalid},
		"one-token answers": {change: func(e *Evidence) { e.Logs.Errors, e.OneToken = 1, 4 },
			verdict: Invalid, codes: []Code{CodeLoadGenErrors},
			text: "4 answers have one token, which LoadGen counts as an error; set --min-tokens 2", exit: exit.StatusInvalid},
		"a stray audit": {change: func(e *Evidence) { e.AuditApplied = true }, verdict: Invalid,
			codes: []Code{CodeStrayAuditConfig}, exit: exit.StatusInvalid},
		"an audit that was not applied": {terms: &audit, verdict: Invalid, codes: []Code{CodeComplianceFailed},
			exit: exit.StatusInvalid},
		"an audit": {terms: &audit, change: func(e *Evidence) { e.AuditApplied, e.Logs.Valid = true, no() },
			verdict: Valid},
		"an audit above the limits": {terms: &audit, change: func(e *Evidence) {
			e.AuditApplied, e.Logs.Result = true, nil
			e.Record.Client.DispatchLagUS.P99 = 1e9
		}, verdict: Valid},
		"an audit with a failure": {terms: &audit, change: func(e *Evidence) {
			e.AuditApplied, e.Record.Samples.Failed = true,
				1
		},
			verdict: Invalid, codes: []Code{CodeFailedSamples}, exit: exit.StatusInvalid},
		"a failed sample": {change: func(e *Evidence) {
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 1, map[ledger.Reason]int64{"reset": 1}
		}, verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "1 of 100 samples failed, reset 1",
			exit: exit.StatusInvalid},
		"a failed sample in accuracy mode": {change: func(e *Evidence) { ofAccuracy(e).Record.Samples.Failed = 1 },
			verdict: Invalid, codes: []Code{CodeFailedSamples}, exit: exit.StatusInvalid},
		"allowed failures are failures": {
			change:  func(e *Evidence) { e.Record.Samples.Failed = 1 },
			verdict: Invalid, codes: []Code{CodeFailedSamples}, exit: exit.StatusInvalid},
		"an unfinished sample": {change: func(e *Evidence) { e.Record.Samples.Completed--; e.Record.Samples.FirstTokens-- },
			verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "100 samples were issued and 99 completed",
			exit: exit.StatusInvalid},
		"one sample": {change: func(e *Evidence) {
			e.Record.Samples = SampleCounts{Issued: 1, Completed: 1, FirstTokens: 1}
		}, verdict: Valid},
		"no sample at all": {change: func(e *Evidence) { e.Record.Samples = SampleCounts{} }, verdict: Invalid,
			codes: []Code{CodeFailedSamples}, exit: exit.StatusInvalid},
		"an empty answer": {change: func(e *Evidence) { e.Record.Samples.Empty = 1 }, verdict: Invalid,
			codes: []Code{CodeEmptyOutputs}, exit: exit.StatusInvalid},
		"a missing first token": {change: func(e *Evidence) { e.Record.Samples.FirstTokens = 98 },
			verdict: Invalid, codes: []Code{CodeMissingFirstTokens}, text: "2 successful samples", exit: exit.StatusInvalid},
		"a failed sample needs no first token": {change: func(e *Evidence) {
			e.Record.Samples.Failed,
				e.Record.Samples.FirstTokens = 10, 90
		},
			verdict: Invalid, codes: []Code{CodeFailedSamples}, exit: exit.StatusInvalid},
		"first tokens that nobody waits for": {change: func(e *Evidence) {
			e.FirstTokens, e.Record.Samples.FirstTokens = false,
				0
		}, verdict: Valid},
		"a token mismatch": {change: func(e *Evidence) { e.Record.Tokens.Mismatches = 1 },
			verdict: Invalid, codes: []Code{CodeTokenMismatch}, exit: exit.StatusInvalid},
		"prompts that the server cuts": {change: func(e *Evidence) { e.OtherPrompts = 3 }, verdict: Invalid,
			codes: []Code{CodeTokenMismatch}, text: "in 3 answers", exit: exit.StatusInvalid},
		"an answer that nobody asked for": {change: func(e *Evidence) {
			e.Record.Client.Loops = []backends.LoopStats{{},
				{Unasked: 1}}
		}, verdict: Invalid, codes: []Code{CodeUnaskedAnswers}, exit: exit.StatusInvalid},
		"an answer that net/http saw": {change: func(e *Evidence) { e.Record.Answers.Unasked = 1 },
			verdict: Invalid, codes: []Code{CodeUnaskedAnswers}, exit: exit.StatusInvalid},
		"an answer where ids are compared": {change: func(e *Evidence) {
			e.Record.Answers = Answers{Identified: true,
				Unasked: 1}
		}, verdict: Invalid, codes: []Code{CodeUnaskedAnswers}, exit: exit.StatusInvalid},
		"bytes that nothing asked for": {change: func(e *Evidence) { e.Record.Answers.Strays = 1 },
			verdict: Invalid, codes: []Code{CodeUnaskedAnswers}, exit: exit.StatusInvalid},
		"such bytes where ids are compared": {change: func(e *Evidence) {
			e.Record.Answers = Answers{Identified: true,
				Strays: 1}
		}, verdict: Valid},
		"an end that was told twice": {change: func(e *Evidence) { e.Misreported = 1 }, verdict: Invalid,
			codes: []Code{CodeMisreported}, exit: exit.StatusInvalid},
		"a long answer where tokens are limited": {change: func(e *Evidence) {
			e.Logs.Result["result_99.00_percentile_latency_ns"] = int64(3600e9)
		}, verdict: Valid},
		"TTFT at its limit": {change: func(e *Evidence) {
			e.Logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(2e9)
		},
			verdict: Invalid, codes: []Code{CodeScenarioLimit}, text: "time to first token is 2s, the limit of Server is 2s",
			exit: exit.StatusInvalid},
		"TPOT above its limit": {change: func(e *Evidence) {
			e.Logs.Result["result_time_per_output_token_99.00_percentile_ns"] = int64(1e8 + 1)
		},
			verdict: Invalid, codes: []Code{CodeScenarioLimit}, text: "time per output token", exit: exit.StatusInvalid},
		"no TTFT in the log": {change: func(e *Evidence) {
			delete(e.Logs.Result,
				"result_first_token_99.00_percentile_latency_ns")
		},
			verdict: Invalid, codes: []Code{CodeScenarioLimit}, exit: exit.StatusInvalid},
		"Interactive's own limit": {change: func(e *Evidence) {
			e.Scenario, e.TTFTLimit, e.TPOTLimit = models.Interactive, 500*time.Millisecond, 30*time.Millisecond
			e.Logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(499e6)
			e.Logs.Result["result_time_per_output_token_99.00_percentile_ns"] = int64(30e6)
		}, verdict: Invalid, codes: []Code{CodeScenarioLimit}, text: "the limit of Interactive is 30ms",
			exit: exit.StatusInvalid},
		"sent late": {change: func(e *Evidence) { e.Record.Client.DispatchLagUS.P99 = 200_001 },
			verdict: Invalid, codes: []Code{CodeClientLag}, text: "scheduled to sent is 200 ms, above 200 ms",
			exit: exit.StatusInvalid},
		"sent late by a busy client": {change: func(e *Evidence) {
			e.Record.Client.DispatchLagUS.P99, e.Record.Client.CPUS, e.Record.DurationS = 3e5, 6, 10
		}, verdict: Invalid, codes: []Code{CodeClientLag}, text: "the client is too slow for this load; check",
			exit: exit.StatusInvalid},
		"sent late by an idle client": {change: func(e *Evidence) {
			e.Record.Client.DispatchLagUS.P99, e.Record.Client.CPUS, e.Record.DurationS = 3e5, 0.5, 10
		}, verdict: Invalid, codes: []Code{CodeClientLag},
			text: "the client itself was not busy (0.05 CPUs); check whether it was stopped",
			exit: exit.StatusInvalid},
		"sent late at the limit of open files": {change: func(e *Evidence) {
			e.Record.Client.DispatchLagUS.P99 = 3e5
			e.Record.Client.Loops = []backends.LoopStats{{LimitMax: 40, ConnectionsMax: 30},
				{LimitMax: 40, ConnectionsMax: 40, QueueMax: 1}}
		}, verdict: Invalid, codes: []Code{CodeClientLag},
			text: "queries waited because the client may have only 80 requests in flight. Raise the limit of open files",
			exit: exit.StatusInvalid},
		"sent late below the limit of open files": {change: func(e *Evidence) {
			e.Record.Client.DispatchLagUS.P99 = 3e5
			e.Record.Client.Loops = []backends.LoopStats{{LimitMax: 40, ConnectionsMax: 39, QueueMax: 1},
				{LimitMax: 40, ConnectionsMax: 40}, {QueueMax: 5}}
		}, verdict: Invalid, codes: []Code{CodeClientLag}, text: "the client is too slow for this load; check",
			exit: exit.StatusInvalid},
		"sent late without local ports": {change: func(e *Evidence) {
			e.Record.Client.DispatchLagUS.P99 = 3e5
			e.Record.Client.Exhausted.Ports = 1
			e.Record.Client.Loops = []backends.LoopStats{{LimitMax: 40, ConnectionsMax: 40, QueueMax: 1}}
		}, verdict: Invalid, codes: []Code{CodeLocalPorts, CodeClientLag}, text: "the client is too slow for this load",
			exit: exit.StatusInvalid},
		"errors that follow from failures": {change: func(e *Evidence) {
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 2, map[ledger.Reason]int64{"http_500": 2}
			e.Logs.Errors, e.Logs.ErrorTexts = 2, []mllog.Text{{Text: noTokenError, Count: 2}}
		}, verdict: Invalid, codes: []Code{CodeFailedSamples, CodeLoadGenErrors}, text: "so it is not another fault",
			exit: exit.StatusInvalid},
		"sent just in time": {change: func(e *Evidence) { e.Record.Client.DispatchLagUS.P99 = 200_000 }, verdict: Valid},
		"reported late": {change: func(e *Evidence) { e.Record.Client.ReportLagUS.P99 = 1_000_001 },
			verdict: Invalid, codes: []Code{CodeClientLag}, text: "readable to reported", exit: exit.StatusInvalid},
		"reported just in time": {change: func(e *Evidence) { e.Record.Client.ReportLagUS.P99 = 1_000_000 }, verdict: Valid},
		"a score below target": {change: func(e *Evidence) {
			ofAccuracy(e).Result = &accuracy.Result{Metrics: []accuracy.Metric{{Name: "rouge1", Value: 30, Text: "30.0",
				Min: 38.39, Pass: no()}}}
		}, verdict: Invalid, codes: []Code{CodeAccuracyBelowTarget}, text: "rouge1 is 30.0 and must be at least 38.39",
			exit: exit.StatusInvalid},
		"no score": {change: func(e *Evidence) { ofAccuracy(e).Record.Accuracy = NotScored("there is no tokenizer") },
			verdict: Invalid, codes: []Code{CodeNotScored}, text: "the answers were not scored: there is no tokenizer",
			exit: exit.StatusInvalid},
		"nothing to score with": {change: func(e *Evidence) { ofAccuracy(e).Record.Accuracy = nil },
			verdict: Invalid, codes: []Code{CodeNotScored}, text: "--no-score asks for the log only", exit: exit.StatusInvalid},
		"a part of the answers was scored": {change: func(e *Evidence) {
			ofAccuracy(e).Record.Accuracy.Unscored = []accuracy.Unscored{{Subset: "mbxp", Samples: 7, Why: "no sandbox"},
				{Subset: "lcb", Samples: 5, Why: "no tests"}}
		}, verdict: Invalid, codes: []Code{CodeNotScored},
			text: "12 of 100 answers were not scored; 7 of mbxp: no sandbox; 5 of lcb: no tests", exit: exit.StatusInvalid},
		"the log alone was asked for": {
			change: func(e *Evidence) { ofAccuracy(e).Record.Accuracy, e.Score = NotScored(LogOnly), false }, verdict: Valid},
		"no score of a test that lacks its log's end": {change: func(e *Evidence) {
			ofAccuracy(e).Record.Accuracy, e.Logs.Complete = NotScored("the test did not run to its end"), false
		}, verdict: Invalid, codes: []Code{CodeLogIncomplete}, exit: exit.StatusEnvironment},
		"no score and no log": {change: func(e *Evidence) { ofAccuracy(e).Record.Accuracy, e.Logs = nil, nil },
			verdict: Invalid, codes: []Code{CodeLogIncomplete}, exit: exit.StatusEnvironment},
		"no score of a test that a backend ended": {change: func(e *Evidence) {
			ofAccuracy(e).Record.Accuracy, e.Ended = NotScored("the test was ended"), errors.New("the backend broke")
		}, verdict: Invalid, codes: []Code{CodeFailedSamples}, text: "the backend broke", exit: exit.StatusInvalid},
		"a score in reach": {change: func(e *Evidence) {
			ofAccuracy(e).Result = &accuracy.Result{Metrics: []accuracy.Metric{{Name: "rouge1", Value: 39, Min: 38.39,
				Pass: yes()}}}
		}, verdict: Valid},
		"samples without an answer": {change: func(e *Evidence) {
			ofAccuracy(e).Result = &accuracy.Result{Missing: 2, Unclaimed: []string{"2 samples have no answer"}}
		},
			verdict: Invalid, codes: []Code{CodeAccuracyBelowTarget}, text: "2 samples", exit: exit.StatusInvalid},
		"a limit lost, with --fail-fast": {change: func(e *Evidence) {
			e.Ended = &LimitLost{Tail: Tail{What: "TTFT", Limit: 2 * time.Second, Queries: 100, Over: 3}}
		}, verdict: Invalid, codes: []Code{CodeScenarioLimit, CodeFailedSamples},
			text: "can no longer become valid (--fail-fast)\n--fail-fast ended the test\n", exit: exit.StatusInvalid},
		"a limit lost, with --fail-fast, while queries wait": {change: func(e *Evidence) {
			e.Ended = &LimitLost{Tail: Tail{What: "TTFT", Limit: 2 * time.Second, Queries: 100, Over: 3}}
			e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 7, map[ledger.Reason]int64{ledger.FailCancelled: 7}
		}, verdict: Invalid, codes: []Code{CodeScenarioLimit, CodeFailedSamples},
			text: "samples failed, cancelled 7; --fail-fast ended the test\n", exit: exit.StatusInvalid},
		"a limit of the whole answer": {
			terms:   &Terms{Mode: models.Performance, Scenario: models.Server, AnswerLimit: 12 * time.Second},
			change:  func(e *Evidence) { e.Logs.Result["result_99.00_percentile_latency_ns"] = int64(12e9) },
			verdict: Invalid, codes: []Code{CodeScenarioLimit}, exit: exit.StatusInvalid},
		"another model": {change: func(e *Evidence) { e.OtherModels = []string{"http://a:1 served b"} },
			verdict: Invalid, codes: []Code{CodeWrongModel}, text: "served b", exit: exit.StatusInvalid},
		"a clock that was set": {change: func(e *Evidence) { e.ClockDrift = -1001 * time.Microsecond },
			verdict: Invalid, codes: []Code{CodeClockStep}, exit: exit.StatusInvalid},
	} {
		e := clean()
		if c.terms != nil {
			e.Terms = *c.terms
		}
		if c.change != nil {
			c.change(e)
		}
		if i, ok := onlyObjection(e); ok {
			alone[i] = true
		}
		t.Run(name, func(t *testing.T) {
			verdict, causes := e.Judge()
			var codes []Code
			text := ""
			for _, cause := range causes {
				codes = append(codes, cause.Code)
				text += cause.Text + "\n"
				if _, isCount := cause.Value.(int64); isCount && cause.Code != CodeScenarioLimit {
					require.EqualValues(t, 0, cause.Limit, cause.Code)
				}
			}
			require.Equal(t, c.codes, codes, text)
			require.Equal(t, c.verdict, verdict)
			require.Contains(t, text, c.text)
			r := &Record{Verdict: verdict, Reasons: causes}
			require.Equal(t, c.exit, r.ExitCode())
		})
	}
	for i, rule := range rules {
		name := runtime.FuncForPC(reflect.ValueOf(rule).Pointer()).Name()
		if !strings.HasSuffix(name, ".limitLost") { // a lost limit ends the test, to which endedEarly objects too
			assert.True(t, alone[i], "no case breaks only the rule %s", name)
		}
	}
}

// onlyObjection returns the index of the only rule that objects to e.
func onlyObjection(e *Evidence) (index int, ok bool) {
	n := 0
	for i, rule := range rules {
		if rule(e) != nil {
			index, n = i, n+1
		}
	}
	return index, n == 1
}

// If a benchmark limits the whole answer, the answer's time is compared with that limit, and the times of tokens with
// none (docs/reference/benchmarks.md#limits-and-counts).
func TestLimitOfTheWholeAnswer(t *testing.T) {
	limits := map[models.Scenario]time.Duration{models.Server: 12 * time.Second,
		models.Interactive: 1500 * time.Millisecond}
	for name, c := range map[string]struct {
		scenario models.Scenario
		ns       any
		lagUS    float64
		codes    []Code
	}{
		"Server":                  {"Server", int64(11_999_999_999), 1_200_000, nil},
		"Server at its limit":     {"Server", int64(12e9), 0, []Code{CodeScenarioLimit}},
		"Server, sent late":       {"Server", int64(5e9), 1_200_001, []Code{CodeClientLag}},
		"Interactive":             {"Interactive", int64(1_499_999_999), 150_000, nil},
		"Interactive, as Server":  {"Interactive", int64(11e9), 0, []Code{CodeScenarioLimit}},
		"Interactive, sent late":  {"Interactive", int64(1e9), 150_001, []Code{CodeClientLag}},
		"Interactive, no latency": {"Interactive", nil, 0, []Code{CodeScenarioLimit}},
	} {
		t.Run(name, func(t *testing.T) {
			e := clean()
			e.TokenLatencies, e.FirstTokens, e.TTFTLimit, e.TPOTLimit = false, false, 0, 0
			e.Scenario, e.AnswerLimit, e.Logs.Result = c.scenario, limits[c.scenario], map[string]any{}
			if c.ns != nil {
				e.Logs.Result["result_99.00_percentile_latency_ns"] = c.ns
			}
			e.Record.Client.DispatchLagUS.P99 = c.lagUS
			_, causes := e.Judge()
			var codes []Code
			for _, cause := range causes {
				codes = append(codes, cause.Code)
			}
			require.Equal(t, c.codes, codes, causes)
		})
	}
}

// A model without limits has no limit on the client's lag either; the lag is only reported.
func TestNoLimitsNoLag(t *testing.T) {
	e := clean()
	e.TTFTLimit, e.TPOTLimit, e.Logs.Result = 0, 0, map[string]any{}
	e.Record.Client.DispatchLagUS.P99, e.Record.Client.ReportLagUS.P99 = 1e9, 1e9
	verdict, causes := e.Judge()
	require.Equal(t, Valid, verdict, causes)
}

// INTERRUPTED does not depend on the order of the rules.
func TestInterruptedWhateverTheOrderOfRules(t *testing.T) {
	before := rules
	t.Cleanup(func() { rules = before })
	rules = slices.Clone(rules)
	slices.Reverse(rules)
	e := clean()
	e.Ended, e.Interrupted, e.Record.Samples.Failed = context.Canceled, true, 3
	verdict, causes := e.Judge()
	require.Equal(t, Interrupted, verdict, causes)
	require.NotEqual(t, CodeInterrupted, causes[0].Code)
}

// A probe is judged by the rules of a run, except those for LoadGen's logs and the limits.
func TestJudgeProbe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Evidence)
		codes  []Code
	}{
		"good":           {},
		"beyond a limit": {change: func(e *Evidence) { e.Logs.Result = map[string]any{} }},
		"LoadGen's log":  {change: func(e *Evidence) { e.Logs.Complete = false }},
		"a failure":      {func(e *Evidence) { e.Record.Samples.Failed = 1 }, []Code{CodeFailedSamples}},
		"it was ended":   {func(e *Evidence) { e.Ended = errors.New("why") }, []Code{CodeFailedSamples}},
		"stray answers":  {func(e *Evidence) { e.Record.Answers.Unasked = 1 }, []Code{CodeUnaskedAnswers}},
		"another model":  {func(e *Evidence) { e.OtherModels = []string{"b"} }, []Code{CodeWrongModel}},
		"a clock step":   {func(e *Evidence) { e.ClockDrift = time.Minute }, []Code{CodeClockStep}},
		"a late client": {func(e *Evidence) { e.Record.Client.DispatchLagUS.P99 = 2e5 + 1 },
			[]Code{CodeClientLag}},
		"no limit, fast enough": {change: func(e *Evidence) { unlimited(e, 10_000) }},
		"no limit, late":        {func(e *Evidence) { unlimited(e, 10_001) }, []Code{CodeClientLag}},
		"no limit, late, no first tokens": {change: func(e *Evidence) {
			unlimited(e, 10_001)
			e.Record.LatencyS.E2E, e.Record.LatencyS.TTFT = e.Record.LatencyS.TTFT, nil
		}, codes: []Code{CodeClientLag}},
	} {
		t.Run(name, func(t *testing.T) {
			e := clean()
			if c.change != nil {
				c.change(e)
			}
			var codes []Code
			for _, cause := range e.JudgeProbe() {
				codes = append(codes, cause.Code)
			}
			require.Equal(t, c.codes, codes)
		})
	}
}

// unlimited removes the limits from a probe that measured first tokens after 0.1 s.
func unlimited(e *Evidence, lagUS float64) {
	e.TTFTLimit, e.TPOTLimit = 0, 0
	e.Record.LatencyS.TTFT = &ledger.Stats{P99: 0.1}
	e.Record.Client.DispatchLagUS.P99 = lagUS
}
