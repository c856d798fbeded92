package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/models"
)

// One incident is enough for each rule that counts, and without incidents there is no cause.
func TestOneIsEnough(t *testing.T) {
	for name, c := range map[string]struct {
		rule  func(*Evidence) *Cause
		count func(e *Evidence, n int64)
	}{
		"failed":        {failedSamples, func(e *Evidence, n int64) { e.Record.Samples.Failed = n }},
		"unfinished":    {unfinishedSamples, func(e *Evidence, n int64) { e.Record.Samples.Issued += n }},
		"empty":         {emptyOutputs, func(e *Evidence, n int64) { e.Record.Samples.Empty = n }},
		"first tokens":  {missingFirstTokens, func(e *Evidence, n int64) { e.Record.Samples.FirstTokens -= n }},
		"mismatches":    {tokenCounts, func(e *Evidence, n int64) { e.Record.Tokens.Mismatches = n }},
		"other prompts": {promptCounts, func(e *Evidence, n int64) { e.OtherPrompts = int(n) }},
		"misreported":   {misreported, func(e *Evidence, n int64) { e.Misreported = n }},
		"unasked":       {unaskedAnswers, func(e *Evidence, n int64) { e.Record.Answers.Unasked = n }},
		"strays":        {unaskedAnswers, func(e *Evidence, n int64) { e.Record.Answers.Strays = n }},
		"unasked in a loop": {unaskedAnswers, func(e *Evidence, n int64) {
			e.Record.Client.Loops = []backends.LoopStats{{}, {Unasked: n}}
		}},
		"ports":          {localPorts, func(e *Evidence, n int64) { e.Record.Client.Exhausted.Ports = n }},
		"files":          {openFiles, func(e *Evidence, n int64) { e.Record.Client.Exhausted.Files = n }},
		"other models":   {wrongModel, func(e *Evidence, n int64) { e.OtherModels = make([]string, n) }},
		"LoadGen errors": {loadgenErrors, func(e *Evidence, n int64) { e.Logs.Errors = int(n) }},
	} {
		for n := range int64(3) {
			e := clean()
			c.count(e, n)
			cause := c.rule(e)
			require.Equal(t, n > 0, cause != nil, "%s, %d", name, n)
			if cause != nil {
				require.EqualValues(t, n, cause.Value, name)
			}
		}
	}
}

// Limits are judged to the nanosecond, by the tests that they apply to.
func TestLimitsAtTheirEdge(t *testing.T) {
	const ttft, tpot, whole = "result_first_token_99.00_percentile_latency_ns",
		"result_time_per_output_token_99.00_percentile_ns", "result_99.00_percentile_latency_ns"
	for name, c := range map[string]struct {
		rule  func(*Evidence) *Cause
		key   string
		limit func(*Evidence) *time.Duration
	}{
		"ttft":   {ttftLimit, ttft, func(e *Evidence) *time.Duration { return &e.TTFTLimit }},
		"tpot":   {tpotLimit, tpot, func(e *Evidence) *time.Duration { return &e.TPOTLimit }},
		"answer": {answerLimit, whole, func(e *Evidence) *time.Duration { return &e.AnswerLimit }},
	} {
		for _, limit := range []time.Duration{1, time.Millisecond, 2 * time.Second} {
			for _, off := range []time.Duration{-1, 0, 1} {
				e := clean()
				*c.limit(e) = limit
				e.Logs.Result[c.key] = int64(limit + off)
				require.Equal(t, off >= 0, c.rule(e) != nil, "%s %v %v", name, limit, off)
				e.Mode = models.Accuracy
				require.Nil(t, c.rule(e), "accuracy tests have no limits")
			}
		}
		e := clean()
		*c.limit(e) = 0
		e.Logs.Result[c.key] = int64(1)
		require.Nil(t, c.rule(e), "%s: no limit", name)
	}
	e := clean()
	e.Logs.Result[ttft] = int64(2_345_678_901)
	require.Contains(t, ttftLimit(e).Text, "is 2.34568s, the limit of Server is 2s")
}

// The client's own share is at most a tenth of a limit.
func TestLagAtItsEdge(t *testing.T) {
	for _, c := range []struct {
		limit time.Duration
		us    float64
		late  bool
	}{{time.Second, 100_000, false}, {time.Second, 100_001, true}, {20, 0.002, false}, {20, 0.0021, true}, {1, 1, true},
		{0, 1e9, false}} {
		e := clean()
		require.Equal(t, c.late, e.lag(c.us, c.limit, "", "") != nil, c)
		for _, other := range []func(*Evidence){
			func(e *Evidence) { e.Mode = models.Accuracy }, func(e *Evidence) { e.Audit = true },
			func(e *Evidence) { e.Ended = errors.New("early") }, func(e *Evidence) { e.Logs = nil },
		} {
			e := clean()
			other(e)
			require.Nil(t, e.lag(c.us, c.limit, "", ""), c)
		}
	}
	// A client that used half a CPU or more was busy. Without a measurement nothing is known.
	for _, c := range []struct {
		cpus, seconds float64
		idle          bool
	}{{4.9, 10, true}, {5, 10, false}, {0.1, 0.4, true}, {0.1, 1, true}, {0, 10, false}, {5, 0, false}, {0, 0, false},
		{-1, 10, false}, {1, -10, false}} {
		e := clean()
		e.Record.Client.CPUS, e.Record.DurationS = c.cpus, c.seconds
		require.Equal(t, c.idle, e.whyLate() != "the client is too slow for this load; check whether another program or "+
			"the server uses this machine. Give the client cores of its own", c)
	}
	// Without any limit, a probe compares with the latencies measured. A limit of a nanosecond is one.
	for limits, own := range map[[2]time.Duration]bool{{0, 0}: true, {1, 0}: false, {0, 1}: false, {1, 1}: false} {
		e := clean()
		e.TTFTLimit, e.AnswerLimit = limits[0], limits[1]
		e.Record.LatencyS.TTFT = &ledger.Stats{P99: 1}
		e.Record.Client.DispatchLagUS.P99 = 100_001
		causes := e.JudgeProbe()
		require.Len(t, causes, 1)
		require.Equal(t, own, causes[0].Limit == 100_000.0, limits)
	}
	e := clean()
	e.Scenario = models.Offline
	tooShort(e)
	e.Record.Throughput.Requests = 0.5
	require.Contains(t, e.tooShort(), "--target-qps 0.600 or more", "slow servers get advice, too")
}

// Sentences that explain a cause only where they apply.
func TestExplanationsOnlyWhereTheyApply(t *testing.T) {
	failed := func(change func(e *Evidence)) string {
		e := clean()
		e.Record.Samples.Failed, e.Record.Samples.FailedByReason = 2, map[ledger.Reason]int64{"cancelled": 1, "reset": 1}
		change(e)
		return failedSamples(e).Text
	}
	require.Equal(t, "2 of 100 samples failed, cancelled 1, reset 1", failed(func(*Evidence) {}))
	require.Equal(t, "1 of 100 samples failed, reset 1", failed(func(e *Evidence) { e.Interrupted = true }))
	require.Equal(t, "1 of 100 samples failed, reset 1", failed(func(e *Evidence) {
		e.Interrupted, e.Ended = true, errors.New("enough")
	}))
	require.Equal(t, "2 of 100 samples failed, cancelled 1, reset 1; the test was ended: enough",
		failed(func(e *Evidence) { e.Ended = errors.New("enough") }))

	const same, hint = "so it is not another fault", "one token, which LoadGen counts as an error"
	logged := func(text string, count, failed, oneToken int) string {
		e := clean()
		e.Logs.Errors, e.Logs.ErrorTexts = count, []mllog.Text{{Text: text, Count: count}}
		e.Record.Samples.Failed, e.OneToken = int64(failed), oneToken
		return loadgenErrors(e).Text
	}
	require.Contains(t, logged(noTokenError, 3, 3, 0), same)
	require.NotContains(t, logged(noTokenError, 4, 3, 0), same, "more errors than failed samples")
	require.NotContains(t, logged("another error", 3, 3, 0), same)
	require.Contains(t, logged(noTokenError, 3, 0, 1), hint)
	require.NotContains(t, logged(noTokenError, 3, 3, 0), hint)
	e := clean()
	e.Interrupted, e.Record.Samples.Failed = true, 5
	e.Record.Samples.FailedByReason = map[ledger.Reason]int64{ledger.FailCancelled: 2}
	e.Logs.Errors, e.Logs.ErrorTexts = 6, []mllog.Text{{Text: noTokenError, Count: 6}}
	require.NotContains(t, loadgenErrors(e).Text, same, "4 errors and 3 failures are left")

	e = clean()
	e.Logs.Valid, e.Logs.Result = no(), map[string]any{"result_invalid_reason": ""}
	require.Equal(t, "LoadGen reports INVALID", loadgenInvalid(e).Text)
	e.Interrupted = true
	require.Nil(t, notReturned(&Evidence{Terms: e.Terms, Interrupted: true, Ended: ErrNotReturned}))
}

// Accuracy tests that were scored are no logs only; numbers differ by any of their digits.
func TestSmallFacts(t *testing.T) {
	require.False(t, (&Record{Accuracy: &Score{}}).LogOnly())
	require.False(t, (&Record{}).LogOnly())
	require.Equal(t, "a#b#", withoutNumbers("a09b90")+"#")
	require.True(t, NewBreach("a", "", "1", "s").Missing())
	require.False(t, NewBreach("a", "1", "", "s").Missing())
	require.Equal(t, "1000.5 ms", inMilliseconds(1_000_500*time.Microsecond))
	require.Equal(t, "1000 ms", inMilliseconds(time.Second))
	require.Equal(t, "999.9 ms", inMilliseconds(999_900*time.Microsecond))
	one := &Record{Verdict: Interrupted, Samples: SampleCounts{FailedByReason: map[ledger.Reason]int64{"cancelled": 1}}}
	require.Equal(t, "no result: the test was interrupted", one.Headline())
	require.False(t, Tail{Needed: 1, Over: 9}.Lost())
	require.Equal(t, "9 queries over 1s; LoadGen needs 1, has 0", Tail{Needed: 1, Over: 9, Limit: time.Second}.String())
	state := LimitState{Tail: Tail{Needed: 1}, Measured: true, Met: true}
	require.Equal(t, "ok; LoadGen's criterion needs 1 queries, the test has 0", state.Word())
	over := LimitState{Name: "TTFT p99", Tail: Tail{Limit: time.Second}, P99: time.Second + 1, Measured: true}
	require.Equal(t, "TTFT p99 1000.000001 ms by LoadGen, limit 1000 ms, over", over.String())
	over.P99 = time.Second + 1500
	require.Equal(t, "TTFT p99 1000.002 ms by LoadGen, limit 1000 ms, over", over.String())
	target, achieved, ok := (&Record{Throughput: ledger.Throughput{Requests: 5}}).Rate()
	require.Equal(t, []any{0.0, 0.0, false}, []any{target, achieved, ok})
	m := &ServerMetrics{EnergyJ: 0.5}
	m.Yield(4)
	require.Equal(t, 8.0, m.TokensPerJoule)
	require.NotZero(t, ThisTool())
	n, ok := number64("text")
	require.Equal(t, []any{0.0, false}, []any{n, ok})
}

// Nothing was measured where every query failed, even when its log has a percentile, and one query is enough for that.
func TestAPercentileOfNoAnswer(t *testing.T) {
	r := &Record{Tails: []Tail{{What: "latency", Limit: time.Second}}}
	r.LoadGen.Result = map[string]any{"result_99.00_percentile_latency_ns": int64(5)}
	r.Samples.Issued = 1
	require.False(t, r.Limits()[0].Measured)
	require.False(t, r.Limits()[0].Met)
	r.LatencyS.E2E = &ledger.Stats{P99: 0.1}
	require.True(t, r.Limits()[0].Met)
	require.False(t, r.Limits()[0].Own)
	r.Tails[0].Limit = 5
	require.False(t, r.Limits()[0].Met, "strictly below")
}

func TestARecordThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	_, err := Read(filepath.Join(folder, "missing"))
	require.EqualError(t, err, "there is no folder "+filepath.Join(folder, "missing"))
	_, err = Read(folder)
	require.EqualError(t, err, "the folder "+folder+" has no "+FileName)
	require.NoError(t, os.Mkdir(filepath.Join(folder, FileName), 0o755))
	_, err = Read(folder)
	require.ErrorContains(t, err, "the record of "+folder+" cannot be read")
	require.NotErrorIs(t, err, os.ErrNotExist)
}

func TestOneFailedReadingIsNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"schema":"`+series.Schema+`"}`+"\n"), 0o600))
	_, notes := ReadServerMetrics(path, []scrape.Outcome{{Target: "a", Scrapes: 4}, {Target: "b", Scrapes: 5, Failed: 1}})
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "1 of 5 readings of the metrics of b failed")
}

// The sentence about LoadGen's own summary lists the conditions that were not met, if there are any.
func TestOverruledWithoutAndWithConditions(t *testing.T) {
	r := &Record{Verdict: Valid, Files: map[string]string{AuditName: ""}}
	r.LoadGen.Valid, r.LoadGen.Result = no(), map[string]any{}
	require.Contains(t, r.Overruled(), "reports INVALID: that")
	for _, c := range conditions {
		r.LoadGen.Result[c.key] = false
		require.Contains(t, r.Overruled(), c.text)
	}
	require.Contains(t, r.Overruled(),
		"(the latency limits, the minimum duration, the minimum of queries, early stopping)")
}
