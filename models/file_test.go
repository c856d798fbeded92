package models

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const wholeFile = `
name: in-house-1
aliases: [ih1]
served-models: [acme/in-house]
token-latencies: true
text-answers: false
api: completions
dataset-samples: 200
performance-count: 100
accuracy-count: 150
max-input-tokens: 4096
min-output-tokens: 2
vocabulary: 32000
bos: 1
eos: [2]
scenarios:
  Server: {loadgen-model: llama3_1-8b, ttft-limit: 2s, tpot-limit: 100ms, min-queries: 50, min-duration: 60}
  Offline: {min-queries: 200, samples: 180, latency-limit: 1m}
sampling: {max-tokens: 256, min-tokens: 2, temperature: 0.5, top-p: 0.9, top-k: -1, seed: 7, ignore-eos: true, stop-ids: [5]}
accuracy-sampling: {max-tokens: 512, temperature: 0}
columns:
  - {name: prompt_ids, type: ids, required: true, role: input_ids, aliases: [ids]}
  - {name: answer, role: target}
  - {name: kind, type: text|int}
scoring:
  scorer: reasoning
  columns: {target: answer, subset: kind}
  targets:
    - {metric: exact_match, min: 80.5}
    - {metric: tokens_per_sample, min: 10, max: 300}
`

func readText(text string) (*Row, error) {
	return readRow("own.yaml", strings.NewReader(text))
}

func TestModelFile(t *testing.T) {
	r, err := readText(wholeFile)
	require.NoError(t, err)
	require.Equal(t, []int{200, 100, 150, 4096, 2, 32000},
		[]int{r.DatasetSamples, r.PerformanceCount, r.AccuracyCount, r.MaxInputTokens, r.MinOutputTokens, r.Vocabulary})
	require.Equal(t, "temperature 0.5, top_p 0.9, top_k -1, seed 7, min_tokens 2, max_tokens 256, stop_token_ids 5, "+
		"ignore_eos true", r.Sampling[Performance].String())
	require.Equal(t, "temperature 0, max_tokens 512", r.Sampling[Accuracy].String())
	s, err := r.Scenario("Server")
	require.NoError(t, err)
	require.Equal(t, ScenarioRow{Scenario: Server, LoadGenModel: "llama3_1-8b", LoadGen: Server,
		TTFTLimit: 2 * time.Second, TPOTLimit: 100 * time.Millisecond,
		MinQueries: 50, MinDuration: time.Minute, Stream: true}, *s)
	require.Equal(t, Column{Name: "prompt_ids", Aliases: []string{"ids"}, Type: "ids", Required: true, Role: "input_ids"},
		r.Columns[0])
	require.Equal(t, ScoringColumns{Target: "answer", Subset: "kind"}, r.Scoring.Columns)
	require.Equal(t, []Target{{Metric: "exact_match", Min: 80.5}, {Metric: "tokens_per_sample", Min: 10, Max: 300}},
		r.Scoring.Targets)
	require.Equal(t, "model file own.yaml", r.Source)
}

// A row with "like" has the other row's data set, scorer and limits, but is in no round.
func TestModelFileLikeAnother(t *testing.T) {
	r, err := readText("like: llama3.1-8b\nname: llama-8b-distilled\nserved-models: [acme/distilled]\nsampling: " +
		"{max-tokens: 64}\n")
	require.NoError(t, err)
	require.Equal(t, llama31_8b.Columns, r.Columns)
	require.Equal(t, llama31_8b.Scoring, r.Scoring)
	require.Equal(t, "max_tokens 64", r.Sampling[Accuracy].String())
	require.Equal(t, 128, llama31_8b.Sampling[Accuracy].MaxTokens, "the other row stays as it is")
}

func TestModelFileIsAdded(t *testing.T) {
	before := rows
	t.Cleanup(func() { rows = before })
	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte(wholeFile), 0o600))
	r, err := AddFile(path)
	require.NoError(t, err)
	m, err := Find("IH1")
	require.NoError(t, err)
	require.Same(t, r, m.Row)
	require.True(t, slices.Contains(Rows(), r))
	_, err = AddFile(path)
	require.ErrorContains(t, err, `the name "in-house-1" already belongs to the benchmark in-house-1`)
	_, err = AddFile(path + "x")
	require.ErrorContains(t, err, "cannot read the model file")
}

// The example in the documentation is a complete row.
func TestDocumentedModelFile(t *testing.T) {
	page, err := os.ReadFile("../docs/how-to/models.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	r, err := readText(text)
	require.NoError(t, err)
	require.Equal(t, "in-house-1", r.Name)
	require.Len(t, r.Scenarios, 2)
}

func TestInvalidModelFiles(t *testing.T) {
	for text, why := range map[string]string{
		"":                                   "own.yaml is empty",
		"- a":                                "line 1",
		"name: [a]":                          "own.yaml line 1: name: expected a text, not a list",
		"\nname: a/b":                        `own.yaml line 2: name: invalid name "a/b"`,
		"name: -x":                           "invalid name",
		"name: ''":                           "invalid name",
		"served-models: [a/b]":               "name: the key is required",
		"name: a\nserved: b":                 `own.yaml line 2: served: unknown key; did you mean served-models?`,
		"name: a\nname: b":                   "name: already set in line 1",
		"like: llama9\nname: a":              `line 1: unknown model "llama9"`,
		"like: [a]\nname: a":                 "line 1: like: expected a text",
		"name: a\nvocabulary: 10\neos: [10]": "the token id 10 is not below the vocabulary of 10",
		"name: a\neos: 2":                    `line 2: eos: expected a list, not "2"`,
		"name: a\neos: [-1]":                 "line 2: eos.0: expected a whole number of at least 0",
		"name: a\nbos: big":                  "a whole number of at least -1",
		"name: a\nbos: 5000000000":           "a whole number of at least -1",
		"name: a\ndataset-samples: 0":        "expected a whole number of at least 1",
		"name: a\ntoken-latencies: 1":        "line 2: token-latencies: expected true or false",
		"name: a\napi: grpc":                 `expected one of completions, chat, generate, not "grpc"`,
		"name: a\nscenarios: {}":             "the map is empty; list some of Offline",
		"name: a\nscenarios: {Ofline: {}}":   "did you mean Offline?",
		"name: a\nscenarios: {Server: {ttft-limit: soon}}":            "expected seconds or a duration such as",
		"name: a\nscenarios: {Server: {loadgen-model: llama}}":        `line 2: scenarios.Server.loadgen-model: unknown value "llama"`,
		"name: a\nsampling: {top-p: 2}":                               "a number from 0 to 1",
		"name: a\nsampling: 5":                                        "expected a map",
		"name: a\ncolumns: [{type: ids}]":                             "columns.0.name: the key is required",
		"name: a\ncolumns:\n- {name: x}\n- {name: y, type: tensor}":   `line 4: columns.1.type: unknown type "tensor"`,
		"name: a\ncolumns: [{name: x, role: prompt}]":                 `not "prompt"`,
		"name: a\nscoring: {}":                                        "scoring.scorer: the key is required",
		"name: a\nscoring: {scorer: bleu}":                            `unknown value "bleu"`,
		"name: a\nscoring: {scorer: reasoning}":                       "scoring has no target column",
		"name: a\nscoring: {scorer: reasoning, columns: {target: t}}": `the column "t", which columns does not list`,
		"name: a\nscoring: {scorer: reasoning, targets: [{min: 1}]}":  "scoring.targets.0.metric: the key is required",
		"name: a\naliases:\n  - &b [x, x, x, x, x, x, x, x, x]\n  - &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n  - &d [*c, " +
			"*c, *c, *c, *c, *c, *c, *c, *c]\n  - [*d, *d, *d, *d]": "anchors and aliases",
		"name: &x a\naliases: [*x]": "anchors and aliases",
	} {
		_, err := readText(text)
		require.ErrorContains(t, err, why, text)
	}
}

func FuzzModelFile(f *testing.F) {
	f.Add(wholeFile)
	f.Add("like: llama3.1-8b\nname: a\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := readText(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, r.Name)
		require.NotEmpty(t, r.Scenarios)
		require.NotEmpty(t, r.Describe())
	})
}

func TestFileNamesItsDataSet(t *testing.T) {
	read := func(text string) (*Row, error) {
		return readText("name: mine\n" + text)
	}
	row, err := read(`data: {from: Acme, url: https://a, licence: MIT, fetch: [get it], prepare: [mix it],
  files: [{name: a.json, use: accuracy, format: json, samples: 3, bytes: 4000000000}]}`)
	require.NoError(t, err)
	require.Equal(t, DataSource{From: "Acme", URL: "https://a", Licence: "MIT", Fetch: []string{"get it"},
		Prepare: []string{"mix it"},
		Files:   []DataFile{{Name: "a.json", Use: "accuracy", Format: "json", Samples: 3, Bytes: 4e9}}}, row.Data)
	row, err = read("like: llama3.1-8b")
	require.NoError(t, err)
	require.Empty(t, row.Data, "the other benchmark's files are not this one's")
	for text, want := range map[string]string{
		"data: {file: x}":                                  "data.file: unknown key",
		"data: {files: [{use: all}]}":                      "data.files.0.name: the key is required",
		"data: {files: [{name: a, sha256: ABC}]}":          "not 64 lower-case hexadecimal digits",
		"data: {files: [{name: a, samples: 0}]}":           "a whole number from 1",
		"data: {files: [{name: a, samples: 99999999999}]}": "a whole number from 1",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 13368: "13,368"} {
		require.Equal(t, want, Grouped(n))
	}
}
