package score

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

func TestMain(m *testing.M) {
	sandbox.Enter(os.Args, os.Environ()) // a program in the sandbox begins as this one
	os.Exit(m.Run())
}

// A score notes how answers were judged.
func TestNotesOfTheJudges(t *testing.T) {
	o := options()
	o.Setting = settings(map[string]string{"code-service": "ws://127.0.0.1:1/x", "run-code": "false"})
	r, err := scored(t, Source{Log: aRun(t, nil)}, o)
	require.NoError(t, err)
	require.Contains(t, r.Notes, "programs were run by the service ws://127.0.0.1:1/x")
	o.Setting = settings(map[string]string{"math-grader": "no-such-program"})
	_, err = scored(t, Source{Log: aRun(t, nil)}, o)
	require.Equal(t, exit.CodeMathGrader, exit.Classify(err).Code)
}

// A grader that works is noted by its command.
func TestTheGraderIsNoted(t *testing.T) {
	if err := sandbox.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	grader := filepath.Join(t.TempDir(), "grader.sh")
	script := "#!/bin/sh\nread -r line\necho '{\"equal\": true}'\n"
	require.NoError(t, os.WriteFile(grader, []byte(script), 0o755))
	in := &accuracy.Input{Benchmark: model}
	j, err := OpenJudges(t.Context(), os.Environ(), settings(map[string]string{"math-grader": grader}), in)
	require.NoError(t, err)
	require.Equal(t, []string{"mathematics that needs algebra was decided by: " + grader}, j.Notes)
	require.NotNil(t, in.Math)
}

// The record of a run need not have a sum of its log or of its data set.
func TestRecordsWithoutSums(t *testing.T) {
	for name, change := range map[string]func(r *record.Record){
		"log":      func(r *record.Record) { r.Files = nil },
		"data set": func(r *record.Record) { r.Dataset.SHA256 = "" },
		"both":     func(r *record.Record) { r.Files, r.Dataset.SHA256 = nil, "" },
	} {
		_, err := scored(t, Source{Log: aRun(t, change)}, options())
		require.NoError(t, err, name)
	}
	for name, change := range map[string]func(r *record.Record){
		"is not the log that the run left": func(r *record.Record) {
			r.Files[record.LogFolder+"/"+mllog.AccuracyName] = "another"
		},
		"is not the data set of the run": func(r *record.Record) { r.Dataset.SHA256 = "another" },
	} {
		_, err := scored(t, Source{Log: aRun(t, change)}, options())
		require.ErrorContains(t, err, name)
	}
}

// The tokenizer of real rows is looked for by the names of the benchmark's models.
func TestTheTokenizerOfRealRows(t *testing.T) {
	folder := aRun(t, func(r *record.Record) { r.Dataset = record.DatasetFacts{Path: real(t), Samples: samples} })
	o := options()
	_, err := scored(t, Source{Log: folder}, o)
	require.Equal(t, exit.CodeTokenizer, exit.Classify(err).Code)
	require.ErrorContains(t, err, rowOf(t, model).ServedModels[0])
}
