package tree

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

const (
	benchmarkName = "llama3.1-8b"
	systemName    = "sim-8x"
)

// example is a campaign's folder with the runs of the recorded passing tree: real runs of 600 s of the official
// LoadGen.
type example struct {
	t      testing.TB
	folder string
	round  string // round of the records; empty: the current one
}

func leafOf(s models.Scenario, test string) layout.Leaf {
	return layout.Leaf{System: systemName, Benchmark: benchmarkName, Scenario: s, Test: test}
}

func campaign(t testing.TB) *example {
	t.Helper()
	e := &example{t: t, folder: t.TempDir()}
	base := filepath.Join(golden.Dir(t, "submission"), "base/closed/ExampleOrg/results", systemName, benchmarkName)
	for _, s := range []models.Scenario{models.Offline, models.Server} {
		from := filepath.Join(base, string(s))
		for test, logs := range map[string]string{layout.Performance: "performance/run_1", layout.Accuracy: "accuracy",
			compliance.Test06: "performance/run_1"} {
			folder := leafOf(s, test).Folder(e.folder)
			for _, name := range []string{mllog.DetailName, mllog.SummaryName} {
				e.copy(filepath.Join(from, logs, name), filepath.Join(folder, record.LogFolder, name))
			}
			e.write(filepath.Join(folder, record.LogFolder, mllog.AccuracyName), answers(1000))
			e.copy(filepath.Join(from, layout.UserConfName), filepath.Join(folder, record.UserConfName))
			e.write(filepath.Join(folder, record.ConfigName), "model: "+benchmarkName+"\n")
		}
		e.write(filepath.Join(leafOf(s, layout.Performance).Folder(e.folder), record.PreflightName),
			encoded(t, run.Preflight{Endpoints: []*backends.Probe{{Server: "vllm", Version: "9.9"}}}))
		audit := leafOf(s, compliance.Test06)
		e.copy(filepath.Join(from, "TEST06/accuracy", mllog.AccuracyName),
			filepath.Join(audit.Folder(e.folder), record.LogFolder, mllog.AccuracyName))
		e.copy(filepath.Join(from, "TEST06/verify_accuracy.txt"),
			filepath.Join(audit.Verified(e.folder), "verify_accuracy.txt"))
		e.copy(filepath.Join(audit.Folder(e.folder), record.LogFolder, mllog.AccuracyName),
			filepath.Join(audit.Verified(e.folder), "accuracy", mllog.AccuracyName))
		e.verdict(s, true)
		score, err := os.ReadFile(filepath.Join(from, "accuracy", layout.ScoreFile))
		require.NoError(t, err)
		text, _, _ := strings.Cut(string(score), "\nhash=")
		e.write(filepath.Join(leafOf(s, layout.Accuracy).Folder(e.folder), layout.ScoreFile), text)
		e.score(s, true)
		for _, test := range []string{layout.Performance, layout.Accuracy, compliance.Test06} {
			e.record(leafOf(s, test), func(*record.Record) {})
		}
	}
	return e
}

// answers is an accuracy log of n answers of two tokens.
func answers(n int) string {
	records := make([]string, n)
	for i := range records {
		records[i] = fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "0100000002000000", "token_data" : "01000000", "token_count" : 2 }`, i, i)
	}
	return "[\n" + strings.Join(records, ",\n") + "\n]\n"
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func (e *example) write(path, text string) {
	e.t.Helper()
	require.NoError(e.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(e.t, os.WriteFile(path, []byte(text), 0o644))
}

func (e *example) copy(from, to string) {
	e.t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(e.t, err)
	e.write(to, string(text))
}

func (e *example) verdict(s models.Scenario, ok bool) {
	e.t.Helper()
	v := compliance.Verdict{Test: compliance.Test06, Pass: ok, OK: ok}
	require.NoError(e.t, v.Keep(filepath.Join(leafOf(s, compliance.Test06).Folder(e.folder), layout.VerifyFolder)))
}

func (e *example) score(s models.Scenario, pass bool) {
	e.t.Helper()
	text := `{"benchmark": "` + benchmarkName + `", "pass": ` + strconv.FormatBool(pass) +
		`, "metrics": [{"name": "rouge1", "text": "'1'", "pass": ` + strconv.FormatBool(pass) + `}]}`
	e.write(filepath.Join(leafOf(s, layout.Accuracy).Folder(e.folder), scoreRecord), text)
}

// record writes a run's record with the hashes of the folder's current files.
func (e *example) record(leaf layout.Leaf, change func(*record.Record)) {
	e.t.Helper()
	e.tampered(leaf, change)
	schematest.Records(e.t, leaf.Folder(e.folder))
}

// tampered writes a record that no run would write: it need not fit the schema.
func (e *example) tampered(leaf layout.Leaf, change func(*record.Record)) {
	e.t.Helper()
	folder := leaf.Folder(e.folder)
	mode := models.Performance
	if leaf.Test == layout.Accuracy {
		mode = models.Accuracy
	}
	r := runtest.Record(leaf.Benchmark, leaf.Scenario, mode)
	if e.round != "" {
		r.Round = e.round
	}
	r.Command, r.Sampling = []string{"mlperf-go", "run", "--dataset", "a b.json"}, map[string]any{"temperature": 0}
	for _, name := range []string{record.UserConfName, record.LogFolder + "/" + mllog.SummaryName,
		record.LogFolder + "/" + mllog.DetailName, record.LogFolder + "/" + mllog.AccuracyName} {
		sum, err := atomicfile.SHA256(filepath.Join(folder, name))
		require.NoError(e.t, err)
		r.Files[name] = sum
	}
	if leaf.Audit() {
		r.Files[record.AuditName] = strings.Repeat("a", 64)
	}
	change(r)
	require.NoError(e.t, atomicfile.WriteJSON(filepath.Join(folder, record.FileName), r))
}

// edit replaces a text in a file of a run, and updates the record.
func (e *example) edit(leaf layout.Leaf, name, old, new string) {
	e.t.Helper()
	path := filepath.Join(leaf.Folder(e.folder), name)
	text, err := os.ReadFile(path)
	require.NoError(e.t, err)
	require.Contains(e.t, string(text), old)
	e.write(path, strings.ReplaceAll(string(text), old, new))
	e.record(leaf, func(*record.Record) {})
}

// eachRun calls f for every run of the campaign.
func (e *example) eachRun(do func(layout.Leaf)) {
	for _, s := range []models.Scenario{models.Offline, models.Server} {
		for _, test := range []string{layout.Performance, layout.Accuracy, compliance.Test06} {
			do(leafOf(s, test))
		}
	}
}

// words are a complete description: the recorded system's, and the fields that a person fills in.
func words(t testing.TB) *describe.Description {
	t.Helper()
	d, err := describe.Read(filepath.Join(golden.Dir(t, "submission"), "base/closed/ExampleOrg/systems",
		systemName+".json"))
	require.NoError(t, err)
	for _, f := range layout.MeasurementFields {
		d.Measurements[f.Name] = "x"
	}
	d.Calibration, d.Readme = "The weights were not changed.", "Ask us."
	return d
}
