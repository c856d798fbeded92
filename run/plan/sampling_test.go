package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// withServer is a plan of a test of a real server.
func withServer(t *testing.T, rows int, s Settings) *Plan {
	t.Helper()
	s["endpoint"] = "http://host:1"
	return planned(t, rows, s)
}

func TestRulesOfSamplingAreSent(t *testing.T) {
	for _, row := range models.Rows() {
		if row.Name == models.Generic {
			continue
		}
		for _, mode := range []models.Mode{models.Performance, models.Accuracy} {
			p := withServer(t, 100, Settings{"model": row.Name, "mode": string(mode)})
			require.Empty(t, p.Breaches(), row.Name)
			require.Equal(t, row.Sampling[mode].String(), p.Sampling().String(), row.Name)
		}
	}
}

// The record has every parameter of the requests. A parameter with value 0 is recorded if 0 differs from "not set".
func TestSamplingOfTheRecord(t *testing.T) {
	zero, seed, k := 0.0, int64(0), 0
	require.Equal(t, map[string]any{
		"max_tokens": 7, "min_tokens": 2, "temperature": 0.0, "top_p": 0.0, "top_k": 0, "seed": int64(0),
		"stop_token_ids": []int32{1}, "ignore_eos": true,
	}, SamplingFields(models.Sampling{MaxTokens: 7, MinTokens: 2, Temperature: &zero, TopP: &zero, TopK: &k, Seed: &seed,
		StopTokenIDs: []int32{1}, IgnoreEOS: true}))
	require.Empty(t, SamplingFields(models.Sampling{}))
}

func TestBreaches(t *testing.T) {
	codes := func(p *Plan) (list []string) {
		for _, b := range p.Breaches() {
			list = append(list, b.Code)
		}
		return list
	}
	p := withServer(t, 13368, Settings{"model": "llama3.1-8b", "temperature": "0.7", "max-tokens": "64", "seed": "7",
		"min-tokens": "2", "top-p": "0.5", "top-k": "-1"})
	require.Equal(t, []string{"sampling_max_tokens", "sampling_min_tokens", "sampling_temperature", "sampling_top_p",
		"sampling_top_k", "sampling_seed"}, codes(p))
	b := p.Breaches()[0]
	require.Equal(t, []string{"64", "128"}, []string{b.Sent, b.Required})
	require.Contains(t, b.Source, "llama3.1-8b in performance")
	require.Contains(t, p.Breaches()[4].String(), "nothing is sent, and the closed division requires 1")

	// Guided decoding is off in the current round whatever the settings; only one benchmark has its own schema.
	for format, sent := range map[string]string{"json_object": "json_object", "benchmark": "the benchmark's JSON schema",
		"some.json": "a JSON schema"} {
		p := withServer(t, 48289, Settings{"model": "qwen3-vl-235b-a22b", "response-format": format})
		require.Equal(t, []string{"response_format"}, codes(p))
		require.Equal(t, []string{sent, "nothing"}, []string{p.Breaches()[0].Sent, p.Breaches()[0].Required})
	}
	p = withServer(t, 48289, Settings{"model": "qwen3-vl-235b-a22b", "use-guided-decoding": "true"})
	form, err := p.format()
	require.NoError(t, err)
	require.JSONEq(t, p.Row.Guided.Schema, string(form.Schema))
	_, err = withServer(t, 13368, Settings{"model": "llama3.1-8b", "response-format": "benchmark"}).format()
	require.ErrorContains(t, err, "the benchmark has none")

	// A top_k of 0 or -1 means the same as none. Parameters that the rules leave to the server must not be sent.
	require.Empty(t, codes(withServer(t, 6396, Settings{"model": "gpt-oss-120b", "top-k": "0"})))
	require.Equal(t, []string{"sampling_temperature"},
		codes(withServer(t, 48289, Settings{"model": "qwen3-vl-235b-a22b", "temperature": "1"})))
	// The 405B's limits can be changed, but the change is recorded (docs/reference/benchmarks.md#where-sources-disagree).
	require.Equal(t, []string{"sampling_max_tokens", "sampling_min_tokens"},
		codes(withServer(t, 8313, Settings{"model": "llama3.1-405b", "max-tokens": "2000", "min-tokens": "1"})))
	// A benchmark that is in no round has no rules.
	require.Empty(t, codes(withServer(t, 10, Settings{"model": "generic", "served-model": "m", "temperature": "2"})))
}

func TestTwinsHoldInAccuracyTestsAlone(t *testing.T) {
	s := Settings{"model": "gpt-oss-120b", "temperature": "0.9", "accuracy-temperature": "0.001",
		"accuracy-max-tokens": "99", "accuracy-top-k": "1",
		"accuracy-top-p": "0.9", "accuracy-seed": "3", "accuracy-min-tokens": "2"}
	performance := withServer(t, 6396, s)
	require.Equal(t, "temperature 0.9, top_p 1, max_tokens 10240", performance.Sampling().String())
	s["mode"] = "accuracy"
	require.Equal(t, "temperature 0.001, top_p 0.9, top_k 1, seed 3, min_tokens 2, max_tokens 99",
		withServer(t, 4395, s).Sampling().String())
}

func TestGenerationConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "generation_config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"_comment": {"a": []}, "max_new_tokens": 77, "temperature": 0.5, "top_k": -1, "do_sample": true, "eos_token_id": [1, 2]}`), 0o600))
	p := withServer(t, 13368, Settings{"model": "llama3.1-8b", "generation-config": path, "temperature": "0"})
	require.Equal(t, "temperature 0, top_p 1, top_k -1, seed 42, min_tokens 1, max_tokens 77", p.Sampling().String(),
		"what is set by name stands above the file")
	require.Contains(t, p.Notices()[0], "the server itself handles do_sample, eos_token_id")
	require.Contains(t, p.Config.Origin("max-tokens").String(), "generation_config.json")

	for text, why := range map[string]string{
		`[]`:                          "it is not a JSON object",
		``:                            "it is not a JSON object",
		`{"max_tokens": 5}`:           `the key "max_tokens" is not known; the known ones are max_new_tokens`,
		`{"top_p": "high"}`:           "the value of top_p is not a number",
		`{"top_p": 0.5, "top_p": 1}`:  "the key top_p occurs twice",
		`{"top_p": 0.5`:               "it is not JSON",
		`{"top_p": 0.5} {}`:           "there is text after",
		`{"top_p": 5}`:                "top-p",
		`{"max_new_tokens": 1.5}`:     "max-tokens",
		`{"temperature": -1}`:         "temperature",
		`{"max_new_tokens": 1e99999}`: "max-tokens",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := New(Settings{"model": "llama3.1-8b", "generation-config": path})
		require.ErrorContains(t, err, why, text)
		require.EqualValues(t, "generation_config", exit.Classify(err).Code)
	}
	_, err := New(Settings{"model": "llama3.1-8b", "generation-config": path + "x"})
	require.ErrorContains(t, err, "cannot be read")
}

// A generation config fills unset settings only: every other source takes precedence, the config file too.
func TestTheGenerationConfigHasTheLowestPrecedence(t *testing.T) {
	dir := t.TempDir()
	path, file := filepath.Join(dir, "generation_config.json"), filepath.Join(dir, "run.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`{"max_new_tokens": 77, "temperature": 0.5}`), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("max-tokens: 66\ngeneration-config: "+path+"\n"), 0o600))
	for layer, set := range map[string]func(c *config.Effective) error{
		file:          func(*config.Effective) error { return nil },
		"environment": func(c *config.Effective) error { return c.SetEnviron([]string{"MLPERF_GO_MAX_TOKENS=66"}) },
		"flag": func(c *config.Effective) error {
			return c.Set("max-tokens", "66", config.Origin{Layer: config.FromFlag, Where: "flag"})
		},
	} {
		c := config.New(config.RunSettings())
		if layer == file {
			require.NoError(t, c.LoadYAMLFile(file))
		} else {
			require.NoError(t, c.Set("generation-config", path, config.Origin{Layer: config.FromFlag, Where: "flag"}))
		}
		require.NoError(t, set(c))
		require.NoError(t, c.Set("model", "llama3.1-8b", config.Origin{Layer: config.FromFlag, Where: "flag"}))
		p, err := Resolve(c)
		require.NoError(t, err)
		require.NoError(t, p.Bind(13368))
		require.Equal(t, 66, p.Config.Int("max-tokens"), layer)
		require.NotContains(t, p.Config.Origin("max-tokens").String(), "generation_config.json", layer)
		require.Equal(t, 0.5, p.Config.Float("temperature"), layer)
		require.Contains(t, p.Config.Origin("temperature").String(), "generation_config.json", layer)
	}
}

// Prompts made from raw fields are a breach, because the rules fix their wording. Those of a template or a synthetic
// set are not.
func TestPromptsOfTheProgramsOwnWordingAreABreach(t *testing.T) {
	p := withServer(t, 48289, Settings{"model": "qwen3-vl-235b-a22b"})
	require.Empty(t, p.Breaches())
	p.Dataset = &datasets.Dataset{WithoutTemplate: 3, Samples: []datasets.Sample{{Input: "What is this?"}}}
	require.Len(t, p.Breaches(), 1)
	require.Equal(t, "prompt_template", p.Breaches()[0].Code)
	require.Contains(t, p.Breaches()[0].String(),
		"3 prompts in the program's own wording is sent, and the closed division requires the benchmark's prompt template")
	p.Dataset.WithoutTemplate = 0
	require.Empty(t, p.Breaches())

	path := filepath.Join(t.TempDir(), "synthetic.json")
	require.NoError(t, atomicfile.Write(path, datasets.SynthSet{Row: p.Row, Samples: 4, Seed: 1}.Write))
	p, err := New(Settings{"model": "qwen3-vl-235b-a22b", "endpoint": "http://host:1", "dataset": path})
	require.NoError(t, err)
	_, err = p.ReadDataset()
	require.NoError(t, err)
	require.NoError(t, p.Bind(4))
	require.Contains(t, p.Rehearsal, "the data set is synthetic")
	require.Empty(t, p.Breaches())
}

// Values are numbers of known parameters. The checks are plain and in a fixed order, because they count as coverage: if
// that changed between executions, the fuzzer would spend its time on shrinking inputs.
func FuzzGenerationValues(f *testing.F) {
	f.Add([]byte(`{"_x": 1, "top_p": 0.5, "do_sample": false}`))
	f.Add([]byte(`{"max_new_tokens": 1e3, "temperature": -0.0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		values, _, err := generationValues(text)
		if err != nil {
			return
		}
		known := 0
		for _, d := range parameters {
			v, ok := values[d.file]
			if !ok {
				continue
			}
			known++
			if !json.Valid([]byte(v)) || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
				t.Fatalf("%s is %q", d.file, v)
			}
		}
		if known != len(values) {
			t.Fatalf("%q has parameters of no name: %v", text, values)
		}
	})
}

// The accuracy set of a benchmark and an audit's data set may differ in size from the performance set. Neither makes
// the run a rehearsal.
func TestRowsOfTheWholeSet(t *testing.T) {
	const few = "rows"
	p := withServer(t, 4395, Settings{"model": "gpt-oss-120b", "mode": "accuracy", "dataset": "file"})
	require.NotContains(t, strings.Join(p.Rehearsal, "; "), few)
	p = withServer(t, 4395, Settings{"model": "gpt-oss-120b", "dataset": "file"})
	require.Contains(t, strings.Join(p.Rehearsal, "; "), "4395 of 6396 rows")
	p, err := New(Settings{"model": "gpt-oss-120b", "endpoint": "http://host:1", "dataset": "file"})
	require.NoError(t, err)
	p.AuditRows = 990
	require.NoError(t, p.Bind(990))
	require.NotContains(t, strings.Join(p.Rehearsal, "; "), few)
	require.ErrorContains(t, p.Bind(991), "the data set has 991 rows, more than the 990 of gpt-oss-120b")
}

// A generation config may have up to 1 MiB. A config whose keys are all sent causes no notice.
func TestGenerationConfigAtItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "generation_config.json")
	for _, c := range []struct {
		size int
		want string
	}{{100, ""}, {1 << 20, ""}, {1<<20 + 1, "has more than 1048576 bytes"}, {3 << 20, "has more than 1048576 bytes"}} {
		text := `{"max_new_tokens": 77}`
		text += strings.Repeat(" ", c.size-len(text))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		values, notices, err := readGenerationConfig(path)
		if c.want != "" {
			require.ErrorContains(t, err, c.want, "%d bytes", c.size)
			require.ErrorContains(t, err, path)
			continue
		}
		require.NoError(t, err, "%d bytes", c.size)
		require.Equal(t, map[string]string{"max_new_tokens": "77"}, values)
		require.Empty(t, notices)
	}
	_, _, err := readGenerationConfig(filepath.Dir(path))
	require.ErrorContains(t, err, "reading the generation config")
	_, _, err = readGenerationConfig(path + ".none")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(`{"temperature": 0.5`), 0o600))
	_, _, err = readGenerationConfig(path)
	require.ErrorContains(t, err, path)
}
