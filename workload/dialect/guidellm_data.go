package dialect

import (
	"cmp"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

type glKind string

// Values returns all kinds of data that can be translated.
func (glKind) Values() []string {
	return []string{"synthetic_text", "synthetic_image", "huggingface", "file", "text_file", "csv_file", "json_file",
		"parquet_file", "trace_synthetic", "mooncake", "weka"}
}

type glData struct {
	Kind glKind `yaml:"kind"`
	Path string `yaml:"path" also:"source name data"`

	Prompt    float64  `yaml:"prompt_tokens" is:">=1"`
	PromptDev float64  `yaml:"prompt_tokens_stdev" is:">=0"`
	PromptMin *float64 `yaml:"prompt_tokens_min" is:">=1"`
	PromptMax *float64 `yaml:"prompt_tokens_max" is:">=1"`
	Output    float64  `yaml:"output_tokens" is:">=1"`
	OutputDev float64  `yaml:"output_tokens_stdev" is:">=0"`
	OutputMin *float64 `yaml:"output_tokens_min" is:">=1"`
	OutputMax *float64 `yaml:"output_tokens_max" is:">=1"`
	First     float64  `yaml:"first_prompt_tokens" is:">=1"`
	FirstDev  float64  `yaml:"first_prompt_tokens_stdev" is:">=0"`
	FirstMin  *float64 `yaml:"first_prompt_tokens_min" is:">=1"`
	FirstMax  *float64 `yaml:"first_prompt_tokens_max" is:">=1"`
	Delay     float64  `yaml:"delay" is:">=0"`
	DelayDev  float64  `yaml:"delay_stdev" is:">=0"`
	DelayMin  *float64 `yaml:"delay_min" is:">=0"`
	DelayMax  *float64 `yaml:"delay_max" is:">=0"`
	Turns     int      `yaml:"turns" is:">=1"`
	Prefix    int      `yaml:"prefix_tokens" is:">=0"`
	Prefixes  int      `yaml:"prefix_count" is:">=1"`

	Buckets []glBucket `yaml:"prefix_buckets"`

	ToolTurns any `yaml:"tool_call_turns" yet:"this program makes no synthetic tool calls"`
	Tools     any `yaml:"tools" yet:"this program makes no synthetic tool calls"`
	Responses any `yaml:"tool_response_tokens" yet:"this program makes no synthetic tool calls"`
	Branches  any `yaml:"branches" yet:"this program makes no synthetic branches of conversations"`

	Width  int    `yaml:"width" is:"1..16384"`
	Height int    `yaml:"height" is:"1..16384"`
	Images int    `yaml:"images_per_request" also:"images" is:">=1"`
	Format string `yaml:"format" one:"png jpeg"`
}

type glBucket struct {
	Weight *float64 `yaml:"bucket_weight" is:">0"`
	Count  *int     `yaml:"prefix_count" is:">=1"`
	Tokens int      `yaml:"prefix_tokens" is:">=0"`
}

// sampled returns guidellm's distribution of tokens or seconds around a mean: normal with a deviation, else uniform
// between its bounds. A missing bound is five deviations away, but not below least (guidellm 0.8.1, utils/random.py).
// Without a mean it returns nil, unless an upper bound replaces it.
func sampled(mean, deviation float64, low, high *float64, least float64) *profile.Distribution {
	if mean == 0 {
		if high == nil {
			return nil
		}
		mean, low = *high, cmp.Or(low, &least)
	}
	from, to := or(low, max(least, mean-5*deviation)), or(high, mean+5*deviation)
	switch {
	case from == to:
		return profile.FixedAt(from)
	case deviation > 0:
		return &profile.Distribution{Kind: "normal", Mean: mean, StdDev: deviation, Min: from, Max: to}
	}
	return &profile.Distribution{Kind: "uniform", Min: from, Max: to}
}

// data translates the data sets. Several of them become columns of one: images beside texts.
func (s *glSpec) data(t *translation) {
	t.Data = profile.Data{Rows: max(0, s.Loader.Samples), Shuffle: s.Loader.Shuffle, Restart: s.Loader.Samples > 0}
	for i := range t.Load.Stages { // a benchmark ends with its last sample, and the next one begins with the first
		if one := &t.Load.Stages[i]; t.Data.Rows > 0 && (one.Requests == 0 || one.Requests > t.Data.Rows) {
			one.Requests = t.Data.Rows
		}
	}
	for i := range s.Data {
		d := &s.Data[i]
		switch d.Kind {
		case "", "synthetic_text":
			d.synthetic(t)
		case "synthetic_image":
			t.Data.Images = &profile.Images{Count: profile.FixedAt(float64(max(1, d.Images))), Format: cmp.Or(d.Format, "png"),
				Resolutions: []profile.Resolution{{Width: cmp.Or(d.Width, 512), Height: cmp.Or(d.Height, 512)}}}
		case "trace_synthetic", "mooncake":
			t.Data.Kind = profile.TraceLengths
			format := map[glKind]string{"mooncake": "mooncake", "trace_synthetic": "jsonl"}[d.Kind]
			t.Data.Trace = &profile.TraceFile{Path: d.Path, Format: format}
			t.Load.Trace = &profile.TraceFile{Path: d.Path, Format: format, Scale: s.Profile.TimeScale}
		case "weka":
			t.Data.Kind, t.Data.Format, t.Data.Path = profile.Recorded, "weka", d.Path
			t.Data.Sessions = &profile.SessionFiles{}
		default:
			t.Data.Kind, t.Data.Path, t.Data.Restart = profile.Prompts, d.Path, true
			if d.Kind == "huggingface" {
				t.notes.add("data.path: nothing is downloaded; put the data set at %s (`mlperf-go dataset get`)", d.Path)
			}
		}
	}
	if t.Data.Kind == "" && t.Data.Images != nil {
		t.Data.Kind, t.Data.Text = profile.Fixed, "Describe the image."
	}
	if t.Data.Kind == "" {
		t.fail("data", "the list is empty; add synthetic_text or a file")
	}
}

func (d *glData) synthetic(t *translation) {
	t.Data.Kind = profile.Synthetic
	t.Data.Input = sampled(d.Prompt, d.PromptDev, d.PromptMin, d.PromptMax, 1)
	t.Data.Output = sampled(d.Output, d.OutputDev, d.OutputMin, d.OutputMax, 1)
	for _, b := range d.Buckets {
		t.Data.Buckets = append(t.Data.Buckets,
			profile.Bucket{Weight: or(b.Weight, 100), Count: or(b.Count, 1), Tokens: b.Tokens})
	}
	if d.Prefix > 0 {
		t.Data.Buckets = append(t.Data.Buckets, profile.Bucket{Weight: 100, Count: max(1, d.Prefixes), Tokens: d.Prefix})
	}
	if d.Turns <= 1 {
		return
	}
	t.Data.Kind = profile.Conversations
	users := 1
	for _, stage := range t.Load.Stages {
		users = max(users, stage.Concurrency)
	}
	if users == 1 {
		users = 512 // open loads have no number of users; guidellm's default limit of requests in flight
	}
	t.Data.Turns = &profile.Turns{
		Conversations: users, Fresh: true, Count: profile.FixedAt(float64(d.Turns)),
		FirstInput: sampled(d.First, d.FirstDev, d.FirstMin, d.FirstMax, 1),
	}
	if d.Delay > 0 { // guidellm reads the bounds of a delay only with its mean
		t.Data.Turns.ToolLatency = sampled(d.Delay, d.DelayDev, d.DelayMin, d.DelayMax, 0)
	}
}
