package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

func compiled(t *testing.T, name string, form []byte) *jsonschema.Schema {
	t.Helper()
	s, err := schematest.Compile(name, form)
	require.NoError(t, err)
	return s
}

// program builds mlperf-go as a user would have it.
func program(t *testing.T) string {
	t.Helper()
	if !loadgen.Built {
		t.Skip("built without LoadGen: there is no run to look at")
	}
	path := filepath.Join(t.TempDir(), "mlperf-go")
	out, err := exec.Command("go", "build", "-o", path, "../cmd/mlperf-go").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func records(t *testing.T, program string) map[string]map[string]any {
	t.Helper()
	faulty := simtest.Start(t, program, "--model", "meta-llama/Llama-3.1-8B-Instruct", "--fault", "http_500=0.2")
	runs := map[string]struct {
		exit int
		args []string
	}{
		"Offline": {0, []string{"--scenario", "Offline"}},
		// 512: early stopping needs that many
		"Server": {0, []string{"--scenario", "Server", "--target-qps", "200", "--min-queries", "512", "--max-tokens", "8",
			"--ttft-limit", "30s", "--tpot-limit", "10s"}},
		"SingleStream": {0, []string{"--model", "llama3.1-8b-edge", "--scenario", "SingleStream", "--max-tokens", "8",
			"--expected-latency", "20ms"}},
		"accuracy":    {0, []string{"--scenario", "Offline", "--mode", "accuracy"}},
		"own servers": {0, []string{"--scenario", "Offline", "--server-config", servers(t, program)}},
		"INVALID":     {1, []string{"--scenario", "Offline", "--endpoint", faulty, "--no-preflight-query"}},
	}
	found := map[string]map[string]any{}
	for name, r := range runs {
		folder := filepath.Join(t.TempDir(), "run")
		args := append([]string{"--quiet", "run", "--model", "llama3.1-8b", "--samples", "64", "--min-queries", "64",
			"--min-duration", "0", "--output-dir", folder}, r.args...)
		out, err := exec.Command(program, args...).CombinedOutput()
		exit := 0
		if e, ok := err.(*exec.ExitError); ok {
			exit = e.ExitCode()
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, r.exit, exit, "%s: %s", name, out)
		found[name] = read(t, filepath.Join(folder, "run.json"))
	}
	found["INTERRUPTED"] = interrupted(t, program)
	return found
}

func read(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return v.(map[string]any)
}

// interrupted is the record of a test that got a signal.
func interrupted(t *testing.T, program string) map[string]any {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(program, "--quiet", "run", "--model", "llama3.1-8b", "--scenario", "Server", "--samples", "64",
		"--target-qps", "20", "--output-dir", folder)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		info, err := os.Stat(filepath.Join(folder, "mlperf", "mlperf_log_detail.txt"))
		return err == nil && info.Size() > 0
	}, 2*time.Minute, 10*time.Millisecond)
	time.Sleep(300 * time.Millisecond) // into the timed phase
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	return read(t, filepath.Join(folder, "run.json"))
}

// servers is the file of a simulator that the run starts itself.
func servers(t *testing.T, program string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	dir := t.TempDir()
	path := filepath.Join(dir, "servers.yaml")
	text := fmt.Sprintf("backend: sim\nmodel: some-llm\noutput_dir: %q\nport: %d\npre_start: ['export "+
		"MADE=1']\nlaunch_command: [%q, sim, --listen, '{host}:{port}', --model, '{model}']\n",
		dir, l.Addr().(*net.TCPAddr).Port, program)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestRecordsOfRealRunsFitTheSchema(t *testing.T) {
	s, runs := compiled(t, "run.schema.json", schema.Run), records(t, program(t))
	for name, r := range runs {
		require.NoError(t, s.Validate(r), name)
	}
	require.Equal(t, "INVALID", runs["INVALID"]["verdict"])
	require.Equal(t, "INTERRUPTED", runs["INTERRUPTED"]["verdict"])
	require.Equal(t, "accuracy", runs["accuracy"]["mode"])
	replica := at(runs["own servers"], "servers")["replicas"].([]any)[0].(map[string]any)
	require.Equal(t, "1", at(replica, "environment")["MADE"])
	require.NotZero(t, at(replica, "heartbeat")["longest_gap_s"])

	audit := clone(t, runs["Server"])
	at(audit, "files")["audit.config"] = strings.Repeat("0", 64)
	at(audit, "loadgen")["valid"] = false
	require.NoError(t, s.Validate(audit), "an audit is not judged by LoadGen")

	for what, change := range mutations {
		r := clone(t, runs["Server"])
		change(r)
		require.Error(t, s.Validate(r), what)
	}
}

func clone(t *testing.T, r map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return v.(map[string]any)
}

func at(r map[string]any, key string) map[string]any { return r[key].(map[string]any) }

// mutations each make a good record of a VALID Server run a bad one.
var mutations = map[string]func(map[string]any){
	"another schema":              func(r map[string]any) { r["schema"] = "mlperf-go/run/2" },
	"a key that is not known":     func(r map[string]any) { r["extra"] = 1 },
	"a key below that is unknown": func(r map[string]any) { at(r, "samples")["lost"] = 0 },
	"no verdict":                  func(r map[string]any) { delete(r, "verdict") },
	"a verdict in lower case":     func(r map[string]any) { r["verdict"] = "valid" },
	"INVALID without a reason":    func(r map[string]any) { r["verdict"] = "INVALID" },
	"VALID with a reason": func(r map[string]any) {
		r["reasons"] = []any{map[string]any{"code": "client_lag",
			"text": "slow"}}
	},
	"a reason that is unknown": func(r map[string]any) {
		r["verdict"], r["reasons"] = "INVALID", []any{map[string]any{"code": "weather", "text": "rain"}}
	},
	"VALID with a failed sample":   func(r map[string]any) { at(r, "samples")["failed"] = 1 },
	"VALID with LoadGen's INVALID": func(r map[string]any) { at(r, "loadgen")["valid"] = false },
	"VALID with a broken log":      func(r map[string]any) { at(r, "loadgen")["complete"] = false },
	"a failure code that is unknown": func(r map[string]any) {
		at(r, "samples")["failed_by_reason"] = map[string]any{"http_99": 1}
	},
	"a count that is a text":       func(r map[string]any) { at(r, "samples")["issued"] = "64" },
	"a count with a fraction":      func(r map[string]any) { at(r, "samples")["issued"] = 1.5 },
	"no percentile":                func(r map[string]any) { delete(at(at(r, "latency_s"), "ttft"), "p99") },
	"a rehearsal without a reason": func(r map[string]any) { delete(r, "rehearsal_reasons") },
	"a start that is no time":      func(r map[string]any) { r["started"] = "yesterday" },
	"a checksum that is none":      func(r map[string]any) { at(r, "dataset")["sha256"] = "abc" },
	"a token source that is none":  func(r map[string]any) { at(r, "tokens")["source"] = "guess" },
	"no endpoint":                  func(r map[string]any) { r["endpoints"] = []any{} },
}

// Every field of the client's part is explained.
func TestTheClientsFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/run-record.md")
	require.NoError(t, err)
	var form map[string]any
	require.NoError(t, json.Unmarshal(schema.Run, &form))
	var walk func(node any)
	walk = func(node any) {
		m, _ := node.(map[string]any)
		for name, child := range m {
			if properties, ok := child.(map[string]any); ok && name == "properties" {
				for field := range properties {
					if field != "timer_slack_ns" { // of issue_thread, in words
						require.Contains(t, string(page), "`"+field+"`")
					}
				}
			}
			walk(child)
		}
	}
	walk(form["properties"].(map[string]any)["client"])
}
