package models

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/rows.txt anew")

// TestEveryValueOfEveryRow compares the registry with testdata/rows.txt, so that no value of a benchmark changes
// unseen. The values' sources are in docs/reference/benchmarks.md.
func TestEveryValueOfEveryRow(t *testing.T) {
	var got bytes.Buffer
	for _, r := range Rows() {
		for _, f := range r.Describe() {
			fmt.Fprintf(&got, "%s: %s\n  (%s)\n", f.Name, f.Value, f.Source)
		}
		data, err := json.MarshalIndent(r.Data, "", " ")
		require.NoError(t, err)
		fmt.Fprintf(&got, "data: %s\n", data)
		for _, c := range r.Columns {
			fmt.Fprintf(&got, "column %s: role %q\n", c.Name, c.Role)
		}
		fmt.Fprintf(&got, "columns of the scorer: %+v, solution %q\n", r.Scoring.Columns, r.Scoring.Solution)
		for _, token := range r.Special {
			fmt.Fprintf(&got, "special token %d: %q\n", token.ID, token.Text)
		}
		fmt.Fprintf(&got, "api %q\n\n", r.API)
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/rows.txt", got.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/rows.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// Names are valid up to 96 bytes, and ids up to the vocabulary.
func TestEdgesOfModelFiles(t *testing.T) {
	long := strings.Repeat("n", 96)
	for text, ok := range map[string]bool{
		"name: " + long: true, "name: " + long + "n": false, "name: n": true, "name: a.b": true,
		"name: .b": false, "name: a-b": true,
		"name: a b": false, "name: \"a\\tb\"": false, "name: \"a\\nb\"": false, "name: a/b": false,
		"name: a\nvocabulary: 10\neos: [9]": true, "name: a\nvocabulary: 10\neos: [9, 10]": false,
		"name: a\nvocabulary: 10\nbos: 9": true, "name: a\nvocabulary: 10\nbos: 10": false,
		"name: a\nvocabulary: 1\nbos: -1":               true,
		"name: a\nbos: 5000":                            true,
		"name: a\ncolumns: [{name: x, type: ids|text}]": true, "name: a\ncolumns: [{name: x, type: ids|tex}]": false,
		"name: a\nlike: llama3.1-8b\ncolumns: [{name: x}]":                             false,
		"name: a\nlike: llama3.1-8b\ncolumns: [{name: output}]":                        true,
		"name: a\nlike: mixtral-8x7b":                                                  true,
		"name: a\nscenarios: {Server: {loadgen-model: generic}}":                       true,
		"name: a\nscenarios: {Server: {loadgen-model: mixtral-8x7b}}":                  true,
		"name: a\ndata: {files: [{name: b, sha256: " + strings.Repeat("0", 64) + "}]}": true,
	} {
		_, err := readText(text)
		require.Equal(t, ok, err == nil, "%s: %v", text, err)
	}
	r, err := readText("name: a\ncolumns: [{name: x}]")
	require.NoError(t, err)
	require.Equal(t, "text", r.Columns[0].Type)
	r, err = readText("name: a\nlike: mixtral-8x7b")
	require.NoError(t, err)
	require.Empty(t, r.Scoring.Columns.Tests, "only synthetic sets have the column")
}

// The parameters of the performance test are those of the accuracy test too, unless the file has others for it.
func TestSamplingOfModelFiles(t *testing.T) {
	for text, want := range map[string][2]int{
		"name: a\nsampling: {max-tokens: 5}":                                     {5, 5},
		"name: a\nsampling: {max-tokens: 5}\naccuracy-sampling: {max-tokens: 7}": {5, 7},
		"name: a\nlike: llama3.1-8b\naccuracy-sampling: {max-tokens: 7}":         {128, 7},
		"name: a\nlike: llama3.1-8b":                                             {128, 128},
	} {
		r, err := readText(text)
		require.NoError(t, err)
		require.Equal(t, want, [2]int{r.Sampling[Performance].MaxTokens, r.Sampling[Accuracy].MaxTokens}, text)
	}
	row, err := readText("name: a\nlike: llama3.1-8b\nsampling: {max-tokens: 5}")
	require.NoError(t, err)
	require.Equal(t, "max_tokens 5", row.Sampling[Performance].String())
	m, err := Find("llama3.1-8b")
	require.NoError(t, err)
	require.Equal(t, 128, m.Row.Sampling[Performance].MaxTokens, "the other benchmark's row is not changed")
	require.Equal(t, "nothing sent", Sampling{}.String())
	zero, top, seed := 0.0, 1, int64(2)
	require.Equal(t, "temperature 0, top_p 0, top_k 1, seed 2, min_tokens 1, max_tokens 3, stop_token_ids 4, "+
		"ignore_eos true", Sampling{Temperature: &zero, TopP: &zero, TopK: &top, Seed: &seed, MinTokens: 1, MaxTokens: 3,
		StopTokenIDs: []int32{4}, IgnoreEOS: true}.String())
}
