package compare

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/sweep"
	"github.com/mlperf-go/mlperf-go/tune"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// Each entry of a folder alone names its kind, and the kinds have an order.
func TestKindsOfFolders(t *testing.T) {
	for _, c := range []struct {
		entries []string
		want    Kind
	}{
		{[]string{record.FileName}, RunKind}, {[]string{record.LogFolder}, RunKind}, {[]string{record.ConfigName}, RunKind},
		{[]string{layout.StateName, record.FileName}, CampaignKind}, {[]string{tune.FileName, layout.StateName}, TuneKind},
	} {
		folder := t.TempDir()
		for _, name := range c.entries {
			write(t, folder, name, "{}")
		}
		require.Equal(t, c.want, read(t, folder).Kind, c.entries)
	}
	for _, division := range layout.Divisions() {
		folder := t.TempDir()
		write(t, folder, division, "")
		write(t, folder, record.FileName, "{}")
		s, err := Read(context.Background(), folder, Options{})
		if s != nil {
			require.Equal(t, TreeKind, s.Kind)
		} else {
			require.Error(t, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Read(context.Background(), file, Options{})
	require.EqualError(t, err, "the folder "+file+" cannot be read: it is not a folder")
	_, err = has(strings.Repeat("n", 300))(t.TempDir())
	require.Error(t, err, "a name that no folder can have")
}

// What stops a tune or a campaign from being read becomes a note.
func TestStatesThatCannotBeRead(t *testing.T) {
	for name, want := range map[string]string{tune.FileName: "the state of the tune cannot be read: ",
		layout.StateName: "the state of the campaign cannot be read: ",
		sweep.FileName:   "the state of the sweep cannot be read: "} {
		folder := t.TempDir()
		write(t, folder, name, "{")
		s := read(t, folder)
		require.Len(t, s.Notes, 1)
		require.Contains(t, s.Notes[0], want)
		require.Empty(t, s.Results)
	}
}

func TestTuneWithoutResult(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, tune.FileName, `{"schema": "`+tune.Schema+`", "kind": "tune", "model": "m", "scenario": "Server",
		"goal": {"percentile": 0.99, "confidence": 0.95, "limits": [{"metric": "ttft", "limit_ns": 2000000000}],
		"load": {"min_duration_ns": 60000000000, "min_queries": 100}}}`)
	s := read(t, folder)
	require.Empty(t, s.Notes)
	r := s.Results[0]
	require.Equal(t, []any{NotConfirmed, "m", "Server", "tune", "queries/s", "ttft 2s", folder}, []any{r.State,
		r.Benchmark,
		r.Scenario, r.Mode, r.Unit, r.Limits, r.Folder})
	require.Equal(t, []string{"the tune has no result yet"}, r.Reasons)
}

// Every key of LoadGen's log that a comparison uses, absent, of the wrong kind and present.
func TestFiguresOfLoadGensKeys(t *testing.T) {
	keys := map[string]any{"effective_scenario": "Server", "effective_performance_sample_count": 64.0,
		"effective_target_qps": "1.5", "result_completed_tokens_per_second": 100.5, "other": 1,
		"result_first_token_99.00_percentile_latency_ns": 2e9, "result_time_per_output_token_50.00_percentile_ns": 3e6,
		"result_99.90_percentile_latency_ns": 4e9}
	r := &Result{loadgen: keys}
	r.takeLoadGen()
	require.Equal(t, []any{"Server", 100.5, "tokens/s", "64"}, []any{r.Scenario, *r.Value, r.Unit, r.Rows})
	require.Equal(t, map[tail]float64{{"TTFT", 0.99}: 2, {"TPOT", 0.5}: 0.003, {"request time", 0.999}: 4}, r.tails)
	require.Equal(t, []setting{{loadgenGroup, "effective_performance_sample_count", "64"},
		{loadgenGroup, "effective_scenario", "Server"}, {loadgenGroup, "effective_target_qps", "1.5"}}, r.settings)
	known := &Result{Scenario: "Offline", loadgen: keys, tails: map[tail]float64{{"TTFT", 0.1}: 1}}
	known.takeLoadGen()
	require.Equal(t, "Offline", known.Scenario)
	require.Len(t, known.tails, 4)
	none := &Result{loadgen: map[string]any{"effective_scenario": 7, "effective_performance_sample_count": "x"}}
	none.takeLoadGen()
	require.Equal(t, []any{"", "", "", (*float64)(nil)}, []any{none.Scenario, none.Rows, none.Unit, none.Value})
	require.Empty(t, none.tails)
}

func TestFactsOfARecord(t *testing.T) {
	rec := &record.Record{Model: "m", Scenario: "Server", Mode: "performance", Round: "v6.1", Verdict: record.Invalid,
		Reasons: []record.Cause{{Code: "one"}, {Code: "two"}}, ServedModel: "served", Rehearsal: true,
		Dataset: record.DatasetFacts{SHA256: "hash", Samples: 64},
		LoadGen: record.LoadGenResult{Result: map[string]any{"result_completed_tokens_per_second": 5.0}}}
	rec.LatencyS.TTFT = &ledger.Stats{P50: 1, P90: 2, P95: 3, P99: 4, P999: 5}
	rec.LatencyS.TPOT = &ledger.Stats{P50: 6}
	rec.LatencyS.E2E = &ledger.Stats{P99: 7}
	r := &Result{tails: map[tail]float64{}, Reasons: []string{}}
	r.fill(rec)
	require.Equal(t, []any{Invalid, "m", "Server", "performance", "v6.1", "served", "yes", "hash", "64", 5.0, "tokens/s",
		""},
		[]any{r.State, r.Benchmark, r.Scenario, r.Mode, r.Round, r.served, r.Rehearsal, r.Dataset, r.Rows, *r.Value, r.Unit,
			r.Accuracy})
	require.Equal(t, []string{"one", "two"}, r.Reasons)
	require.NotEmpty(t, r.Sampling)
	for p, want := range map[tail]float64{{"TTFT", 0.5}: 1, {"TTFT", 0.9}: 2, {"TTFT", 0.95}: 3, {"TTFT", 0.99}: 4,
		{"TTFT", 0.999}: 5, {"TPOT", 0.5}: 6, {"request time", 0.99}: 7} {
		require.InDelta(t, want, r.tails[p], 0, p)
	}
	passed, failed := true, false
	rec.Mode, rec.Rehearsal = "accuracy", false
	rec.Accuracy = &record.Score{Metrics: []accuracy.Metric{{Name: "rouge1", Text: "'38.8'", Min: 38, Pass: &passed},
		{Name: "gen_len", Text: "9", Min: 10, Pass: &failed}, {Name: "free", Text: "1"}}}
	scored := &Result{tails: map[tail]float64{}}
	scored.fill(rec)
	require.Nil(t, scored.Value, "an accuracy test has no rate")
	require.Equal(t, []string{"no", "rouge1 38.8 (at least 38: pass), gen_len 9 (at least 10: FAIL), free 1"},
		[]string{scored.Rehearsal, scored.Accuracy})
}

func TestFactsOfServers(t *testing.T) {
	rec := &record.Record{BackendChoice: &record.BackendChoice{}, Servers: &servers.Facts{}}
	r := &Result{}
	r.addFacts(rec)
	require.Contains(t, r.settings, setting{serverGroup, "replicas", "0"})
	rec.BackendChoice.Servers = append(rec.BackendChoice.Servers, record.ShownServer{Version: "0.9"},
		record.ShownServer{},
		record.ShownServer{Version: "0.8"})
	rec.Servers.Environment = map[string]string{"B": "2", "A": "1"}
	rec.Servers.Replicas = append(rec.Servers.Replicas, servers.ReplicaFacts{Version: "x", Command: []string{"a", "b"}},
		servers.ReplicaFacts{})
	r = &Result{}
	r.addFacts(rec)
	var own []setting
	for _, s := range r.settings {
		if s.group == serverGroup {
			own = append(own, s)
		}
	}
	require.Equal(t, []setting{{serverGroup, "version of endpoint 0", "0.9"}, {serverGroup, "version of endpoint 2",
		"0.8"},
		{serverGroup, "replicas", "2"}, {serverGroup, "environment A", "1"}, {serverGroup, "environment B", "2"},
		{serverGroup, "version", "x"}, {serverGroup, "command", "a b"}}, own)
}

func TestSettingsOfAConfiguration(t *testing.T) {
	for _, c := range []struct {
		text string
		want []setting
		note string
	}{
		{"a: 1\nb: [x, y]\noutput-dir: z\nresume: true\nforce: true\nshared-output: true\ndataset: d\n",
			[]setting{{configGroup, "a", "1"}, {configGroup, "b", "x, y"}}, ""},
		{"endpoint: http://a # the simulator\n", nil, ""},
		{"# the simulator\nendpoint: http://a\n", nil, ""},
		{"other: http://a # the simulator\n", []setting{{configGroup, "other", "http://a"}}, ""},
		{"endpoint: http://a # mine\n", []setting{{configGroup, "endpoint", "http://a"}}, ""},
		{"{}", nil, ""}, {"", nil, "not a YAML mapping"}, {"- a\n", nil, "not a YAML mapping"},
		{"a: [", nil, "not a YAML mapping"},
		{"a: " + strings.Repeat("x", maxConfig), nil, "without settings"},
	} {
		folder := t.TempDir()
		write(t, folder, record.ConfigName, c.text)
		r, s := &Result{}, &Source{}
		r.readConfig(s, folder)
		require.Equal(t, c.want, r.settings, c.text[:min(len(c.text), 30)])
		require.Equal(t, c.note != "", len(s.Notes) > 0)
		require.Contains(t, strings.Join(s.Notes, ""), c.note)
	}
	r := &Result{settings: []setting{{machineGroup, "a", "0"}, {configGroup, "b", "2"}, {configGroup, "a", "1"}}}
	require.Equal(t, []string{"1", "2", ""}, []string{r.config("a"), r.config("b"), r.config("c")})
}

// The limits in LoadGen's log are those of tokens if the test used them, and of the Server scenario alone.
func TestLimitsOfALog(t *testing.T) {
	line := func(key, value string) string { return `:::MLLOG {"key": "` + key + `", "value": ` + value + "}\n" }
	scenario, tokens := line("requested_scenario", `"Server"`), line("requested_use_token_latencies", "true")
	latency := line("effective_target_latency_ns", "3000000")
	each := line("requested_server_ttft_latency", "2000000000") + line("requested_server_tpot_latency", "100000000")
	for _, c := range []struct{ text, want string }{
		{scenario + latency + each, "latency 3ms"},
		{scenario + tokens + latency + each, "time per output token 100ms, time to first token 2s"},
		{scenario + line("requested_use_token_latencies", "false") + latency + each, "latency 3ms"},
		{line("requested_scenario", `"Offline"`) + latency, ""}, {latency, ""}, {scenario, ""},
		{scenario + line("effective_target_latency_ns", "0"), ""}, {scenario + tokens + latency, ""},
		{scenario + line("target_latency_ns", "5"), ""}, {"", ""},
	} {
		folder := t.TempDir()
		write(t, folder, mllog.DetailName, c.text)
		require.Equal(t, c.want, loggedLimits(filepath.Join(folder, mllog.DetailName)), c.text)
	}
	require.Empty(t, loggedLimits(filepath.Join(t.TempDir(), "none")))
}

func TestRulesThatAResultBreaks(t *testing.T) {
	finding := func(rule, place string, severity check.Severity) check.Finding {
		return check.Finding{Rule: rule, Place: place, Severity: severity}
	}
	report := &check.Report{Findings: []check.Finding{finding("a", "p/x", check.Error), finding("a", "p/y", check.Error),
		finding("b", "p", check.Error), finding("c", "px", check.Error), finding("d", "p", check.Warning),
		finding("e", "q", check.Error), finding("f", "p", check.Error)}}
	require.Equal(t, []string{"a", "b", "f"}, rulesOf(report, "p"))
	for _, rule := range []string{"g", "h", "i"} {
		report.Findings = append(report.Findings, finding(rule, "p", check.Error))
	}
	require.Equal(t, []string{"a", "b", "f", "g", "h"}, rulesOf(report, "p"), "at most five")
	require.Equal(t, []string{}, rulesOf(report, "none"))
	require.Equal(t, []string{"Server", "Server", "else"}, []string{scenarioName("server"), scenarioName("Server"),
		scenarioName("else")})
}

func TestDescriptionsOfATree(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/one.json", `{"b": 2, "a": "x", "empty": "", "rehearsal": true}`)
	r := &Result{}
	require.Equal(t, map[string]any{"b": 2.0, "a": "x", "empty": "", "rehearsal": true},
		r.addDescription(root, "a/one.json", systemGroup))
	require.Equal(t, []setting{{systemGroup, "a", "x"}, {systemGroup, "b", "2"}, {systemGroup, "rehearsal", "true"}},
		r.settings)
	write(t, root, "broken.json", `{"b": 2`)
	for _, name := range []string{"broken.json", "none.json", "a"} {
		r := &Result{}
		require.Nil(t, r.addDescription(root, name, systemGroup), name)
		require.Empty(t, r.settings)
	}
	require.NoError(t, os.Symlink(root, filepath.Join(root, "a", "up")))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(root, "a", "out")))
	for folder, want := range map[string]bool{"a": true, "a/up": true, "a/out": false, "none": false, ".": true} {
		require.Equal(t, want, inside(root, filepath.Join(root, folder)), folder)
	}
	require.False(t, inside(filepath.Join(root, "none"), root))
	require.Equal(t, []string{"yes", "no"}, []string{yesNo(true), yesNo(false)})
}

// The checker's figure is shown if LoadGen's log has none, and a figure of 0 is unknown.
func TestFigureOfTheChecker(t *testing.T) {
	round, err := rounds.Find("v6.1")
	require.NoError(t, err)
	root := t.TempDir()
	of := check.Result{Path: "closed/a/results/y/llama3.1-8b/Server", Division: "closed", Submitter: "a", System: "y",
		Benchmark: "llama3.1-8b", Scenario: "server", Valid: true, Metric: 5, Unit: "tokens/s"}
	place := layout.Scenario{Submitter: layout.Submitter{Division: "closed", Name: "a"}, Round: round, SystemID: "y",
		Benchmark: "llama3.1-8b", Name: "Server"}
	read := func() *Result { return readPlace(&Source{}, root, round, &check.Report{}, &of) }
	require.Nil(t, read().Value, "there is no folder")
	log := filepath.FromSlash(place.Performance()) + "/" + mllog.DetailName
	write(t, root, log, `:::MLLOG {"key": "effective_target_qps", "value": 1}`+"\n")
	r := read()
	require.Equal(t, []any{5.0, "tokens/s", Valid, "Server", "llama3.1-8b", "no"}, []any{*r.Value, r.Unit, r.State,
		r.Scenario, r.Benchmark, r.Rehearsal})
	write(t, root, log, `:::MLLOG {"key": "result_completed_tokens_per_second", "value": 7}`+"\n")
	require.InDelta(t, 7, *read().Value, 0)
	of.Metric, of.Valid, of.Model = 0, false, "official"
	write(t, root, log, `:::MLLOG {"key": "effective_target_qps", "value": 1}`+"\n")
	r = read()
	require.Equal(t, []any{(*float64)(nil), Invalid, "official", []string{}}, []any{r.Value, r.State, r.Benchmark,
		r.Reasons})
}
