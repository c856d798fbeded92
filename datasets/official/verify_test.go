package official

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// text returns rows of a set of questions, one object per line.
func text(rows int) []byte {
	var b bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&b, `{"ids": [%d, 2], "answer": "a", "part": "p", "extra": true}`+"\n", i)
	}
	return b.Bytes()
}

func sum(content []byte) string {
	s := sha256.Sum256(content)
	return hex.EncodeToString(s[:])
}

var questions = models.Row{
	Name: "questions", DatasetSamples: 30, BOS: models.NoBOS,
	Columns: []models.Column{{Name: "ids", Type: "ids", Required: true, Role: "input_ids"},
		{Name: "answer", Type: "text", Role: "target"}, {Name: "part", Type: "text"}, {Name: "tests", Type: "text"}},
	Scoring: models.Scoring{Scorer: models.ScoreReasoning,
		Columns: models.ScoringColumns{Target: "answer", Subset: "part", Tests: "tests"}},
	Data: models.DataSource{From: "Acme", Licence: "MIT", Files: []models.DataFile{
		{Name: "perf/questions.jsonl.gz", Use: "performance", Format: "json", Samples: 30, SHA256: sum(text(30))},
		{Name: "acc/answers.jsonl", Use: "accuracy", Format: "json", Samples: 20},
	}},
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o644))
	return path
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// summary returns each check as name=ok or name=WRONG.
func summary(r *Result) string {
	var parts []string
	for _, c := range r.Checks {
		word := "ok"
		if !c.OK {
			word = "WRONG"
		}
		parts = append(parts, c.Name+"="+word)
	}
	return strings.Join(parts, " ")
}

func TestVerify(t *testing.T) {
	without := bytes.ReplaceAll(text(30), []byte(`"part": "p", `), nil)
	for name, c := range map[string]struct {
		path, file, want string
	}{
		"packed as published": {write(t, "questions.jsonl.gz", packed(t, text(30))), "perf/questions.jsonl.gz",
			"rows=ok columns=ok sha256=ok"},
		"unpacked": {write(t, "questions.jsonl", text(30)), "perf/questions.jsonl.gz",
			"rows=ok columns=ok sha256=ok"},
		"under another name": {write(t, "mine.json", text(20)), "acc/answers.jsonl",
			"rows=ok columns=ok sha256=ok"},
		"cut short": {write(t, "questions.jsonl", text(29)), "perf/questions.jsonl.gz",
			"rows=WRONG columns=ok sha256=WRONG"},
		"changed bytes": {write(t, "questions.jsonl", append(text(30), '\n')), "perf/questions.jsonl.gz",
			"rows=ok columns=ok sha256=WRONG"},
		"no official number of rows": {write(t, "mine.json", text(7)), "", "rows=WRONG"},
		"without a column of the score": {write(t, "questions.jsonl", without), "perf/questions.jsonl.gz",
			"rows=ok columns=WRONG sha256=WRONG"},
		"another benchmark's columns": {write(t, "mine.json", []byte(`{"input": "x"}`)), "", "content=WRONG"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Verify(c.path, &questions)
			require.NoError(t, err)
			require.Equal(t, c.file, r.File)
			require.Equal(t, c.want, summary(r))
			require.Equal(t, !strings.Contains(c.want, "WRONG"), r.OK())
		})
	}
}

func TestVerifyRefusesASyntheticSet(t *testing.T) {
	m, err := models.Find("llama3.1-8b")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, datasets.SynthSet{Row: m.Row, Samples: 3, Seed: 1}.Write(&b))
	r, err := Verify(write(t, "cnn_eval.json", b.Bytes()), m.Row)
	require.NoError(t, err)
	require.Equal(t, "origin=WRONG rows=WRONG columns=ok sha256=ok", summary(r))
}

func TestVerifyCannotCompare(t *testing.T) {
	_, err := Verify(filepath.Join(t.TempDir(), "gone.json"), &questions)
	require.ErrorContains(t, err, "no such file")
	m, err := models.Find(models.Generic)
	require.NoError(t, err)
	_, err = Verify(write(t, "x.json", text(1)), m.Row)
	require.ErrorIs(t, err, ErrNone)
	// a decompression bomb has its own error
	_, err = Verify(write(t, "questions.jsonl.gz", packed(t, bytes.Repeat([]byte(" "), 100<<20))), &questions)
	require.ErrorContains(t, err, "more than 200 times its size")
}

func TestRows(t *testing.T) {
	for n, want := range map[int]string{7: "7 of 30 rows", 30: "30 of 30 rows, those for performance",
		20: "20 of 20 rows, those for accuracy", 31: "31 rows, more than the benchmark's 30"} {
		require.Equal(t, want, Rows(n, &questions))
	}
	m, err := models.Find("llama3.1-8b")
	require.NoError(t, err)
	require.Equal(t, "512 of 13,368 rows", Rows(512, m.Row))
	require.Equal(t, "1 row", Rows(1, &models.Row{}))
	require.Equal(t, "1,234,567 rows", Rows(1234567, &models.Row{}))
}
