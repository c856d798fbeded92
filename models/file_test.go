package models

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
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
	root, err := config.ReadYAML("own.yaml", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return readRow("own.yaml", yamlNode{root, "own.yaml"})
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

// A row like another has its data set, scorer and limits, and none of its rounds.
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
	require.ErrorContains(t, err, `the name "in-house-1" already names the benchmark in-house-1`)
	_, err = AddFile(path + "x")
	require.ErrorContains(t, err, "the model file cannot be read")
}

// The example of the documentation is a whole row.
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

func TestModelFileRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"":                                   "own.yaml is empty",
		"- a":                                "line 1",
		"name: [a]":                          "own.yaml line 1: a text is expected",
		"\nname: a/b":                        `own.yaml line 2: "a/b" is not a valid name`,
		"name: -x":                           "is not a valid name",
		"served-models: [a/b]":               "it has no name",
		"name: a\nserved: b":                 `own.yaml line 2: the key "served" is unknown; did you mean served-models?`,
		"name: a\nname: b":                   "the key name occurs twice",
		"like: llama9\nname: a":              `line 1: model "llama9" is not in the registry`,
		"like: [a]":                          "line 1: a text is expected",
		"name: a\nvocabulary: 10\neos: [10]": "the token id 10 is not below the vocabulary of 10",
		"name: a\neos: 2":                    "line 2: a list of at most",
		"name: a\neos: [-1]":                 "a token id from 0",
		"name: a\nbos: big":                  "a whole number from -1",
		"name: a\ndataset-samples: 0":        "a whole number from 1 is expected",
		"name: a\ntoken-latencies: 1":        "line 2: true or false is expected",
		"name: a\napi: grpc":                 `"grpc" is not known; take one of completions, chat, generate`,
		"name: a\nscenarios: {}":             "scenarios is empty",
		"name: a\nscenarios: {Ofline: {}}":   "did you mean Offline?",
		"name: a\nscenarios: {Server: {ttft-limit: soon}}":            "a duration is expected",
		"name: a\nscenarios: {Server: {loadgen-model: llama}}":        `"llama" is not known`,
		"name: a\nsampling: {top-p: 2}":                               "a number from 0 to 1",
		"name: a\nsampling: 5":                                        "a map is expected",
		"name: a\ncolumns: [{type: ids}]":                             "a column has no name",
		"name: a\ncolumns: [{name: x, type: tensor}]":                 `the type "tensor" is not known`,
		"name: a\ncolumns: [{name: x, role: prompt}]":                 `"prompt" is not known`,
		"name: a\nscoring: {}":                                        "scoring names no scorer",
		"name: a\nscoring: {scorer: bleu}":                            `"bleu" is not known`,
		"name: a\nscoring: {scorer: reasoning}":                       "scoring names no column for its target",
		"name: a\nscoring: {scorer: reasoning, columns: {target: t}}": `the column "t", which is not among columns`,
		"name: a\nscoring: {scorer: reasoning, targets: [{min: 1}]}":  "a target has no metric",
		"name: a\naliases:\n  - &b [x, x, x, x, x, x, x, x, x]\n  - &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n  - &d [*c, " +
			"*c, *c, *c, *c, *c, *c, *c, *c]\n  - [*d, *d, *d, *d]": "a text is expected",
		"name: &x a\naliases: [*x]": "a text is expected",
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
