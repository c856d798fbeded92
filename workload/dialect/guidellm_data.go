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

	Prompt    float64 `yaml:"prompt_tokens" is:">=1"`
	PromptDev float64 `yaml:"prompt_tokens_stdev" is:">=0"`
	PromptMin float64 `yaml:"prompt_tokens_min" is:">=1"`
	PromptMax float64 `yaml:"prompt_tokens_max" is:">=1"`
	Output    float64 `yaml:"output_tokens" is:">=1"`
	OutputDev float64 `yaml:"output_tokens_stdev" is:">=0"`
	OutputMin float64 `yaml:"output_tokens_min" is:">=1"`
	OutputMax float64 `yaml:"output_tokens_max" is:">=1"`
	First     float64 `yaml:"first_prompt_tokens" is:">=1"`
	FirstDev  float64 `yaml:"first_prompt_tokens_stdev" is:">=0"`
	FirstMin  float64 `yaml:"first_prompt_tokens_min" is:">=1"`
	FirstMax  float64 `yaml:"first_prompt_tokens_max" is:">=1"`
	Delay     float64 `yaml:"delay" is:">=0"`
	DelayDev  float64 `yaml:"delay_stdev" is:">=0"`
	DelayMin  float64 `yaml:"delay_min" is:">=0"`
	DelayMax  float64 `yaml:"delay_max" is:">=0"`
	Turns     int     `yaml:"turns" is:">=1"`
	Prefix    int     `yaml:"prefix_tokens" is:">=0"`
	Prefixes  int     `yaml:"prefix_count" is:">=1"`

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

// lengthOf returns guidellm's distribution of tokens: normal with a deviation, uniform with bounds alone, else fixed
// (guidellm/utils, IntegerRangeSampler).
func lengthOf(mean, deviation, low, high float64) *profile.Distribution {
	switch {
	case mean == 0 && high == 0:
		return nil
	case deviation > 0:
		return &profile.Distribution{Kind: "normal", Mean: mean, StdDev: deviation, Min: cmp.Or(low, 1), Max: high}
	case high > 0 && high > low:
		return &profile.Distribution{Kind: "uniform", Min: cmp.Or(low, 1), Max: high}
	}
	return profile.FixedAt(cmp.Or(mean, high))
}

// data translates the data sets. Several of them are columns of one: images beside texts.
func (s *glSpec) data(t *translation) {
	t.Data = profile.Data{Rows: max(0, s.Loader.Samples), Shuffle: s.Loader.Shuffle}
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
			t.Data.Kind, t.Data.Path = profile.Prompts, d.Path
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
	t.Data.Input = lengthOf(d.Prompt, d.PromptDev, d.PromptMin, d.PromptMax)
	t.Data.Output = lengthOf(d.Output, d.OutputDev, d.OutputMin, d.OutputMax)
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
		Conversations: users, Count: profile.FixedAt(float64(d.Turns)),
		FirstInput: lengthOf(d.First, d.FirstDev, d.FirstMin, d.FirstMax),
	}
	if d.Delay > 0 || d.DelayMax > 0 {
		t.Data.Turns.ToolLatency = lengthOf(d.Delay, d.DelayDev, d.DelayMin, d.DelayMax)
	}
}
