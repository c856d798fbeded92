package dialect

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// flatForm is the part of a form whose keys are all at the same depth.
type flatForm struct {
	tool   string
	file   any    // the struct that it is read into
	head   string // the lines of the file before
	base   string // lines that each file here needs at that depth
	indent string // of each line of base
	values map[string]string
	with   map[string]string // further keys that a key requires
	idle   []string          // keys without an effect on the profile
}

var flatForms = []flatForm{
	{"aiperf", aiperfFile{}, "", "model: m\nurl: http://h:1\n", "",
		map[string]string{"extra-inputs": "top_k:5", "header": "A:b", "goodput": "ttft:9", "endpoint-type": "embeddings",
			"input-file": "f.jsonl", "image-format": "jpeg", "image-batch-size": "3",
			"image-width-mean": "8", "image-height-mean": "8", "request-cancellation-rate": "5",
			"rankings-passages-mean": "3", "num-prefix-prompts": "7"},
		map[string]string{"request-rate-mode": "request-rate: 2\n", "osl-stddev": "osl: 9\n",
			"arrival-smoothness": "request-rate: 2\nrequest-rate-mode: gamma\n",
			"num-prefix-prompts": "prefix-prompt-length: 5\n", "conversation-turn-stddev": "conversation-turn-mean: 4\n",
			"conversation-turn-delay-mean": "conversation-turn-mean: 4\n", "conversation-num": "conversation-turn-mean: 4\n",
			"custom-dataset-type": "input-file: f.jsonl\n", "fixed-schedule": "input-file: f.jsonl\n",
			"concurrency-ramp-duration": "concurrency: 4\n", "request-rate-ramp-duration": "request-rate: 2\n",
			"request-cancellation-delay": "request-cancellation-rate: 5\n", "warmup-concurrency": "warmup-duration: 5\n",
			"warmup-request-rate":                   "warmup-duration: 5\n",
			"warmup-arrival-pattern":                "warmup-duration: 5\nwarmup-request-rate: 2\n",
			"warmup-concurrency-ramp-duration":      "warmup-duration: 5\n",
			"warmup-request-rate-ramp-duration":     "warmup-duration: 5\nwarmup-request-rate: 2\n",
			"conversation-turn-delay-stddev":        "conversation-turn-mean: 4\nconversation-turn-delay-mean: 9\n",
			"conversation-turn-delay-ratio":         "conversation-turn-mean: 4\nconversation-turn-delay-mean: 9\n",
			"rankings-passages-mean":                "endpoint-type: rankings\n",
			"rankings-passages-prompt-token-mean":   "endpoint-type: rankings\n",
			"rankings-passages-prompt-token-stddev": "endpoint-type: rankings\n",
			"rankings-query-prompt-token-mean":      "endpoint-type: rankings\n",
			"rankings-query-prompt-token-stddev":    "endpoint-type: rankings\n",
			"image-width-mean":                      "image-height-mean: 8\n", "image-height-mean": "image-width-mean: 8\n",
			"image-batch-size":  "image-width-mean: 8\nimage-height-mean: 8\n",
			"image-format":      "image-width-mean: 8\nimage-height-mean: 8\n",
			"user-centric-rate": "num-users: 3\n", "num-users": "user-centric-rate: 2\nnum-users: 9\n"},
		[]string{"executable", "endpoint", "tokenizer-trust-remote-code", "use-server-token-count", "no-server-metrics",
			"image-width-stddev", "image-height-stddev", "no-fixed-schedule", "no-gpu-telemetry", "workers-max", "ui",
			"output-artifact-dir", "slice-duration"}},
	{"vllm-benchmark", vllmFile{}, "", "model: m\nbase-url: http://h:1\ndataset-name: random\nnum-prompts: 3\n", "",
		map[string]string{"backend": "openai-chat", "endpoint": "/v1/embeddings", "extra-body": "'{\"a\": 1}'",
			"header": "A=b", "goodput": "ttft:9", "dataset-name": "sonnet",
			"speed-bench-dataset-subset": "throughput_8k",
			"percentile-metrics":         "ttft,e2el", "metric-percentiles": "50,99.9",
			"random-mm-base-items-per-request": "3", "random-mm-limit-mm-per-prompt": "'{\"image\": 0}'",
			"random-mm-bucket-config": "'{(9, 9, 1): 1}'"},
		map[string]string{"burstiness": "request-rate: 2\n",
			"ramp-up-strategy":                 "ramp-up-end-rps: 3\nramp-up-start-rps: 1\n",
			"ramp-up-start-rps":                "ramp-up-strategy: linear\nramp-up-end-rps: 3\n",
			"ramp-up-end-rps":                  "ramp-up-strategy: linear\nramp-up-start-rps: 1\nramp-up-end-rps: 3\n",
			"random-batch-size":                "dataset-name: random-rerank\n",
			"random-mm-base-items-per-request": imageHead, "random-mm-num-mm-items-range-ratio": imageHead,
			"random-mm-limit-mm-per-prompt": imageHead, "random-mm-bucket-config": imageHead,
			"prefix-repetition-prefix-len":   "dataset-name: prefix_repetition\nnum-prompts: 20\n",
			"prefix-repetition-suffix-len":   "dataset-name: prefix_repetition\nnum-prompts: 20\n",
			"prefix-repetition-num-prefixes": "dataset-name: prefix_repetition\nnum-prompts: 20\n",
			"prefix-repetition-output-len":   "dataset-name: prefix_repetition\nnum-prompts: 20\n",
			"sonnet-input-len":               "dataset-name: sonnet\n", "sonnet-output-len": "dataset-name: sonnet\n",
			"sonnet-prefix-len":   "dataset-name: sonnet\n",
			"sharegpt-output-len": "dataset-name: sharegpt\n", "dataset-path": "dataset-name: sharegpt\n",
			"disable-shuffle": "dataset-name: sharegpt\n", "custom-output-len": "dataset-name: custom\n",
			"skip-chat-template": "dataset-name: custom\n", "custom-skip-chat-template": "dataset-name: custom\n",
			"spec-bench-output-len": "dataset-name: spec_bench\n", "spec-bench-category": "dataset-name: spec_bench\n",
			"speed-bench-output-len":     "dataset-name: speed_bench\n",
			"speed-bench-category":       "dataset-name: speed_bench\n",
			"speed-bench-dataset-subset": "dataset-name: speed_bench\ndataset-path: d\n",
			"no-reranker":                "dataset-name: random-rerank\nrandom-batch-size: 3\n",
			"hf-output-len":              "dataset-name: hf\n", "ignore-eos": "dataset-name: sharegpt\n",
			"self-timed": "dataset-name: timed_trace\ndataset-path: f.jsonl\n",
			"host":       "base-url: ''\n", "port": "base-url: ''\n"},
		[]string{"executable", "no-oversample", "tokenizer-mode", "trust-remote-code", "ready-check-timeout-sec",
			"hf-subset", "hf-split", "lora-assignment", "save-result",
			"append-result",
			"result-dir", "result-filename", "metadata", "label", "plot-timeline", "plot-dataset-stats", "profile",
			"disable-tqdm", "request-id-prefix"}},
	{"fmperf", fmperfFile{}, "", "model_name: m\nqps_values: 1 2\n", "",
		map[string]string{"qps_values": "1 3", "scenarios": "sharegpt"}, nil,
		[]string{"image", "service_account", "pvc_name", "init_user_id"}},
	{"inference-perf", ipDistribution{}, ipHead + "data:\n  type: random\n  output_distribution: 9\n" +
		"  input_distribution:\n", "mean: 400\n", "    ",
		map[string]string{"type": "lognormal", "min": "60", "max": "900", "skew": "2"},
		map[string]string{"skew": "type: skew_normal\n"}, []string{"total_count"}},
	{"inference-perf", ipPrefix{}, ipHead + "data:\n  type: shared_prefix\n  shared_prefix:\n",
		"num_unique_system_prompts: 3\n", "    ",
		map[string]string{"multimodal": "{image: {resolutions: [720p]}}"}, nil, []string{"max_model_len"}},
	{"inference-perf", ipConversation{}, ipHead + "data:\n  type: conversation_replay\n  conversation_replay:\n",
		"num_conversations: 3\n", "    ", nil, nil, nil},
	{"inference-perf", ipSessions{}, sessionHead + "data:\n  type: otel_trace_replay\n  otel_trace_replay:\n",
		"trace_directory: d\n", "    ", map[string]string{"model_mapping": "{a: b}", "include_errors": "false"},
		map[string]string{"use_static_model": "static_model_name: s\n", "static_model_name": "use_static_model: true\n"},
		[]string{"hf_dataset_path", "override_tool_call_max_tokens", "predecessor_wait_timeout_sec"}},
	{"inference-perf", ipWeka{}, sessionHead + "data:\n  type: weka_trace_replay\n  weka_trace_replay:\n",
		"trace_directory: d\n", "    ", nil, nil, nil},
	{"guidellm", glData{}, glHead + "  data:\n  -\n", "prompt_tokens: 20\noutput_tokens: 30\n", "    ",
		map[string]string{"kind": "mooncake", "prefix_buckets": "[{prefix_tokens: 3}]",
			"prompt_tokens_max": "50", "output_tokens_max": "50",
			"first_prompt_tokens_max": "50", "delay_max": "50"},
		map[string]string{"path": "kind: text_file\npath: f\n", "prefix_count": "prefix_tokens: 9\n",
			"kind":                      "path: f.jsonl\n",
			"first_prompt_tokens":       "turns: 3\n",
			"first_prompt_tokens_stdev": "turns: 3\nfirst_prompt_tokens: 9\n",
			"first_prompt_tokens_min":   "turns: 3\nfirst_prompt_tokens: 9\n",
			"first_prompt_tokens_max":   "turns: 3\n", "delay": "turns: 3\n", "delay_max": "turns: 3\ndelay: 5\n",
			"delay_stdev": "turns: 3\ndelay: 5\n", "delay_min": "turns: 3\ndelay: 5\n",
			"width": "kind: synthetic_image\n", "height": "kind: synthetic_image\n",
			"images_per_request": "kind: synthetic_image\n", "format": "kind: synthetic_image\n"}, nil},
	{"guidellm", glProfile{}, glHead + "  data: [{prompt_tokens: 20, output_tokens: 30}]\n" +
		"  constraints: [{kind: max_requests, count: 9}]\n  profile:\n", "kind: poisson\nrate: 2\n", "    ",
		map[string]string{"warmup": "{percent: 0.2}", "cooldown": "{mode: requests, value: 3}", "kind": "constant"},
		map[string]string{"streams": "kind: concurrent\nstreams: 2\n", "sweep_size": "kind: sweep\n",
			"strategy_type": "kind: sweep\n", "rampup_duration": "kind: concurrent\nstreams: 2\n"},
		[]string{"time_scale", "random_seed"}},
	{"guidellm", glSaturation{}, glHead + "  profile: {kind: constant, rate: 2}\n" +
		"  data: [{prompt_tokens: 20, output_tokens: 30}]\n  constraints:\n  - {kind: max_requests, count: 9}\n  -\n",
		"kind: over_saturation\n", "    ", map[string]string{"enabled": "false"}, nil, nil},
}

const (
	imageHead   = "dataset-name: random-mm\nendpoint: /v1/chat/completions\n"
	ipHead      = "load: {stages: [{rate: 5, duration: 60}]}\n"
	sessionHead = "load: {type: trace_session_replay, stages: [{concurrent_sessions: 4}]}\napi: {type: chat}\n"
	glHead      = "spec:\n  backend: {kind: openai_http, target: http://h:1}\n"
)

// text returns a file with the given lines.
func (f *flatForm) text(lines string) string {
	text := f.head
	for line := range strings.Lines(lines) {
		text += f.indent + line
	}
	return text
}

// Each key of a file changes the profile, or is listed as one without effect. Other names of a key have the same
// effect.
func TestEveryKeyHasItsEffect(t *testing.T) {
	for _, f := range flatForms {
		kind := reflect.TypeOf(f.file)
		known := map[string]bool{}
		for i := range kind.NumField() {
			field := kind.Field(i)
			key := field.Tag.Get("yaml")
			known[key] = true
			if field.Tag.Get("yet") != "" || field.Anonymous {
				continue // rejected, or another form
			}
			base := joined(f.base, f.with[key])
			before := translatedAs(t, f.tool, f.text(base))
			var first *profile.Profile
			for _, name := range append([]string{key}, strings.Fields(field.Tag.Get("also"))...) {
				after := translatedAs(t, f.tool, f.text(joined(base, key+": \n")+name+": "+f.value(key, field)+"\n"))
				if isIdle := slices.Contains(f.idle, key); isIdle != reflect.DeepEqual(before, after) {
					t.Errorf("%s, %s: without an effect is %v", f.tool, name, !isIdle)
				}
				if first == nil {
					first = after
				}
				require.Equal(t, first, after, "%s is %s", name, key)
			}
		}
		for _, key := range slices.Concat(f.idle, slices.Collect(maps.Keys(f.with)), slices.Collect(maps.Keys(f.values))) {
			require.True(t, known[key], "%s has no key %s", f.tool, key)
		}
	}
}

// A note names each key without effect that would change the load.
func TestKeysWithoutAnEffectAreNoted(t *testing.T) {
	const spec = glHead + "  data: [{prompt_tokens: 20, output_tokens: 30}]\n" +
		"  constraints: [{kind: max_requests, count: 9}]\n  profile: {kind: poisson, rate: 2"
	const otel = sessionHead + "data:\n  type: otel_trace_replay\n  otel_trace_replay:\n    trace_directory: d\n"
	const vllm = "model: m\nbase-url: http://h:1\ndataset-name: random\nnum-prompts: 3\n"
	for _, c := range []struct{ tool, before, with, note string }{
		{"aiperf", "model: m\nurl: http://h:1\n", "endpoint: /other\n", "endpoint: not read"},
		{"vllm-benchmark", vllm, "hf-split: test\n", "hf-subset, hf-split: not read"},
		{"vllm-benchmark", vllm, "hf-subset: x\n", "hf-subset, hf-split: not read"},
		{"vllm-benchmark", vllm, "lora-modules: [a, b]\nlora-assignment: round-robin\n", "lora-assignment: "},
		{"guidellm", spec, ", random_seed: 3}\n", "profile.random_seed: not read"},
		{"inference-perf", otel, "    predecessor_wait_timeout_sec: 9\n", "predecessor_wait_timeout_sec: not read"},
		{"inference-perf", otel, "    bad_tool_call_handling: use_recorded\n", "bad_tool_call_handling: not read"},
	} {
		without := c.before
		if c.tool == "guidellm" {
			without += "}\n"
		}
		require.NotContains(t, strings.Join(translated(t, c.tool, without).Source.Notes, "\n"), c.note)
		require.Contains(t, strings.Join(translated(t, c.tool, c.before+c.with).Source.Notes, "\n"), c.note)
	}
}

// joined returns the lines of a flat file with those of another, which replace the ones of the same key. A line without
// a value removes its key.
func joined(text, more string) string {
	for line := range strings.Lines(more) {
		key, value, _ := strings.Cut(line, ":")
		text = strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"),
			func(line string) bool { return strings.HasPrefix(line, key+":") }), "")
		if strings.TrimSpace(value) != "" {
			text += line
		}
	}
	return text
}

// value returns a valid value of a key that is not its default.
func (f *flatForm) value(key string, field reflect.StructField) string {
	if v := f.values[key]; v != "" {
		return v
	}
	if one := strings.Fields(field.Tag.Get("one")); len(one) > 0 {
		return one[len(one)-1]
	}
	kind := field.Type
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch kind.Kind() {
	case reflect.Struct: // of a length
		return "7"
	case reflect.Slice:
		if kind.Elem().Kind() != reflect.String {
			return "7"
		}
	case reflect.Bool:
		return "true"
	case reflect.Int, reflect.Uint64:
		if field.Tag.Get("is") == ">=0" { // the smallest value that differs from none
			return "1"
		}
		return "7"
	case reflect.Float64:
		if field.Tag.Get("is") == ">=1" {
			return "7"
		}
		return "0.5"
	}
	return "word"
}

// translatedAs returns the profile of a file, without its source.
func translatedAs(t *testing.T, tool, text string) *profile.Profile {
	t.Helper()
	p := translated(t, tool, text)
	p.Source = profile.Defaults().Source
	return p
}

// A text in place of a map or a number is read or rejected, and never ignored in favour of the default.
func TestShortForms(t *testing.T) {
	for text, ok := range map[string]bool{"7": true, "0x10": true, "18446744073709551615": true, "-1": false, "1.5": false,
		"many": false, "18446744073709551616": false} {
		p, err := parse("guidellm", strings.Replace(specText, "{kind: static, value: 42}", text, 1))
		if !ok {
			require.ErrorContains(t, err, "expected a whole number of at least 0, or a map with kind and value", text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, map[string]uint64{"7": 7, "0x10": 16}[text] == 0, p.Seed == 1<<64-1, text)
	}
	for text, want := range map[string]*profile.Window{"0": {}, "0.25": {Share: 0.25}, "0.85": {Share: 0.85},
		"1": {Duration: time.Second}, "20": {Duration: 20 * time.Second}, "-1": nil, "1e7": nil, "soon": nil, ".nan": nil} {
		for _, key := range []string{"warmup: 0.1", "cooldown: 5"} {
			name, _, _ := strings.Cut(key, ":")
			p, err := parse("guidellm", strings.Replace(specText, key, name+": "+text, 1))
			if want == nil {
				require.ErrorContains(t, err, "expected a number of at least 0, or a map with percent or value", text)
				continue
			}
			require.NoError(t, err, text)
			require.Equal(t, *want, map[string]profile.Window{"warmup": p.Load.Warmup, "cooldown": p.Load.Cooldown}[name], text)
		}
	}
	for text, ok := range map[string]bool{"9": true, "0": true, "-1": false, "long": false, "9007199254740992": false} {
		p, err := parse("inference-perf", strings.Replace(conversationText,
			"tool_call_latency_sec: {type: normal, min: 0, max: 0, mean: 0, std_dev: 0}", "tool_call_latency_sec: "+text, 1))
		if !ok {
			require.ErrorContains(t, err, "expected a number of at least 0, or a map with type", text)
			continue
		}
		require.NoError(t, err, text)
		want := profile.FixedAt(9)
		if text == "0" {
			want = nil
		}
		require.Equal(t, want, p.Data.Turns.ToolLatency, text)
	}
}
