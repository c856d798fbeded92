package plan

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// planned makes a plan for a data set of so many rows.
func planned(t *testing.T, rows int, s Settings) *Plan {
	t.Helper()
	p, err := New(s)
	require.NoError(t, err)
	require.NoError(t, p.Bind(rows))
	return p
}

func real8b(scenario string) Settings {
	return Settings{"model": "llama3.1-8b", "scenario": scenario, "endpoint": "http://a:1,http://b:1", "dataset": "file",
		"target-qps": "7"}
}

func TestDefaultsOfARealRun(t *testing.T) {
	for scenario, want := range map[string]struct {
		loadgen     models.Scenario
		key         string
		queries     int
		ttft, tpot  time.Duration
		concurrency int
	}{
		"Offline":     {models.Offline, "llama3_1-8b", 13368, 0, 0, 2048},
		"Server":      {models.Server, "llama3_1-8b", 100, 2 * time.Second, 100 * time.Millisecond, 0},
		"Interactive": {models.Server, "llama3_1-8b-interactive", 100, 500 * time.Millisecond, 30 * time.Millisecond, 0},
	} {
		t.Run(scenario, func(t *testing.T) {
			p := planned(t, 13368, real8b(scenario))
			c := p.Config
			require.Empty(t, p.Rehearsal)
			require.Equal(t, want.loadgen, p.Scenario.LoadGen)
			require.Equal(t, want.key, p.LoadGenModel())
			require.Equal(t, want.queries, c.Int("min-queries"))
			require.Equal(t, 10*time.Minute, c.Duration("min-duration"))
			require.Equal(t, want.ttft, c.Duration("ttft-limit"))
			require.Equal(t, want.tpot, c.Duration("tpot-limit"))
			require.Equal(t, want.concurrency, c.Int("concurrency"))
			require.Equal(t, config.Auto, c.String("backend"), "its servers are asked first")
			require.False(t, c.Has("api"), "the backend decides")
			require.Equal(t, "meta-llama/Llama-3.1-8B-Instruct", c.String("served-model"))
			require.Zero(t, c.Int("samples"), "LoadGen's own counts stand")
			for _, deadline := range []string{"request-timeout", "first-token-timeout", "token-timeout", "connect-timeout"} {
				require.Positive(t, c.Duration(deadline), deadline)
				require.Greater(t, c.Duration("drain-timeout"), c.Duration(deadline), "a request ends by a deadline of its own")
			}
			s := p.Sampling()
			require.Equal(t, 128, s.MaxTokens)
			require.Equal(t, 1, s.MinTokens)
			require.Zero(t, *s.Temperature)
			require.Equal(t, 1.0, *s.TopP)
			require.Equal(t, 1, *s.TopK)
			require.EqualValues(t, 42, *s.Seed)
		})
	}
}

// Unless the user sets it, the drain deadline ends neither a request nor a wait for an endpoint before their own
// deadlines.
func TestTheDrainDeadlineIsTheLongest(t *testing.T) {
	for _, c := range []struct {
		more Settings
		want time.Duration
	}{
		{nil, 31 * time.Minute},
		{Settings{"request-timeout": "5m"}, 6 * time.Minute},
		{Settings{"request-timeout": "2h"}, 121 * time.Minute},
		{Settings{"request-timeout": "20s"}, 90 * time.Second},
		{Settings{"endpoint-timeout": "3h"}, 181 * time.Minute},
		{Settings{"request-timeout": "2562047h47m"}, 2562047*time.Hour + 47*time.Minute},
		{Settings{"request-timeout": "2h", "drain-timeout": "90s"}, 90 * time.Second},
	} {
		settings := real8b("Offline")
		maps.Copy(settings, c.more)
		require.Equal(t, c.want, planned(t, 13368, settings).Config.Duration("drain-timeout"), c.more)
	}
}

func TestDefaultsOfARehearsal(t *testing.T) {
	for scenario, want := range map[string]struct {
		qps      float64
		queries  int
		duration time.Duration
	}{
		"Offline": {1, 512, 0}, "Server": {50, 512, 10 * time.Second}, "Interactive": {50, 512, 10 * time.Second},
	} {
		t.Run(scenario, func(t *testing.T) {
			p := planned(t, 512, Settings{"model": "llama3.1-8b", "scenario": scenario})
			require.Equal(t, want.qps, p.Config.Float("target-qps"))
			require.Equal(t, want.queries, p.Config.Int("min-queries"))
			require.Equal(t, want.duration, p.Config.Duration("min-duration"))
			require.Equal(t, 512, p.Config.Int("samples"))
			require.Equal(t, "sim", p.Config.String("backend"))
			require.Subset(t, p.Rehearsal, []string{"the server is the simulator", "the data set is synthetic",
				"512 of 13368 rows"})
		})
	}
	p := planned(t, 512, Settings{"model": "llama3.1-8b-edge", "scenario": "SingleStream"})
	require.Equal(t, 100, p.Config.Int("min-queries"))
	require.Zero(t, p.Config.Duration("min-duration"))
}

// With a changed user.conf LoadGen can measure something else than the benchmark and report VALID. Such a run is a
// rehearsal that names the reason.
func TestUserConfThatMeasuresSomethingElse(t *testing.T) {
	for line, reason := range map[string]string{
		"*.Server.target_latency_percentile = 50": "latency-percentile 50 is not the benchmark's 99",
		"*.*.performance_issue_same = 1": "the user.conf's performance_issue_same 1 is not the " +
			"benchmark's 0",
		"*.*.performance_issue_unique = 1": "the user.conf's performance_issue_unique 1 is not the " +
			"benchmark's 0",
		"*.*.sample_concatenate_permutation = 0": "the user.conf's sample_concatenate_permutation 0 is not " +
			"the benchmark's 1",
		"*.*.performance_sample_count_override = 10": "the user.conf's performance_sample_count_override 10 is " +
			"not the benchmark's 13368",
		"*.*.infer_token_latencies = 1": "the user.conf's infer_token_latencies 1 is not the " +
			"benchmark's 0",
		"llama3_1-8b.Server.target_latency = 5":                "the user.conf's target_latency 5 is not the benchmark's 0",
		"*.Server.target_latency_percentile = 99":              "",
		"*.*.performance_sample_count_override = 0x3438":       "",
		"*.*.sample_concatenate_permutation = 1":               "",
		"*.*.print_timestamps = 1":                             "",
		"*.Server.max_async_queries = 7":                       "",
		"llama3_1-8b-interactive.*.performance_issue_same = 1": "",
	} {
		t.Run(line, func(t *testing.T) {
			if !loadgen.Built {
				t.Skip("built without LoadGen")
			}
			s := real8b("Server")
			s["user-conf"] = filepath.Join(t.TempDir(), "user.conf")
			require.NoError(t, os.WriteFile(s["user-conf"], []byte(line+"\n"), 0o644))
			var want []string
			if reason != "" {
				want = []string{reason}
			}
			require.Equal(t, want, planned(t, 13368, s).Rehearsal)
		})
	}
}

// Reasons why a run with a real server and the real data set is a rehearsal.
func TestReasonsOfARehearsal(t *testing.T) {
	for setting, c := range map[string]struct{ text, reason string }{
		"min-duration":  {"10s", "min-duration 10s is below 10m0s"},
		"min-queries":   {"5", "min-queries 5 is below 100"},
		"ttft-limit":    {"3s", "ttft-limit 3s is not the benchmark's 2s"},
		"tpot-limit":    {"50ms", "tpot-limit 50ms is not the benchmark's 100ms"},
		"seed-override": {"1,2,3", "the seeds are not the round's"},
		"lg-model-name": {"llama2-70b", "the LoadGen model llama2-70b is not the benchmark's llama3_1-8b"},
		"backend":       {"sim", "the server is the simulator"},
	} {
		t.Run(setting, func(t *testing.T) {
			s := real8b("Server")
			s[setting] = c.text
			require.Equal(t, c.reason, planned(t, 13368, s).Rehearsal[0])
		})
	}
	require.Equal(t, []string{"100 of 13368 rows"}, planned(t, 100, real8b("Server")).Rehearsal[:1])
	s := Settings{"model": "generic", "scenario": "Offline", "endpoint": "http://a:1", "dataset": "f", "served-model": "m",
		"min-duration": "1s", "min-queries": "3"}
	require.Empty(t, planned(t, 3, s).Rehearsal, "generic is no benchmark, so nothing is too short for it")
}

func TestNamesOfModels(t *testing.T) {
	for _, c := range []struct {
		settings       Settings
		row, key       string
		scenario       models.Scenario
		served, notice string
	}{
		{Settings{"model": "llama3_1-8b-interactive"}, "llama3.1-8b", "llama3_1-8b-interactive", models.Interactive,
			"meta-llama/Llama-3.1-8B-Instruct", "llama3.1-8b"},
		{Settings{"model": "llama3.1-8b-interactive", "scenario": "Server"}, "llama3.1-8b", "llama3_1-8b-interactive",
			models.Interactive, "meta-llama/Llama-3.1-8B-Instruct", "llama3.1-8b"},
		{Settings{"model": "llama31_8b", "scenario": "Server"}, "llama3.1-8b", "llama3_1-8b", models.Server,
			"meta-llama/Llama-3.1-8B-Instruct", ""},
		{Settings{"model": "llama3.1-8b-edge", "scenario": "SingleStream"}, "llama3.1-8b-edge", "llama3_1-8b-edge",
			models.SingleStream, "meta-llama/Llama-3.1-8B-Instruct", ""},
		{Settings{"model": "meta-llama/Meta-Llama-3.1-8B-Instruct"}, "llama3.1-8b", "llama3_1-8b", models.Offline,
			"meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3.1-8b"},
		{Settings{"model": "openai/gpt-oss-120b"}, "gpt-oss-120b", "gpt-oss-120b", models.Offline, "openai/gpt-oss-120b",
			"gpt-oss-120b"},
		{Settings{"use-generic": "true", "served-model": "mine"}, "generic", "generic", models.Offline, "mine", ""},
		{Settings{"model-category": "llama3.1-8b", "model": "org/tuned"}, "llama3.1-8b", "llama3_1-8b", models.Offline,
			"org/tuned", "--model"},
	} {
		p, err := New(c.settings)
		require.NoError(t, err, c.settings)
		require.Equal(t, c.row, p.Row.Name)
		require.Equal(t, c.key, p.LoadGenModel())
		require.Equal(t, c.scenario, p.Scenario.Scenario)
		require.Equal(t, c.served, p.Config.String("served-model"))
		require.Contains(t, strings.Join(p.Notices(), "\n"), c.notice)
	}
}

// In a rehearsal, --samples above the number of rows is lowered to it.
func TestSamplesAreCappedInARehearsal(t *testing.T) {
	p := planned(t, 10, Settings{"model": "llama3.1-8b", "samples": "20"})
	require.Equal(t, 10, p.Config.Int("samples"))
	require.Equal(t, []string{"--samples 20 is capped to the 10 rows of the data set"}, p.Adjusted)
	require.NoError(t, p.Bind(10))
	require.Len(t, p.Adjusted, 1, "once")
}

func TestInvalidPlans(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for name, c := range map[string]struct {
		settings   Settings
		rows       int
		code, text string
	}{
		"no model":         {Settings{}, 1, "model", "mlperf-go models"},
		"unknown model":    {Settings{"model": "llama3.1-8c"}, 1, "unknown_model", "llama3.1-8b"},
		"unknown setting":  {Settings{"modle": "x"}, 1, "setting", "model"},
		"unknown scenario": {Settings{"model": "llama3.1-8b", "scenario": "Servr"}, 1, "setting", "Server"},
		"scenario not in row": {Settings{"model": "llama3.1-8b", "scenario": "SingleStream"}, 1, "scenario",
			"has no scenario SingleStream; it has Offline, Server, Interactive"},
		"name against scenario": {Settings{"model": "llama3.1-8b-interactive", "scenario": "Offline"}, 1, "scenario",
			"means scenario Interactive"},
		"two tests in one": {Settings{"model": "llama3.1-8b", "mode": "submission"}, 1, "mode", "submission"},
		"unknown LoadGen model": {Settings{"model": "llama3.1-8b", "lg-model-name": "llama3.1-8b"}, 1, "lg_model_name",
			"llama3_1-8b"},
		"no user.conf":    {Settings{"model": "llama3.1-8b", "user-conf": missing}, 1, "user_conf", missing},
		"no audit.config": {Settings{"model": "llama3.1-8b", "audit-config": missing}, 1, "audit_config", missing},
		"two seeds": {Settings{"model": "llama3.1-8b", "seed-override": "1,2"}, 1, "seed_override",
			"three numbers"},
		"seeds of letters": {Settings{"model": "llama3.1-8b", "seed-override": "1,2,c"}, 1, "seed_override",
			`"c" is not an unsigned`},
		"zero QPS": {Settings{"model": "llama3.1-8b", "scenario": "Server", "target-qps": "0"}, 1, "setting",
			"target-qps"},
		"negative QPS": {Settings{"model": "llama3.1-8b", "scenario": "Server", "target-qps": "-1"}, 1, "setting",
			"target-qps"},
		"no QPS": {Settings{"model": "llama3.1-8b", "scenario": "Server", "endpoint": "http://a:1",
			"dataset": "f"}, 13368, "target_qps", "--target-qps"},
		"more rows than real": {Settings{"model": "llama3.1-8b", "dataset": "f"}, 13369, "dataset",
			"13369 rows, more than the 13368 of llama3.1-8b"},
		"more samples than rows": {Settings{"model": "generic", "served-model": "m", "endpoint": "http://a:1", "dataset": "f",
			"samples": "20"}, 10, "samples", "--samples 20 exceeds the 10 rows"},
		"no served model": {Settings{"model": "generic"}, 10, "served_model", "/v1/models"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := New(c.settings)
			if err == nil {
				err = p.Bind(c.rows)
			}
			require.Error(t, err)
			e := exit.Classify(err)
			require.Equal(t, exit.StatusUsage, e.Exit)
			require.EqualValues(t, c.code, e.Code, err)
			require.Contains(t, e.Error(), c.text)
		})
	}
}

func TestStrayAuditConfigIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("audit.config", nil, 0o644))
	_, err := New(Settings{"model": "llama3.1-8b"})
	require.EqualValues(t, "stray_audit_config", exit.Classify(err).Code)
	require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit)
	require.ErrorContains(t, err, "Remove it")
}

// Each layer takes precedence over the earlier ones, and every value has its origin.
func TestLayers(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "user.conf")
	require.NoError(t, os.WriteFile(conf, []byte("llama3_1-8b.Server.target_qps = 3\nllama3_1-8b.Server.min_query_count "+
		"= 3\n*.Server.min_duration = 3000\n*.Server.max_async_queries = 9\n"), 0o644))
	c := config.New(config.RunSettings())
	require.NoError(t, c.LoadYAML("file.yaml", strings.NewReader("model: llama3.1-8b\nscenario: Server\ntarget-qps: "+
		"2\nmin-queries: 2\nmin-duration: 2s\nretries: 2\nmax-tokens: 2\n")))
	require.NoError(t, c.SetEnviron([]string{"MLPERF_GO_MIN_QUERIES=4", "MLPERF_GO_MIN_DURATION=4",
		"MLPERF_GO_USER_CONF=" + conf}))
	require.NoError(t, c.Set("min-duration", "5", config.Origin{Layer: config.FromFlag, Where: "--min-duration"}))
	p, err := Resolve(c)
	require.NoError(t, err)
	require.NoError(t, p.Bind(512))
	for setting, want := range map[string]struct {
		text  string
		layer config.Layer
	}{
		"served-model": {"meta-llama/Llama-3.1-8B-Instruct", config.FromRegistry},
		"max-tokens":   {"2", config.FromFile},
		"target-qps":   {"3", config.FromUserConf},
		"min-queries":  {"4", config.FromEnvironment},
		"min-duration": {"5s", config.FromFlag},
		"lb":           {"round-robin", config.FromDefault},
	} {
		require.Equal(t, want.text, c.Text(setting), setting)
		require.Equal(t, want.layer, c.Origin(setting).Layer, setting)
	}
	require.Equal(t, 2, p.Sampling().MaxTokens)
	require.Equal(t, []config.KV{{Key: "max_async_queries", Text: "9"}}, p.confRest)
}

func TestSamplingFromTheConfiguration(t *testing.T) {
	s := planned(t, 10, Settings{"model": "llama3.1-8b", "max-tokens": "9", "min-tokens": "2", "temperature": "0.5",
		"top-p": "0.9", "top-k": "-1"}).Sampling()
	require.Equal(t, 9, s.MaxTokens)
	require.Equal(t, 2, s.MinTokens)
	require.Equal(t, 0.5, *s.Temperature)
	require.Equal(t, 0.9, *s.TopP)
	require.Equal(t, -1, *s.TopK)
}

func TestSamplesCutADataSetInMemory(t *testing.T) {
	p, err := New(Settings{"model": "generic", "samples": "2"})
	require.NoError(t, err)
	p.Dataset = &datasets.Dataset{Samples: make([]datasets.Sample, 5)}
	ds, err := p.ReadDataset()
	require.NoError(t, err)
	require.Len(t, ds.Samples, 2)
	require.Len(t, p.Dataset.Samples, 5)
}

func TestEndpointsAndKey(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("secret \nsecond line\n"), 0o600))
	p := planned(t, 10, Settings{"model": "llama3.1-8b", "endpoint": "http://a:1/v1,b:2", "api-key-file": key})
	list, err := p.Endpoints()
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "http://a:1", list[0].URL)
	require.Equal(t, "http://b:2", list[1].URL)
	require.Equal(t, "secret", list[1].APIKey)

	_, err = New(Settings{"model": "llama3.1-8b", "endpoint": "ftp://a"})
	require.EqualValues(t, "endpoint", exit.Classify(err).Code, err)
	p, err = New(Settings{"model": "llama3.1-8b", "endpoint": "http://a", "api-key-file": key + "x"})
	require.NoError(t, err)
	_, err = p.Endpoints()
	require.EqualValues(t, "api_key", exit.Classify(err).Code, err)
}

// Mistakes are reported together unless one follows from another.
func TestMistakesAreReportedTogether(t *testing.T) {
	_, err := New(Settings{"scenario": "Server", "endpoint": "ftp://a", "dataset": "no-such.json", "percentiles": "101"})
	require.ErrorContains(t, err, "4 mistakes:\n  - no --model given. ")
	for _, part := range []string{"between 0 and 100", "ftp://a", "the data set no-such.json does not exist"} {
		require.ErrorContains(t, err, "\n  - ")
		require.ErrorContains(t, err, part)
	}
	_, err = New(Settings{"model": "llama3.1-8b", "dataset": "no-such.json"})
	require.NoError(t, err, "a data set that is read later may be made until then")
}

func TestFolder(t *testing.T) {
	p, err := New(Settings{"model": "llama3.1-8b-interactive", "mode": "accuracy"})
	require.NoError(t, err)
	require.Regexp(t, `^results/llama3.1-8b-Interactive-accuracy/\d{8}T\d{6}\.\d{3}Z$`, p.Folder())
	require.Equal(t, p.Folder(), p.Folder(), "a run has one folder")
	require.NoDirExists(t, "results")
	p, err = New(Settings{"model": "llama3.1-8b", "output-dir": "a//b/"})
	require.NoError(t, err)
	require.Equal(t, "a/b", p.Folder())
}
