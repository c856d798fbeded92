package record

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Each cause counts its incidents, and names the limit that the count exceeds.
func TestFiguresOfCauses(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		change       func(e *Evidence)
		value, limit any
	}{
		"failed":         {func(e *Evidence) { e.Record.Samples.Failed = 3 }, int64(3), 0},
		"unfinished":     {func(e *Evidence) { e.Record.Samples.Issued += 7 }, int64(7), 0},
		"empty":          {func(e *Evidence) { e.Record.Samples.Empty = 2 }, int64(2), 0},
		"no first token": {func(e *Evidence) { e.Record.Samples.FirstTokens = 96 }, int64(4), 0},
		"mismatches":     {func(e *Evidence) { e.Record.Tokens.Mismatches = 5 }, int64(5), 0},
		"prompts":        {func(e *Evidence) { e.OtherPrompts = 6 }, 6, 0},
		"misreported":    {func(e *Evidence) { e.Misreported = 8 }, int64(8), 0},
		"unasked in two loops": {func(e *Evidence) {
			e.Record.Client.Loops = []backends.LoopStats{{Unasked: 2}, {Unasked: 3}}
			e.Record.Answers.Unasked = 4
		}, int64(5), 0},
		"unasked of net/http": {func(e *Evidence) {
			e.Record.Client.Loops = []backends.LoopStats{{Unasked: 1}}
			e.Record.Answers.Unasked = 4
		}, int64(4), 0},
		"strays": {func(e *Evidence) { e.Record.Answers.Strays = 9 }, int64(9), 0},
		"models": {func(e *Evidence) { e.OtherModels = []string{"a", "b"} }, 2, 0},
		"servers": {func(e *Evidence) {
			e.Record.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{Died: &now}, {}, {Died: &now}}}
		}, 2, 0},
		"errors": {func(e *Evidence) { e.Logs.Errors = 11 }, 11, 0},
		"clock":  {func(e *Evidence) { e.ClockDrift = 2 * time.Second }, 2.0, 0.001},
		"TTFT": {func(e *Evidence) { e.Logs.Result["result_first_token_99.00_percentile_latency_ns"] = uint64(25e8) },
			2.5, 2.0},
		"TPOT is not in the log": {func(e *Evidence) {
			delete(e.Logs.Result, "result_time_per_output_token_99.00_percentile_ns")
		}, nil, 0.1},
		"sent late":     {func(e *Evidence) { e.Record.Client.DispatchLagUS.P99 = 3e5 }, 3e5, 2e5},
		"reported late": {func(e *Evidence) { e.Record.Client.ReportLagUS.P99 = 2e6 }, 2e6, 1e6},
		"reported late in answers of one token": {func(e *Evidence) {
			e.MedianTokens, e.Record.Client.ReportLagUS.P99 = 1, 2e4
		}, 2e4, 1e4},
		"not scored": {func(e *Evidence) { ofAccuracy(e).Record.Accuracy = nil; e.Record.Samples.Completed = 100 },
			int64(100), 0},
		"in part": {func(e *Evidence) {
			ofAccuracy(e).Record.Accuracy.Unscored = []accuracy.Unscored{{Samples: 2}, {Samples: 3}}
		}, 5, 0},
		"unclaimed": {func(e *Evidence) {
			ofAccuracy(e).Result = &accuracy.Result{Unclaimed: []string{"a", "b"}}
		}, 2, 0},
	} {
		e := clean()
		c.change(e)
		_, causes := e.Judge()
		require.Len(t, causes, 1, name)
		require.Equal(t, c.value, causes[0].Value, name)
		require.InDelta(t, c.limit, causes[0].Limit, 1e-9, name)
	}
}

// Limits apply to performance tests that ran to their end.
func TestWhenLimitsApply(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Evidence)
		codes  []Code
	}{
		"to its end": {func(*Evidence) {}, []Code{CodeScenarioLimit, CodeScenarioLimit}},
		"accuracy":   {func(e *Evidence) { e.Mode, e.Record.Accuracy = models.Accuracy, &Score{} }, nil},
		"an audit":   {func(e *Evidence) { e.Audit, e.AuditApplied = true, true }, nil},
		"ended":      {func(e *Evidence) { e.Ended = errors.New("why") }, []Code{CodeFailedSamples}},
		"no logs":    {func(e *Evidence) { e.Logs = nil }, []Code{CodeLogIncomplete}},
		"an audit that was ended before it was applied": {func(e *Evidence) {
			e.Audit, e.Ended = true, errors.New("why")
		}, []Code{CodeFailedSamples}},
		"a score below target in an audit": {func(e *Evidence) {
			e.Audit, e.AuditApplied = true, true
			e.Logs.Errors = 1
		}, []Code{CodeLoadGenErrors}},
	} {
		e := clean()
		e.Record.Client.DispatchLagUS.P99, e.Record.Client.ReportLagUS.P99 = 2e5, 1e6
		for key := range e.Logs.Result {
			e.Logs.Result[key] = 9e9
		}
		c.change(e)
		_, causes := e.Judge()
		var codes []Code
		for _, cause := range causes {
			codes = append(codes, cause.Code)
		}
		require.Equal(t, c.codes, codes, name)
	}
}

// LoadGen's message about answers of one token matters only if LoadGen measures tokens.
func TestAdviceAboutAnswersOfOneToken(t *testing.T) {
	e := clean()
	e.Logs.Errors, e.OneToken = 1, 1
	require.Contains(t, loadgenErrors(e).Text, "1 answer has one token")
	e.TokenLatencies = false
	require.NotContains(t, loadgenErrors(e).Text, "one token")
	e.Logs.ErrorTexts = []mllog.Text{{Text: "first", Count: 1}, {Text: "second", Count: 1}}
	require.Contains(t, loadgenErrors(e).Text, "1 error; the first (1 time): first")
}

// Each cancelled sample accounts for one error of LoadGen's, of this kind alone.
func TestErrorsThatFollowFromAnInterruption(t *testing.T) {
	e := clean()
	e.Interrupted = true
	e.Record.Samples.FailedByReason = map[ledger.Reason]int64{ledger.FailCancelled: 3}
	e.Logs.Errors = 7
	e.Logs.ErrorTexts = []mllog.Text{{Text: noTokenError, Count: 2}, {Text: noTokenError + " again", Count: 4},
		{Text: "other", Count: 1}}
	n, texts := e.errorsLogged()
	require.Equal(t, 4, n)
	require.Equal(t, []mllog.Text{{Text: noTokenError + " again", Count: 3}, {Text: "other", Count: 1}}, texts)
}

func TestVerdictsThatLoadGenDoesNotLog(t *testing.T) {
	e := clean()
	e.Logs.Valid, e.Logs.Result["early_stopping_met"] = no(), false
	e.Logs.Result["early_stopping_result"] = "needs 5 more"
	require.Equal(t, "LoadGen reports INVALID; early stopping: needs 5 more", loadgenInvalid(e).Text)
	e.Logs.Result["early_stopping_met"] = true
	require.Equal(t, "LoadGen reports INVALID", loadgenInvalid(e).Text)
	e.Logs.Valid, e.Ended = nil, errors.New("why")
	require.Nil(t, loadgenInvalid(e), "why it ended explains more")
	e.Ended = nil
	require.NotNil(t, loadgenInvalid(e))
}

// The client's lag is compared with the latencies of a probe without limits, and is not judged without latencies.
func TestOwnLagWithoutLatencies(t *testing.T) {
	e := clean()
	unlimited(e, 1e9)
	e.Record.LatencyS = Latencies{}
	require.Empty(t, e.JudgeProbe())
	unlimited(e, 1e9)
	e.AnswerLimit, e.TokenLatencies, e.FirstTokens = 20000*time.Second, false, false
	require.Empty(t, e.JudgeProbe(), "its limit allows the lag")
}

func TestWordsOfATail(t *testing.T) {
	for want, tail := range map[string]Tail{
		"1 query over 2s, 1 allowed":                    {Limit: 2 * time.Second, Over: 1, Bearable: 1},
		"2 queries over 2s, 1 allowed: already INVALID": {Limit: 2 * time.Second, Over: 2, Bearable: 1},
	} {
		require.Equal(t, want, tail.String())
	}
}

func TestServerMetricsOfARun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.jsonl.zst")
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r, err := series.Create(atomicfile.Shared, path, started, 2*time.Second, []string{"http://a"})
	require.NoError(t, err)
	known := []exposition.Series{{Name: "vllm:num_requests_running", Family: "vllm:num_requests_running",
		Kind: exposition.Gauge}, {Name: "other", Family: "other", Kind: exposition.Gauge},
		{Name: "gpu_power_watts", Family: "gpu_power_watts", Kind: exposition.Gauge, Labels: map[string]string{"gpu": "0"}},
		{Name: "gpu_energy_joules_total", Family: "gpu_energy_joules_total", Kind: exposition.Counter,
			Labels: map[string]string{"gpu": "1"}}}
	for i, v := range []float64{2, 6, 4} {
		require.NoError(t, r.Append(0, started.Add(time.Duration(2*i)*time.Second), known,
			[]float64{v, 100, 300, 5000 + 200*float64(i)}, nil))
	}
	require.NoError(t, r.Close())
	m, notes := ReadServerMetrics(path, []scrape.Outcome{{Target: "http://a", Scrapes: 3, Series: 2},
		{Target: "http://b", Scrapes: 3, Failed: 2, Error: "it is gone"}})
	require.Equal(t, []string{"2 of 3 readings of the metrics of http://b failed, the first because it is gone"}, notes)
	require.Equal(t, 2.0, m.IntervalS)
	require.Equal(t, MetricsName, m.File)
	require.Equal(t, []MetricsTarget{{Target: "http://a", Scrapes: 3, Series: 2},
		{Target: "http://b", Scrapes: 3, Failed: 2, Error: "it is gone"}}, m.Targets)
	require.Len(t, m.Signals, 2)
	require.Equal(t, SignalStats{Mean: 300, Max: 300, Last: 300}, m.Signals["gpu_power"])
	require.Equal(t, 1600.0, m.EnergyJ, "one GPU by its power, the other by its counter")
	m.Yield(4000)
	require.Equal(t, 2.5, m.TokensPerJoule)
	none := &ServerMetrics{}
	none.Yield(4000)
	require.Zero(t, none.TokensPerJoule)
	(*ServerMetrics)(nil).Yield(1)
	require.Equal(t, SignalStats{Mean: 4, Max: 6, Last: 4}, m.Signals["running"])
	m, notes = ReadServerMetrics(path+"x", nil)
	require.Nil(t, m)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "cannot be summarized")
}

func TestScoreIsWrittenAndRecorded(t *testing.T) {
	r := &accuracy.Result{NotJudged: "n", Pass: yes(), Metrics: []accuracy.Metric{{Name: "rouge1", Value: 40,
		Text: "40.0"}},
		Samples: 5, Missing: 1, Unscored: []accuracy.Unscored{{Samples: 1}}, Unclaimed: []string{"u"}, Notes: []string{"x"},
		Tokenizer: &finder.Source{Place: "p"}}
	require.Equal(t, &Score{NotJudged: "n", Pass: r.Pass, Metrics: r.Metrics, Samples: 5, Missing: 1,
		Unscored: r.Unscored, Unclaimed: r.Unclaimed, Notes: r.Notes, Tokenizer: r.Tokenizer}, ScoreOf(r))

	log := filepath.Join(t.TempDir(), mllog.AccuracyName)
	require.NoError(t, os.WriteFile(log, []byte(`[{"seq_id": 0, "qsl_idx": 0, "data": "41", "token_count": 1}]`), 0o600))
	r, err := accuracy.Score(t.Context(), accuracy.Input{Benchmark: "qwen3-vl-235b-a22b", Scenario: models.Server,
		Log: log, References: []accuracy.Reference{{Target: "Clothing", Brand: "Brand", Secondhand: "False"}}})
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, WriteScore(atomicfile.Private, folder, r))
	text, err := os.ReadFile(filepath.Join(folder, AccuracyTextName))
	require.NoError(t, err)
	require.Contains(t, string(text), "Results")
	text, err = os.ReadFile(filepath.Join(folder, AccuracyName))
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.NoError(t, os.Remove(filepath.Join(folder, AccuracyTextName)))
	require.NoError(t, os.Mkdir(filepath.Join(folder, AccuracyTextName), 0o700))
	require.Error(t, WriteScore(atomicfile.Private, folder, r))
}

func TestBounds(t *testing.T) {
	list, err := ParsePercentiles("1,2,3,4,5,6,7,8,9,99.999")
	require.NoError(t, err)
	require.Len(t, list, mostPercentiles)
	for _, v := range []any{int64(7), uint64(7), 7.0} {
		n, ok := number64(v)
		require.True(t, ok)
		require.Equal(t, 7.0, n)
	}
	_, ok := number64("7")
	require.False(t, ok)
	folder := t.TempDir()
	r := `{"schema": "` + Schema + `", "model": "` + strings.Repeat("m", 70_000) + `"}`
	require.NoError(t, os.WriteFile(filepath.Join(folder, FileName), []byte(r), 0o600))
	_, err = Read(folder)
	require.NoError(t, err)
}

// Without --percentiles the record's own are used.
func TestEveryKnownPercentile(t *testing.T) {
	s := &ledger.Stats{P50: 1, P90: 2, P95: 3, P99: 4, P999: 5}
	for p, want := range map[float64]float64{50: 1, 90: 2, 95: 3, 99: 4, 99.9: 5} {
		require.Equal(t, want, percentile(s, nil, 0, p))
	}
	require.True(t, math.IsNaN(percentile(s, []float64{7}, 1, 98)))
	l := Latencies{TTFT: s, TPOT: &ledger.Stats{Mean: 2}, ITL: &ledger.Stats{Mean: 3}, E2E: &ledger.Stats{Mean: 4},
		NTPOT: &ledger.Stats{Mean: 5}}
	_, rows := (&Record{LatencyS: l}).LatencyTable()
	for i, want := range []LatencyRow{{"TTFT", "ms", []float64{0, 0}}, {"TPOT", "ms/token", []float64{2000, 0}},
		{"ITL", "ms", []float64{3000, 0}}, {"time per request", "s", []float64{4, 0}},
		{"NTPOT", "ms/token", []float64{5000, 0}}} {
		require.Equal(t, want, rows[i])
	}
}

// Only a Server test whose log has a target has a scheduled rate.
func TestRateOfOtherTests(t *testing.T) {
	r := &Record{LoadGen: LoadGenResult{Result: map[string]any{"effective_scenario": "Offline",
		"effective_target_qps": 5.0}}}
	_, _, ok := r.Rate()
	require.False(t, ok)
	r.LoadGen.Result = map[string]any{"effective_scenario": "Server"}
	_, _, ok = r.Rate()
	require.False(t, ok)
}

// A submission's figure is LoadGen's number for the scenario.
func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		result   map[string]any
		value    float64
		unit     string
		ok       bool
	}{
		"a latency": {"SingleStream", map[string]any{"result_90.00_percentile_latency_ns": int64(25e5)}, 2.5, "ms, p90",
			true},
		"no latency": {"SingleStream", map[string]any{"result_tokens_per_second": 7.5}, 0, "ms, p90", false},
		"tokens":     {"Offline", map[string]any{"result_tokens_per_second": 7.5}, 7.5, "tokens/s", true},
		"samples":    {"Offline", map[string]any{"result_samples_per_second": "4.25"}, 4.25, "samples/s", true},
		"tokens come first": {"Server", map[string]any{"result_completed_tokens_per_second": 9,
			"result_samples_per_second": 2},
			9, "tokens/s", true},
		"not finite": {"Offline", map[string]any{"result_tokens_per_second": "inf"}, 0, "", false},
		"no number":  {"Offline", map[string]any{"result_tokens_per_second": "-nan"}, 0, "", false},
		"nothing":    {"Offline", nil, 0, "", false},
	} {
		value, unit, ok := Figure(c.scenario, c.result)
		require.Equal(t, []any{c.value, c.unit, c.ok}, []any{value, unit, ok}, name)
	}
}

// A cause names the endpoint only if it alone of several has failures.
func TestFailingEndpoint(t *testing.T) {
	a, b, good := EndpointCounts{URL: "a", Failed: 1}, EndpointCounts{URL: "b", Failed: 2}, EndpointCounts{URL: "c"}
	require.Equal(t, "a", failingEndpoint([]EndpointCounts{good, a}))
	require.Equal(t, "a", failingEndpoint([]EndpointCounts{a, good}))
	require.Empty(t, failingEndpoint([]EndpointCounts{a, b, good}))
	require.Empty(t, failingEndpoint([]EndpointCounts{a}), "there is no other")
	require.Empty(t, failingEndpoint([]EndpointCounts{good, good}))
	require.Empty(t, failingEndpoint(nil))
}
