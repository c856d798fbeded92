package plan

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Each field of a backend's configuration follows from one setting.
func TestConfigurationOfABackend(t *testing.T) {
	p := planned(t, 10, Settings{"model": "llama3.1-8b", "scenario": "Server", "endpoint": "http://a:1", "backend": "vllm",
		"api": "completions", "served-model": "m", "concurrency": "7", "retries": "2", "lb": "hash",
		"request-timeout": "5m", "first-token-timeout": "1m", "token-timeout": "7s", "connect-timeout": "3s",
		"endpoint-timeout": "9s", "http2": "true", "insecure-skip-verify": "true", "response-format": "json_object",
		"traceparent": "true", "api-key": "secret-of-this-test"})
	driver, c, err := p.OpenDriver()
	require.NoError(t, err)
	require.NotNil(t, driver)
	require.Equal(t, backends.Dispatch{Concurrency: 7, Retries: 2, Balance: "hash"}, c.Dispatch)
	require.Equal(t, backends.Deadlines{RequestTimeout: 5 * time.Minute, FirstTokenTimeout: time.Minute,
		TokenTimeout: 7 * time.Second, ConnectTimeout: 3 * time.Second, EndpointTimeout: 9 * time.Second}, c.Deadlines)
	require.Equal(t, backends.Transport{HTTP2: true, InsecureSkipVerify: true}, c.Transport)
	require.Equal(t, "completions", c.API)
	require.Equal(t, "m", c.ServedModel)
	require.True(t, c.Stream)
	require.True(t, c.Traced)
	require.Equal(t, p.Sampling(), c.Sampling)
	require.Equal(t, &backends.Format{}, c.Format)
	require.True(t, c.NeedIDs)
	require.False(t, c.KeepText)
	require.Equal(t, p.Row.Vocabulary, c.Vocabulary)
	require.Equal(t, p.Row.MinOutputTokens, c.MinTokens)
	require.Equal(t, 8, c.ProbeTokens)
	require.NotContains(t, p.Secrets.Values("a secret-of-this-test b"), "secret-of-this-test")

	for code, s := range map[exit.Code]Settings{
		"backend":          {"backend": "none"},
		"ca_file":          {"backend": "vllm", "ca-file": "no/such"},
		"client_cert":      {"backend": "vllm", "client-cert": "no/such"},
		"proxy":            {"backend": "vllm", "proxy": "x://y"},
		"response_format":  {"backend": "vllm", "response-format": "no/such"},
		"offline_strategy": {"backend": "vllm", "offline-strategy": "batch", "api": "chat"},
	} {
		_, _, err := aClient(t, "Offline", s).OpenDriver()
		require.Equal(t, code, exit.Classify(err).Code, err)
	}
	_, err = planned(t, 10, Settings{"model": "llama3.1-8b"}).Endpoints()
	require.ErrorContains(t, err, "no --endpoint is given")
}

// Answers are streamed if LoadGen measures tokens or the user requests it.
func TestWhenAnswersAreStreamed(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		stream   bool
	}{
		"Server":                      {Settings{"scenario": "Server"}, true},
		"Offline":                     {Settings{"scenario": "Offline"}, false},
		"Offline, asked for":          {Settings{"scenario": "Offline", "stream": "true"}, true},
		"a limit of the whole answer": {Settings{"scenario": "Server", "model": "qwen3-vl-235b-a22b"}, false},
	} {
		s := Settings{"model": "llama3.1-8b", "endpoint": "http://a:1", "backend": "vllm"}
		for k, v := range c.settings {
			s[k] = v
		}
		_, b, err := planned(t, 10, s).OpenDriver()
		require.NoError(t, err)
		require.Equal(t, c.stream, b.Stream, name)
	}
}

func TestSettingsThatTheBalanceIgnores(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		notice   string
	}{
		"a key without hash":          {Settings{"lb-key": "prefix"}, "--lb-key does nothing with --lb "},
		"a key with hash":             {Settings{"lb-key": "prefix", "lb": "hash"}, ""},
		"a prefix without hash":       {Settings{"lb-prefix-tokens": "9"}, "--lb-prefix-tokens does nothing"},
		"a prefix with another key":   {Settings{"lb-prefix-tokens": "9", "lb": "hash", "lb-key": "session"}, "--lb-prefix"},
		"a prefix with its key":       {Settings{"lb-prefix-tokens": "9", "lb": "hash", "lb-key": "prefix"}, ""},
		"a session without hash":      {Settings{"session-column": "s"}, "--session-column does nothing"},
		"a session with another key":  {Settings{"session-column": "s", "lb": "hash", "lb-key": "prefix"}, "--session-col"},
		"a session with its own key":  {Settings{"session-column": "s", "lb": "hash", "lb-key": "session"}, ""},
		"nothing about it in any way": {Settings{}, ""},
	} {
		c.settings["model"] = "llama3.1-8b"
		p, err := New(c.settings)
		require.NoError(t, err)
		if c.notice == "" {
			require.Empty(t, p.Notices(), name)
			continue
		}
		require.Len(t, p.Notices(), 1, name)
		require.Contains(t, p.Notices()[0], c.notice)
	}
}

// The verdict's terms are the plan's.
func TestTermsOfAPlan(t *testing.T) {
	server := planned(t, 13368, real8b("Server"))
	require.Equal(t, record.Terms{Mode: models.Performance, Scenario: models.Server, Score: true, TokenLatencies: true,
		FirstTokens: true, TTFTLimit: 2 * time.Second, TPOTLimit: 100 * time.Millisecond}, server.Terms())
	offline := planned(t, 10, Settings{"model": "llama3.1-8b", "mode": "accuracy", "score": "false"})
	require.Equal(t, record.Terms{Mode: models.Accuracy, Scenario: models.Offline, Rehearsal: true, TokenLatencies: true},
		offline.Terms())
	whole := planned(t, 10, Settings{"model": "qwen3-vl-235b-a22b", "scenario": "Interactive",
		"audit-config": file(t, "a", "")})
	require.Equal(t, record.Terms{Mode: models.Performance, Scenario: models.Interactive, Rehearsal: true, Audit: true,
		Score: true, AnswerLimit: 1500 * time.Millisecond}, whole.Terms())
}

func TestPercentilesOfAPlan(t *testing.T) {
	require.Equal(t, []float64{50, 99.9}, unbound(t, "percentiles", "50,p99.9").Percentiles())
	require.Nil(t, unbound(t).Percentiles())
	_, err := New(Settings{"model": "llama3.1-8b", "percentiles": "101"})
	require.Equal(t, exit.Code("percentiles"), exit.Classify(err).Code)
}

// The files of a plan contain no secret, and only the user can read them unless the run is shared.
func TestFilesOfAPlan(t *testing.T) {
	p := planned(t, 10, Settings{"model": "llama3.1-8b", "endpoint": "http://a:1", "api-key": "secret-of-this-test"})
	_, err := p.Endpoints()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "f")
	for _, write := range []func() error{
		func() error { return p.WriteConfig(path) },
		func() error { return p.WriteJSON(path, map[string]string{"a": "secret-of-this-test", "b": "model"}) },
	} {
		require.NoError(t, write())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret-of-this-test")
		require.Contains(t, string(text), "model")
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.ErrorContains(t, p.WriteJSON(path, math.Inf(1)), "encoding "+path+" as JSON")
	require.Equal(t, atomicfile.Private, p.Access())
	require.Equal(t, atomicfile.Shared, unbound(t, "shared-output", "true").Access())
}

// Which samples LoadGen issues equally often.
func TestSamplesThatAreIssuedEquallyOften(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	conf := func(value string) string {
		return file(t, "user.conf", "*.*.sample_concatenate_permutation = "+value+"\n")
	}
	for name, c := range map[string]struct {
		rows     int
		settings Settings
		want     int
	}{
		"the benchmark's":              {10, Settings{"model": "llama3.1-8b"}, 10},
		"accuracy":                     {10, Settings{"model": "llama3.1-8b", "mode": "accuracy"}, 0},
		"an audit":                     {10, Settings{"model": "llama3.1-8b", "audit-config": file(t, "a", "")}, 0},
		"no benchmark":                 {10, Settings{"model": "generic", "served-model": "m"}, 0},
		"no benchmark, by a user.conf": {10, Settings{"model": "generic", "served-model": "m", "user-conf": conf("1")}, 10},
		"in other digits":              {10, Settings{"model": "generic", "served-model": "m", "user-conf": conf("0x1")}, 10},
		"switched off by a user.conf":  {10, Settings{"model": "llama3.1-8b", "user-conf": conf("0")}, 0},
		"a part of the set":            {13368, Settings{"model": "llama3.1-8b"}, 13368},
		"a performance set of its own": {8313, Settings{"model": "deepseek-r1"}, 4388},
	} {
		if name == "a performance set of its own" {
			m, err := models.Find("gpt-oss-120b")
			require.NoError(t, err)
			if m.Row.PerformanceCount == 0 {
				continue
			}
			c.settings["model"], c.rows, c.want = m.Row.Name, m.Row.PerformanceCount, m.Row.PerformanceCount
		}
		c.settings["endpoint"], c.settings["target-qps"] = "http://a:1", "1"
		p, err := New(c.settings)
		require.NoError(t, err)
		require.NoError(t, p.Bind(c.rows), name)
		require.Equal(t, c.want, p.EqualIssueSet(), name)
	}
	p := planned(t, 10, Settings{"model": "llama3.1-8b"})
	row := *p.Row
	p.Row = &row
	for count, want := range []int{10, 1, 2, 9: 9, 10: 10, 11: 10} {
		if want > 0 {
			row.PerformanceCount = count
			require.Equal(t, want, p.EqualIssueSet(), "%d", count)
		}
	}
	p.AuditRows = 5
	require.Zero(t, p.EqualIssueSet())
}

func TestModelNamesThatContradict(t *testing.T) {
	_, err := New(Settings{"model": "llama2-70b-99", "model-category": "llama3.1-8b"})
	require.ErrorContains(t, err, "give one --model")
	require.Equal(t, exit.Code("model"), exit.Classify(err).Code)
	p, err := New(Settings{"model": "own-name", "model-category": "llama3.1-8b"})
	require.NoError(t, err)
	require.Equal(t, "llama3.1-8b", p.Row.Name)
	require.Equal(t, "own-name", p.Config.String("served-model"))
	p, err = New(Settings{"model": "llama3.1-8b", "model-category": "llama3.1-8b"})
	require.NoError(t, err)
	require.Equal(t, p.Row.ServedModels[0], p.Config.String("served-model"))
}

// The path of a file is checked before the test starts.
func TestPathsThatAreChecked(t *testing.T) {
	for name, code := range map[string]exit.Code{"tokenizer": "tokenizer", "prompt-template": "dataset",
		"audit-config": "audit_config", "user-conf": "user_conf", "generation-config": "generation_config"} {
		_, err := New(Settings{"model": "llama3.1-8b", name: "no/such/file"})
		require.Error(t, err, name)
		known := exit.Classify(err)
		require.Equal(t, exit.StatusUsage, known.Exit, name)
		if code != "dataset" {
			require.Equal(t, code, known.Code, name)
		}
	}
}

// The causes do not list values that follow from a default of the program.
func TestReasonsThatTheProgramChose(t *testing.T) {
	p := planned(t, 10, Settings{"model": "llama3.1-8b"})
	require.Contains(t, p.Rehearsal, "min-duration 0s is below 10m0s")
	require.True(t, p.IsDefault("min-duration 0s is below 10m0s"))
	require.False(t, p.IsDefault(record.SimulatorReason))
	p = planned(t, 10, Settings{"model": "llama3.1-8b", "min-duration": "1s"})
	require.False(t, p.IsDefault("min-duration 1s is below 10m0s"))
	p = planned(t, 10, Settings{"model": "llama3.1-8b", "endpoint": "http://a:1", "dataset": "f"})
	require.NotContains(t, p.Rehearsal, record.SimulatorReason)
	p.Simulated = true
	require.NoError(t, p.Bind(10))
	require.Contains(t, p.Rehearsal, unknowing, "the simulator was not started with this data set")
	require.NotContains(t, p.Rehearsal, record.SimulatorReason)
	require.Equal(t, "run-code", mixture(t, "run-code", "false").Config.Origin("run-code").Where)
	require.Contains(t, mixture(t, "run-code", "false").Rehearsal,
		"it has no questions for programs, because of --run-code=false")
	require.True(t, mixture(t).Config.Bool("run-code"))
	require.NotContains(t, mixture(t).Rehearsal, "it has no questions for programs, because of --run-code=false")
	require.False(t, mixture(t, "code-service", "ws://a:1").Config.Bool("run-code"))
}

func mixture(t *testing.T, more ...string) *Plan {
	t.Helper()
	s := Settings{"model": "mixtral-8x7b", "mode": "accuracy"}
	for i := 0; i < len(more); i += 2 {
		s[more[i]] = more[i+1]
	}
	return planned(t, 10, s)
}

// Scores of rehearsals with the same synthetic set are judged only if the server is the simulator, which has the
// answers.
func TestScoresThatAreNotJudged(t *testing.T) {
	p := unbound(t, "dataset", synthetic(t, 4))
	ds, err := p.ReadDataset()
	require.NoError(t, err)
	require.Empty(t, NotJudged([]string{"other", record.SimulatorReason}, ds))
	require.Contains(t, NotJudged([]string{unknowing}, ds), "the server does not have its answers")
	for references, knows := range map[string]bool{"": false, strings.Repeat("0", 64): false, ds.SHA256: true} {
		q := unbound(t, "dataset", p.Config.String("dataset"), "endpoint", "http://a:1")
		q.Simulated, q.References = true, references
		_, err := q.ReadDataset()
		require.NoError(t, err)
		require.NoError(t, q.Bind(4))
		require.Equal(t, knows, NotJudged(q.Rehearsal, ds) == "", q.Rehearsal)
	}
	require.Contains(t, NotJudged([]string{"other"}, ds), "the server does not have its answers")
	real := unbound(t, "dataset", file(t, "d.json", `[{"tok_input": [128000, 300], "output": "a", "input": "b"}]`))
	ds, err = real.ReadDataset()
	require.NoError(t, err)
	require.Empty(t, NotJudged(nil, ds))
}

func TestNotesAboutLoadGen(t *testing.T) {
	require.Empty(t, unbound(t).LoadGenNotes())
	notes := unbound(t, "round", "v5.1").LoadGenNotes()
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "the run is for round v5.1: its seeds are given to LoadGen")
	require.Equal(t, config.FromFlag, unbound(t, "round", "5.1").Config.Origin("round").Layer)
}

// LoadGen's limit of the whole answer must be the target, unless a user.conf sets another.
func TestTheLimitThatLoadGenMustHave(t *testing.T) {
	for name, c := range map[string]struct {
		scenario, conf string
		limit          time.Duration
		known          bool
	}{
		"the benchmark's": {"Server", "", 12 * time.Second, true},
		"none in Offline": {"Offline", "", 0, false},
		"a user.conf's":   {"Server", "*.Server.target_latency = 0x10\n", 16 * time.Millisecond, true},
	} {
		s := Settings{"model": "qwen3-vl-235b-a22b", "scenario": c.scenario}
		if c.conf != "" {
			s["user-conf"] = file(t, "user.conf", c.conf)
		}
		limit, known := planned(t, 10, s).expectedLatencyLimit()
		require.Equal(t, c.limit, limit, name)
		require.Equal(t, c.known, known, name)
	}
}
