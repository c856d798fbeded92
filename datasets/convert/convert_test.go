package convert

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

func job(t *testing.T, text, to string) Job {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join(dir, "in.json")
	require.NoError(t, os.WriteFile(from, []byte(text), 0o644))
	m, err := models.Find("llama3.1-8b")
	require.NoError(t, err)
	return Job{From: []string{from}, To: filepath.Join(dir, to), Options: datasets.ForRow(m.Row)}
}

const rows = `[{"tok_input": [128000, 5, 6], "output": "a"}, {"tok_input": [128000, 7], "output": "b"}]`

func TestRunWritesTheFileAndItsCompanion(t *testing.T) {
	j := job(t, rows, "out.npy")
	done, err := j.Run()
	require.NoError(t, err)
	require.Equal(t, datasets.FormatNPY, done.Format)
	require.Equal(t, 2, done.Records)
	o := j.Options
	o.Padding.Lengths = done.Lengths
	d, err := datasets.Open(j.To, o)
	require.NoError(t, err)
	require.Equal(t, []int32{128000, 7}, d.Samples[1].InputIDs)
}

// Run keeps existing files unchanged, even an existing file of lengths next to a new output.
func TestRunKeepsExistingFiles(t *testing.T) {
	j := job(t, rows, "out.npy")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(j.To), "out.lengths.npy"), []byte("mine"), 0o644))
	_, err := j.Run()
	require.ErrorIs(t, err, ErrExists)
	require.ErrorContains(t, err, "out.lengths.npy: the file exists")
	require.NoFileExists(t, j.To)
	j.Force = true
	_, err = j.Run()
	require.NoError(t, err)

	j = job(t, rows, "out.jsonl")
	j.To = j.From[0] // a shell pattern without an output file
	_, err = j.Run()
	require.ErrorIs(t, err, ErrExists)
	text, err := os.ReadFile(j.To)
	require.NoError(t, err)
	require.Equal(t, rows, string(text))
}

func TestRunRejects(t *testing.T) {
	j := job(t, rows, "out.txt")
	_, err := j.Run()
	require.ErrorIs(t, err, ErrFormat)

	j = job(t, rows, "out.jsonl")
	j.Answers = "answers.json"
	_, err = j.Run()
	require.ErrorIs(t, err, ErrAnswers)

	j = job(t, `[{"tok_input": "no ids"}]`, "out.jsonl")
	_, err = j.Run()
	var fault *datasets.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "tok_input", fault.Field)
	require.NoFileExists(t, j.To, "a fault leaves no output")

	j = job(t, rows, "out.jsonl")
	j.Form = "calls"
	t.Setenv("TMPDIR", t.TempDir())
	_, err = j.Run()
	require.Error(t, err, "the rows are no questions")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "the temporary folder is gone")
}

// bfcl contains, for each public single-turn subset, its size and the number of questions that the benchmark uses.
var bfcl = map[string][2]int{
	"simple_python": {400, 248}, "simple_java": {100, 62}, "simple_javascript": {50, 31}, "multiple": {200, 124},
	"parallel": {200, 124}, "parallel_multiple": {200, 124}, "live_simple": {258, 25}, "live_multiple": {1053, 105},
	"live_parallel": {16, 16}, "live_parallel_multiple": {24, 24}, "irrelevance": {240, 24},
	"live_irrelevance": {884, 88}, "live_relevance": {16, 0},
}

// The endpoints client uses 995 of 3,641 questions, grouped by subset in alphabetical order.
func TestSelectKeepsTheBenchmarksRows(t *testing.T) {
	m, err := models.Find("qwen3.6-27b")
	require.NoError(t, err)
	var text strings.Builder
	for _, subset := range slices.Backward(slices.Sorted(maps.Keys(bfcl))) { // the input is in the reverse order
		for i := range bfcl[subset][0] {
			fmt.Fprintf(&text, `{"sample_id": "%s_%d", "messages": [{"role": "user", "content": "%d"}], "subset": "%s", `+
				`"further": [1.50]}`+"\n", subset, i, i, subset)
		}
	}
	j := job(t, text.String(), "all.parquet")
	j.Options = datasets.ForRow(m.Row)
	_, err = j.Run()
	require.NoError(t, err)

	j.From, j.To, j.Select = []string{j.To}, filepath.Join(filepath.Dir(j.To), "995.jsonl"), m.Row.Data.Select
	j.Options.Format = datasets.FormatParquet
	t.Setenv("TMPDIR", t.TempDir())
	done, err := j.Run()
	require.NoError(t, err)
	require.Equal(t, 995, done.Records)
	require.Equal(t, j.From[0], done.From[0].Path)
	require.Equal(t, 3641, done.From[0].Records)
	o := datasets.ForRow(m.Row)
	o.Keep = []string{"subset"}
	d, err := datasets.Open(j.To, o)
	require.NoError(t, err)
	at := 0
	for _, subset := range slices.Sorted(maps.Keys(bfcl)) {
		for i := range bfcl[subset][1] {
			require.Equal(t, fmt.Sprintf("%s_%d", subset, i), d.Samples[at].ID)
			at++
		}
	}
	require.Equal(t, 995, at)
	written, err := os.ReadFile(j.To)
	require.NoError(t, err)
	require.Contains(t, string(written), `"further"`, "columns that the schema does not name stay")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)

	j = job(t, `{"sample_id": "a", "messages": [{"role": "user", "content": "x"}], "subset": "other"}`, "none.jsonl")
	j.Options, j.Select = datasets.ForRow(m.Row), m.Row.Data.Select
	_, err = j.Run()
	require.ErrorContains(t, err, "no subset that the benchmark uses")
	require.NoFileExists(t, j.To)
}
