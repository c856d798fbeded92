package dialect

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func TestDataOfVLLM(t *testing.T) {
	prompts := func(format profile.Format, path string, output *profile.Distribution) profile.Data {
		return profile.Data{Kind: profile.Prompts, Format: format, Path: path, Shuffle: true, Output: output}
	}
	template := prompts("jsonl", "f", profile.FixedAt(256))
	template.Template = true
	inOrder := prompts("text", "f", nil)
	inOrder.Shuffle = false
	between := func(low, high float64) *profile.Distribution {
		return &profile.Distribution{Kind: "uniform", Min: low, Max: high}
	}
	groups := func(count, users int, system, question float64) *profile.Groups {
		return &profile.Groups{Count: count, Users: users, System: profile.FixedAt(system),
			Question: profile.FixedAt(question)}
	}
	for text, want := range map[string]profile.Data{
		"": {Kind: profile.Random, Input: profile.FixedAt(1024), Output: profile.FixedAt(128)},
		"dataset-name: random\nrandom-input-len: 7\nrandom-output-len: 3\nrandom-range-ratio: 0.3\n" +
			"random-prefix-len: 2\n": {
			Kind: profile.Random, Input: &profile.Distribution{Kind: "uniform", Min: 4, Max: 10},
			Output: &profile.Distribution{Kind: "uniform", Min: 2, Max: 4}, Prefix: 2},
		"random-output-len: 1\nrandom-range-ratio: 1\n": {Kind: profile.Random,
			Input:  &profile.Distribution{Kind: "uniform", Min: 1, Max: 2048},
			Output: &profile.Distribution{Kind: "uniform", Min: 1, Max: 2}},
		"dataset-name: prefix_repetition\n": {Kind: profile.SharedPrefix, Output: profile.FixedAt(128),
			Groups: groups(10, 100, 256, 256)},
		"dataset-name: prefix_repetition\nnum-prompts: 19\nprefix-repetition-num-prefixes: 9\n" +
			"prefix-repetition-prefix-len: 3\nprefix-repetition-suffix-len: 4\nprefix-repetition-output-len: 5\n": {
			Kind: profile.SharedPrefix, Output: profile.FixedAt(5), Groups: groups(9, 2, 3, 4)},
		"dataset-name: sharegpt\n": {Kind: profile.ShareGPT, Path: shareGPTFile, Shuffle: true, MaxTotal: 2048,
			Input: between(4, 1024), Output: between(4, 2048)},
		"dataset-name: sharegpt\ndataset-path: f\nsharegpt-output-len: 1\n": {Kind: profile.ShareGPT, Path: "f",
			Shuffle: true, MaxTotal: 2048, Input: between(4, 1024), Output: profile.FixedAt(1)},
		"dataset-name: sonnet\n": {Kind: profile.Prompts, Format: "sonnet", Path: "sonnet.txt", Shuffle: true, Prefix: 200,
			Input: profile.FixedAt(550), Output: profile.FixedAt(150)},
		"dataset-name: burstgpt\ndataset-path: f\n": {Kind: profile.TraceLengths,
			Trace: &profile.TraceFile{Path: "f", Format: "burstgpt"}},
		"dataset-name: timed_trace\ndataset-path: f\n": {Kind: profile.TraceLengths,
			Trace: &profile.TraceFile{Path: "f", Format: "jsonl"}},
		"dataset-name: custom\ndataset-path: f\n":                                template,
		"dataset-name: custom\n":                                                 with(template, "custom"),
		"dataset-name: custom\ndataset-path: f\nskip-chat-template: none\n":      prompts("jsonl", "f", profile.FixedAt(256)),
		"dataset-name: custom\ndataset-path: f\ncustom-skip-chat-template: none": prompts("jsonl", "f", profile.FixedAt(256)),
		"dataset-name: custom\ndataset-path: f\nbackend: openai-chat\n":          prompts("jsonl", "f", profile.FixedAt(256)),
		"dataset-name: custom\ndataset-path: f\nbackend: openai-chat\ncustom-output-len: 1\n": prompts("jsonl", "f",
			profile.FixedAt(1)),
		"dataset-name: custom\ndataset-path: f\nbackend: openai-chat\ncustom-output-len: -1\n": prompts("jsonl", "f", nil),
		"dataset-name: spec_bench\ndataset-path: f\n":                                          template,
		"dataset-name: spec_bench\ndataset-path: f\nspec-bench-output-len: 3\nspec-bench-category: qa\n" +
			"backend: openai-chat\n": category(prompts("jsonl", "f", profile.FixedAt(3)), "qa"),
		"dataset-name: speed_bench\ndataset-path: d\nbackend: openai-chat\n": prompts("jsonl", "d/qualitative.jsonl",
			profile.FixedAt(4096)),
		"dataset-name: speed_bench\ndataset-path: d/\nbackend: openai-chat\nspeed-bench-dataset-subset: throughput_8k\n" +
			"speed-bench-output-len: 9\nspeed-bench-category: mixed\n": category(prompts("jsonl", "d/throughput_8k.jsonl",
			profile.FixedAt(9)), "mixed"),
		"dataset-name: speed_bench\ndataset-path: d/a.jsonl\nskip-chat-template: none\n": prompts("jsonl", "d/a.jsonl",
			profile.FixedAt(4096)),
		"dataset-name: txt-slices\ndataset-path: f\ndisable-shuffle: none\n": inOrder,
		"dataset-name: hf\ndataset-path: f\nhf-output-len: 1\n": prompts("", "f",
			profile.FixedAt(1)),
	} {
		p := translated(t, "vllm-benchmark", "model: m\nhost: h\nrequest-rate: 5\n"+text)
		require.Equal(t, want, p.Data, text)
		require.Equal(t, !strings.Contains(text, "name") || strings.Contains(text, "random") ||
			strings.Contains(text, "timed"), p.API.IgnoreEOS, text)
		require.Equal(t, "http://h:8000", p.API.Endpoint)
	}
}

// with returns data of another file.
func with(d profile.Data, path string) profile.Data {
	d.Path = path
	return d
}

func category(d profile.Data, name string) profile.Data {
	d.Category = name
	return d
}

func TestRequestsOfVLLM(t *testing.T) {
	p := translated(t, "vllm-benchmark", "model: m\nport: 9\nextra-body: '{\"a\": 1}'\nserved-model-name: s\ntop-p: 0.5\n"+
		"min-p: 0.25\ntop-k: 3\nfrequency-penalty: 1.5\npresence-penalty: 2.5\nrepetition-penalty: 3.5\nlogprobs: 1\n"+
		"header: ['A:b', 'C=d']\nlora-modules: [x, y]\ngoodput: [ttft:0, e2el:999999999]\nseed: 4\n")
	require.Equal(t, map[string]any{"a": 1., "top_p": .5, "min_p": .25, "top_k": 3, "frequency_penalty": 1.5,
		"presence_penalty": 2.5, "repetition_penalty": 3.5, "logprobs": 1}, p.API.Extra)
	require.Equal(t, map[string]string{"A": "b", "C": "d"}, p.API.Headers)
	require.Equal(t, []profile.Adapter{{Name: "x", Share: .5}, {Name: "y", Share: .5}}, p.API.Adapters)
	require.Equal(t, []string{"http://127.0.0.1:9", "s", "completions"}, []string{p.API.Endpoint, p.API.Model, p.API.Kind})
	require.Equal(t, profile.SLO{E2E: 999999999 * time.Millisecond}, p.SLO)
	require.EqualValues(t, 4, p.Seed)
	p = translated(t, "vllm-benchmark", "model: m\nport: 9\nextra-body: {b: 2}\n")
	require.Equal(t, map[string]any{"b": 2}, p.API.Extra)
	require.Nil(t, translated(t, "vllm-benchmark", "model: m\nport: 9\n").API.Extra)
	require.Empty(t, translated(t, "vllm-benchmark", "model: m\nseed: 2\n").API.Endpoint)
	for text, want := range map[string]string{"extra-body: x\n": "expected a JSON object", "header: x\n": "NAME=VALUE",
		"goodput: itl:5\n": "expected ttft", "goodput: ttft:-1\n": "expected ttft", "goodput: ttft:1e9\n": "expected ttft"} {
		_, err := parse("vllm-benchmark", "model: m\n"+text)
		require.ErrorContains(t, err, want, text)
	}
	for route, want := range map[string]string{"/v1/responses": "responses", "/v1/embeddings": "embeddings",
		"/v1/rerank": "rerank", "/v1/completions": "completions"} {
		require.Equal(t, want, kindOf(route, "openai-chat"))
	}
	require.Equal(t, "embeddings", kindOf("", "openai-embeddings"))
}

func TestLoadsOfGuideLLM(t *testing.T) {
	parsed := func(kind, constraints string) *profile.Profile {
		return translated(t, "guidellm", "spec:\n  backend: {kind: openai_http, target: http://h:1}\n  profile: {kind: "+kind+
			"}\n  constraints: ["+constraints+"]\n  data: [{prompt_tokens: 3, output_tokens: 2}]\n")
	}
	for kind, want := range map[string][]profile.Stage{
		"synchronous": {{Arrival: profile.Closed, Concurrency: 1}},
		"'concurrent', streams: [2, 3, 4]": {{Arrival: profile.Closed, Concurrency: 2},
			{Arrival: profile.Closed, Concurrency: 3}, {Arrival: profile.Closed, Concurrency: 4}},
		"throughput, max_concurrency: 9":         {{Arrival: profile.Closed, Concurrency: 9}},
		"constant, rate: 5":                      {{Arrival: profile.Constant, Rate: 5}},
		"poisson, rate: [5], max_concurrency: 2": {{Arrival: profile.Poisson, Rate: 5, Concurrency: 2}},
	} {
		for i := range want {
			want[i].Requests, want[i].Duration = []int{7, 8, 8}[i], 3*time.Second
		}
		p := parsed(kind, "{kind: max_requests, count: [7, 8]}, {kind: max_duration, seconds: 3}, "+
			"{kind: max_errors, count: 4}, {kind: max_error_rate, rate: 0.5}")
		require.Equal(t, want, p.Load.Stages, kind)
		require.Equal(t, 4, p.Load.MaxErrors)
		require.EqualValues(t, .5, p.Load.ErrorRate)
	}
	sweep := profile.Sweep{Kind: "linear", Stages: 8, Probe: "throughput", Arrival: profile.Constant, InFlight: 512,
		StageDuration: 30 * time.Second}
	require.Equal(t, &sweep, parsed("sweep", "").Load.Sweep)
	sweep.StageDuration = 6 * time.Second
	require.Equal(t, &sweep, parsed("sweep", "{kind: max_duration, seconds: 6}").Load.Sweep)
	for text, want := range map[string]profile.Window{
		"0":                                 {Share: 0},
		"0.99":                              {Share: .99},
		"1":                                 {Duration: time.Second},
		"{percent: 0.2, value: 3}":          {Share: .2},
		"{value: 3}":                        {Duration: 3 * time.Second},
		"{value: 3, mode: requests}":        {Requests: 3},
		"{value: 3, mode: prefer_requests}": {Requests: 3},
		"{value: 3, mode: both}":            {Requests: 3, Duration: 3 * time.Second},
		"{value: 3, mode: duration}":        {Duration: 3 * time.Second},
	} {
		require.Equal(t, want, parsed("synchronous, warmup: "+text, "{kind: max_duration, seconds: 60}").Load.Warmup, text)
	}
}

func TestOlderFormOfGuideLLM(t *testing.T) {
	for _, data := range []string{"'prompt_tokens=9,output_tokens=5,samples=7'",
		"'{prompt_tokens: 9, output_tokens: 5, samples: 7}'", "{prompt_tokens: 9, output_tokens: 5, samples: 7}"} {
		p := translated(t, "guidellm", "target: http://h:1\nprofile: constant\nrate: [2, 3]\nmax_seconds: 1\n"+
			"max_requests: 4\n"+
			"max_errors: 1\nrandom_seed: 6\nprocessor: tok\nrequest_type: text_completions\ndata: "+data+"\n")
		require.Equal(t, profile.Data{Kind: profile.Synthetic, Rows: 7, Restart: true, Input: profile.FixedAt(9),
			Output: profile.FixedAt(5)}, p.Data, data)
		require.Equal(t, []profile.Stage{{Arrival: profile.Constant, Rate: 2, Requests: 4, Duration: time.Second},
			{Arrival: profile.Constant, Rate: 3, Requests: 4, Duration: time.Second}}, p.Load.Stages)
		require.Equal(t, 1, p.Load.MaxErrors)
		require.EqualValues(t, 6, p.Seed)
		require.Equal(t, []string{"tok", "completions"}, []string{p.API.Tokenizer, p.API.Kind})
	}
	_, err := parse("guidellm", "target: http://h:1\nprofile: synchronous\ndata: prompt_tokens=9,samples=many\n")
	require.ErrorContains(t, err, `samples: expected a whole number, not "many"`)
	p := translated(t, "guidellm", "target: http://h:1\nprofile: synchronous\nmax_requests: 4\ndata: f.jsonl\n")
	require.Equal(t, profile.Data{Kind: profile.Prompts, Path: "f.jsonl", Restart: true}, p.Data)
}

func TestLoadsOfInferencePerf(t *testing.T) {
	const tail = "\nserver: {base_url: 'http://h:1'}\napi: {type: chat}\ndata: {type: mock}\n"
	for text, want := range map[string][]profile.Stage{
		"stages: [{rate: 5, duration: 6, timeout: 7}]": {{Arrival: profile.Scattered, Rate: 5, Duration: 6 * time.Second,
			Timeout: 7 * time.Second}},
		"type: poisson, stages: [{rate: 5, duration: 6}]": {{Arrival: profile.PoissonSeconds, Rate: 5,
			Duration: 6 * time.Second}},
		"type: concurrent, stages: [{num_requests: 5, concurrency_level: 6, rate: 1, duration: 1}]": {
			{Arrival: profile.Closed, Requests: 5, Concurrency: 6}},
		"type: trace_replay, trace: {file: f}, stages: [{rate: 5, duration: 6}]": {{Arrival: profile.Trace, Requests: 30}},
	} {
		p := translated(t, "inference-perf", "load: {"+text+"}"+tail)
		require.Equal(t, want, p.Load.Stages, text)
		require.Equal(t, time.Second, p.Load.Pause)
		if strings.Contains(text, "trace") {
			require.Equal(t, &profile.TraceFile{Path: "f", Format: "azure"}, p.Load.Trace)
		}
	}
	for text, want := range map[string]int{"num_workers: 2, worker_max_concurrency: 3": 6, "num_workers: 1": 100,
		"worker_max_concurrency: 3": 3, "interval: 1": 0, "num_workers: 2, type: concurrent": 0} {
		stages := ", stages: [{rate: 5, duration: 6}]}"
		if strings.Contains(text, "concurrent") {
			stages = ", stages: [{num_requests: 4, concurrency_level: 1}]}"
		}
		p := translated(t, "inference-perf", "load: {"+text+stages+tail)
		require.Equal(t, want, p.Load.InFlight, text)
		require.Equal(t, want > 0, len(p.Source.Notes) > 0, text)
	}
	// Keys of another type of load are errors, as in inference-perf, and would otherwise be ignored.
	for text, want := range map[string]string{
		"stages: [{rate: 5, duration: 6, num_requests: 4}]": "load.stages.0: num_requests and concurrency_level belong to " +
			"load.type concurrent, and it is constant",
		"type: poisson, stages: [{rate: 5, duration: 6, concurrency_level: 4}]": "and it is poisson",
		"type: concurrent, stages: [{num_requests: 4, concurrency_level: 1, num_sessions: 3}]": "num_sessions belong to " +
			"load.type trace_session_replay, and it is concurrent",
		"type: trace_session_replay, stages: [{concurrent_sessions: 4, rate: 3}]": "rate and duration belong to load.type " +
			"constant, poisson and trace_replay, and it is trace_session_replay",
	} {
		_, err := parse("inference-perf", "load: {"+text+"}"+tail)
		require.ErrorContains(t, err, want, text)
		p, err := Parse("inference-perf", "p", []byte("load: {"+text+"}"+tail), Options{Compat: true})
		if !strings.Contains(text, "replay") { // recorded sessions need other data
			require.NoError(t, err)
			require.Contains(t, strings.Join(p.Source.Notes, "\n"), "and are ignored")
		}
	}
	p := translated(t, "inference-perf", "load: {type: concurrent, stages: [{num_requests: 4, concurrency_level: 1, "+
		"rate: 3}]}"+tail)
	require.Contains(t, p.Source.Notes, "load.stages.0: rate and duration have no effect with load.type concurrent")
	for text, want := range map[string]profile.Sweep{
		"{type: linear}": {Kind: "linear", Stages: 5, StageDuration: 180 * time.Second, Arrival: profile.PoissonSeconds,
			Probe: "drain", Requests: 2000, Timeout: time.Minute, Percentile: 95},
		"{type: geometric, num_requests: 1, timeout: 2, num_stages: 3, stage_duration: 4, saturation_percentile: 5}": {
			Kind: "geometric", Stages: 3, StageDuration: 4 * time.Second, Arrival: profile.PoissonSeconds, Probe: "drain",
			Requests: 1, Timeout: 2 * time.Second, Percentile: 5},
	} {
		p := translated(t, "inference-perf", "load: {type: poisson, base_seed: 3, sweep: "+text+"}"+tail)
		require.Equal(t, &want, p.Load.Sweep)
		require.EqualValues(t, 3, p.Seed)
	}
	p = translated(t, "inference-perf", "load: {type: poisson, sweep: {type: linear}, "+
		"stages: [{rate: 5, duration: 6}]}"+tail)
	require.Nil(t, p.Load.Sweep)
	both := translated(t, "inference-perf", "load: {type: trace_replay, trace: {file: f}, "+
		"stages: [{rate: 5, duration: 6}]}\nserver: {base_url: 'http://h:1'}\ndata: {type: random, trace: {file: f}}\n")
	require.Equal(t, []profile.Stage{{Arrival: profile.Trace}}, both.Load.Stages, "all rows of the lengths")

	const replay = "\nserver: {base_url: 'http://h:1'}\napi: {type: chat}\ndata: {type: weka_trace_replay, " +
		"weka_trace_replay: {trace_directory: d}}\n"
	for text, want := range map[string]profile.Stage{
		"{concurrent_sessions: 4}":                  {Concurrency: 4},
		"{concurrent_sessions: 4, num_sessions: 9}": {Concurrency: 4, Requests: 9},
		"{concurrent_sessions: 0, num_sessions: 9}": {Concurrency: 9, Requests: 9},
		"{concurrent_sessions: 0}":                  {Concurrency: allSessions},
		"{session_rate: 2, num_sessions: 9}":        {Concurrency: 9, Requests: 9, Rate: 2},
	} {
		want.Arrival = profile.Sessions
		p := translated(t, "inference-perf", "load: {type: trace_session_replay, stages: ["+text+"]}"+replay)
		require.Equal(t, []profile.Stage{want}, p.Load.Stages, text)
	}
}

func TestLimitsOfInferencePerf(t *testing.T) {
	const head = "server: {base_url: 'http://h:1'}\ndata: {type: mock}\n"
	const stage = "load: {stages: [{rate: 5, duration: 6}]"
	p := translated(t, "inference-perf", head+stage+", circuit_breakers: [a, b]}\napi: {type: chat}\ncircuit_breakers:\n"+
		"- {name: a, triggers: [{type: consecutive, threshold: 3, min_samples: 1}, "+
		"{type: rate_over_window, threshold: 7, window_sec: 2}]}\n"+
		"- {name: b, metrics: {matches: [x]}, triggers: [{type: rate_over_window, threshold: 0.5, window_sec: 4}]}\n"+
		"- {name: c, metrics: {rules: [x]}, triggers: [{type: consecutive, threshold: 1}]}\n")
	require.Equal(t, []profile.Breaker{{Name: "a", Consecutive: 3, MinRequests: 1},
		{Name: "a", Rate: 1, Window: 2 * time.Second}, {Name: "b", Rate: .5, Window: 4 * time.Second}}, p.Load.Breakers)
	require.Len(t, p.Source.Notes, 1)
	require.Contains(t, p.Source.Notes[0], "circuit_breakers b: metrics are not read")

	for text, want := range map[string]profile.SLO{
		"headers: {x-slo-ttft-ms: '0', X-SLO-TPOT-MS: '5'}":             {TPOT: 5 * time.Millisecond},
		"headers: {x-slo-ttft-ms: '-1', x-slo-tpot-ms: '1e9'}":          {},
		"headers: {x-slo-ttft-s: '2', x-slo-tpot-ms: '5'}, slo_unit: s": {TTFT: 2 * time.Second},
		"headers: {x-slo-ttft-us: '2', x-slo-tpot-us: x}, slo_unit: us": {TTFT: 2 * time.Microsecond},
		"headers: {a: '2', b: '3'}, slo_ttft_header: a, slo_tpot_header: b": {TTFT: 2 * time.Millisecond,
			TPOT: 3 * time.Millisecond},
	} {
		require.Equal(t, want, translated(t, "inference-perf", head+stage+"}\napi: {type: chat, "+text+"}\n").SLO, text)
	}
	p = translated(t, "inference-perf", head+stage+"}\napi: {type: chat, headers: {x-slo-ttft-ms: '9'}}\n"+
		"report: {goodput: {constraints: {ttft: 1, tpot: 2, itl: 3, ntpot: 4, request_latency: 5}}}\n")
	require.Equal(t, profile.SLO{TTFT: time.Second, TPOT: 2 * time.Second, ITL: 3 * time.Second, NTPOT: 4 * time.Second,
		E2E: 5 * time.Second}, p.SLO)
}

// Images of inference-perf have sizes by name or in pixels, each with a weight.
func TestResolutions(t *testing.T) {
	for _, c := range []struct {
		v    any
		want profile.Resolution
	}{
		{nil, profile.Resolution{Width: 1920, Height: 1080}}, {"4k", profile.Resolution{Width: 3840, Height: 2160}},
		{map[string]any{"width": 1, "height": 16384}, profile.Resolution{Width: 1, Height: 16384}},
		{map[string]any{"width": 16384., "height": 1, "weight": .5}, profile.Resolution{Width: 16384, Height: 1, Weight: .5}},
		{map[string]any{"resolution": map[string]any{"width": 2, "height": 3}, "weight": 4},
			profile.Resolution{Width: 2, Height: 3, Weight: 4}},
	} {
		r, ok := resolution(c.v)
		require.True(t, ok, "%v", c.v)
		require.Equal(t, c.want, r)
	}
	for _, bad := range []any{"8k", 3, map[string]any{"width": 0, "height": 1}, map[string]any{"width": 1},
		map[string]any{"width": 16385, "height": 1}, map[string]any{"width": 1, "height": 16385},
		map[string]any{"width": 1, "height": 1, "weight": -1}, map[string]any{"width": math.NaN(), "height": 1},
		map[string]any{"resolution": "8k"}, map[string]any{"resolution": map[string]any{"resolution": "4k"}}} {
		_, ok := resolution(bad)
		require.False(t, ok, "%v", bad)
	}
}

// Every prefix of vllm's prefix_repetition has as many prompts, so that fewer may be sent than the file sets.
func TestRequestsOfPrefixes(t *testing.T) {
	const head = "model: m\nbase-url: http://h:1\ndataset-name: prefix_repetition\n"
	require.Equal(t, 20, translated(t, "vllm-benchmark", head+"num-prompts: 29\n").Load.Stages[0].Requests)
	require.Equal(t, 30, translated(t, "vllm-benchmark", head+"num-prompts: 30\n").Load.Stages[0].Requests)
	_, err := parse("vllm-benchmark", head+"num-prompts: 9\n")
	require.ErrorContains(t, err, "num-prompts: vllm needs at least one for each of the 10 prefixes")
}
