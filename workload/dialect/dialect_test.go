package dialect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/template"
)

var variables = template.Map(map[string]string{"MODEL": "org/model", "URL": "http://127.0.0.1:8000",
	"CONCURRENCY": "32"})

func parse(tool, text string) (*profile.Profile, error) {
	return Parse(tool, "p.yaml.in", []byte(text), Options{Lookup: variables})
}

const (
	randomText = `load:
  type: constant
  stages:
  - rate: 1
    duration: 30
  num_workers: 1
  request_timeout: 30
api: {type: completion, streaming: true, headers: {x-slo-ttft-ms: "250"}}
server: {type: vllm, model_name: REPLACE_ENV_MODEL, base_url: REPLACE_ENV_URL, ignore_eos: true}
tokenizer: {pretrained_model_name_or_path: REPLACE_ENV_MODEL}
data:
  type: random
  input_distribution: {min: 256, max: 512, mean: 384, std_dev: 10, total_count: 100}
  output_distribution: {min: 256, max: 512, mean: 384, std_dev: 10, total_count: 100}
report: {request_lifecycle: {summary: true, per_stage: true, per_request: true}, goodput: {constraints: {tpot: 0.05}}}
storage: {local_storage: {path: /workspace}}
`
	conversationText = `load:
  type: concurrent
  stages: [{num_requests: 192, concurrency_level: "${CONCURRENCY}"}]
tokenizer:
  pretrained_model_name_or_path: m
  data:
    type: conversation_replay
    conversation_replay:
      seed: 3
      num_conversations: 32
      turns_per_conversation: {type: normal, min: 2, max: 20, mean: 6, std_dev: 3.5}
      tool_call_latency_sec: {type: normal, min: 0, max: 0, mean: 0, std_dev: 0}
`
	imagesText = `load: {stages: [{rate: 5, duration: 600}]}
api: {type: chat}
data:
  type: shared_prefix
  shared_prefix:
    num_groups: 600
    num_prompts_per_group: 5
    question_len: {type: uniform, min: 10, max: 20}
    multimodal:
      image:
      count: 4
      insertion_point: 0.5
      resolutions: [{resolution: 720p, weight: 2}, {height: 100, width: 200}]
`
	specText = `metadata: {labels: {name: x}}
spec:
  backend: {kind: openai_http, target: REPLACE_ENV_URL, request_format: /v1/completions}
  profile: {kind: concurrent, streams: 1, warmup: 0.1, cooldown: 5, rampup_duration: 4}
  constraints:
  - {kind: max_duration, seconds: 600}
  - {kind: over_saturation, mode: enforce}
  data:
  - kind: synthetic_text
    prompt_tokens: 1000
    output_tokens: 800
    output_tokens_stdev: 1500
    output_tokens_min: 20
    output_tokens_max: 8000
    prefix_buckets: [{bucket_weight: 3, prefix_count: 2, prefix_tokens: 64}]
  data_loader: {samples: 500, shuffle: true}
  seed: {kind: static, value: 42}
benchmarks:
- profile.streams: 300
- {profile.streams: 100, "constraints[0].seconds": 60}
`
	vllmText = `executable: benchmark_serving.py
model: REPLACE_ENV_MODEL
base_url: REPLACE_ENV_URL
max-concurrency: 32
num-prompts: 500
request-rate: 20
backend: openai-chat
endpoint: /v1/chat/completions
dataset-name: sonnet
dataset-path: sonnet.txt
sonnet-input-len: 8192
sonnet-prefix-len: 6144
goodput: ttft:500 tpot:40
header: X-A=b
temperature: 0.5
ignore-eos: none
num-warmups: 3
percentile-metrics: "ttft,tpot,itl,e2el"
`
	aiperfText = "model: m\nurl: http://h:1\nendpoint-type: chat\nstreaming: none\nconcurrency: 16\nrequest-count: 500\n" +
		"isl: 1000\nosl: 200\nextra-inputs: [ignore_eos:true, 'top_k:5']\nuse-server-token-count: none\n"
	fmperfText = "model_name: m\nimage: i\nscenarios: long-input\nqps_values: 0.5 1.34\nnum_users: 3\nnum_rounds: 5\n" +
		"system_prompt: 512\nchat_history: 2048\nanswer_len: 64\ntest_duration: 300\nnum_users_warmup: 5\n" +
		"use_chat_completions: true\n"
)

func TestInferencePerf(t *testing.T) {
	p, err := parse("inference-perf", randomText)
	require.NoError(t, err)
	want := profile.Defaults()
	want.Name, want.API.Model, want.API.Tokenizer = "p", "org/model", "org/model"
	want.API.Endpoint, want.API.RequestTimeout = "http://127.0.0.1:8000", 30*time.Second
	want.API.Headers = map[string]string{"x-slo-ttft-ms": "250"}
	length := &profile.Distribution{Kind: "normal", Mean: 384, StdDev: 10, Min: 256, Max: 512}
	want.Data = profile.Data{Kind: profile.Random, Input: length, Output: length}
	want.Load = profile.Load{Pause: time.Second, InFlight: 100,
		Stages: []profile.Stage{{Arrival: profile.Scattered, Rate: 1, Duration: 30 * time.Second}}}
	want.SLO = profile.SLO{TTFT: 250 * time.Millisecond, TPOT: 50 * time.Millisecond}
	want.Export = &profile.Export{Requests: true}
	require.Len(t, p.Source.Notes, 1)
	require.Contains(t, p.Source.Notes[0], "at most 100 requests in flight")
	want.Source = p.Source
	require.Equal(t, want, p)
	again, err := parse("", randomText)
	require.NoError(t, err)
	require.Equal(t, p, again, "the tool is recognized")
}

// Each known fault of a published file is repaired and reported.
func TestRepairs(t *testing.T) {
	p, err := parse("inference-perf", strings.Replace(randomText, "std_dev: 10, total", "std: 10, total", 1))
	require.NoError(t, err)
	require.EqualValues(t, 10, p.Data.Input.StdDev)
	require.Contains(t, p.Source.Notes, "line 13: repaired data.input_distribution.std: read as std_dev")

	p, err = parse("inference-perf", conversationText)
	require.NoError(t, err)
	require.Equal(t, []string{"line 6: repaired tokenizer.data: moved to data"}, p.Source.Notes)
	require.Equal(t, 32, p.Load.Stages[0].Concurrency, "a shell's variable has its value")
	require.Equal(t, profile.Conversations, p.Data.Kind)
	require.EqualValues(t, 3, p.Seed)
	require.Nil(t, p.Data.Turns.ToolLatency)
	require.Equal(t, 8359, p.Data.Turns.SharedSystem)

	p, err = parse("inference-perf", imagesText)
	require.NoError(t, err)
	require.Equal(t, []string{"line 10: repaired multimodal.image: moved count, insertion_point, resolutions below it"},
		p.Source.Notes)
	require.Equal(t, &profile.Images{Count: profile.FixedAt(4), Format: "png", At: 0.5, Resolutions: []profile.Resolution{
		{Width: 1280, Height: 720, Weight: 2}, {Width: 200, Height: 100}}}, p.Data.Images)
	require.Equal(t, 600, p.Data.Groups.Count)

	p, err = parse("inference-perf", "load: {type: trace_session_replay, stages: [{concurrent_sessions: 4}]}\n"+
		"api: {type: chat}\ndata:\n  type: weka_trace_replay\n  weka_trace_replay:\n    trace_directory: traces\n"+
		"    filter: 'lambda x: x'\n    bad_tool_call_handling: none\n    trace_idle_gap_cap_seconds: 1\n")
	require.NoError(t, err)
	require.Len(t, p.Source.Notes, 2)
	require.Contains(t, p.Source.Notes[1], "line 7: repaired data.weka_trace_replay.filter: removed")
	require.EqualValues(t, 1, p.Data.Sessions.IdleGapCap)

	p, err = parse("inferencemax", "model: m\nbackend:vllm\ndataset-name: random\nrequest-rate: inf\nmax-concurrency: 1\n")
	require.NoError(t, err)
	require.Equal(t, []string{`profile p.yaml.in line 2: repaired "backend:vllm": a space was missing`}, p.Source.Notes)
}

func TestGuideLLM(t *testing.T) {
	p, err := parse("guidellm", specText)
	require.NoError(t, err)
	require.Equal(t, []profile.Stage{
		{Arrival: profile.Closed, Concurrency: 300, Duration: 10 * time.Minute, Requests: 500,
			Ramp: &profile.Ramp{Shape: "linear", Over: 4 * time.Second}},
		{Arrival: profile.Closed, Concurrency: 100, Duration: time.Minute, Requests: 500,
			Ramp: &profile.Ramp{Shape: "linear", Over: 4 * time.Second}},
	}, p.Load.Stages)
	require.Equal(t, profile.Window{Share: 0.1}, p.Load.Warmup)
	require.Equal(t, profile.Window{Duration: 5 * time.Second}, p.Load.Cooldown)
	require.Equal(t, profile.FixedAt(1000), p.Data.Input)
	require.Equal(t, &profile.Distribution{Kind: "normal", Mean: 800, StdDev: 1500, Min: 20, Max: 8000}, p.Data.Output)
	require.Equal(t, []profile.Bucket{{Weight: 3, Count: 2, Tokens: 64}}, p.Data.Buckets)
	require.Equal(t, 500, p.Data.Rows)
	require.EqualValues(t, 42, p.Seed)
	require.Equal(t, "completions", p.API.Kind)

	for _, flat := range []string{
		"rate-type: concurrent\nrate: 2\nmax-seconds: 30\ndata: prompt_tokens=256,output_tokens=128\ntarget: http://h:1\n",
		"profile: concurrent\nrate: [2]\nmax_seconds: 30\ndata: {prompt_tokens: 256, output_tokens: 128}\n" +
			"target: http://h:1\n",
	} {
		p, err = parse("", flat)
		require.NoError(t, err, flat)
		require.Equal(t, "guidellm", p.Source.Harness)
		require.Equal(t, []profile.Stage{{Arrival: profile.Closed, Concurrency: 2, Duration: 30 * time.Second}},
			p.Load.Stages)
		require.Equal(t, profile.FixedAt(256), p.Data.Input)
		require.Equal(t, profile.FixedAt(128), p.Data.Output)
		require.Equal(t, "chat", p.API.Kind)
	}
	p, err = parse("guidellm", "target: http://h:1\ndata: {prompt_tokens: 9, output_tokens: 5, turns: 4, samples: 7}\n")
	require.NoError(t, err)
	require.Equal(t, 8, p.Load.Sweep.Stages)
	require.Equal(t, profile.Conversations, p.Data.Kind)
	require.Equal(t, 7, p.Data.Rows)
}

func TestVLLM(t *testing.T) {
	p, err := parse("vllm-benchmark", vllmText)
	require.NoError(t, err)
	require.Equal(t, profile.API{Kind: "chat", Stream: true, IgnoreEOS: true, Endpoint: "http://127.0.0.1:8000",
		Model: "org/model", Headers: map[string]string{"X-A": "b"}, Extra: map[string]any{"temperature": 0.5}}, p.API)
	require.Equal(t, []profile.Stage{
		{Name: "warm-up", Arrival: profile.Burst, Concurrency: 32, Requests: 3, Warmup: true},
		{Arrival: profile.Poisson, Rate: 20, Requests: 500, Concurrency: 32, Rescale: true}}, p.Load.Stages)
	require.Equal(t, profile.Data{Kind: profile.Prompts, Format: "sonnet", Path: "sonnet.txt", Shuffle: true, Prefix: 6144,
		Input: profile.FixedAt(8192), Output: profile.FixedAt(150)}, p.Data)
	require.Equal(t, profile.SLO{TTFT: 500 * time.Millisecond, TPOT: 40 * time.Millisecond}, p.SLO)

	for text, want := range map[string]profile.Stage{
		"request-rate: inf\nnum-prompts: 5\n":  {Arrival: profile.Burst, Requests: 5},
		"max-concurrency: 4\nnum-prompts: 5\n": {Arrival: profile.Closed, Requests: 5, Concurrency: 4},
		"request-rate: 2\nburstiness: 3\nnum-prompts: 5\n": {Arrival: profile.Gamma, Rate: 2, Burstiness: 3,
			Requests: 5, Rescale: true},
		"request-rate: 2\nburstiness: inf\nnum-prompts: 5\n": {Arrival: profile.Constant, Rate: 2, Requests: 5},
		"num-prompts: 6\nramp-up-strategy: linear\nramp-up-start-rps: 1\nramp-up-end-rps: 3\n": {Arrival: profile.Poisson,
			Rate: 3, Requests: 6, Ramp: &profile.Ramp{Shape: "exponential", From: 1, To: 3, Over: 3295836866}},
		"num-prompts: 6\nramp-up-strategy: linear\nramp-up-start-rps: 0\nramp-up-end-rps: 3\n": {Arrival: profile.Poisson,
			Rate: 3, Requests: 6, Ramp: &profile.Ramp{Shape: "linear", To: 3, Over: 4 * time.Second}},
	} {
		p, err := parse("vllm-benchmark", text+"random-range-ratio: 0.5\nrandom-input-len: 100\n")
		require.NoError(t, err, text)
		require.Equal(t, want, p.Load.Stages[0], text)
		require.Equal(t, &profile.Distribution{Kind: "uniform", Min: 50, Max: 150}, p.Data.Input)
	}
}

func TestAIPerfFMPerfNop(t *testing.T) {
	p, err := parse("aiperf", aiperfText)
	require.NoError(t, err)
	require.Equal(t, profile.API{Kind: "chat", Stream: true, IgnoreEOS: true, Endpoint: "http://h:1", Model: "m",
		Extra: map[string]any{"top_k": 5}}, p.API)
	require.Equal(t, []profile.Stage{{Arrival: profile.Closed, Concurrency: 16, Requests: 500}}, p.Load.Stages)
	require.Equal(t, profile.FixedAt(200), p.Data.Output)

	p, err = parse("", fmperfText)
	require.NoError(t, err)
	require.Equal(t, "chat", p.API.Kind)
	require.Equal(t, []profile.Stage{
		{Name: "warm-up", Arrival: profile.Closed, Concurrency: 5, Requests: 5, Warmup: true},
		{Arrival: profile.Constant, Rate: 0.5, Duration: 5 * time.Minute},
		{Arrival: profile.Constant, Rate: 1.34, Duration: 5 * time.Minute}}, p.Load.Stages)
	require.Equal(t, 3, p.Data.Turns.Conversations)
	require.Equal(t, 512, p.Data.Turns.SharedSystem)

	p, err = parse("nop", "model_name: REPLACE_ENV_MODEL\npvc_name: REPLACE_ENV_PVC++++default=workload-pvc\n")
	require.NoError(t, err)
	require.Equal(t, profile.None, p.Data.Kind)
	require.Equal(t, "org/model", p.API.Model)
}

func TestOverrides(t *testing.T) {
	pairs, err := template.ParseOverrides([]string{"min=20,total_count=200"})
	require.NoError(t, err)
	p, err := Parse("inference-perf", "p.yaml", []byte(randomText), Options{Lookup: variables, Overrides: pairs})
	require.NoError(t, err)
	require.EqualValues(t, 20, p.Data.Input.Min)
	require.EqualValues(t, 20, p.Data.Output.Min)
	require.Zero(t, p.Data.Rows, "inference-perf makes another prompt for each request")

	own, err := p.Encode()
	require.NoError(t, err)
	pairs, err = template.ParseOverrides([]string{"min=30,total_count=300,load.stages.0.rate=9,seed=4"})
	require.NoError(t, err)
	p, err = Parse("inference-perf", "p.yaml", own, Options{Overrides: pairs})
	require.NoError(t, err)
	require.EqualValues(t, 30, p.Data.Output.Min)
	require.Equal(t, 300, p.Data.Rows)
	require.EqualValues(t, 9, p.Load.Stages[0].Rate)
	require.EqualValues(t, 4, p.Seed)
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ tool, text, want string }{
		{"inference-perf", strings.Replace(randomText, "rate: 1", "rates: 1", 1),
			"profile p.yaml.in line 4: load.stages.0.rates: unknown key; did you mean rate?"},
		{"inference-perf", strings.Replace(randomText, "type: constant", "type: konstant", 1),
			`load.type: expected one of constant, poisson, trace_replay, concurrent, trace_session_replay, not "konstant"; ` +
				"did you mean constant?"},
		{"inference-perf", strings.Replace(randomText, "rate: 1", "rate: fast", 1), `expected a number above 0, not "fast"`},
		{"inference-perf", strings.Replace(randomText, "    duration: 30\n", "", 1), "arrival scattered needs duration"},
		{"inference-perf", strings.Replace(randomText, "tpot: 0.05", "tpto: 1", 1), "expected one of ttft, tpot"},
		{"inference-perf", strings.Replace(randomText, "ignore_eos: true", "api_key: x", 1), "set MLPERF_GO_API_KEY"},
		{"inference-perf", strings.Replace(randomText, "REPLACE_ENV_URL", "REPLACE_ENV_NOPE", 1),
			"line 9: the variable NOPE has no value"},
		{"guidellm", strings.Replace(specText, "profile.streams: 300", "profile.stream: 300", 1),
			"profile.stream: unknown key; did you mean streams?"},
		{"guidellm", strings.Replace(specText, "prompt_tokens: 1000", "prompt_token: 1000", 1),
			"line 10: data.0.prompt_token: unknown key; did you mean prompt_tokens or"},
		{"guidellm", strings.Replace(specText, "profile.streams: 300", "data.0.turns: 3", 1), "a profile has one of each"},
		{"guidellm", "target: x\nprofile: concurrent\ndata: prompt_tokens=1\n", "kind concurrent needs streams"},
		{"guidellm", "target: x\nrate-type: constnt\nrate: 3\nmax-seconds: 1\ndata: prompt_tokens=1\n",
			"line 2: profile: expected one of synchronous, concurrent, throughput, constant, async, poisson, sweep, replay, " +
				`not "constnt"; did you mean constant?`},
		{"guidellm", "target: x\nrate-type: concurrent\nrate: 2.5\nmax-seconds: 1\ndata: prompt_tokens=1\n",
			"rate: 2.5: expected whole numbers with rate-type concurrent"},
		{"guidellm", "target: x\nrate-type: sweep\nbackend_args: {a: 1}\nmax-seconds: 1\ndata: prompt_tokens=1\n",
			"write them below spec.backend"},
		{"vllm-benchmark", "dataset-name: custom\ndataset-path: x\nnum-prompts: -1\n", "num-prompts: -1 means every row of " +
			"the data in vllm, and a profile has a number of requests: write the number of rows"},
		{"vllm-benchmark", vllmText + "num-promptz: 1\n", "num-promptz: unknown key; did you mean num-prompts?"},
		{"vllm-benchmark", strings.Replace(vllmText, "tpot:40", "tpot:x", 1), "expected ttft:MS"},
		{"aiperf", aiperfText + "api-key: x\n", "set MLPERF_GO_API_KEY"},
		{"fmperf", "qps_values: a b\n", "expected rates separated by spaces"},
		{"nop", "model: x\n", "did you mean model_name?"},
		{"priority-mix", "qps: 6\nclasses: []\n", "write the file in this program's form (schema: mlperf-go/profile/1)"},
		{"locust", randomText, "no reader for files of"},
		{"guidelm", randomText, "did you mean guidellm?"},
		{"", "a: 1\n", "no key of a known form"},
		{"", "", "is empty"},
		{"", "a: [", "not valid YAML"},
	} {
		_, err := parse(c.tool, c.text)
		require.ErrorContains(t, err, c.want, c.tool)
	}
	p, err := Parse("inference-perf", "p", []byte(randomText+"extra: 1\n"), Options{Lookup: variables, Compat: true})
	require.NoError(t, err)
	require.Contains(t, p.Source.Notes, "profile p line 17: extra: unknown key, ignored")
}

// fuzz requires that a file is either rejected or translated to a valid profile.
func fuzz(f *testing.F, tool string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(tool, "p", []byte(text), Options{Lookup: variables, KeepUnresolved: true})
		if err == nil {
			require.NoError(t, p.Validate())
		}
	})
}

func FuzzInferencePerf(f *testing.F) {
	fuzz(f, "inference-perf", randomText, conversationText, imagesText)
}
func FuzzGuideLLM(f *testing.F) { fuzz(f, "guidellm", specText, "target: h\ndata: prompt_tokens=1\n") }
func FuzzVLLM(f *testing.F)     { fuzz(f, "vllm-benchmark", vllmText) }
func FuzzAIPerf(f *testing.F)   { fuzz(f, "aiperf", aiperfText) }
func FuzzFMPerf(f *testing.F)   { fuzz(f, "fmperf", fmperfText) }
func FuzzNop(f *testing.F)      { fuzz(f, "nop", "model_name: m\n") }

// The errors for a wrong command line or file.
func TestErrorsContainARemedy(t *testing.T) {
	const vllm = "backend: vllm\ndataset-name: random\nnum-prompts: 3\n"
	for text, c := range map[string]struct{ tool, want string }{
		vllm:        {"guidellm", "unknown key; the keys are "},
		vllm + "\n": {"guidellm", "; the file looks like one of vllm-benchmark, and --harness is guidellm"},
		vllm + "#": {"vllm", `no reader for files of "vllm"; there are readers for aiperf, fmperf, guidellm, ` +
			"inference-perf, inferencemax, nop, vllm-benchmark; did you mean vllm-benchmark?"},
		"spec:\n  backend: {kind: openai_http, target: h}\n  constraints: [{kind: max_requests, count: 0}]\n": {"",
			"line 3: constraints.0.count: expected a whole number of at least 1"},
		"load: {stages: [{rate: 1, duration: 1}]}\ndata: {type: random, input_distribution: {min: 9, max: 3}}\n": {"",
			"a.yaml, read as a profile of inference-perf: "},
	} {
		_, err := Parse(c.tool, "a.yaml", []byte(text), Options{})
		require.ErrorContains(t, err, c.want)
	}
}

// The selection of figures for the result file is kept for bench convert.
func TestExports(t *testing.T) {
	const vllm, ip = "model: m\nbase-url: http://h:1\n", "load: {stages: [{rate: 5, duration: 60}]}\n"
	for _, c := range []struct {
		tool, text string
		want       *profile.Export
	}{
		{"vllm-benchmark", vllm, nil},
		{"vllm-benchmark", vllm + "metric-percentiles: 99\n", &profile.Export{Percentiles: []float64{99}}},
		{"vllm-benchmark", vllm + "metric-percentiles: '25, 99.9'\npercentile-metrics: ttft,e2el\nsave-detailed: true\n",
			&profile.Export{Percentiles: []float64{25, 99.9}, Metrics: []string{"ttft", "e2el"}, Requests: true}},
		{"inference-perf", ip + "report: {request_lifecycle: {percentiles: [50, 99.9]}}\n",
			&profile.Export{Percentiles: []float64{50, 99.9}}},
		{"inference-perf", ip + "report: {session_lifecycle: {per_session: true}}\n", &profile.Export{Requests: true}},
		{"inference-perf", ip + "report: {request_lifecycle: {per_adapter_stage: true}}\n",
			&profile.Export{AdapterStages: true}},
	} {
		require.Equal(t, c.want, translated(t, c.tool, c.text).Export, c.text)
	}
	for text, want := range map[string]string{"metric-percentiles: 50,x\n": "expected numbers from 0 to 100",
		"metric-percentiles: 101\n": "expected numbers from 0 to 100", "percentile-metrics: tbt\n": `not "tbt"`} {
		_, err := Parse("vllm-benchmark", "p", []byte(vllm+text), Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := Parse("inference-perf", "p", []byte(ip+"report: {request_lifecycle: {percentiles: [101]}}\n"), Options{})
	require.ErrorContains(t, err, "from 0 to 100")
}
