package run

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/sut"
)

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

// clean is the evidence of a Server run with nothing to say against it.
func clean(t *testing.T, settings Settings) *evidence {
	t.Helper()
	all := Settings{"model": "llama3.1-8b", "scenario": "Server", "endpoint": "http://host:1", "target-qps": "10"}
	for k, v := range settings {
		all[k] = v
	}
	p, err := New(all)
	require.NoError(t, err)
	require.NoError(t, p.Bind(13368))
	return &evidence{
		plan: p, tokens: true, medianN: 101,
		record: &Record{Samples: SampleCounts{Issued: 100, Completed: 100, FirstTokens: 100}},
		logs: &mllog.Result{Valid: yes(), Complete: true, Result: map[string]any{
			"result_first_token_99.00_percentile_latency_ns":   int64(1_999_999_999),
			"result_time_per_output_token_99.00_percentile_ns": int64(99_999_999),
		}},
	}
}

func ofAccuracy(e *evidence) *evidence {
	e.plan.Mode = "accuracy"
	e.logs.Valid = nil
	e.logs.Result = map[string]any{}
	e.record.Accuracy = &Score{Samples: 100}
	return e
}

// Each row breaks one condition of VALID (docs/reference/troubleshooting.md#verdict-codes), and no other.
func TestEachRuleAlone(t *testing.T) {
	audit := Settings{"audit-config": "main_test.go"} // any file: LoadGen is not asked
	for name, c := range map[string]struct {
		settings Settings
		change   func(e *evidence)
		verdict  Verdict
		codes    []string
		text     string
		exit     int
	}{
		"good":          {verdict: Valid},
		"good accuracy": {change: func(e *evidence) { ofAccuracy(e) }, verdict: Valid},
		"server died": {change: func(e *evidence) {
			now := time.Now()
			e.record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{URL: "http://a:1"},
				{Index: 1, URL: "http://b:2", Died: &now, Exit: "signal: killed"}}}
		}, verdict: Invalid, codes: []string{"server_died"}, text: "replica 1 (http://b:2): signal: killed",
			exit: ExitInvalid},
		"servers live": {change: func(e *evidence) {
			e.record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{Gaps: []servers.Gap{{Error: "timeout"}}}}}
		}, verdict: Valid},
		"interrupted": {change: func(e *evidence) { e.ended, e.outside = Interrupt{syscall.SIGINT}, true },
			verdict: Interrupted, codes: []string{"interrupted"}, text: "interrupt", exit: ExitInvalid},
		"interrupted with samples outstanding": {change: func(e *evidence) {
			e.ended, e.outside, e.logs.Complete, e.logs.Valid = context.Canceled, true, false, nil
			e.record.Samples.Failed = 3
		}, verdict: Interrupted, codes: []string{"interrupted", "failed_samples"}, exit: ExitInvalid},
		"the caller's own cause": {change: func(e *evidence) { e.ended, e.outside = errors.New("enough"), true },
			verdict: Interrupted, codes: []string{"interrupted"}, text: "enough", exit: ExitInvalid},
		"the caller's deadline": {change: func(e *evidence) {
			e.ended, e.outside, e.logs = context.DeadlineExceeded, true,
				nil
		},
			verdict: Interrupted, codes: []string{"interrupted"}, exit: ExitInvalid},
		"ended by a backend with every sample answered": {change: func(e *evidence) {
			e.ended, e.logs.Complete, e.logs.Valid = errors.New("the backend broke"), false, nil
		}, verdict: Invalid, codes: []string{"failed_samples"}, text: "the backend broke", exit: ExitInvalid},
		"ended by --max-errors": {change: func(e *evidence) {
			e.ended, e.logs.Complete, e.logs.Valid = sut.ErrTooManyFailures, false, nil
			e.record.Samples.Failed, e.record.Samples.FailedByReason = 6, map[ledger.Reason]int64{"http_500": 6}
		}, verdict: Invalid, codes: []string{"failed_samples"}, text: "http_500 6; the test was ended: more samples failed",
			exit: ExitInvalid},
		"failed in several ways": {change: func(e *evidence) {
			e.record.Samples.Failed, e.record.Samples.FailedByReason = 12,
				map[ledger.Reason]int64{"reset": 3, "http_500": 6, "connect": 3}
		}, verdict: Invalid, codes: []string{"failed_samples"}, text: "samples failed, http_500 6, connect 3, reset 3",
			exit: ExitInvalid},
		"what causes others stands before them": {change: func(e *evidence) {
			now := time.Now()
			e.record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{URL: "http://a:1", Died: &now}}}
			e.record.Samples.Failed, e.record.Samples.FailedByReason = 2, map[ledger.Reason]int64{"reset": 2}
			e.logs.Errors, e.logs.ErrorTexts, e.logs.Valid = 2, []mllog.Text{{Text: "no token", Count: 2}}, no()
			e.logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(3e9)
		}, verdict: Invalid, codes: []string{"server_died", "failed_samples", "scenario_limit", "loadgen_errors",
			"loadgen_invalid"}, exit: ExitInvalid},
		"log without an end": {change: func(e *evidence) { e.logs.Complete, e.logs.Missing = false, []string{"the summary"} },
			verdict: Invalid, codes: []string{"log_incomplete"}, text: "disk full", exit: ExitEnvironment},
		"a limit in a log without an end": {change: func(e *evidence) {
			e.logs.Complete, e.logs.Missing = false, []string{"the summary"}
			e.logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(2e9)
			delete(e.logs.Result, "result_time_per_output_token_99.00_percentile_ns")
		}, verdict: Invalid, codes: []string{"scenario_limit", "log_incomplete"}, text: "time to first token is 2s",
			exit: ExitEnvironment},
		"no log": {change: func(e *evidence) { e.logs = nil }, verdict: Invalid, codes: []string{"log_incomplete"},
			exit: ExitEnvironment},
		"LoadGen says INVALID": {change: func(e *evidence) {
			e.logs.Valid = no()
			e.logs.Result["result_invalid_reason"] = "too few queries"
		},
			verdict: Invalid, codes: []string{"loadgen_invalid"}, text: "too few queries", exit: ExitInvalid},
		"LoadGen says nothing": {change: func(e *evidence) { e.logs.Valid = nil }, verdict: Invalid,
			codes: []string{"loadgen_invalid"}, text: "no verdict", exit: ExitInvalid},
		"LoadGen logged an error": {change: func(e *evidence) {
			e.logs.Errors, e.logs.ErrorTexts = 2, []mllog.Text{{Text: "Multiple complete", Count: 2}}
		}, verdict: Invalid, codes: []string{"loadgen_errors"}, text: "the first, 2 times: Multiple complete",
			exit: ExitInvalid},
		"one-token answers": {change: func(e *evidence) { e.logs.Errors, e.record.oneToken = 1, 4 },
			verdict: Invalid, codes: []string{"loadgen_errors"},
			text: "4 answers have one token, which LoadGen counts as an error; set --min-tokens 2", exit: ExitInvalid},
		"a stray audit": {change: func(e *evidence) { e.audit = true }, verdict: Invalid,
			codes: []string{"stray_audit_config"}, exit: ExitInvalid},
		"an audit that was not applied": {settings: audit, verdict: Invalid, codes: []string{"compliance_failed"},
			exit: ExitInvalid},
		"an audit": {settings: audit, change: func(e *evidence) { e.audit, e.logs.Valid = true, no() },
			verdict: Valid},
		"an audit above the limits": {settings: audit, change: func(e *evidence) {
			e.audit, e.logs.Result = true, nil
			e.record.Client.DispatchLagUS.P99 = 1e9
		}, verdict: Valid},
		"an audit with a failure": {settings: audit, change: func(e *evidence) { e.audit, e.record.Samples.Failed = true, 1 },
			verdict: Invalid, codes: []string{"failed_samples"}, exit: ExitInvalid},
		"a failed sample": {change: func(e *evidence) {
			e.record.Samples.Failed, e.record.Samples.FailedByReason = 1, map[ledger.Reason]int64{"reset": 1}
		}, verdict: Invalid, codes: []string{"failed_samples"}, text: "1 of 100 samples failed, reset 1", exit: ExitInvalid},
		"a failed sample in accuracy mode": {change: func(e *evidence) { ofAccuracy(e).record.Samples.Failed = 1 },
			verdict: Invalid, codes: []string{"failed_samples"}, exit: ExitInvalid},
		"allowed failures are failures": {settings: Settings{"max-errors": "10"},
			change:  func(e *evidence) { e.record.Samples.Failed = 1 },
			verdict: Invalid, codes: []string{"failed_samples"}, exit: ExitInvalid},
		"an unfinished sample": {change: func(e *evidence) { e.record.Samples.Completed--; e.record.Samples.FirstTokens-- },
			verdict: Invalid, codes: []string{"failed_samples"}, text: "100 samples were issued and 99 completed",
			exit: ExitInvalid},
		"no sample at all": {change: func(e *evidence) { e.record.Samples = SampleCounts{} }, verdict: Invalid,
			codes: []string{"failed_samples"}, exit: ExitInvalid},
		"an empty answer": {change: func(e *evidence) { e.record.Samples.Empty = 1 }, verdict: Invalid,
			codes: []string{"empty_outputs"}, exit: ExitInvalid},
		"a missing first token": {change: func(e *evidence) { e.record.Samples.FirstTokens = 98 },
			verdict: Invalid, codes: []string{"missing_first_tokens"}, text: "2 successful samples", exit: ExitInvalid},
		"a failed sample needs no first token": {change: func(e *evidence) {
			e.record.Samples.Failed,
				e.record.Samples.FirstTokens = 10, 90
		},
			verdict: Invalid, codes: []string{"failed_samples"}, exit: ExitInvalid},
		"first tokens that nobody waits for": {change: func(e *evidence) {
			e.tokens, e.record.Samples.FirstTokens = false,
				0
		}, verdict: Valid},
		"a token mismatch": {change: func(e *evidence) { e.record.Tokens.Mismatches = 1 },
			verdict: Invalid, codes: []string{"token_mismatch"}, exit: ExitInvalid},
		"prompts that the server cuts": {change: func(e *evidence) { e.record.otherPrompts = 3 }, verdict: Invalid,
			codes: []string{"token_mismatch"}, text: "in 3 answers", exit: ExitInvalid},
		"an answer that nobody asked for": {change: func(e *evidence) {
			e.record.Client.Loops = []backends.LoopStats{{},
				{Unasked: 1}}
		}, verdict: Invalid, codes: []string{"unasked_answers"}, exit: ExitInvalid},
		"an answer that net/http saw": {change: func(e *evidence) { e.record.Answers.Unasked = 1 },
			verdict: Invalid, codes: []string{"unasked_answers"}, exit: ExitInvalid},
		"an answer where ids are compared": {change: func(e *evidence) {
			e.record.Answers = Answers{Identified: true,
				Unasked: 1}
		}, verdict: Invalid, codes: []string{"unasked_answers"}, exit: ExitInvalid},
		"bytes that nothing asked for": {change: func(e *evidence) { e.record.Answers.Strays = 1 },
			verdict: Invalid, codes: []string{"unasked_answers"}, exit: ExitInvalid},
		"such bytes where ids are compared": {change: func(e *evidence) {
			e.record.Answers = Answers{Identified: true,
				Strays: 1}
		}, verdict: Valid},
		"an end that was told twice": {change: func(e *evidence) { e.record.misreported = 1 }, verdict: Invalid,
			codes: []string{"misreported"}, exit: ExitInvalid},
		"a long answer where tokens are limited": {change: func(e *evidence) {
			e.logs.Result["result_99.00_percentile_latency_ns"] = int64(3600e9)
		}, verdict: Valid},
		"TTFT at its limit": {change: func(e *evidence) {
			e.logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(2e9)
		}, verdict: Invalid, codes: []string{"scenario_limit"}, text: "time to first token is 2s, the limit of Server is 2s",
			exit: ExitInvalid},
		"TPOT above its limit": {change: func(e *evidence) {
			e.logs.Result["result_time_per_output_token_99.00_percentile_ns"] = int64(1e8 + 1)
		}, verdict: Invalid, codes: []string{"scenario_limit"}, text: "time per output token", exit: ExitInvalid},
		"no TTFT in the log": {change: func(e *evidence) {
			delete(e.logs.Result,
				"result_first_token_99.00_percentile_latency_ns")
		},
			verdict: Invalid, codes: []string{"scenario_limit"}, exit: ExitInvalid},
		"Interactive's own limit": {settings: Settings{"scenario": "Interactive"}, change: func(e *evidence) {
			e.logs.Result["result_first_token_99.00_percentile_latency_ns"] = int64(499e6)
			e.logs.Result["result_time_per_output_token_99.00_percentile_ns"] = int64(30e6)
		}, verdict: Invalid, codes: []string{"scenario_limit"}, text: "the limit of Interactive is 30ms", exit: ExitInvalid},
		"sent late": {change: func(e *evidence) { e.record.Client.DispatchLagUS.P99 = 200_001 },
			verdict: Invalid, codes: []string{"client_lag"}, text: "scheduled to sent", exit: ExitInvalid},
		"sent just in time": {change: func(e *evidence) { e.record.Client.DispatchLagUS.P99 = 200_000 }, verdict: Valid},
		"reported late": {change: func(e *evidence) { e.record.Client.ReportLagUS.P99 = 1_000_001 },
			verdict: Invalid, codes: []string{"client_lag"}, text: "readable to reported", exit: ExitInvalid},
		"reported just in time": {change: func(e *evidence) { e.record.Client.ReportLagUS.P99 = 1_000_000 }, verdict: Valid},
		"a score below target": {change: func(e *evidence) {
			ofAccuracy(e).score = &accuracy.Result{Metrics: []accuracy.Metric{{Name: "rouge1", Value: 30, Text: "30.0",
				Min: 38.39, Pass: no()}}}
		}, verdict: Invalid, codes: []string{"accuracy_below_target"}, text: "rouge1 is 30.0 and must be at least 38.39",
			exit: ExitInvalid},
		"no score": {change: func(e *evidence) { ofAccuracy(e).record.Accuracy = notScored("there is no tokenizer") },
			verdict: Invalid, codes: []string{"not_scored"}, text: "the answers were not scored: there is no tokenizer",
			exit: ExitInvalid},
		"nothing to score with": {change: func(e *evidence) { ofAccuracy(e).record.Accuracy = nil },
			verdict: Invalid, codes: []string{"not_scored"}, text: "--no-score asks for the log only", exit: ExitInvalid},
		"a part of the answers was scored": {change: func(e *evidence) {
			ofAccuracy(e).record.Accuracy.Unscored = []accuracy.Unscored{{Subset: "mbxp", Samples: 7, Why: "no sandbox"},
				{Subset: "lcb", Samples: 5, Why: "no tests"}}
		}, verdict: Invalid, codes: []string{"not_scored"},
			text: "12 of 100 answers were not scored; 7 of mbxp: no sandbox; 5 of lcb: no tests", exit: ExitInvalid},
		"the log alone was asked for": {settings: Settings{"score": "false"},
			change: func(e *evidence) { ofAccuracy(e).record.Accuracy = notScored(LogOnly) }, verdict: Valid},
		"no score of a test that lacks its log's end": {change: func(e *evidence) {
			ofAccuracy(e).record.Accuracy, e.logs.Complete = notScored("the test did not run to its end"), false
		}, verdict: Invalid, codes: []string{"log_incomplete"}, exit: ExitEnvironment},
		"a score in reach": {change: func(e *evidence) {
			ofAccuracy(e).score = &accuracy.Result{Metrics: []accuracy.Metric{{Name: "rouge1", Value: 39, Min: 38.39,
				Pass: yes()}}}
		}, verdict: Valid},
		"samples without an answer": {change: func(e *evidence) {
			ofAccuracy(e).score = &accuracy.Result{Missing: 2, Unclaimed: []string{"2 samples have no answer"}}
		},
			verdict: Invalid, codes: []string{"accuracy_below_target"}, text: "2 samples", exit: ExitInvalid},
		"a clock that was set": {change: func(e *evidence) { e.drift = -1001 * time.Microsecond },
			verdict: Invalid, codes: []string{"clock_step"}, exit: ExitInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			e := clean(t, c.settings)
			if c.change != nil {
				c.change(e)
			}
			verdict, causes := e.judge()
			var codes []string
			text := ""
			for _, cause := range causes {
				codes = append(codes, cause.Code)
				text += cause.Text + "\n"
				if _, isCount := cause.Value.(int64); isCount && cause.Code != "scenario_limit" {
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
}

// A benchmark that limits the whole answer is held against that, and its tokens against nothing
// (docs/reference/benchmarks.md#limits-and-counts).
func TestLimitOfTheWholeAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		ns       any
		lagUS    float64
		codes    []string
	}{
		"Server":                  {"Server", int64(11_999_999_999), 1_200_000, nil},
		"Server at its limit":     {"Server", int64(12e9), 0, []string{"scenario_limit"}},
		"Server, sent late":       {"Server", int64(5e9), 1_200_001, []string{"client_lag"}},
		"Interactive":             {"Interactive", int64(1_499_999_999), 150_000, nil},
		"Interactive, as Server":  {"Interactive", int64(11e9), 0, []string{"scenario_limit"}},
		"Interactive, sent late":  {"Interactive", int64(1e9), 150_001, []string{"client_lag"}},
		"Interactive, no latency": {"Interactive", nil, 0, []string{"scenario_limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := New(Settings{"model": "qwen3-vl-235b-a22b", "scenario": c.scenario, "endpoint": "http://host:1",
				"target-qps": "10"})
			require.NoError(t, err)
			require.NoError(t, p.Bind(8000))
			e := clean(t, nil)
			e.plan, e.tokens, e.logs.Result = p, false, map[string]any{}
			if c.ns != nil {
				e.logs.Result["result_99.00_percentile_latency_ns"] = c.ns
			}
			e.record.Client.DispatchLagUS.P99 = c.lagUS
			_, causes := e.judge()
			var codes []string
			for _, cause := range causes {
				codes = append(codes, cause.Code)
			}
			require.Equal(t, c.codes, codes, causes)
		})
	}
}

// A model without limits has none, and its client's lag is only told.
func TestNoLimitsNoLag(t *testing.T) {
	p, err := New(Settings{"model": "generic", "scenario": "Server", "endpoint": "http://host:1", "target-qps": "10",
		"served-model": "m"})
	require.NoError(t, err)
	require.NoError(t, p.Bind(10))
	e := clean(t, nil)
	e.plan = p
	e.logs.Result = map[string]any{}
	e.record.Client.DispatchLagUS.P99, e.record.Client.ReportLagUS.P99 = 1e9, 1e9
	verdict, causes := e.judge()
	require.Equal(t, Valid, verdict, causes)
}

func TestClassify(t *testing.T) {
	require.Nil(t, Classify(nil))
	for _, c := range []struct {
		err  error
		exit int
		code string
	}{
		{usage("x", errors.New("y"), ""), ExitUsage, "x"},
		{environment("disk", wrapped(syscall.EIO), ""), ExitEnvironment, "disk"},
		{wrapped(syscall.ENOSPC), ExitEnvironment, "disk_full"},
		{wrapped(syscall.EDQUOT), ExitEnvironment, "disk_full"},
		{wrapped(syscall.EACCES), ExitEnvironment, "permission"},
		{wrapped(syscall.EROFS), ExitEnvironment, "permission"},
		{wrapped(context.Canceled), ExitEnvironment, "interrupted"},
		{wrapped(Interrupt{syscall.SIGINT}), ExitInterrupt, "interrupted"},
		{wrapped(Interrupt{syscall.SIGTERM}), ExitTerminate, "interrupted"},
		{errors.New("anything"), ExitUsage, "usage"},
	} {
		got := Classify(c.err)
		require.Equal(t, c.exit, got.Exit, c.err)
		require.Equal(t, c.code, got.Code, c.err)
		require.ErrorIs(t, got, c.err)
	}
}

func wrapped(err error) error { return errors.Join(errors.New("while it was tried"), err) }

func TestErrorIsOneParagraph(t *testing.T) {
	require.EqualError(t, usage("x", errors.New("it can not be"), "Try another"), "it can not be. Try another")
	require.EqualError(t, usage("x", errors.New("it can not be"), ""), "it can not be")
}
