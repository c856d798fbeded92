package score

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

const model, samples = "llama3.1-8b", 4

func rowOf(t *testing.T, name string) *models.Row {
	t.Helper()
	m, err := models.Find(name)
	require.NoError(t, err)
	return m.Row
}

// synthetic writes a synthetic data set and returns its path and its reference answers.
func synthetic(t *testing.T, row *models.Row, n int, seed int64) (path string, answers []string) {
	t.Helper()
	records, err := datasets.Synth(row, n, seed)
	require.NoError(t, err)
	for _, r := range records {
		answers = append(answers, r.Output)
	}
	path = filepath.Join(t.TempDir(), "d.json")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, datasets.SynthSet{Row: row, Samples: n, Seed: seed}.Write(f))
	require.NoError(t, f.Close())
	return path, answers
}

// writeLogs writes an accuracy log of token ids and the lines of a detail log that the package reads.
func writeLogs(t *testing.T, folder, mode string, count int, row *models.Row, answers []string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	var entries []string
	for i, answer := range answers {
		var data []byte
		ids := datasets.SynthTokensOf(row).Encode(answer)
		for _, id := range ids {
			data = binary.LittleEndian.AppendUint32(data, uint32(id))
		}
		entries = append(entries, fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%X", "token_count" : %d }`,
			i, i, data, len(ids)))
	}
	write(t, filepath.Join(folder, mllog.AccuracyName), "[\n"+strings.Join(entries, ",\n")+"\n]\n")
	detail := ""
	for key, value := range map[string]string{detailMode: `"` + mode + `"`, detailSamples: fmt.Sprint(count),
		"other": "7"} {
		detail += fmt.Sprintf(`:::MLLOG {"key": %q, "value": %s, "time_ms": 0.1, "namespace": "mlperf::logging", `+
			`"metadata": {"is_error": false, "is_warning": false}}`+"\n", key, value)
	}
	write(t, filepath.Join(folder, mllog.DetailName), detail)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func sha(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// aRun writes the folder of a rehearsal in accuracy mode and returns it with its record, which change may alter before
// it is written.
func aRun(t *testing.T, change func(r *record.Record)) string {
	t.Helper()
	row, folder := rowOf(t, model), t.TempDir()
	set, answers := synthetic(t, row, samples, 1)
	logs := filepath.Join(folder, record.LogFolder)
	writeLogs(t, logs, "AccuracyOnly", samples, row, answers)
	r := &record.Record{Schema: record.Schema, Mode: "accuracy", Model: model, Scenario: "Offline", Round: "v6.0",
		Rehearsal: true, RehearsalReasons: []string{"the server is the simulator"},
		Dataset: record.DatasetFacts{Path: set, SHA256: sha(t, set), Samples: samples},
		Files: map[string]string{
			record.LogFolder + "/" + mllog.AccuracyName: sha(t, filepath.Join(logs, mllog.AccuracyName))}}
	if change != nil {
		change(r)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	write(t, filepath.Join(folder, record.FileName), string(text))
	return folder
}

// noJudge returns the default of every judge's setting.
func noJudge(name string) string {
	if name == "run-code" {
		return "false"
	}
	return ""
}

func options() Options { return Options{Setting: noJudge, IsSet: func(string) bool { return false }} }

func scored(t *testing.T, s Source, o Options) (*accuracy.Result, error) {
	t.Helper()
	l, err := Find(s)
	require.NoError(t, err)
	return l.Score(t.Context(), o)
}

// The folder of a run contains everything that its score needs.
func TestScoreOfARun(t *testing.T) {
	folder := aRun(t, nil)
	l, err := Find(Source{Log: folder})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, record.LogFolder, mllog.AccuracyName), l.Path)
	require.Equal(t, folder, l.Folder)
	require.Equal(t, model, l.Row.Name)
	require.Equal(t, "v6.0", l.Round)
	require.Equal(t, models.Offline, l.Scenario)
	require.True(t, l.IsRehearsal())
	done := 0
	o := options()
	o.PerSample, o.Progress = true, func(n, total int) { done = n; require.Equal(t, samples, total) }
	r, err := l.Score(t.Context(), o)
	require.NoError(t, err)
	rouge, ok := r.Metric("rouge1")
	require.True(t, ok)
	require.Equal(t, 100.0, rouge.Value)
	require.Equal(t, samples, r.Samples)
	require.Equal(t, samples, done)
	require.Len(t, r.PerSample, samples)
	require.Equal(t, "the synthetic vocabulary", r.Tokenizer.Place)
	require.Empty(t, r.NotJudged)
	require.True(t, r.Reached(true))
}

// A score against synthetic references is not judged unless the server is the simulator.
func TestAScoreOfSyntheticReferencesIsNotJudged(t *testing.T) {
	folder := aRun(t, func(r *record.Record) { r.RehearsalReasons = []string{"the data set is synthetic"} })
	r, err := scored(t, Source{Log: folder}, options())
	require.NoError(t, err)
	require.Contains(t, r.NotJudged, "the server does not have its answers")
}

// The user's sources replace those of the record.
func TestGivenSourcesReplaceTheRecords(t *testing.T) {
	folder, out := aRun(t, nil), t.TempDir()
	other, _ := synthetic(t, rowOf(t, model), samples, 2)
	l, err := Find(Source{Log: folder, Model: "llama2-70b-99", Scenario: "Server", Round: "v5.1", Dataset: other,
		Folder: out})
	require.NoError(t, err)
	require.Equal(t, "llama2-70b-99", l.Row.Name)
	require.Equal(t, models.Server, l.Scenario)
	require.Equal(t, "v5.1", l.Round)
	require.Equal(t, other, l.Dataset)
	require.Equal(t, out, l.Folder)
	_, err = scored(t, Source{Log: folder, Dataset: other}, options())
	require.ErrorContains(t, err, "is not the data set of the run: its SHA-256 is "+sha(t, other))
}

// A run keeps a copy of its synthetic data set. Scoring uses the copy even if the run's folder has moved.
func TestTheRunsOwnCopyOfItsDataSet(t *testing.T) {
	folder := aRun(t, func(r *record.Record) { r.Dataset.Path = "elsewhere.json" })
	_, err := Find(Source{Log: folder})
	require.ErrorContains(t, err, "the run's data set elsewhere.json was not found from this folder")
	_, err = Find(Source{Log: folder, Dataset: "given.json"})
	require.NoError(t, err, "the reader of data sets reports a file that the user gave")
	set, _ := synthetic(t, rowOf(t, model), samples, 1)
	text, err := os.ReadFile(set)
	require.NoError(t, err)
	write(t, filepath.Join(folder, record.DatasetName), string(text))
	r, err := scored(t, Source{Log: folder}, options())
	require.NoError(t, err)
	require.Equal(t, samples, r.Samples)
}

// Logs of another program's test are scored with the user's sources, by the latest round, and as a whole set.
func TestScoreOfBareLogs(t *testing.T) {
	row := rowOf(t, model)
	set, answers := synthetic(t, row, samples, 1)
	logs := t.TempDir()
	writeLogs(t, logs, "SubmissionRun", samples, row, answers)
	file := filepath.Join(logs, mllog.AccuracyName)
	link := filepath.Join(t.TempDir(), "log.json")
	require.NoError(t, os.Symlink(file, link))
	for _, path := range []string{logs, file, link} {
		l, err := Find(Source{Log: path, Model: model, Dataset: set})
		require.NoError(t, err)
		require.Equal(t, file, l.Path)
		require.Equal(t, logs, l.Folder)
		require.Equal(t, rounds.Last(row), l.Round)
		require.False(t, l.IsRehearsal())
		r, err := l.Score(t.Context(), options())
		require.NoError(t, err)
		require.Equal(t, samples, r.Samples)
		require.False(t, r.Reached(false), "a part of the set")
	}
	require.NoError(t, os.Remove(filepath.Join(logs, mllog.DetailName)))
	_, err := scored(t, Source{Log: logs, Model: model, Dataset: set}, options())
	require.NoError(t, err, "the accuracy log alone")
}

func TestSourcesThatCannotBeScored(t *testing.T) {
	row := rowOf(t, model)
	set, answers := synthetic(t, row, samples, 1)
	logs := t.TempDir()
	writeLogs(t, logs, "AccuracyOnly", samples, row, answers)
	performance := aRun(t, func(r *record.Record) { r.Mode = "performance" })
	linked := aRun(t, nil)
	require.NoError(t, os.Rename(filepath.Join(linked, record.LogFolder), filepath.Join(linked, "moved")))
	require.NoError(t, os.Symlink("moved", filepath.Join(linked, record.LogFolder)))
	for want, s := range map[string]Source{
		"cannot read the log to score":                    {Log: filepath.Join(logs, "none"), Model: model, Dataset: set},
		"no --model given, and " + logs + " is not a run": {Log: logs, Dataset: set},
		"no --dataset given":                              {Log: logs, Model: model},
		"holds a performance run":                         {Log: performance},
		"symbolic link":                                   {Log: linked},
		"llama9":                                          {Log: logs, Model: "llama9", Dataset: set},
		"--round v1.0":                                    {Log: logs, Model: model, Dataset: set, Round: "v1.0"},
		"Offlin":                                          {Log: logs, Model: model, Dataset: set, Scenario: "Offlin"},
	} {
		_, err := Find(s)
		require.ErrorContains(t, err, want)
		require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit, want)
	}
}

// Only an unchanged log of a test that asked each sample of this data set once has a score.
func TestLogsThatCannotBeScored(t *testing.T) {
	row := rowOf(t, model)
	set, answers := synthetic(t, row, samples, 1)
	of := func(mode string, count int) Source {
		logs := t.TempDir()
		writeLogs(t, logs, mode, count, row, answers)
		return Source{Log: logs, Model: model, Dataset: set}
	}
	changed := aRun(t, nil)
	log := filepath.Join(changed, record.LogFolder, mllog.AccuracyName)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	write(t, log, string(text)+"\n")
	broken := of("AccuracyOnly", samples)
	require.NoError(t, os.Remove(filepath.Join(broken.Log, mllog.DetailName)))
	require.NoError(t, os.Mkdir(filepath.Join(broken.Log, mllog.DetailName), 0o755))
	for want, s := range map[string]Source{
		"ran in mode PerformanceOnly":      of("PerformanceOnly", samples),
		"it has 4 samples, and ":           of("AccuracyOnly", samples+1),
		"is not the log that the run left": {Log: changed},
		"reading LoadGen's detail log":     broken,
		"none.json": {Log: of("AccuracyOnly", samples).Log, Model: model,
			Dataset: "none.json"},
		"has no scorer": {Log: of("AccuracyOnly", samples).Log, Model: "generic", Dataset: set},
		"cannot decode the answers' token ids: no": {Log: of("AccuracyOnly", samples).Log, Model: model, Dataset: real(t)},
	} {
		_, err := scored(t, s, options())
		require.ErrorContains(t, err, want, want)
	}
	o := options()
	o.Punkt = t.TempDir()
	_, err = scored(t, of("AccuracyOnly", samples), o)
	require.ErrorContains(t, err, o.Punkt)
	o = options()
	o.DType = "int9"
	_, err = scored(t, of("AccuracyOnly", samples), o)
	require.ErrorContains(t, err, `unknown token type "int9"`)
}

// real returns a data set of words, which needs a tokenizer of the model's.
func real(t *testing.T) string {
	t.Helper()
	const record = `{"instruction": {"llama": "Say {input}"}, "input": "hello there", "tok_input": [128000, 300, 400], ` +
		`"output": "Hello."}`
	path := filepath.Join(t.TempDir(), "real.json")
	write(t, path, "["+strings.Repeat(record+",\n", samples-1)+record+"]")
	return path
}

// The log of an audit contains a part of a performance test's answers, so neither its mode nor its size is checked.
func TestScoreOfAnAudit(t *testing.T) {
	folder := aRun(t, func(r *record.Record) { r.Mode, r.Files = "performance", nil })
	row := rowOf(t, model)
	_, answers := synthetic(t, row, samples, 1)
	writeLogs(t, filepath.Join(folder, record.LogFolder), "PerformanceOnly", samples+9, row, answers[:2])
	p, err := plan.New(plan.Settings{"model": model, "output-dir": folder, "scenario": "Server", "round": "v5.1"})
	require.NoError(t, err)
	l, err := OfAudit(p)
	require.NoError(t, err)
	require.Equal(t, models.Server, l.Scenario)
	require.Equal(t, "v5.1", l.Round)
	r, err := l.Score(t.Context(), options())
	require.NoError(t, err)
	require.Equal(t, 2, r.Samples)
	require.NoError(t, os.Remove(filepath.Join(folder, record.FileName)))
	_, err = OfAudit(p)
	require.ErrorIs(t, err, os.ErrNotExist)
}
