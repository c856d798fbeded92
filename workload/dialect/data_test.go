package dialect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// translated returns the profile of a file that must be valid.
func translated(t *testing.T, tool, text string) *profile.Profile {
	t.Helper()
	p, err := parse(tool, text)
	require.NoError(t, err, text)
	return p
}

func TestLoadsOfAIPerf(t *testing.T) {
	closed := func(users, requests int) profile.Stage {
		return profile.Stage{Arrival: profile.Closed, Concurrency: users, Requests: requests}
	}
	warm := closed(3, 2)
	warm.Name, warm.Warmup = "warm-up", true
	for text, want := range map[string][]profile.Stage{
		"":                                    {closed(1, 10)},
		"concurrency: 5\n":                    {closed(5, 10)},
		"concurrency: 6\n":                    {closed(6, 12)},
		"concurrency: 6\nrequest-count: 4\n":  {closed(6, 4)},
		"benchmark-duration: 3\n":             {{Arrival: profile.Closed, Concurrency: 1, Duration: 3 * time.Second}},
		"request-rate: 2\n":                   {{Arrival: profile.Poisson, Rate: 2, Requests: 10}},
		"request-rate: 2\nconcurrency: 7\n":   {{Arrival: profile.Poisson, Rate: 2, Requests: 14, Concurrency: 7}},
		"request-rate: 2\nrequest-count: 4\n": {{Arrival: profile.Poisson, Rate: 2, Requests: 4}},
		"request-rate: 2\nrequest-rate-mode: constant\n": {{Arrival: profile.Constant, Rate: 2, Requests: 10}},
		"request-rate-mode: gamma\n":                     {closed(1, 10)}, // no rate
		"request-rate: 2\nrequest-rate-mode: gamma\n": {{Arrival: profile.Gamma, Rate: 2, Burstiness: 1,
			Requests: 10}},
		"request-rate: 2\nrequest-rate-mode: gamma\narrival-smoothness: 3\n": {{Arrival: profile.Gamma, Rate: 2,
			Burstiness: 3, Requests: 10}},
		"warmup-request-count: 2\nconcurrency: 3\n":                                        {warm, closed(3, 10)},
		"fixed-schedule: true\ninput-file: f.jsonl\ncustom-dataset-type: mooncake_trace\n": {{Arrival: profile.Trace}},
	} {
		require.Equal(t, want, translated(t, "aiperf", "url: http://h:1\nmodel: m\n"+text).Load.Stages, text)
	}
}

func TestDataOfAIPerf(t *testing.T) {
	trace := &profile.TraceFile{Path: "f.jsonl", Format: "mooncake"}
	normal := func(mean, deviation float64) *profile.Distribution {
		return &profile.Distribution{Kind: "normal", Mean: mean, StdDev: deviation, Min: 1}
	}
	for text, want := range map[string]profile.Data{
		"": {Kind: profile.Synthetic, Rows: 100, Input: profile.FixedAt(550), Output: profile.FixedAt(128)},
		"isl: 9\nisl-stddev: 3\nosl: 8\nosl-stddev: 2\n": {Kind: profile.Synthetic, Rows: 100, Input: normal(9, 3),
			Output: normal(8, 2)},
		"prefix-prompt-length: 64\n": {Kind: profile.Synthetic, Rows: 100, Input: profile.FixedAt(550),
			Output: profile.FixedAt(128), Buckets: []profile.Bucket{{Weight: 1, Count: 1, Tokens: 64}}},
		"prefix-prompt-length: 64\nnum-prefix-prompts: 5\n": {Kind: profile.Synthetic, Rows: 100, Input: profile.FixedAt(550),
			Output: profile.FixedAt(128), Buckets: []profile.Bucket{{Weight: 1, Count: 5, Tokens: 64}}},
		"conversation-turn-mean: 1\n": {Kind: profile.Synthetic, Rows: 100, Input: profile.FixedAt(550),
			Output: profile.FixedAt(128)},
		"conversation-turn-mean: 2\nconversation-num: 4\nconversation-turn-delay-mean: 500\n": {
			Kind: profile.Conversations, Input: profile.FixedAt(550), Output: profile.FixedAt(128),
			Turns: &profile.Turns{Conversations: 4, Count: profile.FixedAt(2), ToolLatency: profile.FixedAt(.5)}},
		"conversation-turn-mean: 3\nconversation-turn-stddev: 1\nconcurrency: 6\n": {Kind: profile.Conversations,
			Input: profile.FixedAt(550), Output: profile.FixedAt(128),
			Turns: &profile.Turns{Conversations: 100, Count: normal(3, 1)}},
		"public-dataset: sharegpt\n":                                 {Kind: profile.ShareGPT, Path: shareGPTFile},
		"input-file: f.jsonl\ncustom-dataset-type: mooncake_trace\n": {Kind: profile.TraceLengths, Trace: trace},
		"input-file: f.jsonl\n": {Kind: profile.Prompts, Path: "f.jsonl", Format: "jsonl",
			Output: profile.FixedAt(128)},
		"input-file: f.jsonl\ncustom-dataset-type: random_pool\nosl: 5\n": {Kind: profile.Prompts, Path: "f.jsonl",
			Format: "jsonl", Output: profile.FixedAt(5), Shuffle: true},
	} {
		p := translated(t, "aiperf", "url: http://h:1\nmodel: m\n"+text)
		require.Equal(t, want, p.Data, text)
		require.Equal(t, !strings.Contains(text, "osl"),
			strings.Contains(strings.Join(p.Source.Notes, "\n"), "osl: absent"))
	}
	p := translated(t, "aiperf", "url: http://h:1\nmodel: m\nfixed-schedule: true\ninput-file: f.jsonl\n")
	require.Equal(t, trace, p.Load.Trace)
	p = translated(t, "aiperf", "url: http://h:1\nmodel: m\nheader: [A:b]\ngoodput: e2el:5\nendpoint-type: rankings\n")
	require.Equal(t, map[string]string{"A": "b"}, p.API.Headers)
	require.Equal(t, profile.SLO{E2E: 5 * time.Millisecond}, p.SLO)
	require.Equal(t, "rerank", p.API.Kind)
	p = translated(t, "aiperf", "url: http://h:1\nmodel: m\nosl: 9\nosl-stddev: 2\n"+
		"extra-inputs: [max_tokens:7, min_tokens:7]\n")
	require.Equal(t, profile.FixedAt(7), p.Data.Output, "the request has this limit")
	require.Equal(t, map[string]any{"min_tokens": 7}, p.API.Extra)

	_, err := parse("aiperf", "url: http://h:1\nmodel: m\nextra-inputs: x\n")
	require.ErrorContains(t, err, "NAME:VALUE")
	_, err = parse("aiperf", "url: http://h:1\nmodel: m\ninput-file: f.jsonl\ncustom-dataset-type: multi_turn\n")
	require.ErrorContains(t, err, "files of conversations cannot be read")
}

func TestDataOfGuideLLM(t *testing.T) {
	const head = "spec:\n  backend: {kind: openai_http, target: http://h:1}\n" +
		"  profile: {kind: concurrent, streams: 3}\n  constraints: [{kind: max_requests, count: 5}]\n  data:\n"
	mooncake := &profile.TraceFile{Path: "t", Format: "mooncake"}
	for text, want := range map[string]profile.Data{
		"{kind: mooncake, path: t}": {Kind: profile.TraceLengths, Trace: mooncake},
		"{kind: trace_synthetic, path: t}": {Kind: profile.TraceLengths,
			Trace: &profile.TraceFile{Path: "t", Format: "jsonl"}},
		"{kind: json_file, path: t}":   {Kind: profile.Prompts, Path: "t", Restart: true},
		"{kind: huggingface, path: t}": {Kind: profile.Prompts, Path: "t", Restart: true},
		"{kind: synthetic_image}": {Kind: profile.Fixed, Text: "Describe the image.", Images: &profile.Images{
			Count: profile.FixedAt(1), Format: "png", Resolutions: []profile.Resolution{{Width: 512, Height: 512}}}},
		"{kind: synthetic_image, width: 64, height: 32, images: 2, format: jpeg}": {Kind: profile.Fixed,
			Text: "Describe the image.", Images: &profile.Images{Count: profile.FixedAt(2), Format: "jpeg",
				Resolutions: []profile.Resolution{{Width: 64, Height: 32}}}},
		"{prompt_tokens_min: 2, prompt_tokens_max: 9, output_tokens_max: 4}": {Kind: profile.Synthetic,
			Input:  &profile.Distribution{Kind: "uniform", Min: 2, Max: 9},
			Output: &profile.Distribution{Kind: "uniform", Min: 1, Max: 4}},
		"{prompt_tokens: 7, prompt_tokens_min: 7, prompt_tokens_max: 7, output_tokens: 3, prefix_tokens: 6}": {
			Kind: profile.Synthetic, Input: profile.FixedAt(7), Output: profile.FixedAt(3),
			Buckets: []profile.Bucket{{Weight: 100, Count: 1, Tokens: 6}}},
		"{prompt_tokens: 7, output_tokens: 3, turns: 2, first_prompt_tokens: 8, delay: 4, " +
			"prefix_tokens: 6, prefix_count: 2}": {
			Kind: profile.Conversations, Input: profile.FixedAt(7), Output: profile.FixedAt(3),
			Buckets: []profile.Bucket{{Weight: 100, Count: 2, Tokens: 6}},
			Turns: &profile.Turns{Conversations: 3, Fresh: true, Count: profile.FixedAt(2), FirstInput: profile.FixedAt(8),
				ToolLatency: profile.FixedAt(4)}},
	} {
		p := translated(t, "guidellm", head+"  - "+text+"\n")
		require.Equal(t, want, p.Data, text)
		if want.Trace != nil {
			require.Equal(t, want.Trace, p.Load.Trace, text)
		}
		require.Equal(t, strings.Contains(text, "huggingface"),
			strings.Contains(strings.Join(p.Source.Notes, "\n"), "nothing is downloaded"))
	}
	_, err := parse("guidellm", strings.Replace(head, "data:\n", "data: []\n", 1))
	require.ErrorContains(t, err, "the list is empty")
}

// The backend's limit of tokens is the length of answers if no other key sets it.
func TestMaxTokensOfGuideLLM(t *testing.T) {
	for keys, want := range map[string]*profile.Distribution{"": nil, "max_tokens: 0": nil,
		"max_tokens: 9": profile.FixedAt(9),
		"max_tokens: 1": profile.FixedAt(1)} {
		for length, is := range map[string]*profile.Distribution{"": want, ", output_tokens: 5": profile.FixedAt(5)} {
			text := "spec:\n  backend: {kind: openai_http, target: http://h:1, " + keys + "}\n" +
				"  profile: {kind: poisson, rate: 1}\n" +
				"  constraints: [{kind: max_requests, count: 5}]\n  data: [{prompt_tokens: 5" + length + "}]\n"
			p, err := parse("guidellm", text)
			if is == nil { // the length of answers is required
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, is, p.Data.Output, text)
		}
	}
}

// A static model needs both of its keys.
func TestStaticModelOfSessions(t *testing.T) {
	for keys, want := range map[string]string{"use_static_model: true, static_model_name: s": "s",
		"use_static_model: false, static_model_name: s": "m", "static_model_name: s": "m", "use_static_model: true": "m"} {
		p := translated(t, "inference-perf", sessionHead+"server: {model_name: m}\ndata:\n  type: otel_trace_replay\n"+
			"  otel_trace_replay: {trace_directory: d, model_mapping: {a: b}, "+keys+"}\n")
		require.Equal(t, want, p.API.Model, keys)
		require.Equal(t, want == "s", p.Data.Sessions.Models == nil, keys)
	}
}

// Rates of fmperf are stages, after a warm-up by users if there are any.
func TestStagesOfFMPerf(t *testing.T) {
	for warm, want := range map[string][]float64{"": {1, 2.5}, "num_users_warmup: 0\n": {1, 2.5},
		"num_users_warmup: 1\n": {0, 1, 2.5}} {
		var rates []float64
		for _, s := range translated(t, "fmperf", "model_name: m\nqps_values: 1, 2.5\n"+warm).Load.Stages {
			require.Equal(t, s.Rate == 0, s.Warmup)
			rates = append(rates, s.Rate)
		}
		require.Equal(t, want, rates)
	}
}

// Lengths and pauses are drawn like in guidellm 0.8.1; a pause has no smallest length.
func TestLengthsOfGuideLLM(t *testing.T) {
	uniform := func(low, high float64) *profile.Distribution {
		return &profile.Distribution{Kind: "uniform", Min: low, Max: high}
	}
	normal := func(mean, deviation, low, high float64) *profile.Distribution {
		return &profile.Distribution{Kind: "normal", Mean: mean, StdDev: deviation, Min: low, Max: high}
	}
	for text, want := range map[string][2]*profile.Distribution{ // of tokens and of seconds
		"K: 20":                                    {profile.FixedAt(20), profile.FixedAt(20)},
		"K: 20, K_stdev: 3":                        {normal(20, 3, 5, 35), normal(20, 3, 5, 35)},
		"K: 20, K_stdev: 30":                       {normal(20, 30, 1, 170), normal(20, 30, 0, 170)},
		"K: 20, K_stdev: 3, K_min: 10":             {normal(20, 3, 10, 35), normal(20, 3, 10, 35)},
		"K: 20, K_stdev: 3, K_max: 25":             {normal(20, 3, 5, 25), normal(20, 3, 5, 25)},
		"K: 20, K_min: 10":                         {uniform(10, 20), uniform(10, 20)},
		"K: 20, K_max: 30":                         {uniform(20, 30), uniform(20, 30)},
		"K: 20, K_min: 10, K_max: 30":              {uniform(10, 30), uniform(10, 30)},
		"K: 20, K_min: 9, K_max: 9":                {profile.FixedAt(9), profile.FixedAt(9)},
		"K_max: 30":                                {uniform(1, 30), nil},
		"K_min: 10, K_max: 30":                     {uniform(10, 30), nil},
		"D: 0.5, D_stdev: 0.1":                     {nil, normal(0.5, 0.1, 0, 1)},
		"D: 0.5, D_min: 0":                         {nil, uniform(0, 0.5)},
		"D: 0.5, D_stdev: 0.1, D_min: 0, D_max: 9": {nil, normal(0.5, 0.1, 0, 9)},
	} {
		read := func(name, base string) profile.Data {
			keys := strings.NewReplacer("K", name, "D", name).Replace(text)
			return translated(t, "guidellm", glHead+"  profile: {kind: poisson, rate: 1}\n"+
				"  constraints: [{kind: max_requests, count: 5}]\n  data: [{"+base+keys+"}]\n").Data
		}
		if !strings.HasPrefix(text, "D") {
			require.Equal(t, want[0], read("prompt_tokens", "output_tokens: 5, ").Input, text)
			require.Equal(t, want[0], read("output_tokens", "prompt_tokens: 5, ").Output, text)
			first := "prompt_tokens: 5, output_tokens: 5, turns: 2, "
			require.Equal(t, want[0], read("first_prompt_tokens", first).Turns.FirstInput, text)
		}
		require.Equal(t, want[1], read("delay", "prompt_tokens: 5, output_tokens: 5, turns: 2, ").Turns.ToolLatency, text)
	}
}

func TestDataOfInferencePerf(t *testing.T) {
	const head = "load: {stages: [{rate: 5, duration: 600}]}\nserver: {base_url: 'http://h:1'}\napi: {type: chat}\n" +
		"data:\n  type: "
	usual := func(low, high float64) *profile.Distribution {
		return &profile.Distribution{Kind: "normal", Min: low, Max: high, Mean: 512, StdDev: 200}
	}
	for text, want := range map[string]profile.Data{
		"mock\n": {Kind: profile.Fixed, Text: "What is the capital of France?", Output: profile.FixedAt(30)},
		"shareGPT\n  path: f\n  input_distribution: {min: 5, max: 9}\n  output_distribution: {max: 70}\n": {
			Kind: profile.ShareGPT, Path: "f", Input: &profile.Distribution{Kind: "uniform", Min: 5, Max: 9},
			Output: &profile.Distribution{Kind: "uniform", Min: 10, Max: 70}},
		"shareGPT\n": {Kind: profile.ShareGPT, Path: shareGPTFile},
		"synthetic\n  input_distribution: {type: lognormal, min: 2, max: 9, mean: 4, variance: 9}\n": {
			Kind:   profile.Synthetic,
			Input:  &profile.Distribution{Kind: "lognormal", Min: 2, Max: 9, Mean: 4, StdDev: 3, Shift: true},
			Output: usual(10, 1024)},
		"random\n  input_distribution: {type: lognormal, min: 2, max: 9, mean: 4}\n  output_distribution: 6\n": {
			Kind:   profile.Random,
			Input:  &profile.Distribution{Kind: "lognormal", Min: 2, Max: 9, Mean: 4, StdDev: 200, Shift: true},
			Output: profile.FixedAt(6)},
		"cnn_dailymail\n": {Kind: profile.Prompts, Format: "cnn_dailymail", Path: "cnn_dailymail"},
		"shared_prefix\n": {Kind: profile.SharedPrefix, Restart: true, Output: profile.FixedAt(50),
			Groups: &profile.Groups{Count: 10, Users: 10, System: profile.FixedAt(100), Question: profile.FixedAt(50)}},
		"shared_prefix\n  shared_prefix: {question_len: 3, question_distribution: 4, output_len: 5, " +
			"system_prompt_len: 6}\n": {
			Kind: profile.SharedPrefix, Restart: true, Output: profile.FixedAt(5), Groups: &profile.Groups{Count: 10, Users: 10,
				System: profile.FixedAt(6), Question: profile.FixedAt(4)}},
		"conversation_replay\n  conversation_replay: {tool_call_latency_sec: {min: 1, max: 2}}\n": {
			Kind: profile.Conversations, Restart: true, Rotate: true, Input: profile.FixedAt(512),
			Output: profile.FixedAt(256), Turns: &profile.Turns{Conversations: 200, Count: profile.FixedAt(10),
				SharedSystem: 8359, MaxContext: 225000, ToolLatency: usual(1, 2)}},
	} {
		whole := head + text
		if want.Kind == profile.Random {
			whole = strings.Replace(whole, "type: chat", "type: completion", 1)
		}
		require.Equal(t, want, translated(t, "inference-perf", whole).Data, text)
	}
}

func TestSessionsOfInferencePerf(t *testing.T) {
	const head = "load: {type: trace_session_replay, stages: [{concurrent_sessions: 4}]}\n" +
		"server: {base_url: 'http://h:1'}\napi: {type: chat}\ndata:\n  type: "
	for text, want := range map[string]profile.SessionFiles{
		"otel_trace_replay\n  path: x\n  otel_trace_replay: {trace_directory: d}\n": {DefaultOutput: 1000,
			KeepErrors: true, MaxWait: 15},
		"otel_trace_replay\n  otel_trace_replay: {trace_files: [d], disable_output_substitution: true, " +
			"default_max_tokens: 3, include_errors: false, max_wait_ms: 500, skip_invalid_files: true, " +
			"inject_random_session_id: true, duplicate_sessions_target: 9}\n": {
			RecordedAnswer: true, DefaultOutput: 3, MaxWait: .5, SkipInvalid: true, RandomSession: true, Count: 9},
		"weka_trace_replay\n  weka_trace_replay: {trace_directory: d}\n": {IdleGapCap: 60, BlockTokens: 64, Count: 100,
			DefaultOutput: 1000, KeepErrors: true, MaxWait: 15},
		"weka_trace_replay\n  weka_trace_replay: {hf_dataset_path: a/d, ignore_trace_delays: true, " +
			"use_think_time_only: true, default_block_size: 8, num_dataset_entries: 5, model_mapping: {a: b}}\n": {
			IdleGapCap: 60, IgnoreDelays: true, ThinkTimeOnly: true, BlockTokens: 8, Count: 5, DefaultOutput: 1000,
			KeepErrors: true, MaxWait: 15, Models: map[string]string{"a": "b"}},
	} {
		p := translated(t, "inference-perf", head+text)
		require.Equal(t, profile.Recorded, p.Data.Kind)
		require.Equal(t, "d", p.Data.Path, text)
		require.Equal(t, &want, p.Data.Sessions, text)
	}
	p := translated(t, "inference-perf", head+"weka_trace_replay\n  weka_trace_replay: {trace_directory: d, "+
		"use_static_model: true, static_model_name: s, model_mapping: {a: b}}\n")
	require.Equal(t, "s", p.API.Model)
	require.Nil(t, p.Data.Sessions.Models)
	_, err := parse("inference-perf", head+"weka_trace_replay\n  weka_trace_replay: {trace_files: [d, e]}\n")
	require.ErrorContains(t, err, "put the 2 files into one folder")
}
