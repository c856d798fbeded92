package needs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers vllm
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// realRow is a row of no synthetic data set: llama3.1-8b's, and with a program mixtral-8x7b's.
const realRow = `{"instruction":"Summarize","input":"The cat sat on the mat.","tok_input":[128000,5,6,7],"output":"A cat sat."}`

// survey returns the survey of a bound plan, with the given settings over a test of llama3.1-8b on rows of its own.
func survey(t *testing.T, settings plan.Settings) *Survey {
	t.Helper()
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(strings.Repeat(realRow+"\n", 3)), 0o644))
	s := plan.Settings{"model": "llama3.1-8b", "scenario": "Server", "target-qps": "2", "endpoint": "http://a:1",
		"dataset": data}
	for name, text := range settings {
		if s[name] = text; text == "" {
			delete(s, name)
		}
	}
	p, err := plan.New(s)
	require.NoError(t, err)
	rows := p.Samples()
	if p.HasDataset() {
		ds, err := p.ReadDataset()
		require.NoError(t, err)
		rows = len(ds.Samples)
	}
	require.NoError(t, p.Bind(rows))
	return &Survey{Tests: []*plan.Plan{p}, Scored: true, Folder: t.TempDir(), Environ: []string{"HOME=" + t.TempDir()}}
}

// row returns a row of the survey's table.
func row(t *testing.T, s *Survey, name string) Check {
	t.Helper()
	for _, c := range s.Table(t.Context()) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the table has no row %q", name)
	return Check{}
}

func answered(e backends.Probe) *run.Preflight {
	e.URL, e.Server, e.Version, e.Generated = "http://a:1", "vllm", "0.10.2", true
	return &run.Preflight{Endpoints: []*backends.Probe{&e}, OpenFiles: hostinfo.NoFile{Now: 1024}, LocalPorts: 7}
}

func TestServerRows(t *testing.T) {
	s := survey(t, nil)
	require.Equal(t, Check{Name: "server", State: Unknown, Found: "the server was not asked yet"}, row(t, s, "server"))
	s.Servers = answered(backends.Probe{MaxModelLen: 4096, TokenIDPrompt: true, ReturnsTokenIDs: true})
	for name, want := range map[string]string{
		"server": "vllm 0.10.2 at http://a:1", "model": "meta-llama/Llama-3.1-8B-Instruct",
		"context": "4096 tokens; prompts have up to 4, answers 128", "token ids": "in prompts and answers",
		"open files": "1024 allowed; 7 connections to one address",
	} {
		require.Equal(t, Check{Name: name, State: OK, Found: want}, row(t, s, name))
	}
	s.Servers.Endpoints[0].MaxModelLen, s.Servers.Endpoints[0].TokenIDPrompt = 0, false
	require.Equal(t, Unknown, row(t, s, "context").State)
	require.Equal(t, "in answers; prompts are text", row(t, s, "token ids").Found)
	require.NoError(t, s.Table(t.Context()).Err())
	s = survey(t, plan.Settings{"endpoint": ""})
	require.Equal(t, Check{Name: "model", State: NotNeeded, Found: "the simulator will be started"}, row(t, s, "model"))
}

// A refusal of the preflight is in the row that it belongs to, and is the table's error.
func TestRefusals(t *testing.T) {
	fault := func(f backends.Fault) error {
		return &backends.EndpointError{URL: "http://a:1", Fault: f, Text: "told"}
	}
	for _, c := range []struct {
		refusal error
		row     string
	}{
		{fault(backends.FaultUnreachable), "server"}, {fault(backends.FaultGenerate), "server"},
		{fault(backends.FaultWrongModel), "model"}, {fault(backends.FaultNoTokenIDs), "token ids"},
		{exit.Environment("context_length", "longer", "told"), "context"},
		{exit.Environment("open_files", "more", "told"), "open files"},
		{exit.Environment("disk_full", "free", "told"), "disk"},
		{fmt.Errorf("asking: %w", exit.Environment("local_ports", "more", "told")), "open files"},
	} {
		s := survey(t, nil)
		s.Refusal = c.refusal
		table := s.Table(t.Context())
		require.ErrorIs(t, table.Err(), c.refusal)
		require.Equal(t, exit.StatusEnvironment, exit.Classify(table.Err()).Exit)
		for _, got := range table {
			require.Equal(t, got.Name == c.row, got.State == Missing, "%s: %+v", c.row, got)
			require.False(t, got.Name == "rehearsal" && got.State != Unknown, "%s: %+v", c.row, got)
		}
	}
}

func TestTokenizerRow(t *testing.T) {
	s := survey(t, plan.Settings{"mode": "accuracy", "endpoint": "http://127.0.0.1:1"})
	require.Equal(t, Unknown, row(t, s, "tokenizer").State, "the server may have it")
	s.Servers = answered(backends.Probe{})
	c := row(t, s, "tokenizer")
	require.Equal(t, Missing, c.State)
	require.Contains(t, c.Found, "none for meta-llama/Llama-3.1-8B-Instruct")
	require.Contains(t, c.Do, "--tokenizer")
	require.Equal(t, exit.StatusUsage, exit.Classify(s.Table(t.Context()).Err()).Exit)
	s.Scored = false
	require.Equal(t, Warning, row(t, s, "tokenizer").State, "a log without a score needs none")
	s = survey(t, plan.Settings{"endpoint": "http://127.0.0.1:1"})
	s.Servers = answered(backends.Probe{})
	require.Equal(t, Warning, row(t, s, "tokenizer").State, "a performance test has no score")
	require.NoError(t, s.Table(t.Context()).Err())
	s.Servers, s.Refusal = nil, &backends.EndpointError{Fault: backends.FaultUnreachable, Text: "no"}
	require.Equal(t, Unknown, row(t, s, "tokenizer").State, "the server has it perhaps")
	s = survey(t, plan.Settings{"mode": "accuracy", "endpoint": "", "dataset": ""})
	require.Equal(t, NotNeeded, row(t, s, "tokenizer").State)
	s = survey(t, plan.Settings{"mode": "accuracy", "dataset": ""})
	require.Equal(t, NotNeeded, row(t, s, "tokenizer").State)
	s = survey(t, plan.Settings{"endpoint": "", "dataset": ""})
	require.Equal(t, Check{Name: "tokenizer", State: NotNeeded, Found: "the synthetic vocabulary is built in"},
		row(t, s, "tokenizer"), "a simulator")
}

// The row names the tokenizer's place, and the way to it unless the synthetic vocabulary is built in.
func TestWhereTheTokenizerIs(t *testing.T) {
	home := t.TempDir()
	model := filepath.Join(home, ".cache/huggingface/hub/models--meta-llama--Llama-3.1-8B-Instruct")
	commit := strings.Repeat("0123456789", 4)
	cached := filepath.Join(model, "snapshots", commit, "tokenizer.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(cached), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(model, "refs"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(model, "refs", "main"), []byte(commit), 0o644))
	var file, rows bytes.Buffer
	words := func(yield func(int32, string) bool) { yield(1, "a") }
	require.NoError(t, tokenizer.WriteWords(&file, words, nil))
	require.NoError(t, os.WriteFile(cached, file.Bytes(), 0o644))
	llama, err := models.Find("llama3.1-8b")
	require.NoError(t, err)
	require.NoError(t, datasets.SynthSet{Row: llama.Row, Samples: 3, Seed: 7}.Write(&rows))
	made := filepath.Join(home, "made.json")
	require.NoError(t, os.WriteFile(made, rows.Bytes(), 0o644))

	byPath := Check{State: OK, Found: cached + " (path)"}
	inCache := Check{State: OK, Found: cached + " (hugging-face-cache)"}
	builtIn := Check{State: OK, Found: "the synthetic vocabulary"}
	for name, c := range map[string]struct {
		dataset, tokenizer string
		want               Check
	}{
		"own rows, a file":               {"", cached, byPath},
		"own rows, a folder":             {"", filepath.Dir(cached), byPath},
		"own rows, a name":               {"", "meta-llama/Llama-3.1-8B-Instruct", inCache},
		"own rows, the benchmark's":      {"", "", inCache},
		"synthetic rows":                 {made, "", builtIn},
		"synthetic rows, a file":         {made, cached, byPath},
		"synthetic rows, a name":         {made, "meta-llama/Llama-3.1-8B-Instruct", inCache},
		"another benchmark's, not there": {"", "meta-llama/other", Check{State: Missing}},
	} {
		for _, mode := range []string{"performance", "accuracy"} {
			own := plan.Settings{"mode": mode, "tokenizer": c.tokenizer}
			if c.dataset != "" {
				own["dataset"] = c.dataset
			}
			s := survey(t, own)
			s.Environ, s.Servers = []string{"HOME=" + home}, answered(backends.Probe{})
			got := row(t, s, "tokenizer")
			if c.want.State == Missing {
				require.Equal(t, map[string]State{"performance": Warning, "accuracy": Missing}[mode], got.State, name)
				require.Contains(t, got.Found, "meta-llama/other", "the one that was asked for")
				require.NotContains(t, got.Found, "none for")
				require.NotContains(t, got.Do, "Pass --tokenizer FILE")
				continue
			}
			c.want.Name = "tokenizer"
			require.Equal(t, c.want, got, "%s, %s", name, mode)
		}
	}
	text := survey(t, plan.Settings{"model": "generic", "served-model": "m", "ttft-limit": "1s"})
	require.Equal(t, Check{Name: "tokenizer", State: NotNeeded, Found: "the answers are scored as text"},
		row(t, text, "tokenizer"))
}

func TestCodeRow(t *testing.T) {
	require.Equal(t, NotNeeded, row(t, survey(t, nil), "code").State)
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"input":"Count.","tok_input":[1,5,6],"dataset":"MBXP","gt_output":"x",`+
		`"id":"python_1","ref_output":"x"}`+"\n"), 0o644))
	mixtral := plan.Settings{"model": "mixtral-8x7b", "scenario": "Offline", "mode": "accuracy", "dataset": data,
		"run-code": "false"}
	s := survey(t, mixtral)
	require.Equal(t, Warning, row(t, s, "code").State, "the user decided so")
	require.NoError(t, s.Early(t.Context()))
	whole, err := plan.New(plan.Settings{"model": "mixtral-8x7b", "mode": "accuracy", "dataset": data})
	require.NoError(t, err)
	s.Tests = []*plan.Plan{whole} // not bound: only a rehearsal has a default
	c := row(t, s, "code")
	require.Equal(t, Missing, c.State)
	require.Contains(t, c.Found, "nothing runs the programs among the answers")
	require.Equal(t, exit.StatusUsage, exit.Classify(c.Err).Exit)
	s.Scored = false
	require.Equal(t, Warning, row(t, s, "code").State)
	mixtral["run-code"], mixtral["code-tests"] = "", data
	s = survey(t, mixtral)
	require.Error(t, s.Early(t.Context()), "tests are of no use without --run-code")
}

func TestOtherRows(t *testing.T) {
	s := survey(t, nil)
	require.Equal(t, OK, row(t, s, "memory").State)
	require.Equal(t, OK, row(t, s, "prompts").State)
	require.Regexp(t, "rows.jsonl: 3 of 13368 rows$", row(t, s, "data set").Found, "real rows are not called synthetic")
	require.Equal(t, Check{Name: "rehearsal", State: Warning, Found: "cannot be submitted:", List: []string{
		"3 of 13368 rows", "min-duration 10s is below 10m0s (rehearsal default)"}}, row(t, s, "rehearsal"))
	own := survey(t, plan.Settings{"min-duration": "10s"})
	require.NotContains(t, strings.Join(row(t, own, "rehearsal").List, ";"), "default", "the user's own value")
	require.Equal(t, OK, row(t, s, "disk").State)
	require.Equal(t, "about 4m17s for 513 samples at 2/s (min-duration 10s)", row(t, s, "duration").Found)
	s.Takes = "about 3h0m0s"
	require.Equal(t, s.Takes, row(t, s, "duration").Found)
	s = survey(t, plan.Settings{"min-queries": "9000000000000"})
	c := row(t, s, "disk")
	require.Equal(t, Missing, c.State)
	require.EqualValues(t, "disk_full", exit.Classify(c.Err).Code)
	require.Contains(t, c.Found, "the logs need up to")
}

// The default rate of a rehearsal is a warning for every server but the simulator.
func TestLoadRow(t *testing.T) {
	for name, c := range map[string]struct {
		settings plan.Settings
		want     Check
	}{
		"given":     {nil, Check{State: OK, Found: "Server 2 queries/s"}},
		"Offline":   {plan.Settings{"scenario": "Offline"}, Check{State: NotNeeded, Found: "no test has a rate"}},
		"simulator": {plan.Settings{"target-qps": "", "endpoint": ""}, Check{State: OK, Found: "Server 50 queries/s"}},
		"accuracy": {plan.Settings{"target-qps": "0.1", "mode": "accuracy"}, Check{State: OK,
			Found: "Server 0.1 queries/s"}},
		"too few queries": {plan.Settings{"target-qps": "0.5", "model": "generic", "served-model": "m",
			"ttft-limit": "1s", "min-duration": "10m"}, Check{State: Warning,
			Found: "Server 0.5 queries/s, about 300 queries; with fewer than 459, LoadGen's early stopping makes every test " +
				"INVALID",
			Do: "Pass --min-queries 459, or a longer --min-duration"}},
		"default": {plan.Settings{"target-qps": ""}, Check{State: Warning, Do: chooseRate,
			Found: "no --target-qps given: Server 50 queries/s, the default of a rehearsal; the server may not keep up"}},
	} {
		c.want.Name = "load"
		require.Equal(t, c.want, row(t, survey(t, c.settings), "load"), name)
	}
}

func TestAFolderWithoutADisk(t *testing.T) {
	s := survey(t, nil)
	s.Folder = filepath.Join(t.TempDir(), "none", "\x00")
	c := row(t, s, "disk")
	require.Equal(t, Missing, c.State)
	require.Equal(t, exit.CodeDisk, exit.Classify(c.Err).Code)
}

func TestDiskWithoutASize(t *testing.T) {
	s := survey(t, nil)
	s.Folder = "/proc/self"
	require.Equal(t, Check{Name: "disk", State: Unknown,
		Found: "the file system reports no size; the logs need up to 256 MiB"}, row(t, s, "disk"))
}

func TestWhatDecidesTheDuration(t *testing.T) {
	offline := plan.Settings{"scenario": "Offline", "target-qps": "", "min-duration": "15s"}
	c := row(t, survey(t, offline), "duration")
	require.Equal(t, Warning, c.State)
	require.Equal(t, "513 samples as fast as the server answers; INVALID if that takes less than 15s", c.Found)
	require.Contains(t, c.Do, "--target-qps")
	offline["target-qps"] = "100"
	require.Equal(t, "about 17s for 1650 samples at 100/s (min-duration 15s)",
		row(t, survey(t, offline), "duration").Found)
	offline["min-duration"] = ""
	require.Equal(t, "about 5s", row(t, survey(t, offline), "duration").Found)
	offline["target-qps"] = ""
	require.Equal(t, Unknown, row(t, survey(t, offline), "duration").State)
	require.Equal(t, "about 15s for 750 samples at 50/s (min-duration 15s)",
		row(t, survey(t, plan.Settings{"target-qps": "50", "min-duration": "15s"}), "duration").Found)
}

// What the preflight's answer shows about the server's speed bounds an Offline test, and the end of a Server test.
func TestDurationFromAnAnswer(t *testing.T) {
	offline := survey(t, plan.Settings{"scenario": "Offline", "target-qps": ""})
	offline.Servers = answered(backends.Probe{OutputTokens: 8, TTFT: time.Second, Latency: 1700 * time.Millisecond})
	require.Equal(t, "14s to 1h57m8s: one answer alone takes up to 14 s; how many the server can compute at once decides",
		row(t, offline, "duration").Found, "513 times 1 s and 127 tokens of 100 ms")
	server := survey(t, nil)
	server.Servers = offline.Servers
	require.Equal(t, "about 4m17s for 513 samples at 2/s (min-duration 10s), and up to 14s for the last answers",
		row(t, server, "duration").Found)
}

// The longest answer of the slowest server, from the times of a short one.
func TestAnswerTime(t *testing.T) {
	p := survey(t, plan.Settings{"max-tokens": "101"}).Tests[0]
	s := time.Second
	of := func(tokens int, ttft, latency time.Duration) *backends.Probe {
		return &backends.Probe{OutputTokens: tokens, TTFT: ttft, Latency: latency}
	}
	for want, endpoints := range map[time.Duration][]*backends.Probe{
		0:       {of(0, 0, s), of(1, s, s), of(0, s, 2*s)},
		101 * s: {of(2, s, 2*s)},
		51 * s:  {of(3, s, 2*s)},
		11 * s:  {of(11, s, 2*s), of(1, s, s)},
		202 * s: {of(2, 0, 4*s), of(101, s, 2*s)}, // not streamed
		2 * s:   {of(101, 2*s, 2*s), of(101, s, 2*s), of(101, 0, s)},
	} {
		require.Equal(t, want, AnswerTime(&run.Preflight{Endpoints: endpoints}, p), "%v", endpoints)
	}
	require.Zero(t, AnswerTime(nil, p))
	simulated := survey(t, plan.Settings{"max-tokens": "900", "endpoint": ""}).Tests[0]
	require.Equal(t, 128, LongestAnswer(simulated), "the simulator's answers are short")
	require.Equal(t, 101, LongestAnswer(p))
}

// The disk must hold the logs, an accuracy test's answers, and what of a data set exceeds the memory for requests.
func TestDiskBytes(t *testing.T) {
	bytes := func(settings plan.Settings) uint64 {
		settings["min-queries"], settings["min-duration"] = "1", "1s"
		return survey(t, settings).diskBytes()
	}
	rows := bytes(plan.Settings{})
	large := filepath.Join(t.TempDir(), "large.jsonl")
	line := strings.Replace(realRow, "The cat", strings.Repeat("The cat ", 1<<18), 1) + "\n"
	require.NoError(t, os.WriteFile(large, []byte(strings.Repeat(line, 3)), 0o644))
	size := uint64(3 * len(line))
	require.Equal(t, rows, bytes(plan.Settings{"dataset": large}), "the requests fit into memory")
	require.Equal(t, rows, bytes(plan.Settings{"dataset": large, "request-memory": fmt.Sprint(size)}))
	require.Less(t, rows, spareBytes+size)
	require.Equal(t, spareBytes+size, bytes(plan.Settings{"dataset": large, "request-memory": fmt.Sprint(size - 1)}))
	few := bytes(plan.Settings{"target-qps": "0.5", "mode": "accuracy", "max-tokens": "10"})
	require.EqualValues(t, spareBytes+3*(bytesPerSample+10*bytesPerToken), few)
}

// A performance test issues each of the three rows equally often.
func TestLoads(t *testing.T) {
	for name, c := range map[string]struct {
		settings plan.Settings
		want     Load
		takes    time.Duration
		sure     bool
	}{
		"Server": {plan.Settings{"target-qps": "4", "min-queries": "800", "min-duration": "30s"},
			Load{801, 4, 30 * time.Second, false}, 200250 * time.Millisecond, true},
		"Server, by its duration": {plan.Settings{"target-qps": "100", "min-queries": "800", "min-duration": "30s"},
			Load{3000, 100, 30 * time.Second, false}, 30 * time.Second, true},
		"Server, accuracy": {plan.Settings{"target-qps": "0.5", "mode": "accuracy"},
			Load{3, 0.5, 0, false}, 6 * time.Second, true},
		"Offline": {plan.Settings{"scenario": "Offline", "target-qps": "", "min-duration": "10s"},
			Load{513, 0, 10 * time.Second, true}, 0, false},
		"Offline, expected rate": {plan.Settings{"scenario": "Offline", "target-qps": "100", "min-duration": "10s"},
			Load{1101, 100, 10 * time.Second, true}, 11010 * time.Millisecond, true},
		"SingleStream": {plan.Settings{"model": "llama3.1-8b-edge", "scenario": "SingleStream", "target-qps": "",
			"expected-latency": "500ms", "min-queries": "100", "min-duration": "0"},
			Load{102, 2, 0, false}, 51 * time.Second, true},
	} {
		got := LoadOf(survey(t, c.settings).Tests[0])
		require.Equal(t, c.want, got, name)
		takes, sure := got.Takes()
		require.Equal(t, []any{c.takes, c.sure}, []any{takes, sure}, name)
	}
	require.Equal(t, "at least 1m2s", About(62*time.Second, false))
	require.Equal(t, "an unknown time", About(400*time.Millisecond, false))
}
