package schema_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// tune runs a tune and returns its tune.json.
func tune(t *testing.T, program string, args ...string) map[string]any {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tune")
	out, err := exec.Command(program, append([]string{"--quiet", "tune", "--model", "generic", "--samples", "64",
		"--served-model", "m", "--max-tokens", "8", "--min-duration", "1s", "--output-dir", folder},
		args...)...).CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() == 1 { // not confirmed, such as on a busy machine
		err = nil
	}
	require.NoError(t, err, "%s", out)
	schematest.Records(t, folder) // each probe.json too
	require.FileExists(t, filepath.Join(folder, "probes", "001", "probe.json"))
	return read(t, filepath.Join(folder, "tune.json"))
}

// probes are steps that no short tune is sure to make, as the program writes them.
const probes = `[
	{"kind": "saturate", "concurrency": 16, "took_ns": 5, "folder": "probes/003", "started": "2026-01-02T03:04:05Z",
		"spoiled": "the client was late", "client_lag": true, "counts": [{"queries": 3, "late": 0, "full": 0}]},
	{"kind": "rate", "rate": 4.5, "decision": "neither", "took_ns": 5, "folder": "probes/004",
		"started": "2026-01-02T03:04:05Z", "counts": [{"queries": 300, "late": 2, "full": 3.5}], "medians_s": [0.1],
		"tails_s": [0.2], "answer_ns": 77, "low": 3, "high": 6},
	{"kind": "confirm", "rate": 4.4, "took_ns": 5, "folder": "confirm/1", "started": "2026-01-02T03:04:05Z",
		"counts": [{"queries": 500, "late": 3, "full": 3}], "valid": true, "low": 3, "high": 6}]`

// A tune that ends after the idle step, and one in Offline. Scripts validate longer ones.
func TestStatesOfRealTunesFitTheSchema(t *testing.T) {
	program := program(t)
	url := simtest.Start(t, program, "--benchmark", "generic", "--model", "m", "--max-num-seqs", "16", "--ttft", "20ms",
		"--tpot", "1ms")
	s := compiled(t, "tune.schema.json", schema.Tune)
	hopeless := tune(t, program, "--scenario", "Server", "--endpoint", url, "--ttft-limit", "5ms")
	offline := tune(t, program, "--scenario", "Offline", "--endpoint", url, "--min-queries", "64")
	require.Nil(t, at(offline, "goal")["limits"])
	require.False(t, at(hopeless, "result")["confirmed"].(bool))

	var more []any
	require.NoError(t, json.Unmarshal([]byte(probes), &more))
	with := func(change func(r, rate, confirm map[string]any)) error {
		r := clone(t, hopeless)
		r["probes"] = append(r["probes"].([]any), clone(t, map[string]any{"probes": more})["probes"].([]any)...)
		n := len(r["probes"].([]any))
		r["result"] = map[string]any{"target_qps": 4.4, "low": 3, "high": 6, "confirmed": true, "run": "confirm/1",
			"run_seconds": 7.5}
		change(r, r["probes"].([]any)[n-2].(map[string]any), r["probes"].([]any)[n-1].(map[string]any))
		return s.Validate(clone(t, r))
	}
	require.NoError(t, with(func(map[string]any, map[string]any, map[string]any) {}))
	require.NoError(t, with(func(r, _, _ map[string]any) { r["result"] = nil }), "it goes on")
	for what, change := range map[string]func(r, rate, confirm map[string]any){
		"another schema":             func(r, _, _ map[string]any) { r["schema"] = "mlperf-go/tune/2" },
		"an unknown key":             func(r, _, _ map[string]any) { r["extra"] = 1 },
		"an unknown key of a step":   func(_, rate, _ map[string]any) { rate["extra"] = 1 },
		"an unknown key of the goal": func(r, _, _ map[string]any) { at(r, "goal")["extra"] = 1 },
		"no result":                  func(r, _, _ map[string]any) { delete(r, "result") },
		"confirmed without a run":    func(r, _, _ map[string]any) { delete(at(r, "result"), "run") },
		"confirmed, with a reason":   func(r, _, _ map[string]any) { at(r, "result")["why"] = "late" },
		"unconfirmed, with a run":    func(r, _, _ map[string]any) { at(r, "result")["confirmed"] = false },
		"unconfirmed, no reason": func(r, _, _ map[string]any) {
			r["result"] = map[string]any{"target_qps": 4.4, "low": 3, "high": 6, "confirmed": false}
		},
		"no limits in Server":           func(r, _, _ map[string]any) { at(r, "goal")["limits"] = nil },
		"limits in Offline":             func(r, _, _ map[string]any) { at(r, "goal")["offline"] = true },
		"an unknown metric":             func(r, _, _ map[string]any) { limit(r)["metric"] = "ttft" },
		"a percentile of 99":            func(r, _, _ map[string]any) { at(r, "goal")["percentile"] = 99 },
		"a step without a kind":         func(_, rate, _ map[string]any) { delete(rate, "kind") },
		"a kind that is none":           func(_, rate, _ map[string]any) { rate["kind"] = "probe" },
		"a rate without a rate":         func(_, rate, _ map[string]any) { delete(rate, "rate") },
		"a rate without a decision":     func(_, rate, _ map[string]any) { delete(rate, "decision") },
		"a closed loop at a rate":       func(_, rate, _ map[string]any) { rate["concurrency"] = 16 },
		"a confirming run that decides": func(_, _, run map[string]any) { run["decision"] = "would pass" },
		"a valid probe":                 func(_, rate, _ map[string]any) { rate["valid"] = true },
		"a count of the wrong kind":     func(_, rate, _ map[string]any) { rate["counts"] = []any{3} },
		"a start that is no time":       func(_, rate, _ map[string]any) { rate["started"] = "yesterday" },
	} {
		require.Error(t, with(change), what)
	}
	for i, harm := range []string{`"kind":"run"`, `"extra":1`, `"took_ns":"5"`} {
		text := `{"schema": "mlperf-go/tune-probe/1", "kind": "probe", "folder": "probes/001", "took_ns": 5,
			"started": "2026-01-02T03:04:05Z"`
		form := compiled(t, "tune.schema.json#/$defs/probe_file", schema.Tune)
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(text+"}"), &r))
		require.NoError(t, form.Validate(clone(t, r)))
		require.NoError(t, json.Unmarshal([]byte(text+","+harm+"}"), &r))
		require.Error(t, form.Validate(clone(t, r)), strconv.Itoa(i))
	}
}

// limit returns the first limit of a goal.
func limit(r map[string]any) map[string]any {
	return at(r, "goal")["limits"].([]any)[0].(map[string]any)
}
