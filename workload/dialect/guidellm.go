package dialect

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config/strict"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/template"
)

// glFile is a scenario of guidellm: the form of version 0.7 (spec and benchmarks) and the flat one before it.
type glFile struct {
	Metadata   any              `yaml:"metadata"`
	Spec       any              `yaml:"spec"`
	Benchmarks []map[string]any `yaml:"benchmarks"`

	Target      string    `yaml:"target"`
	Model       string    `yaml:"model"`
	Processor   string    `yaml:"processor"`
	RequestType string    `yaml:"request_type" also:"request-type" one:"text_completions chat_completions"`
	Profile     glLoad    `yaml:"profile" also:"rate-type rate_type"`
	Rate        []float64 `yaml:"rate" single:"yes" is:">0"`
	MaxSeconds  float64   `yaml:"max_seconds" also:"max-seconds" is:"0..1e7"`
	MaxRequests int       `yaml:"max_requests" also:"max-requests" is:">=0"`
	MaxErrors   int       `yaml:"max_errors" also:"max-errors" is:">=0"`
	Warmup      *glWindow `yaml:"warmup" also:"warmup-percent"`
	Cooldown    *glWindow `yaml:"cooldown" also:"cooldown-percent"`
	Rampup      float64   `yaml:"rampup" is:"0..1e7"`
	RandomSeed  *uint64   `yaml:"random_seed" also:"random-seed"`
	Data        any       `yaml:"data"`
	OutputPath  string    `yaml:"output_path" also:"output-path"`
	BackendType string    `yaml:"backend_type" also:"backend-type backend"`
	BackendArgs any       `yaml:"backend_args" also:"backend-args backend_kwargs" yet:"write them below spec.backend"`
}

// glLoad is guidellm's name of a load; Values lists them.
type glLoad string

// Values returns guidellm's loads.
func (glLoad) Values() []string {
	return []string{"synchronous", "concurrent", "throughput", "constant", "async", "poisson", "sweep", "replay"}
}

type glSpec struct {
	Backend     glBackend      `yaml:"backend"`
	Profile     glProfile      `yaml:"profile"`
	Constraints []glConstraint `yaml:"constraints" single:"yes"`
	Data        []glData       `yaml:"data" single:"yes" need:"yes"`
	Tokenizer   any            `yaml:"tokenizer"`
	Mapper      any            `yaml:"data_column_mapper"`
	Processors  any            `yaml:"data_preprocessors"`
	Finalizer   any            `yaml:"data_finalizer"`
	Loader      glLoader       `yaml:"data_loader"`
	Seed        *glSeed        `yaml:"seed"`
	Outputs     any            `yaml:"outputs"`
	Metrics     any            `yaml:"metrics"`
}

type glBackend struct {
	Kind         string  `yaml:"kind" one:"openai_http"`
	Target       string  `yaml:"target"`
	Model        string  `yaml:"model"`
	Format       string  `yaml:"request_format" one:"/v1/chat/completions /v1/completions /v1/responses /v1/embeddings"`
	APIKey       string  `yaml:"api_key" yet:"a key does not belong in a profile; set MLPERF_GO_API_KEY"`
	Routes       any     `yaml:"api_routes" yet:"routes are those of OpenAI's interface"`
	Timeout      float64 `yaml:"timeout" is:"0..1e7"`
	Connect      float64 `yaml:"timeout_connect" is:"0..1e7"`
	HTTP2        bool    `yaml:"http2"`
	Redirects    bool    `yaml:"follow_redirects"`
	Verify       bool    `yaml:"verify"`
	Validate     any     `yaml:"validate_backend"`
	Stream       *bool   `yaml:"stream"`
	Extras       glExtra `yaml:"extras"`
	MaxTokens    int     `yaml:"max_tokens" is:">=0"`
	History      bool    `yaml:"server_history" yet:"the client keeps the history of a conversation"`
	MissingCalls string  `yaml:"tool_call_missing_behavior" one:"error_stop ignore_continue ignore_stop"`
	Reasoning    bool    `yaml:"multiturn_reasoning" yet:"reasoning does not become part of the history"`
}

type glExtra struct {
	Body    map[string]any    `yaml:"body"`
	Headers map[string]string `yaml:"headers"`
	Stream  any               `yaml:"stream"`
	Params  any               `yaml:"params" yet:"query parameters are not supported"`
}

// glProfile has a kind wherever it is given, as in guidellm. An override of the whole map by one of benchmarks replaces
// its kind too.
type glProfile struct {
	Kind           glLoad    `yaml:"kind" need:"yes"`
	Streams        []int     `yaml:"streams" single:"yes" is:">=1"`
	Rate           []float64 `yaml:"rate" single:"yes" is:">0"`
	MaxConcurrency int       `yaml:"max_concurrency" is:">=0"`
	SweepSize      *int      `yaml:"sweep_size" is:">=1"`
	Strategy       string    `yaml:"strategy_type" one:"constant poisson"`
	TimeScale      float64   `yaml:"time_scale" is:">0"`
	Rampup         float64   `yaml:"rampup_duration" is:"0..1e7"`
	Warmup         *glWindow `yaml:"warmup"`
	Cooldown       *glWindow `yaml:"cooldown"`
	Seed           *uint64   `yaml:"random_seed"`
}

// glWindow is the part of a benchmark that its figures leave out. A plain number below 1 is a fraction of it.
type glWindow struct {
	Percent float64 `yaml:"percent" is:"0..1"`
	Value   float64 `yaml:"value" is:"0..1e7"`
	Mode    string  `yaml:"mode" one:"duration requests prefer_duration prefer_requests both"`
}

func (w *glWindow) Shorthand(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v < 1e7) {
		return fmt.Errorf("expected a number of at least 0, or a map with percent or value, not %.60q", text)
	}
	if *w = (glWindow{Value: v}); v < 1 {
		*w = glWindow{Percent: v}
	}
	return nil
}

func (w *glWindow) of() profile.Window {
	switch {
	case w == nil:
		return profile.Window{}
	case w.Percent > 0:
		return profile.Window{Share: w.Percent}
	case w.Mode == "requests" || w.Mode == "prefer_requests":
		return profile.Window{Requests: int(w.Value)}
	case w.Mode == "both":
		return profile.Window{Requests: int(w.Value), Duration: seconds(w.Value)}
	}
	return profile.Window{Duration: seconds(w.Value)}
}

type glConstraint struct {
	Kind    glLimit   `yaml:"kind" need:"yes"`
	Seconds []float64 `yaml:"seconds" single:"yes" is:"0..1e7"`
	Count   []int     `yaml:"count" single:"yes" is:">=1"`
	Rate    float64   `yaml:"rate" is:"0..1"`
	Window  float64   `yaml:"window" is:">=0"`
	Minimum int       `yaml:"minimum" is:">=0"`
	Scope   string    `yaml:"stopping_scope" one:"current all"`

	glSaturation `yaml:",inline"`
}

// glSaturation has the keys of the constraint over_saturation (guidellm 0.8.1, schemas/scheduler/constraints).
type glSaturation struct {
	Mode       string   `yaml:"mode" one:"enforce monitor"`
	Enabled    *bool    `yaml:"enabled"` // of versions before 0.7
	MinSeconds *float64 `yaml:"min_seconds" is:"0..1e7"`
	MaxWindow  *float64 `yaml:"max_window_seconds" is:"0..1e7"`
	MoE        *float64 `yaml:"moe_threshold" is:">=0"`
	TTFT       *float64 `yaml:"minimum_ttft" is:"0..1e7"`
	MaxRatio   *float64 `yaml:"maximum_window_ratio" is:"0..1"`
	MinSize    *int     `yaml:"minimum_window_size" is:">=0"`
	Confidence *float64 `yaml:"confidence" is:"0..1"`
}

// of returns the rule. A limit of 0, which the profile reads as its default, becomes the smallest value above it.
func (s *glSaturation) of(scope string) *profile.Saturation {
	duration := func(v *float64) time.Duration {
		if v == nil {
			return 0
		}
		return max(seconds(*v), 1)
	}
	number := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return max(*v, math.SmallestNonzeroFloat64)
	}
	rule := &profile.Saturation{Mode: s.Mode, MinTime: duration(s.MinSeconds), TTFT: duration(s.TTFT),
		Window: duration(s.MaxWindow), WindowShare: number(s.MaxRatio), Margin: number(s.MoE),
		Confidence: min(number(s.Confidence), 1-1e-9)}
	if s.MinSize != nil {
		rule.MinPoints = max(*s.MinSize, 1)
	}
	if s.Enabled != nil && !*s.Enabled {
		rule.Mode = "monitor"
	}
	if scope == "all" {
		rule.Scope = profile.AllStages
	}
	return rule
}

type glLimit string

// Values returns all kinds of constraints.
func (glLimit) Values() []string {
	return []string{"max_duration", "max_requests", "max_errors", "max_error_rate", "max_global_error_rate",
		"over_saturation"}
}

type glLoader struct {
	Kind    string `yaml:"kind"`
	Samples int    `yaml:"samples" is:">=-1"`
	Shuffle bool   `yaml:"shuffle"`
	Workers int    `yaml:"num_workers"`
}

type glSeed struct {
	Kind  string `yaml:"kind" one:"static"`
	Value uint64 `yaml:"value"`
}

func (s *glSeed) Shorthand(text string) (err error) {
	if s.Value, err = strconv.ParseUint(text, 0, 64); err != nil {
		return fmt.Errorf("expected a whole number of at least 0, or a map with kind and value, not %.60q", text)
	}
	return nil
}

var glKinds = map[string]string{"/v1/chat/completions": "chat", "/v1/completions": "completions",
	"/v1/responses": "responses", "/v1/embeddings": "embeddings", "": "chat",
	"text_completions": "completions", "chat_completions": "chat"}

func (f *glFile) translate(t *translation) {
	if f.Spec == nil {
		spec, key, err := f.flat()
		if err != nil {
			t.fail(key, "%w", err)
			return
		}
		spec.translate(t)
		return
	}
	items := f.Benchmarks
	if len(items) == 0 {
		items = []map[string]any{{}}
	}
	for i, item := range items {
		spec, err := benchmark(t, item)
		if err != nil {
			t.fail(fmt.Sprintf("benchmarks.%d", i), "%w", err)
			return
		}
		before, stages, warmup := t.Data, t.Load.Stages, t.Load.Warmup
		spec.translate(t)
		t.Load.Stages = append(stages, t.Load.Stages...)
		if i > 0 && (!reflect.DeepEqual(before, t.Data) || warmup != t.Load.Warmup || t.Load.Sweep != nil) {
			t.fail(fmt.Sprintf("benchmarks.%d", i), "it has other data, another warm-up or a sweep; a profile has one of "+
				"each: write a profile for each")
			return
		}
	}
}

// indices are list positions of guidellm's paths: constraints[0].count.
var indices = strings.NewReplacer("[", ".", "]", "")

// benchmark returns the specification with the overrides of one benchmark.
func benchmark(t *translation, overrides map[string]any) (*glSpec, error) {
	root := clone(get(t.root, "spec"))
	for key, v := range overrides {
		var value yaml.Node
		if err := value.Encode(v); err != nil {
			return nil, err
		}
		value.Style = yaml.FlowStyle
		text, err := yaml.Marshal(&value)
		if err != nil {
			return nil, err
		}
		pair := template.Pair{Key: indices.Replace(key), Value: string(text)}
		if _, err := template.Override(root, []template.Pair{pair}, nil, nil); err != nil {
			return nil, err
		}
	}
	spec := &glSpec{}
	d := strict.Decoder{Name: "spec", Lenient: t.lenient}
	err := d.Decode(root, spec)
	t.notes = append(t.notes, d.Notes...)
	return spec, err
}

func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, child := range n.Content {
		c.Content = append(c.Content, clone(child))
	}
	return &c
}

// flat returns the specification of the older form, or the key that is wrong.
func (f *glFile) flat() (s *glSpec, key string, err error) {
	s = &glSpec{
		Backend: glBackend{Target: f.Target, Model: f.Model, Format: "/v1/chat/completions"},
		Profile: glProfile{Kind: cmp.Or(f.Profile, "sweep"), Rampup: f.Rampup, Warmup: f.Warmup, Cooldown: f.Cooldown},
	}
	if f.RequestType == "text_completions" {
		s.Backend.Format = "/v1/completions"
	}
	if f.Processor != "" {
		s.Tokenizer = f.Processor
	}
	if f.RandomSeed != nil {
		s.Seed = &glSeed{Value: *f.RandomSeed}
	}
	for _, r := range f.Rate {
		if s.Profile.Kind == "concurrent" {
			if r != math.Trunc(r) {
				return nil, "rate", fmt.Errorf("%v: expected whole numbers with rate-type concurrent", r)
			}
			s.Profile.Streams = append(s.Profile.Streams, int(r))
		} else {
			s.Profile.Rate = append(s.Profile.Rate, r)
		}
	}
	if f.MaxSeconds > 0 {
		s.Constraints = append(s.Constraints, glConstraint{Kind: "max_duration", Seconds: []float64{f.MaxSeconds}})
	}
	if f.MaxRequests > 0 {
		s.Constraints = append(s.Constraints, glConstraint{Kind: "max_requests", Count: []int{f.MaxRequests}})
	}
	if f.MaxErrors > 0 {
		s.Constraints = append(s.Constraints, glConstraint{Kind: "max_errors", Count: []int{f.MaxErrors}})
	}
	return s, "data", s.flatData(f.Data)
}

// flatData reads data of the older form: a map, the same as text with commas, or the path of a file.
func (s *glSpec) flatData(v any) error {
	text, isText := v.(string)
	if isText && !strings.Contains(text, "=") && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		s.Data = []glData{{Kind: "file", Path: text}}
		return nil
	}
	var root yaml.Node
	if isText {
		if !strings.HasPrefix(strings.TrimSpace(text), "{") {
			text = "{" + strings.ReplaceAll(text, "=", ": ") + "}"
		}
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) == 0 {
			return fmt.Errorf("expected key=value pairs, not %.60q", text)
		}
		root = *document.Content[0]
	} else if err := root.Encode(v); err != nil {
		return err
	}
	if _, samples := cut(&root, "samples"); samples != nil {
		if err := samples.Decode(&s.Loader.Samples); err != nil {
			return fmt.Errorf("samples: expected a whole number, not %.60q", samples.Value)
		}
	}
	data := glData{Kind: "synthetic_text"}
	d := strict.Decoder{Name: "data"}
	err := d.Decode(&root, &data)
	s.Data = []glData{data}
	return err
}

func (s *glSpec) translate(t *translation) {
	b := &s.Backend
	t.API = profile.API{Kind: glKinds[b.Format], Stream: or(b.Stream, true), Endpoint: b.Target, Model: b.Model,
		IgnoreEOS: true, Headers: b.Extras.Headers, Extra: b.Extras.Body, RequestTimeout: seconds(b.Timeout)}
	if path, ok := s.Tokenizer.(string); ok {
		t.API.Tokenizer = path
	}
	if s.Seed != nil {
		t.Seed = s.Seed.Value
	}
	if s.Mapper != nil || s.Processors != nil || s.Finalizer != nil {
		t.notes.add("spec.data_column_mapper, data_preprocessors, data_finalizer: not read")
	}
	if s.Profile.Seed != nil {
		t.notes.add("profile.random_seed: not read; the seed of the data draws the arrivals too")
	}
	t.Load.Warmup, t.Load.Cooldown = s.Profile.Warmup.of(), s.Profile.Cooldown.of()
	t.Load.Stages = s.stages(t)
	s.data(t)
	if t.Data.Output == nil && b.MaxTokens > 0 {
		t.Data.Output = profile.FixedAt(float64(b.MaxTokens))
	}
}

// defaultInFlight is how many requests guidellm has in flight at most (settings.py of 0.8.1).
const defaultInFlight = 10240

// stages returns a stage for each strategy of the profile.
func (s *glSpec) stages(t *translation) (stages []profile.Stage) {
	p := &s.Profile
	var ramp *profile.Ramp
	if p.Rampup > 0 {
		ramp = &profile.Ramp{Shape: "linear", Over: seconds(p.Rampup)}
	}
	t.Load.Sweep = nil
	switch p.Kind {
	case "synchronous":
		stages = append(stages, profile.Stage{Arrival: profile.Closed, Concurrency: 1})
	case "concurrent":
		for _, n := range p.Streams {
			stages = append(stages, profile.Stage{Arrival: profile.Closed, Concurrency: n, Ramp: ramp})
		}
	case "throughput":
		stages = append(stages, profile.Stage{Arrival: profile.Burst, Concurrency: p.MaxConcurrency})
		if p.MaxConcurrency > 0 { // guidellm has no ramp without it
			stages[0].Ramp = ramp
		}
	case "replay":
		stages = append(stages, profile.Stage{Arrival: profile.Trace, Concurrency: p.MaxConcurrency})
	case "constant", "async":
		for _, r := range p.Rate {
			stages = append(stages, profile.Stage{Arrival: profile.Constant, Rate: r, Concurrency: p.MaxConcurrency,
				Ramp: ramp})
		}
	case "poisson":
		for _, r := range p.Rate {
			stages = append(stages, profile.Stage{Arrival: profile.Poisson, Rate: r, Concurrency: p.MaxConcurrency})
		}
	default: // a sweep is guidellm's default
		const probes = 2 // one request at a time, and as many as possible
		t.Load.Sweep = &profile.Sweep{Kind: "linear", Stages: max(1, or(p.SweepSize, 10)-probes), Probe: "throughput",
			Arrival: profile.Arrival(cmp.Or(p.Strategy, "constant")), InFlight: cmp.Or(p.MaxConcurrency, 512),
			StageDuration: 30 * time.Second, Ramp: seconds(p.Rampup)}
	}
	if len(stages) == 0 && t.Load.Sweep == nil {
		t.fail("profile", "kind %s needs %s", p.Kind, map[bool]string{true: "streams", false: "rate"}[p.Kind == "concurrent"])
	}
	if isUsed := p.Kind != "synchronous" && p.Kind != "replay" && p.Kind != "poisson" &&
		(p.Kind != "throughput" || p.MaxConcurrency > 0); p.Rampup > 0 && !isUsed {
		t.notes.add("profile.rampup_duration: not read; guidellm has no ramp in a stage of kind %s%s", p.Kind,
			map[bool]string{true: " without max_concurrency"}[p.Kind == "throughput"])
	}
	s.limit(stages, t)
	for i := range stages {
		// With a duration, it is as if each of so many users sent the next request at once.
		if one := &stages[i]; one.Arrival == profile.Burst && one.Duration > 0 {
			one.Arrival, one.Concurrency = profile.Closed, cmp.Or(one.Concurrency, defaultInFlight)
		}
	}
	return stages
}

// limit applies the constraints. A list has one value for each stage; the last one applies to all further stages.
func (s *glSpec) limit(stages []profile.Stage, t *translation) {
	for _, c := range s.Constraints {
		for i := range stages {
			if n := len(c.Seconds); n > 0 && c.Kind == "max_duration" {
				stages[i].Duration = seconds(c.Seconds[min(i, n-1)])
			}
			if n := len(c.Count); n > 0 && c.Kind == "max_requests" {
				stages[i].Requests = c.Count[min(i, n-1)]
			}
		}
		switch c.Kind {
		case "max_duration":
			if t.Load.Sweep != nil && len(c.Seconds) > 0 {
				t.Load.Sweep.StageDuration = seconds(c.Seconds[0])
			}
		case "max_errors":
			if len(c.Count) > 0 {
				t.Load.MaxErrors = c.Count[0]
			}
		case "max_error_rate", "max_global_error_rate":
			t.Load.ErrorRate = c.Rate
		case "over_saturation":
			if !t.API.Stream {
				t.notes.add("constraints.over_saturation: not read; answers come as a whole, without a first token")
				continue
			}
			t.Load.Saturation = c.of(c.Scope)
		}
	}
}
