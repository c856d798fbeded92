package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
)

func TestHeadlines(t *testing.T) {
	result := map[string]any{}
	of := func(mode, scenario string) string {
		r := &Record{Mode: mode, Scenario: scenario}
		r.LoadGen.Result, r.Samples.Completed = result, 1
		return r.Headline()
	}
	require.Equal(t, "LoadGen reported no result", of("performance", "Server"))
	for _, c := range []struct{ key, want string }{
		{"result_samples_per_second", "4 samples/s (LoadGen)"},
		{"result_completed_samples_per_sec", "4 samples/s (LoadGen, completed)"},
		{"result_tokens_per_second", "4 tokens/s (LoadGen)"},
		{"result_completed_tokens_per_second", "4 tokens/s (LoadGen, completed)"},
		{"result_90.00_percentile_latency_ns", "4 tokens/s (LoadGen, completed)"},
	} { // each code precedes the earlier ones
		result[c.key] = 4
		require.Equal(t, c.want, of("performance", "Server"))
	}
	require.Equal(t, "0.000004 ms 90th percentile latency (LoadGen)", of("performance", "SingleStream"))
	require.Equal(t, "1 answer in the accuracy log", of("accuracy", "SingleStream"))
}

func TestReadRefuses(t *testing.T) {
	folder := t.TempDir()
	_, err := Read(folder)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{"{": "is not valid JSON", `{"schema": "other"}`: `has the schema "other"`} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, FileName), []byte(text), 0o644))
		_, err := Read(folder)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, FileName), []byte(`{"schema": "`+Schema+`", "model": "m"}`),
		0o644))
	r, err := Read(folder)
	require.NoError(t, err)
	require.Equal(t, "m", r.Model)
}

func TestLostLimit(t *testing.T) {
	tail := Tail{What: "TTFT", Limit: time.Second, Queries: 100, Bearable: 2, Over: 2}
	require.False(t, tail.Lost())
	tail.Over = 3
	require.True(t, tail.Lost())
	require.Equal(t, "3 queries over 1s, 2 allowed: already INVALID", tail.String())
	require.ErrorContains(t, &LimitLost{Tail: tail},
		"3 queries have a TTFT over 1s; of the 100 queries of this test at most 2")
}

func TestValidBut(t *testing.T) {
	of := func(v Verdict, codes ...Code) *Record {
		r := &Record{Verdict: v}
		for _, c := range codes {
			r.Reasons = append(r.Reasons, Cause{Code: c})
		}
		return r
	}
	const lag, other = CodeClientLag, CodeNotScored
	require.True(t, of(Valid).ValidBut())
	require.True(t, of(Invalid, lag).ValidBut(lag))
	require.True(t, of(Invalid, lag, other).ValidBut(lag, other))
	require.False(t, of(Invalid, lag, other).ValidBut(lag))
	require.False(t, of(Invalid, lag).ValidBut())
	require.False(t, of(Invalid).ValidBut(lag), "INVALID without a reason")
	require.False(t, of(Interrupted, lag).ValidBut(lag), "a test that did not end")
}

func TestDescriptionsOfARecord(t *testing.T) {
	r := &Record{Mode: "performance", Model: "m", Scenario: "Server"}
	require.Equal(t, "performance of m, Server", r.Test())
	require.False(t, r.LogOnly())
	r.Files, r.Accuracy = map[string]string{AuditName: ""}, &Score{NotScored: LogOnly}
	require.Equal(t, "an audit of m, Server", r.Test())
	require.True(t, r.LogOnly())
	require.Equal(t, "c: 1 is sent, and the closed division requires 2 (rules)",
		Breach{Code: "c", Sent: "1", Required: "2", Source: "rules"}.String())
}

func TestLatenciesAreThoseOfTheTest(t *testing.T) {
	stats := make([]ledger.Stats, 5)
	m := &ledger.Metrics{TTFT: &stats[0], TPOT: &stats[1], E2E: &stats[2], NTPOT: &stats[3]}
	l := NewLatencies(m, &stats[4])
	require.Same(t, &stats[0], l.TTFT)
	require.Same(t, &stats[1], l.TPOT)
	require.Same(t, &stats[2], l.E2E)
	require.Same(t, &stats[3], l.NTPOT)
	require.Same(t, &stats[4], l.ITL)
}

func TestAdviceOfEarlyStopping(t *testing.T) {
	logs := &mllog.Result{Result: map[string]any{
		"early_stopping_ttft_result": " * TTFT needs\n 10 more queries.",
		"early_stopping_tpot_result": " * Run successful.",
		"early_stopping_result":      "",
	}}
	require.Equal(t, "; early stopping: TTFT needs 10 more queries.", earlyStopping(logs))
}

func TestSeveralMetricsBelowTheirTargets(t *testing.T) {
	metrics := []accuracy.Metric{{Name: "rouge1", Text: "'40.1'", Value: 40.1, Min: 43, Pass: no()},
		{Name: "tokens", Text: "900", Value: 900, Min: 1, Max: 300, Pass: no()}}
	c := accuracyBelowTarget(&Evidence{Result: &accuracy.Result{Pass: no(), Metrics: metrics}})
	require.Equal(t, "the answers are below target: rouge1 is 40.1 and must be at least 43, "+
		"tokens is 900 and must be 1 to 300", c.Text)
	require.Equal(t, 43.0, c.Limit)
	c = accuracyBelowTarget(&Evidence{Result: &accuracy.Result{Pass: no(), Metrics: metrics[1:]}})
	require.Equal(t, 300.0, c.Limit, "above its range")
}

func TestCausesOfAnEarlyEnd(t *testing.T) {
	lost := &LimitLost{Tail: Tail{What: "TTFT", Limit: time.Second, Queries: 100, Bearable: 2, Over: 3}}
	e := &Evidence{Ended: fmt.Errorf("ended: %w", lost), Record: &Record{}}
	require.Equal(t, &Cause{Code: CodeScenarioLimit, Text: lost.Error(), Value: 3, Limit: 2}, limitLost(e))
	require.Nil(t, interrupted(e))
	require.Equal(t, CodeFailedSamples, endedEarly(e).Code)
	e.Record.Samples.Failed = 1
	require.Nil(t, endedEarly(e), "the failed samples are a cause of their own")
	e.Interrupted = true
	require.Nil(t, limitLost(e))
	require.Nil(t, endedEarly(e))
	require.Equal(t, CodeInterrupted, interrupted(e).Code)
	require.Nil(t, notReturned(e))
	e.Ended = nil
	require.Nil(t, interrupted(e))
	require.Nil(t, limitLost(&Evidence{Ended: errors.New("other")}))
}
