package dialect

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// aiperfFile is the command line of `aiperf profile` as a flat map (ai-dynamo/aiperf, cli_options).
type aiperfFile struct {
	Executable string `yaml:"executable"`

	Model     string   `yaml:"model" also:"model-names"`
	URL       string   `yaml:"url"`
	Type      string   `yaml:"endpoint-type" one:"chat completions responses embeddings rankings"`
	Endpoint  string   `yaml:"endpoint"`
	Streaming bool     `yaml:"streaming"`
	Users     int      `yaml:"concurrency" is:">=1"`
	Rate      float64  `yaml:"request-rate" is:">0"`
	Mode      string   `yaml:"request-rate-mode" also:"arrival-pattern" one:"constant poisson gamma"`
	Smooth    *float64 `yaml:"arrival-smoothness" is:">0"`
	Requests  int      `yaml:"request-count" also:"num-requests" is:">=1"`
	Duration  float64  `yaml:"benchmark-duration" is:"0..1e7"`
	Warmups   int      `yaml:"warmup-request-count" is:">=0"`
	Schedule  bool     `yaml:"fixed-schedule"`
	Timeout   float64  `yaml:"request-timeout-seconds" is:"0..1e7"`
	Seed      uint64   `yaml:"random-seed"`

	ISL      *int    `yaml:"isl" also:"synthetic-input-tokens-mean prompt-input-tokens-mean" is:">=1"`
	ISLDev   float64 `yaml:"isl-stddev" also:"synthetic-input-tokens-stddev prompt-input-tokens-stddev" is:">=0"`
	OSL      *int    `yaml:"osl" also:"output-tokens-mean prompt-output-tokens-mean" is:">=1"`
	OSLDev   float64 `yaml:"osl-stddev" also:"output-tokens-stddev prompt-output-tokens-stddev" is:">=0"`
	Prefixes int     `yaml:"num-prefix-prompts" also:"prefix-prompt-pool-size" is:">=0"`
	Prefix   int     `yaml:"prefix-prompt-length" is:">=0"`
	Turns    int     `yaml:"conversation-turn-mean" is:">=1"`
	TurnsDev float64 `yaml:"conversation-turn-stddev" is:">=0"`
	Delay    float64 `yaml:"conversation-turn-delay-mean" is:">=0"`
	Talks    int     `yaml:"conversation-num" also:"num-conversations" is:">=1"`

	File   string `yaml:"input-file"`
	Custom string `yaml:"custom-dataset-type" one:"single_turn multi_turn mooncake_trace random_pool"`
	Public string `yaml:"public-dataset" one:"sharegpt"`

	Extra     []string `yaml:"extra-inputs" single:"yes"`
	Header    []string `yaml:"header" single:"yes"`
	APIKey    string   `yaml:"api-key" yet:"a key does not belong in a profile; set MLPERF_GO_API_KEY"`
	Tokenizer string   `yaml:"tokenizer"`
	Trust     bool     `yaml:"tokenizer-trust-remote-code"`
	ServerTok bool     `yaml:"use-server-token-count"`
	NoServer  bool     `yaml:"no-server-metrics"`
	NoGPU     bool     `yaml:"no-gpu-telemetry"`
	Workers   int      `yaml:"workers-max"`
	UI        string   `yaml:"ui"`
	Goodput   []string `yaml:"goodput" single:"yes"`
	Artifacts string   `yaml:"output-artifact-dir" also:"artifact-dir"`
	Slice     float64  `yaml:"slice-duration"`
}

func (f *aiperfFile) translate(t *translation) {
	t.Seed = f.Seed
	t.API = profile.API{Kind: cmp.Or(f.Type, "chat"), Stream: f.Streaming, Endpoint: f.URL, Model: f.Model,
		Tokenizer: f.Tokenizer, RequestTimeout: seconds(f.Timeout)}
	if f.Endpoint != "" {
		t.notes.add("endpoint: not read; the path follows from endpoint-type")
	}
	if t.API.Kind == "rankings" {
		t.API.Kind = "rerank"
	}
	for _, pair := range f.Extra {
		key, value, ok := strings.Cut(pair, ":")
		if !ok {
			t.fail("extra-inputs", "expected NAME:VALUE, not %.60q", pair)
			return
		}
		if key == "ignore_eos" {
			t.API.IgnoreEOS = value == "true"
			continue
		}
		if n, err := strconv.Atoi(value); err == nil && n > 0 && (key == "max_tokens" || key == "max_completion_tokens") {
			f.OSL, f.OSLDev = &n, 0 // it takes precedence over osl in a request of aiperf
			continue
		}
		if t.API.Extra == nil {
			t.API.Extra = map[string]any{}
		}
		t.API.Extra[key] = plainValue(value)
	}
	(&vllmFile{Header: f.Header, Goodput: f.Goodput}).common(t)
	f.load(t)
	f.data(t)
}

func (f *aiperfFile) load(t *translation) {
	s := profile.Stage{Requests: f.Requests, Duration: seconds(f.Duration), Concurrency: f.Users}
	switch {
	case f.Schedule:
		s.Arrival = profile.Trace
		t.Load.Trace = &profile.TraceFile{Path: f.File, Format: "mooncake"}
	case f.Rate > 0 && f.Mode == "gamma":
		s.Arrival, s.Rate, s.Burstiness = profile.Gamma, f.Rate, or(f.Smooth, 1)
	case f.Rate > 0:
		s.Arrival, s.Rate = profile.Arrival(cmp.Or(f.Mode, "poisson")), f.Rate
	default:
		s.Arrival, s.Concurrency = profile.Closed, max(1, f.Users)
	}
	if s.Requests == 0 && s.Duration == 0 && s.Arrival != profile.Trace {
		s.Requests = max(10, 2*f.Users) // aiperf's default
	}
	if f.Warmups > 0 {
		t.Load.Stages = append(t.Load.Stages, profile.Stage{Name: "warm-up", Arrival: profile.Closed,
			Concurrency: max(1, f.Users), Requests: f.Warmups, Warmup: true})
	}
	t.Load.Stages = append(t.Load.Stages, s)
}

// around returns a normal distribution of whole numbers from 1, or a fixed number if there is no deviation.
func around(mean, deviation float64) *profile.Distribution {
	if deviation > 0 {
		return &profile.Distribution{Kind: "normal", Mean: mean, StdDev: deviation, Min: 1}
	}
	return profile.FixedAt(mean)
}

func (f *aiperfFile) data(t *translation) {
	length := func(mean *int, deviation float64, otherwise int) *profile.Distribution {
		return around(float64(or(mean, otherwise)), deviation)
	}
	t.Data = profile.Data{Kind: profile.Synthetic, Input: length(f.ISL, f.ISLDev, 550)}
	if f.OSL != nil {
		t.Data.Output = length(f.OSL, f.OSLDev, 0)
	} else {
		t.Data.Output = profile.FixedAt(128)
		t.notes.add("osl: absent; answers are at most 128 tokens long here, and as long as the model likes in aiperf")
	}
	if f.Prefix > 0 {
		t.Data.Buckets = []profile.Bucket{{Weight: 1, Count: max(1, f.Prefixes), Tokens: f.Prefix}}
	}
	if f.Turns > 1 {
		t.Data.Kind = profile.Conversations
		t.Data.Turns = &profile.Turns{Conversations: max(1, f.Talks, f.Users),
			Count: around(float64(f.Turns), f.TurnsDev)}
		if f.Delay > 0 {
			t.Data.Turns.ToolLatency = profile.FixedAt(f.Delay / 1000) // milliseconds
		}
	}
	switch {
	case f.Public != "":
		t.Data = profile.Data{Kind: profile.ShareGPT}
		t.path("input-file", shareGPTFile)
	case f.Custom == "mooncake_trace":
		t.Data = profile.Data{Kind: profile.TraceLengths, Trace: &profile.TraceFile{Path: f.File, Format: "mooncake"}}
	case f.File != "":
		t.Data = profile.Data{Kind: profile.Prompts, Path: f.File, Format: "jsonl", Output: t.Data.Output,
			Shuffle: f.Custom == "random_pool"}
		if f.Custom == "multi_turn" {
			t.fail("custom-dataset-type", "files of conversations cannot be read; convert them to ShareGPT's form")
		}
	}
}
