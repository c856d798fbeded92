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
	Endpoint  string   `yaml:"endpoint" also:"custom-endpoint"`
	Streaming bool     `yaml:"streaming"`
	Users     int      `yaml:"concurrency" is:">=1"`
	Rate      float64  `yaml:"request-rate" is:">0"`
	Mode      string   `yaml:"request-rate-mode" also:"arrival-pattern" one:"constant poisson gamma"`
	Smooth    *float64 `yaml:"arrival-smoothness" also:"vllm-burstiness" is:">0"`
	UserRamp  float64  `yaml:"concurrency-ramp-duration" is:"0..1e7"`
	RateRamp  float64  `yaml:"request-rate-ramp-duration" is:"0..1e7"`
	UserRate  float64  `yaml:"user-centric-rate" is:">0"`
	RateUsers int      `yaml:"num-users" is:">=1"`
	Prefill   any      `yaml:"prefill-concurrency" yet:"requests that wait for their first token are not limited"`
	Series    any      `yaml:"request-rate-series" yet:"write a stage for each rate"`
	Cancel    float64  `yaml:"request-cancellation-rate" is:"0..100"`
	CancelIn  float64  `yaml:"request-cancellation-delay" is:"0..1e7"`
	Requests  int      `yaml:"request-count" also:"num-requests" is:">=1"`
	Duration  float64  `yaml:"benchmark-duration" is:"0..1e7"`
	Schedule  bool     `yaml:"fixed-schedule"`
	Unbound   bool     `yaml:"no-fixed-schedule"`
	From      any      `yaml:"fixed-schedule-start-offset" yet:"cut the file to the requests that are to be sent"`
	To        any      `yaml:"fixed-schedule-end-offset" yet:"cut the file to the requests that are to be sent"`
	Timeout   float64  `yaml:"request-timeout-seconds" is:"0..1e7"`
	Seed      uint64   `yaml:"random-seed"`

	Warmups      int     `yaml:"warmup-request-count" also:"num-warmup-requests" is:">=0"`
	WarmupTime   float64 `yaml:"warmup-duration" is:"0..1e7"`
	WarmupUsers  int     `yaml:"warmup-concurrency" is:">=1"`
	WarmupRate   float64 `yaml:"warmup-request-rate" is:">0"`
	WarmupMode   string  `yaml:"warmup-arrival-pattern" one:"constant poisson gamma"`
	WarmupRamp   float64 `yaml:"warmup-concurrency-ramp-duration" is:"0..1e7"`
	WarmupGrowth float64 `yaml:"warmup-request-rate-ramp-duration" is:"0..1e7"`

	ISL      *int     `yaml:"isl" also:"synthetic-input-tokens-mean prompt-input-tokens-mean" is:">=1"`
	ISLDev   float64  `yaml:"isl-stddev" also:"synthetic-input-tokens-stddev prompt-input-tokens-stddev" is:">=0"`
	OSL      *int     `yaml:"osl" also:"output-tokens-mean prompt-output-tokens-mean" is:">=1"`
	OSLDev   float64  `yaml:"osl-stddev" also:"output-tokens-stddev prompt-output-tokens-stddev" is:">=0"`
	Prefixes int      `yaml:"num-prefix-prompts" also:"prefix-prompt-pool-size prompt-prefix-pool-size" is:">=0"`
	Prefix   int      `yaml:"prefix-prompt-length" also:"prompt-prefix-length" is:">=0"`
	System   int      `yaml:"shared-system-prompt-length" is:">=0"`
	Context  int      `yaml:"user-context-prompt-length" is:">=0"`
	Turns    int      `yaml:"conversation-turn-mean" also:"session-turns-mean" is:">=1"`
	TurnsDev float64  `yaml:"conversation-turn-stddev" also:"session-turns-stddev" is:">=0"`
	Delay    float64  `yaml:"conversation-turn-delay-mean" also:"session-turn-delay-mean" is:">=0"`
	DelayDev float64  `yaml:"conversation-turn-delay-stddev" also:"session-turn-delay-stddev" is:">=0"`
	Ratio    *float64 `yaml:"conversation-turn-delay-ratio" also:"session-delay-ratio" is:">=0"`
	Talks    int      `yaml:"conversation-num" also:"num-conversations num-sessions" is:">=1"`
	Rows     int      `yaml:"num-dataset-entries" also:"num-prompts" is:">=1"`
	Lengths  any      `yaml:"sequence-distribution" also:"seq-dist" yet:"write a profile for each pair"`

	Images    *int    `yaml:"image-batch-size" also:"batch-size-image" is:"0..1000"`
	Width     float64 `yaml:"image-width-mean" is:"0..16384"`
	WidthDev  float64 `yaml:"image-width-stddev" is:">=0"`
	Height    float64 `yaml:"image-height-mean" is:"0..16384"`
	HeightDev float64 `yaml:"image-height-stddev" is:">=0"`
	Format    string  `yaml:"image-format" one:"png jpeg"`

	Passages   *int    `yaml:"rankings-passages-mean" is:"1..10000"`
	PassageDev any     `yaml:"rankings-passages-stddev" yet:"all requests have as many passages"`
	Passage    *int    `yaml:"rankings-passages-prompt-token-mean" is:">=1"`
	PassDev    float64 `yaml:"rankings-passages-prompt-token-stddev" is:">=0"`
	Query      *int    `yaml:"rankings-query-prompt-token-mean" is:">=1"`
	QueryDev   float64 `yaml:"rankings-query-prompt-token-stddev" is:">=0"`

	File   string `yaml:"input-file"`
	Custom string `yaml:"custom-dataset-type" one:"single_turn multi_turn mooncake_trace random_pool"`
	Public string `yaml:"public-dataset" one:"sharegpt"`

	Extra     []string `yaml:"extra-inputs" single:"yes"`
	Header    []string `yaml:"header" single:"yes"`
	Session   string   `yaml:"session-header"`
	APIKey    string   `yaml:"api-key" yet:"a key does not belong in a profile; set MLPERF_GO_API_KEY"`
	Tokenizer string   `yaml:"tokenizer"`
	Trust     bool     `yaml:"tokenizer-trust-remote-code"`
	ServerTok bool     `yaml:"use-server-token-count"`
	NoServer  bool     `yaml:"no-server-metrics"`
	NoGPU     bool     `yaml:"no-gpu-telemetry"`
	Workers   int      `yaml:"workers-max" also:"max-workers"`
	UI        string   `yaml:"ui" also:"ui-type"`
	Goodput   []string `yaml:"goodput" single:"yes"`
	Artifacts string   `yaml:"output-artifact-dir" also:"artifact-dir"`
	Slice     float64  `yaml:"slice-duration"`
}

func (f *aiperfFile) translate(t *translation) {
	t.Seed = f.Seed
	t.API = profile.API{Kind: cmp.Or(f.Type, "chat"), Stream: f.Streaming, Endpoint: f.URL, Model: f.Model,
		Tokenizer: f.Tokenizer, RequestTimeout: seconds(f.Timeout), SessionHeader: f.Session}
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

// isSchedule reports whether requests are sent at the times of their file. aiperf does so for traces with times, unless
// the file forbids it or sets a rate.
func (f *aiperfFile) isSchedule() bool {
	return f.Schedule || f.Custom == "mooncake_trace" && !f.Unbound && f.Rate == 0 && f.UserRate == 0
}

// entries is how many different sessions the data have; aiperf repeats them (flags/_converter_dataset.py of 0.13.0).
func (f *aiperfFile) entries() int { return cmp.Or(f.Rows, f.Talks, f.Requests, 100) }

func (f *aiperfFile) load(t *translation) {
	s := f.stage(f.Rate, f.Users, f.Mode, f.RateRamp, f.UserRamp)
	s.Requests, s.Duration = f.Requests, seconds(f.Duration)
	switch {
	case f.isSchedule():
		s = profile.Stage{Arrival: profile.Trace, Requests: s.Requests, Duration: s.Duration, Concurrency: f.Users}
		t.Load.Trace = &profile.TraceFile{Path: f.File, Format: "mooncake"}
	case f.UserRate > 0: // users take turns
		if f.RateUsers == 0 {
			t.fail("user-centric-rate", "set num-users too")
		}
		s.Arrival, s.Rate, s.Concurrency = profile.Constant, f.UserRate, 0
		t.notes.add("user-centric-rate: users ask in turn at the total rate; a late answer delays its user alone")
	}
	if f.Cancel > 0 {
		const soon = 1e-3 // seconds; 0 means right after sending
		t.Load.Leave = &profile.Leave{Share: f.Cancel / 100, After: profile.FixedAt(max(f.CancelIn, soon))}
	}
	bounded := s.Requests > 0 || s.Duration > 0 || s.Arrival == profile.Trace
	if !bounded && f.Talks > 0 { // so many sessions, with all their turns
		s.Requests, bounded = f.Talks*max(1, f.Turns), true
		if f.TurnsDev > 0 {
			t.notes.add("conversation-num: %d requests, which is the mean of so many sessions", s.Requests)
		}
	}
	if !bounded {
		s.Requests = max(10, 2*f.Users) // aiperf's default
	}
	if f.Warmups > 0 || f.WarmupTime > 0 {
		warmup := f.stage(cmp.Or(f.WarmupRate, f.Rate), cmp.Or(f.WarmupUsers, f.Users), cmp.Or(f.WarmupMode, f.Mode),
			cmp.Or(f.WarmupGrowth, f.RateRamp), cmp.Or(f.WarmupRamp, f.UserRamp))
		warmup.Name, warmup.Warmup = "warm-up", true
		warmup.Requests, warmup.Duration = f.Warmups, seconds(f.WarmupTime)
		t.Load.Stages = append(t.Load.Stages, warmup)
	}
	t.Load.Stages = append(t.Load.Stages, s)
}

// stage returns a stage with a rate, or with users if the rate is 0. The ramps are lengths in seconds.
func (f *aiperfFile) stage(rate float64, users int, mode string, rateRamp, userRamp float64) profile.Stage {
	s, ramp := profile.Stage{Concurrency: users, Rate: rate}, rateRamp
	switch {
	case rate == 0:
		s.Arrival, s.Concurrency, ramp = profile.Closed, max(1, users), userRamp
	case mode == "gamma":
		s.Arrival, s.Burstiness = profile.Gamma, or(f.Smooth, 1)
	default:
		s.Arrival = profile.Arrival(cmp.Or(mode, "poisson"))
	}
	if ramp > 0 {
		s.Ramp = &profile.Ramp{Shape: "linear", Over: seconds(ramp)}
	}
	return s
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
	t.Data = profile.Data{Kind: profile.Synthetic, Input: length(f.ISL, f.ISLDev, 550), Rows: f.entries()}
	if t.API.Kind == "rerank" {
		t.Data.Input = length(f.Query, f.QueryDev, 550)
		t.Data.Passages = &profile.Passages{Count: or(f.Passages, 1), Tokens: length(f.Passage, f.PassDev, 550)}
	}
	f.images(t)
	if f.OSL != nil {
		t.Data.Output = length(f.OSL, f.OSLDev, 0)
	} else {
		t.Data.Output = profile.FixedAt(128)
		t.notes.add("osl: absent; answers are at most 128 tokens long here, and as long as the model likes in aiperf")
	}
	if f.Prefix > 0 {
		t.Data.Buckets = []profile.Bucket{{Weight: 1, Count: max(1, f.Prefixes), Tokens: f.Prefix}}
	}
	if f.Turns > 1 || f.System > 0 || f.Context > 0 || f.UserRate > 0 {
		f.conversations(t)
	}
	switch {
	case f.Public != "":
		t.Data = profile.Data{Kind: profile.ShareGPT}
		t.path("input-file", shareGPTFile)
	case f.Custom == "mooncake_trace":
		t.Data = profile.Data{Kind: profile.TraceLengths, Trace: &profile.TraceFile{Path: f.File, Format: "mooncake"}}
	case f.File != "":
		t.Data = profile.Data{Kind: profile.Prompts, Path: f.File, Format: "jsonl", Output: t.Data.Output, Rows: f.Rows,
			Shuffle: f.Custom == "random_pool"}
		if f.Custom == "multi_turn" {
			t.fail("custom-dataset-type", "files of conversations cannot be read; convert them to ShareGPT's form")
		}
	}
}

// conversations translates sessions of several turns, and system prompts, which belong to sessions.
func (f *aiperfFile) conversations(t *translation) {
	t.Data.Kind, t.Data.Rows = profile.Conversations, 0
	t.Data.Turns = &profile.Turns{Conversations: f.entries(),
		Count: around(float64(max(1, f.Turns)), f.TurnsDev), SharedSystem: f.System}
	if f.UserRate > 0 {
		t.Data.Turns.Conversations = max(1, f.RateUsers)
	}
	if f.Context > 0 {
		t.Data.Turns.System = profile.FixedAt(float64(f.Context))
	}
	const ms = 1000
	if delay := f.Delay * or(f.Ratio, 1) / ms; delay > 0 {
		t.Data.Turns.ToolLatency = around(delay, f.DelayDev*or(f.Ratio, 1)/ms)
		if f.DelayDev > 0 {
			t.Data.Turns.ToolLatency.Min = 0
		}
	}
}

// images translates images beside the text, all of their mean size.
func (f *aiperfFile) images(t *translation) {
	n := or(f.Images, 1)
	if f.Width < 1 || f.Height < 1 || n == 0 {
		return
	}
	if f.WidthDev+f.HeightDev > 0 {
		t.notes.add("image-width-stddev, image-height-stddev: not read; all images have the mean size")
	}
	t.Data.Images = &profile.Images{Count: profile.FixedAt(float64(n)), Format: cmp.Or(f.Format, "png"),
		Resolutions: []profile.Resolution{{Width: int(f.Width), Height: int(f.Height)}}}
}
