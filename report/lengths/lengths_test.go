package lengths

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// The figures are those of the sorted values; above exactBelow they are rounded.
func TestDistributionAgreesWithSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 1<<40), 1, 300).Draw(t, "values")
		small := rapid.Bool().Draw(t, "small")
		var d Distribution
		sum := 0.0
		for i := range values {
			if small {
				values[i] %= exactBelow
			}
			d.Add(values[i])
			sum += float64(values[i])
		}
		slices.Sort(values)
		n := len(values)
		s := d.Summary(1)
		want := []float64{float64(values[n/2]), float64(values[n*90/100]), float64(values[n*99/100])}
		for i, got := range []float64{s.P50, s.P90, s.P99} {
			if off := want[i] - got; off < 0 || off > want[i]/2048 || small && off != 0 {
				t.Fatalf("percentile %d is %g, want %g", i, got, want[i])
			}
		}
		if s.Count != n || s.Min != float64(values[0]) || s.Max != float64(values[n-1]) || s.Mean != sum/float64(n) {
			t.Fatalf("%+v of %v", s, values)
		}
		_, _, counts := d.Bins(rapid.IntRange(1, 70).Draw(t, "bins"))
		total := 0
		for _, k := range counts {
			total += k
		}
		if total != n || len(counts) > 70 {
			t.Fatalf("%d values in %d bins, want %d", total, len(counts), n)
		}
	})
}

// No input makes a distribution large.
func TestDistributionIsBounded(t *testing.T) {
	var d Distribution
	for v := 1; v < 1<<62; v += v/9000 + 1 {
		d.Add(v)
	}
	require.Greater(t, d.Count(), 300_000)
	require.Less(t, len(d.counts), exactBelow+48<<(keptBits-1))
	d.Add(-5)
	require.Zero(t, d.Summary(1).Min)
	require.Equal(t, Summary{}, new(Distribution).Summary(1))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func rowOf(t *testing.T, name string) *models.Row {
	t.Helper()
	m, err := models.Find(name)
	require.NoError(t, err)
	return m.Row
}

// figures returns the measures as name: min mean p50 max.
func figures(r *Report) string {
	var b strings.Builder
	for _, m := range r.Measures {
		f := m.Figures()
		fmt.Fprintf(&b, "%s: %d %g %g %g %g\n", m.Name, f.Count, f.Min, f.Mean, f.P50, f.Max)
	}
	return b.String()
}

func TestOfDataset(t *testing.T) {
	row := rowOf(t, "llama2-70b-99")
	path := write(t, "set.jsonl", `
		{"tok_input": [1, 2, 3, 4], "input": "äbc", "output": "Grüße", "tok_output": [5, 6]}
		{"tok_input": [1, 2], "input": "ab", "output": "", "tok_output": []}
		{"tok_input": [1, 2, 3, 4, 5, 6], "input": "abcdef", "output": "abc", "tok_output": [7,8,9]}`)
	r, d, err := OfDataset(path, datasets.ForRow(row), row, nil)
	require.NoError(t, err)
	require.Equal(t, 3, r.Samples)
	require.Equal(t, "JSON Lines", d.Format)
	require.Len(t, d.SHA256, 64)
	require.Equal(t, `input tokens: 3 2 4 4 6
output tokens: 2 2 2.5 3 3
ratio of tokens: 2 0.5 0.5 0.5 0.5
input characters: 3 2 3.6666666666666665 3 6
output characters: 2 3 4 5 5
ratio of characters: 2 0.5 1.0835 1.667 1.667
`, figures(r))

	// Without ids the tokenizer counts.
	row = rowOf(t, "generic")
	path = write(t, "set.jsonl", `{"input": "a b c d", "output": "e f"}`)
	r, _, err = OfDataset(path, datasets.ForRow(row), row, func(text string) int { return len(strings.Fields(text)) })
	require.NoError(t, err)
	require.Contains(t, figures(r), "input tokens: 1 4 4 4 4\noutput tokens: 1 2 2 2 2\nratio of tokens: 1 0.5 0.5 0.5 "+
		"0.5\n")

	_, _, err = OfDataset(write(t, "bad.jsonl", `{"input": 5}`), datasets.ForRow(row), row, nil)
	var fault *datasets.Error
	require.ErrorAs(t, err, &fault)
}

// Memory does not grow with the file: 40 MB of prompts are read in small pieces.
func TestOfDatasetStreams(t *testing.T) {
	const rows, kept = 20_000, 16 << 20
	prompt := strings.Repeat("word ", 400)
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, `{"input": "%d %s"}`+"\n", i, prompt)
	}
	path := write(t, "big.jsonl", b.String())
	b.Reset()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, after, n := heap(), uint64(0), 0
	row := rowOf(t, "generic")
	r, _, err := OfDataset(path, datasets.ForRow(row), row, func(string) int {
		if n++; n == rows {
			after = heap()
		}
		return n%7 + 1
	})
	require.NoError(t, err)
	require.Equal(t, rows, r.Samples)
	require.Less(t, int(after)-int(before), kept)
}

const requests = `{"seq":0,"scheduled":0,"issued":1,"done":9,"input_tokens":10,"output_tokens":5,"finish":"stop"}
{"seq":1,"scheduled":0,"issued":1,"done":9,"input_tokens":20,"output_tokens":30,"finish":"length"}
{"seq":2,"scheduled":0,"issued":1,"done":9,"input_tokens":30,"output_tokens":30,"finish":"stop"}
{"seq":3,"scheduled":0,"issued":1,"done":9,"output_tokens":2,"reason":"http_500"}
{"seq":4,"scheduled":0,"issued":1}
`

func TestOfAnswers(t *testing.T) {
	r, err := OfAnswers(write(t, "requests.jsonl", requests))
	require.NoError(t, err)
	require.Equal(t, 3, r.Samples)
	require.Equal(t, map[string]int{"stop": 2, "length": 1}, r.Finishes)
	require.Equal(t, map[string]int{"http_500": 1, "unfinished": 1}, r.Failures)
	require.Equal(t, `input tokens: 3 10 20 20 30
output tokens: 3 5 21.666666666666668 30 30
ratio of tokens: 3 0.5 1 1 1.5
`, figures(r))
	require.Equal(t, []Part{{"stop", 2}, {"length", 1}}, Parts(r.Finishes))
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"name":"ratio of tokens","unit":"output/input","count":3,"min":0.5,"mean":1,`)
	panels := r.Panels("run")
	require.Len(t, panels, 4)
	require.Equal(t, []string{"stop", "length"}, panels[3].Labels)
	require.EqualValues(t, 1000, panels[2].Scale)
}

func TestOfAnswersRefusesHostileFiles(t *testing.T) {
	_, err := OfAnswers(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "the run has no log of its requests")
	real := write(t, "requests.jsonl", requests)
	link := filepath.Join(t.TempDir(), "requests.jsonl")
	require.NoError(t, os.Symlink(real, link))
	_, err = OfAnswers(link)
	require.ErrorContains(t, err, "is not a regular file")
	pipe := filepath.Join(t.TempDir(), "requests.jsonl")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = OfAnswers(pipe)
	require.ErrorContains(t, err, "is not a regular file")
	for text, want := range map[string]string{
		`{"seq":0,"output_tokens":-1}`:                    "line 1: a number of tokens is negative",
		requests + "{":                                    "line 6: unexpected end",
		`{"finish":"` + strings.Repeat("x", 1<<20) + `"}`: "token too long",
	} {
		_, err := OfAnswers(write(t, "requests.jsonl", text))
		require.ErrorContains(t, err, want)
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, `{"done":1,"finish":"word %d\u001b[2J"}`+"\n", i)
	}
	r, err := OfAnswers(write(t, "requests.jsonl", many.String()))
	require.NoError(t, err)
	require.Len(t, r.Finishes, maxWords+1)
	require.Equal(t, Part{"other", 5000 - maxWords}, Parts(r.Finishes)[0])
	require.Equal(t, `word 0\u001b[2J`, Parts(r.Finishes)[1].Name)
}
