package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
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

func TestBreaches(t *testing.T) {
	codes := func(p *Plan) (list []string) {
		for _, b := range p.Breaches() {
			list = append(list, b.Code)
		}
		return list
	}
	p := withServer(t, 13368, Settings{"model": "llama3.1-8b", "temperature": "0.7", "max-tokens": "64", "seed": "7", "min-tokens": "2", "top-p": "0.5", "top-k": "-1"})
	require.Equal(t, []string{"sampling_max_tokens", "sampling_min_tokens", "sampling_temperature", "sampling_top_p", "sampling_top_k", "sampling_seed"}, codes(p))
	b := p.Breaches()[0]
	require.Equal(t, []string{"64", "128"}, []string{b.Sent, b.Required})
	require.Contains(t, b.Source, "llama3.1-8b in performance")
	require.Contains(t, p.Breaches()[4].String(), "nothing is sent, and the closed division wants 1")

	// Guided decoding is off in the current round, whatever asks for it; a schema of its own has one benchmark alone.
	for format, sent := range map[string]string{"json_object": "json_object", "benchmark": "the benchmark's JSON schema", "some.json": "a JSON schema"} {
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

	// top_k 0, -1 and none are one thing; what the rules leave to the server must not be sent.
	require.Empty(t, codes(withServer(t, 6396, Settings{"model": "gpt-oss-120b", "top-k": "0"})))
	require.Equal(t, []string{"sampling_temperature"}, codes(withServer(t, 48289, Settings{"model": "qwen3-vl-235b-a22b", "temperature": "1"})))
	// Other limits than the rules' are settable for the 405B, and told (spec/models.md §6).
	require.Equal(t, []string{"sampling_max_tokens", "sampling_min_tokens"},
		codes(withServer(t, 8313, Settings{"model": "llama3.1-405b", "max-tokens": "2000", "min-tokens": "1"})))
	// What is in no round has no rules.
	require.Empty(t, codes(withServer(t, 10, Settings{"model": "generic", "served-model": "m", "temperature": "2"})))
}

func TestTwinsHoldInAccuracyTestsAlone(t *testing.T) {
	s := Settings{"model": "gpt-oss-120b", "temperature": "0.9", "accuracy-temperature": "0.001", "accuracy-max-tokens": "99", "accuracy-top-k": "1",
		"accuracy-top-p": "0.9", "accuracy-seed": "3", "accuracy-min-tokens": "2"}
	performance := withServer(t, 6396, s)
	require.Equal(t, "temperature 0.9, top_p 1, max_tokens 10240", performance.Sampling().String())
	s["mode"] = "accuracy"
	require.Equal(t, "temperature 0.001, top_p 0.9, top_k 1, seed 3, min_tokens 2, max_tokens 99", withServer(t, 4395, s).Sampling().String())
}

func TestGenerationConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "generation_config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"_comment": {"a": []}, "max_new_tokens": 77, "temperature": 0.5, "top_k": -1, "do_sample": true, "eos_token_id": [1, 2]}`), 0o600))
	p := withServer(t, 13368, Settings{"model": "llama3.1-8b", "generation-config": path, "temperature": "0"})
	require.Equal(t, "temperature 0, top_p 1, top_k -1, seed 42, min_tokens 1, max_tokens 77", p.Sampling().String(), "what is set by name stands above the file")
	require.Contains(t, p.Notices()[0], "do_sample, eos_token_id are the server's business")
	require.Contains(t, p.Config.Origin("max-tokens").String(), "generation_config.json")

	for text, why := range map[string]string{
		`[]`:                          "it is no JSON object",
		``:                            "it is no JSON object",
		`{"max_tokens": 5}`:           `the key "max_tokens" is not known; the known ones are max_new_tokens`,
		`{"top_p": "high"}`:           "the value of top_p is no number",
		`{"top_p": 0.5, "top_p": 1}`:  "the key top_p stands twice",
		`{"top_p": 0.5`:               "it is no JSON",
		`{"top_p": 0.5} {}`:           "something stands behind",
		`{"top_p": 5}`:                "top-p",
		`{"max_new_tokens": 1.5}`:     "max-tokens",
		`{"temperature": -1}`:         "temperature",
		`{"max_new_tokens": 1e99999}`: "max-tokens",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := New(Settings{"model": "llama3.1-8b", "generation-config": path})
		require.ErrorContains(t, err, why, text)
		require.Equal(t, "generation_config", Classify(err).Code)
	}
	_, err := New(Settings{"model": "llama3.1-8b", "generation-config": path + "x"})
	require.ErrorContains(t, err, "can not be read")
}

// Values are numbers of known parameters. (The checks are plain and in one order: what they reach is coverage too, and where it changes
// from one execution to the next, the fuzzer spends its time on making inputs smaller.)
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

// The accuracy set of a benchmark, and an audit's, may have another size than its performance set: neither makes a rehearsal.
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
	require.ErrorContains(t, p.Bind(991), "the data set has 991 rows, and that of gpt-oss-120b has 990")
}
