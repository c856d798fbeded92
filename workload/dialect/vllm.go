package dialect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// vllmFile is the command line of `vllm bench serve` as a flat map (vllm/benchmarks/serve.py).
type vllmFile struct {
	Executable string `yaml:"executable"`

	Backend    string   `yaml:"backend"`
	Endpoint   string   `yaml:"endpoint"`
	BaseURL    string   `yaml:"base-url"`
	Host       string   `yaml:"host"`
	Port       int      `yaml:"port" is:"0..65535"`
	Model      string   `yaml:"model"`
	Served     string   `yaml:"served-model-name"`
	Tokenizer  string   `yaml:"tokenizer"`
	TokMode    string   `yaml:"tokenizer-mode"`
	Trust      bool     `yaml:"trust-remote-code"`
	Insecure   bool     `yaml:"insecure" yet:"certificates are always verified"`
	NumPrompts *int     `yaml:"num-prompts" is:">=-1"`
	NoRepeat   bool     `yaml:"no-oversample"`
	Seed       uint64   `yaml:"seed"`
	Rate       *float64 `yaml:"request-rate" is:">0"`
	Burstiness *float64 `yaml:"burstiness" is:">0"`
	Users      int      `yaml:"max-concurrency" is:">=0"`
	Warmups    int      `yaml:"num-warmups" is:">=0"`
	RampShape  string   `yaml:"ramp-up-strategy" one:"linear exponential"`
	RampStart  float64  `yaml:"ramp-up-start-rps" is:">=0"`
	RampEnd    float64  `yaml:"ramp-up-end-rps" is:">=0"`
	Ready      float64  `yaml:"ready-check-timeout-sec"`
	ProbeRate  float64  `yaml:"probe-request-rate" yet:"probes beside the load are not sent"`
	SelfTimed  bool     `yaml:"self-timed"`

	Dataset        vllmData `yaml:"dataset-name"`
	Path           string   `yaml:"dataset-path"`
	NoShuffle      bool     `yaml:"disable-shuffle"`
	Input          *int     `yaml:"random-input-len" also:"input-len" is:">=1"`
	Output         *int     `yaml:"random-output-len" also:"output-len" is:">=1"`
	Range          float64  `yaml:"random-range-ratio" is:"0..1"`
	Prefix         int      `yaml:"random-prefix-len" is:">=0"`
	SonnetInput    *int     `yaml:"sonnet-input-len" is:">=1"`
	SonnetOutput   *int     `yaml:"sonnet-output-len" is:">=1"`
	SonnetPrefix   *int     `yaml:"sonnet-prefix-len" is:">=0"`
	ShareGPTOutput int      `yaml:"sharegpt-output-len" is:">=1"`
	CustomOutput   *int     `yaml:"custom-output-len" is:">=-1"`
	SpecOutput     *int     `yaml:"spec-bench-output-len" is:">=1"`
	SpecCategory   string   `yaml:"spec-bench-category"`
	SpeedSubset    speedSet `yaml:"speed-bench-dataset-subset"`
	SpeedOutput    *int     `yaml:"speed-bench-output-len" is:">=1"`
	SpeedCategory  string   `yaml:"speed-bench-category"`
	HFOutput       int      `yaml:"hf-output-len" is:">=1"`
	HFSubset       string   `yaml:"hf-subset"`
	HFSplit        string   `yaml:"hf-split"`
	RepeatPrefix   *int     `yaml:"prefix-repetition-prefix-len" is:">=1"`
	RepeatSuffix   *int     `yaml:"prefix-repetition-suffix-len" is:">=1"`
	RepeatNumber   *int     `yaml:"prefix-repetition-num-prefixes" is:">=1"`
	RepeatOutput   *int     `yaml:"prefix-repetition-output-len" is:">=1"`
	MMItems        *int     `yaml:"random-mm-base-items-per-request" is:">=0"`
	MMRange        float64  `yaml:"random-mm-num-mm-items-range-ratio" is:"0..1"`
	MMLimit        any      `yaml:"random-mm-limit-mm-per-prompt"`
	MMBuckets      any      `yaml:"random-mm-bucket-config"`
	Batch          int      `yaml:"random-batch-size" is:"1..10000"`
	NoReranker     bool     `yaml:"no-reranker"`
	NoTemplate     bool     `yaml:"skip-chat-template"`
	CustomSkip     bool     `yaml:"custom-skip-chat-template"`

	IgnoreEOS   bool     `yaml:"ignore-eos"`
	Temperature *float64 `yaml:"temperature"`
	TopP        *float64 `yaml:"top-p"`
	TopK        *int     `yaml:"top-k"`
	MinP        *float64 `yaml:"min-p"`
	Frequency   *float64 `yaml:"frequency-penalty"`
	Presence    *float64 `yaml:"presence-penalty"`
	Repetition  *float64 `yaml:"repetition-penalty"`
	ExtraBody   any      `yaml:"extra-body"`
	Header      []string `yaml:"header" single:"yes"`
	LoRA        []string `yaml:"lora-modules" single:"yes"`
	Assignment  string   `yaml:"lora-assignment" one:"random round-robin"`
	Goodput     []string `yaml:"goodput" single:"yes"`
	Metrics     string   `yaml:"percentile-metrics"`
	Percentiles string   `yaml:"metric-percentiles"`

	Save         bool   `yaml:"save-result"`
	Detailed     bool   `yaml:"save-detailed"`
	Append       bool   `yaml:"append-result"`
	Dir          string `yaml:"result-dir"`
	File         string `yaml:"result-filename"`
	Metadata     any    `yaml:"metadata"`
	Label        string `yaml:"label"`
	Timeline     bool   `yaml:"plot-timeline"`
	DatasetStats bool   `yaml:"plot-dataset-stats"`
	Profile      bool   `yaml:"profile"`
	NoTqdm       bool   `yaml:"disable-tqdm"`
	LogProbs     int    `yaml:"logprobs"`
	RequestID    string `yaml:"request-id-prefix"`
}

type vllmData string

// Values returns all data sets that can be translated.
func (vllmData) Values() []string {
	return []string{"random", "sharegpt", "burstgpt", "sonnet", "hf", "custom", "prefix_repetition", "spec_bench",
		"speed_bench", "txt-slices", "timed_trace", "random-mm", "random-rerank"}
}

// speedSet is a subset of SPEED-Bench.
type speedSet string

// Values returns all subsets (vllm/benchmarks/datasets).
func (speedSet) Values() []string {
	return []string{"qualitative", "throughput_1k", "throughput_2k", "throughput_8k", "throughput_16k", "throughput_32k"}
}

// flags rewrites a flat file whose keys are flags: underscores become dashes, and a missing value, as of a flag,
// becomes true.
func flags(root *yaml.Node, _ *notes) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		key.Value = strings.ReplaceAll(key.Value, "_", "-")
		if value.Kind == yaml.ScalarNode && value.Value == "none" {
			value.Value, value.Tag, value.Style = "true", "", 0
			if strings.HasSuffix(key.Value, "concurrency") {
				value.Value, value.Tag = "", "!!null"
			}
		}
	}
}

// kindOf returns the API of a route or of a backend's name.
func kindOf(route, backend string) string {
	for _, sign := range []struct{ part, kind string }{
		{"chat", "chat"}, {"responses", "responses"}, {"embedding", "embeddings"}, {"rerank", "rerank"},
		{"ranking", "rerank"},
	} {
		if strings.Contains(route, sign.part) || route == "" && strings.Contains(backend, sign.part) {
			return sign.kind
		}
	}
	return "completions"
}

// inferenceMAX reads a file of inferencemax: it has vllm's flags, and a pass of three prompts goes before each run
// (workload/harnesses/inferencemax-llm-d-benchmark.sh of llm-d-benchmark).
func inferenceMAX(file any, t *translation) {
	f := file.(*vllmFile)
	f.Warmups = cmp.Or(f.Warmups, 3)
	f.translate(t)
}

func (f *vllmFile) translate(t *translation) {
	url := f.BaseURL
	if url == "" && (f.Host != "" || f.Port > 0) {
		url = fmt.Sprintf("http://%s:%d", cmp.Or(f.Host, "127.0.0.1"), cmp.Or(f.Port, 8000))
	}
	t.Seed = f.Seed
	t.API = profile.API{Kind: kindOf(f.Endpoint, f.Backend), Stream: true, Endpoint: url, Model: cmp.Or(f.Served, f.Model),
		Tokenizer: f.Tokenizer, IgnoreEOS: f.IgnoreEOS || f.Dataset == "random" || f.Dataset == "" ||
			f.Dataset == "timed_trace" || f.Dataset == "random-mm"}
	if f.Dataset == "random-rerank" {
		t.API.Kind = "rerank"
	}
	t.API.Stream = t.API.Generates()
	f.body(t)
	f.headers(t)
	if f.HFSubset != "" || f.HFSplit != "" {
		t.notes.add("hf-subset, hf-split: not read; all rows of the file are used")
	}
	if f.NoRepeat {
		t.notes.add("no-oversample: not read; rows are repeated if there are fewer than num-prompts")
	}
	if f.Assignment == "round-robin" {
		t.notes.add("lora-assignment: round-robin is not read; each request draws its adapter")
	}
	for _, name := range f.LoRA {
		t.API.Adapters = append(t.API.Adapters, profile.Adapter{Name: name, Share: 1 / float64(len(f.LoRA))})
	}
	f.goodput(t)
	f.export(t)
	f.load(t)
	f.data(t)
}

// body collects the members of the request that the file sets.
func (f *vllmFile) body(t *translation) {
	extra := map[string]any{}
	if m, ok := f.ExtraBody.(map[string]any); ok {
		extra = m
	} else if text, ok := f.ExtraBody.(string); ok && text != "" {
		if err := json.Unmarshal([]byte(text), &extra); err != nil {
			t.fail("extra-body", "expected a JSON object, not %.60q", text)
		}
	}
	for key, v := range map[string]*float64{"temperature": f.Temperature, "top_p": f.TopP, "min_p": f.MinP,
		"frequency_penalty": f.Frequency, "presence_penalty": f.Presence, "repetition_penalty": f.Repetition} {
		if v != nil {
			extra[key] = *v
		}
	}
	if f.TopK != nil {
		extra["top_k"] = *f.TopK
	}
	if f.LogProbs > 0 {
		extra["logprobs"] = f.LogProbs
	}
	if len(extra) > 0 {
		t.API.Extra = extra
	}
}

func (f *vllmFile) headers(t *translation) {
	for _, h := range f.Header {
		name, value, ok := strings.Cut(h, "=")
		if !ok {
			if name, value, ok = strings.Cut(h, ":"); !ok {
				t.fail("header", "expected NAME=VALUE, not %.60q", h)
				return
			}
		}
		if t.API.Headers == nil {
			t.API.Headers = map[string]string{}
		}
		t.API.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
}

// goodput reads KEY:MS pairs, separated by spaces or as a list.
func (f *vllmFile) goodput(t *translation) {
	to := map[string]*time.Duration{"ttft": &t.SLO.TTFT, "tpot": &t.SLO.TPOT, "e2el": &t.SLO.E2E}
	for _, pair := range strings.Fields(strings.Join(f.Goodput, " ")) {
		key, text, _ := strings.Cut(pair, ":")
		ms, err := strconv.ParseFloat(text, 64)
		if to[key] == nil || err != nil || !(ms >= 0 && ms < 1e9) {
			t.fail("goodput", "expected ttft:MS, tpot:MS or e2el:MS, not %.60q", pair)
			return
		}
		*to[key] = time.Duration(ms * float64(time.Millisecond))
	}
}

// export reads which figures the result file has.
func (f *vllmFile) export(t *translation) {
	x := profile.Export{Requests: f.Detailed}
	for _, text := range fieldsOf(f.Percentiles) {
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			t.fail("metric-percentiles", "expected numbers from 0 to 100 with commas between them, not %.60q", f.Percentiles)
			return
		}
		x.Percentiles = append(x.Percentiles, p)
	}
	for _, name := range fieldsOf(f.Metrics) {
		if !slices.Contains(x.Metrics.Values(), name) {
			t.fail("percentile-metrics", "expected some of %s, not %.60q", strings.Join(x.Metrics.Values(), ", "), name)
			return
		}
		x.Metrics = append(x.Metrics, name)
	}
	if x.Requests || x.Percentiles != nil || x.Metrics != nil {
		t.Export = &x
	}
}

// fieldsOf splits a text at commas.
func fieldsOf(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
}

func (f *vllmFile) load(t *translation) {
	if n := or(f.NumPrompts, 1000); n < 1 {
		t.fail("num-prompts", "%d means every row of the data in vllm, and a profile has a number of requests: write the "+
			"number of rows", n)
		return
	}
	s := profile.Stage{Requests: or(f.NumPrompts, 1000), Concurrency: f.Users}
	rate, shape := or(f.Rate, math.Inf(1)), or(f.Burstiness, 1)
	if f.RampShape != "" {
		rate = f.RampEnd
		s.Ramp = &profile.Ramp{Shape: f.RampShape, From: f.RampStart, To: f.RampEnd}
	}
	switch {
	case f.Dataset == "timed_trace" && f.SelfTimed:
		s.Arrival = profile.Trace
		t.Load.Trace = &profile.TraceFile{Path: f.Path, Format: "jsonl"}
	case math.IsInf(rate, 1) && f.Users > 0:
		s.Arrival = profile.Closed
	case math.IsInf(rate, 1):
		s.Arrival = profile.Burst
	case shape == 1:
		s.Arrival, s.Rate, s.Rescale = profile.Poisson, rate, s.Ramp == nil
	case math.IsInf(shape, 1):
		s.Arrival, s.Rate = profile.Constant, rate
	default:
		s.Arrival, s.Rate, s.Burstiness, s.Rescale = profile.Gamma, rate, shape, s.Ramp == nil
	}
	if s.Ramp != nil && s.Rate > 0 {
		f.ramp(&s, t)
	}
	if f.Warmups > 0 {
		t.Load.Stages = append(t.Load.Stages,
			profile.Stage{Name: "warm-up", Arrival: profile.Burst, Concurrency: f.Users, Requests: f.Warmups, Warmup: true})
	}
	t.Load.Stages = append(t.Load.Stages, s)
}

// ramp translates a rate that grows with the number of requests into one that grows with time. A rate that grows
// linearly with the number of requests sent is an exponential function of time (dn/dt = a + bn).
func (f *vllmFile) ramp(s *profile.Stage, t *translation) {
	mean := (f.RampStart + f.RampEnd) / 2
	if rise := math.Log(f.RampEnd / f.RampStart); f.RampStart > 0 && rise != 0 {
		mean = (f.RampEnd - f.RampStart) / rise
		s.Ramp.Shape = "exponential"
	}
	s.Ramp.Over = seconds(min(float64(s.Requests)/max(mean, 1e-3), 1e7))
	if f.RampStart == 0 || f.RampShape == "exponential" {
		t.notes.add("ramp-up-strategy: the rate grows with time, from ramp-up-start-rps to ramp-up-end-rps over all " +
			"requests; vllm lets it grow with their number, and stays longer at low rates")
	}
}

func fixed(v *int, otherwise int) *profile.Distribution {
	return profile.FixedAt(float64(or(v, otherwise)))
}

// spread returns lengths within a relative distance of a mean, all equally likely.
func spread(mean int, ratio float64) *profile.Distribution {
	if ratio == 0 {
		return profile.FixedAt(float64(mean))
	}
	m := float64(mean)
	return &profile.Distribution{Kind: "uniform", Min: max(1, math.Floor(m*(1-ratio))), Max: math.Ceil(m * (1 + ratio))}
}

// vllmFormats are the data sets that are files.
var vllmFormats = map[vllmData]profile.Format{"custom": "jsonl", "spec_bench": "jsonl", "speed_bench": "jsonl",
	"txt-slices": "text", "hf": ""}

func (f *vllmFile) data(t *translation) {
	t.Data.Path, t.Data.Shuffle = f.Path, !f.NoShuffle
	switch f.Dataset {
	case "", "random", "random-mm", "random-rerank":
		f.random(t)
	case "prefix_repetition":
		groups := or(f.RepeatNumber, 10)
		last := &t.Load.Stages[len(t.Load.Stages)-1]
		if last.Requests < groups {
			t.fail("num-prompts", "vllm needs at least one for each of the %d prefixes", groups)
		}
		last.Requests -= last.Requests % groups // as many for each prefix
		t.Data = profile.Data{Kind: profile.SharedPrefix, Output: fixed(f.RepeatOutput, 128), Groups: &profile.Groups{
			Count: groups, Users: max(1, or(f.NumPrompts, 1000)/groups), System: fixed(f.RepeatPrefix, 256),
			Question: fixed(f.RepeatSuffix, 256)}}
	case "sharegpt":
		t.Data.Kind, t.Data.MaxTotal = profile.ShareGPT, 2048 // vllm/benchmarks/datasets: is_valid_sequence
		t.Data.Input = &profile.Distribution{Kind: "uniform", Min: 4, Max: 1024}
		t.Data.Output = &profile.Distribution{Kind: "uniform", Min: 4, Max: 2048}
		if f.ShareGPTOutput > 0 {
			t.Data.Output = fixed(&f.ShareGPTOutput, 0)
		}
		t.path("dataset-path", shareGPTFile)
	case "sonnet":
		t.Data.Kind, t.Data.Format, t.Data.Prefix = profile.Prompts, "sonnet", or(f.SonnetPrefix, 200)
		t.Data.Input, t.Data.Output = fixed(f.SonnetInput, 550), fixed(f.SonnetOutput, 150)
		t.path("dataset-path", "sonnet.txt")
	case "burstgpt", "timed_trace":
		format := map[vllmData]string{"burstgpt": "burstgpt", "timed_trace": "jsonl"}[f.Dataset]
		t.Data = profile.Data{Kind: profile.TraceLengths, Trace: &profile.TraceFile{Path: f.Path, Format: format}}
		if f.Dataset == "burstgpt" {
			t.notes.add("dataset-name: the rows of the file are sent in their order; vllm draws rows of GPT-4 that have an " +
				"answer")
		}
	default:
		t.Data.Kind, t.Data.Format, t.Data.Template = profile.Prompts, vllmFormats[f.Dataset], !f.CustomSkip && !f.NoTemplate
		t.Data.Template = t.Data.Template && t.API.Kind == "completions" && f.Dataset != "txt-slices" && f.Dataset != "hf"
		if n := or(f.CustomOutput, 256); f.Dataset == "custom" && n > 0 {
			t.Data.Output = profile.FixedAt(float64(n))
		}
		f.speculative(t)
		if f.HFOutput > 0 {
			t.Data.Output = fixed(&f.HFOutput, 0)
		}
		t.path("dataset-path", string(f.Dataset))
	}
}

// speculative reads the data sets for speculative decoding, whose rows have a category. SPEED-Bench is a folder with a
// file for each of its subsets.
func (f *vllmFile) speculative(t *translation) {
	switch f.Dataset {
	case "spec_bench":
		t.Data.Output, t.Data.Category = fixed(f.SpecOutput, 256), f.SpecCategory
	case "speed_bench":
		t.Data.Output, t.Data.Category = fixed(f.SpeedOutput, 4096), f.SpeedCategory
		if t.Data.Path != "" && !strings.HasSuffix(t.Data.Path, ".jsonl") {
			t.Data.Path = path.Join(t.Data.Path, string(cmp.Or(f.SpeedSubset, "qualitative"))+".jsonl")
		}
	}
}

// common translates the keys that aiperf shares.
func (f *vllmFile) common(t *translation) {
	f.headers(t)
	f.goodput(t)
}

// plainValue assigns a YAML type to a text.
func plainValue(text string) any {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil || v == nil {
		return text
	}
	return v
}
