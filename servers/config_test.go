package servers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func parse(t testing.TB, text string) *Config {
	t.Helper()
	c, err := Parse("s.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return c
}

func TestFileOfTheOlderHarness(t *testing.T) {
	c := parse(t, `
backend: sglang
model: /models/some-llm
host: 0.0.0.0
port: 30000
output_dir: ./logs
heartbeat_interval: 100
heartbeat_timeout: 0.5
startup_timeout: 20m
debug_mode: true
endpoint_type: chat_completions
env_vars:
  SOME_FLAG: 1
  OTHER: "two words"
  NOTHING:
config:
  binary_path: /opt/venv/bin/python
  server_args: [--mem-fraction-static, 0.90]
  max_pool_size: 2000
pre_start: export A=1
`)
	require.Equal(t, &Config{
		Name: "s.yaml", Backend: "sglang", Model: "/models/some-llm", Hosts: []string{"0.0.0.0"}, Ports: []int{30000},
		OutputDir:         "./logs",
		HeartbeatInterval: 100 * time.Second, HeartbeatTimeout: 500 * time.Millisecond, StartupTimeout: 20 * time.Minute,
		StopTimeout: defaultStopTimeout,
		Environment: map[string]string{"SOME_FLAG": "1", "OTHER": "two words", "NOTHING": ""}, Binary: "/opt/venv/bin/python",
		Args: []string{"--mem-fraction-static", "0.90"}, MaxPoolSize: 2000, EndpointType: "chat_completions", Debug: true,
		GPUsPerReplica: unset,
		PreStart:       []string{"export A=1"},
	}, c)
}

func TestInvalidFiles(t *testing.T) {
	for text, want := range map[string]string{
		"modl: x":                      `line 1: unknown key "modl"; did you mean model?`,
		"model: x\nserver_arg: []":     "line 2: unknown key \"server_arg\"; did you mean server_args",
		"model: x\nconfig:\n  port: 1": `line 3: unknown key "port" below config`,
		"model: x\nconfig: 3":          "config is not a map",
		"model: x\nmodel: y":           "line 2: model is already set in line 1",
		"model: x\nbinary_path: a\nconfig: {binary_path: b}": "binary_path is already set in line 2",
		"model: x\nserver_args: []\napi_server_args: []":     "line 3: api_server_args is set in addition to its other name",
		"backend: vllm":                          "has no model",
		"backend: sim\nmodel: x":                 "needs a launch_command",
		"backend: tgi\nmodel: x":                 "needs a launch_command",
		"model: x\nport: 70000":                  "not a port from 1 to 65535",
		"model: x\nports: [1, 1]":                "has 1 twice",
		"model: x\nport: 1\nports: [1, 2]":       "both ports and port (line 2) are set",
		"model: x\nports: [1, 2]\nreplicas: 3":   "2 ports for 3 replicas",
		"model: x\nreplicas: 0":                  "whole number from 1",
		"model: x\nstartup_timeout: soon":        "write seconds or a duration",
		"model: x\nstop_timeout: -1":             "above 0",
		"model: x\nheartbeat_interval: .nan":     "write seconds",
		"model: x\nheartbeat_interval: .inf":     "at most a week",
		"model: x\nenv_vars: [A]":                `not a map of "NAME: value"`,
		"model: x\nenv_vars: {A: [1]}":           `has "A" in line 2`,
		"model: x\nenv_vars: {A: 1, A: 2}":       "twice",
		"model: x\nlaunch_command: []":           "is an empty list",
		"model: x\nlaunch_command: [a, {b: c}]":  "has an item in line 2 that is not a text",
		"model: x\nserver_args: 3":               "neither a list of words nor a map",
		"model: x\nserver_args: [a, null]":       "has an item in line 2",
		"model: x\nserver_args: {a: 1, --a: 2}":  "has a twice",
		"model: x\nserver_args: {a b: 1}":        "not the name of an argument",
		"model: x\nserver_args:\n  x: {y: .nan}": "value of x in line 3 that cannot be written as JSON",
		"model: &m x\nserved_model: *m":          "anchors and aliases are not supported",
		"model: x\ndebug_mode: maybe":            "write true or false",
		"model: x\nhost:":                        "host has no value",
		"model: [x]":                             "must be one text",
		"- model":                                "not a map",
		"model: \"a\\0b\"":                       "NUL byte",
		"model: x\nserver_args: " + strings.Repeat("[", 40) + strings.Repeat("]", 40): "nested deeper",
	} {
		_, err := Parse("s.yaml", strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "s.yaml", text)
	}
	_, err := Load("there-is-none.yaml")
	require.ErrorContains(t, err, "server config: open there-is-none.yaml")
}

// The error of a key below config names the file and the line once.
func TestAnErrorBelowConfigHasOnePlace(t *testing.T) {
	_, err := Parse("s.yaml", strings.NewReader("model: x\nconfig:\n  port: 1"))
	require.EqualError(t, err, `server config s.yaml line 3: unknown key "port" below config; the keys are `+
		strings.Join(below, ", "))
}

func TestArgumentsAsMap(t *testing.T) {
	c := parse(t, `
model: x
api_server_args:
  --max_model_len: 4096
  gpu-memory-utilization: 0.90
  enforce_eager: true
  enable_prefix_caching: false
  dtype: null
  quantization: ""
  compilation-config: {level: 3, sizes: [1, 2]}
  stop: [a]
  quoted: "true"
`)
	require.Equal(t, []string{
		"--max-model-len", "4096", "--gpu-memory-utilization", "0.90", "--enforce-eager", "--no-enable-prefix-caching",
		"--quantization", "",
		"--compilation-config", `{"level":3,"sizes":[1,2]}`, "--stop", `["a"]`, "--quoted", "true",
	}, c.Args)
	require.Equal(t, []string{}, parse(t, "model: x\nserver_args: {}").Args)
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ engine, base, over, want string }{
		{"vllm", "--a 1 --b", "", "--a 1 --b"},
		{"vllm", "--a 1 --b", "--a 2", "--b --a 2"},
		{"vllm", "--a=1 --b", "--a 2", "--b --a 2"},
		{"vllm", "--max_num_seqs 4", "--max-num-seqs 8", "--max-num-seqs 8"},
		{"vllm", "-tp 2 --x", "--tensor-parallel-size=4", "--x --tensor-parallel-size=4"},
		{"vllm", "--no-enable-prefix-caching", "--enable-prefix-caching", "--enable-prefix-caching"},
		{"vllm", "--names a b --seed -1", "--seed 3", "--names a b --seed 3"},
		{"vllm", "word --a 1", "other --b", "word other --a 1 --b"},
		{"vllm", "--c x --c y", "--d", "--c x --c y --d"},
		{"vllm", "--c x --c y", "--c z", "--c z"},
		{"sglang", "--tensor-parallel-size 2", "--tp 8", "--tp 8"},
		{"none", "--tp 2", "--tensor-parallel-size 2", "--tp 2 --tensor-parallel-size 2"},
	} {
		got := merge(engines[c.engine], strings.Fields(c.base), strings.Fields(c.over))
		require.Equal(t, strings.Fields(c.want), got, "%+v", c)
	}
}

// For all words, merge keeps every word of over, and merging again changes nothing.
func TestMergeKeepsEveryWordOfTheUpperLayer(t *testing.T) {
	word := rapid.SampledFrom([]string{"--a", "--a=1", "-b", "--no-a", "x", "-1", "", "--tp", "--c_d", "--c-d", "{}"})
	rapid.Check(t, func(t *rapid.T) {
		base, over := rapid.SliceOf(word).Draw(t, "base"), rapid.SliceOf(word).Draw(t, "over")
		e := engines["vllm"]
		merged := merge(e, base, over)
		have := map[string]int{}
		for _, w := range merged {
			have[w]++
		}
		for _, w := range over {
			have[w]--
			require.GreaterOrEqual(t, have[w], 0, "%q of %q is lost in %q", w, over, merged)
		}
		for _, g := range grouped(e, over)[1:] {
			got, _ := valueOf(e, merged, g.name)
			want, _ := valueOf(e, over, g.name)
			require.Equal(t, want, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("backend: vllm\nmodel: m\nserver_args:\n  a: {b: [1]}\nports: [1,2]\nenv_vars: {A: b}\n")
	f.Add("model: m\nconfig: {server_args: [--a, 1]}\nreplicas: 2")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		p, err := NewPlan(c, Options{GPUsPerReplica: unset, GPUs: GPUs{Vendor: "nvidia", IDs: numbers(8)}})
		if err == nil {
			require.NotEmpty(t, p.Replicas)
		}
	})
}
