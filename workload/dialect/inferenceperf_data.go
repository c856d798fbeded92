package dialect

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

type ipData struct {
	Type         ipKind          `yaml:"type"`
	Path         string          `yaml:"path"`
	Input        *ipDistribution `yaml:"input_distribution"`
	Output       *ipDistribution `yaml:"output_distribution"`
	SharedPrefix *ipPrefix       `yaml:"shared_prefix"`
	Conversation *ipConversation `yaml:"conversation_replay"`
	OTel         *ipOTel         `yaml:"otel_trace_replay"`
	Weka         *ipWeka         `yaml:"weka_trace_replay"`
	Arena        *ipArena        `yaml:"visionarena"`
	Trace        *ipTrace        `yaml:"trace"`
	Multimodal   *ipMedia        `yaml:"multimodal"`
	Template     bool            `yaml:"use_chat_template"`
	Corpus       string          `yaml:"corpus_file_path"`
}

type ipKind string

// Values returns all types of data.
func (ipKind) Values() []string {
	return []string{"mock", "shareGPT", "synthetic", "random", "shared_prefix", "cnn_dailymail", "infinity_instruct",
		"billsum_conversations", "otel_trace_replay", "weka_trace_replay", "conversation_replay", "visionarena"}
}

// ipDistribution is a distribution of lengths. A plain number is a fixed one.
type ipDistribution struct {
	Type     string   `yaml:"type" one:"normal skew_normal lognormal uniform poisson fixed"`
	Min      *float64 `yaml:"min" is:">=0"`
	Max      *float64 `yaml:"max" is:">=0"`
	Mean     *float64 `yaml:"mean" is:">=0"`
	StdDev   *float64 `yaml:"std_dev" is:">=0" was:"std"`
	Variance *float64 `yaml:"variance" is:">=0"`
	Skew     float64  `yaml:"skew"`
	Count    int      `yaml:"total_count" is:">=0"`
}

func (d *ipDistribution) Shorthand(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v < 1<<53) {
		return fmt.Errorf("expected a number of at least 0, or a map with type, mean, std_dev, min and max, not %.60q", text)
	}
	*d = ipDistribution{Type: "fixed", Min: &v, Max: &v, Mean: &v}
	return nil
}

// of returns the distribution with inference-perf's defaults (inference_perf/config). A fixed one is the whole part of
// its mean, without limits (inference_perf/utils/distribution.py).
func (d *ipDistribution) of() *profile.Distribution {
	if d == nil {
		d = &ipDistribution{}
	}
	if d.Type == "fixed" {
		return profile.FixedAt(math.Floor(or(d.Mean, 512)))
	}
	p := &profile.Distribution{
		Kind: strings.ReplaceAll(cmp.Or(d.Type, "normal"), "_", "-"),
		Min:  or(d.Min, 10), Max: or(d.Max, 1024), Mean: or(d.Mean, 512), StdDev: or(d.StdDev, 200), Skew: d.Skew,
	}
	if v := or(d.Variance, 0); v > 0 {
		p.StdDev = math.Sqrt(v)
	}
	if p.Kind == "uniform" || p.Kind == "poisson" {
		p.StdDev = 0
	}
	if p.Min == p.Max {
		return profile.FixedAt(p.Min)
	}
	return p
}

// orFixed returns the distribution or, if the file lacks it, a fixed value.
func (d *ipDistribution) orFixed(v float64) *profile.Distribution {
	if d == nil {
		return profile.FixedAt(v)
	}
	return d.of()
}

// random returns the distribution as data of types random and synthetic draw it: a lognormal one is shifted by its
// smallest value.
func (d *ipDistribution) random() *profile.Distribution {
	p := d.of()
	p.Shift = p.Kind == "lognormal"
	return p
}

type ipPrefix struct {
	Groups    *int            `yaml:"num_unique_system_prompts" also:"num_groups" is:">=1"`
	Users     *int            `yaml:"num_users_per_system_prompt" also:"num_prompts_per_group" is:">=1"`
	System    *ipDistribution `yaml:"system_prompt_len"`
	Question  *ipDistribution `yaml:"question_len"`
	Output    *ipDistribution `yaml:"output_len"`
	Questions *ipDistribution `yaml:"question_distribution"`
	Outputs   *ipDistribution `yaml:"output_distribution"`
	Seed      *uint64         `yaml:"seed"`
	MultiTurn bool            `yaml:"enable_multi_turn_chat"`
	MaxLen    int             `yaml:"max_model_len" is:">=0"`
	Media     *ipMedia        `yaml:"multimodal"`
}

type ipConversation struct {
	Seed          *uint64         `yaml:"seed"`
	Conversations *int            `yaml:"num_conversations" is:">=1"`
	Shared        *int            `yaml:"shared_system_prompt_len" is:">=0"`
	System        *ipDistribution `yaml:"dynamic_system_prompt_len"`
	Turns         *ipDistribution `yaml:"turns_per_conversation"`
	Input         *ipDistribution `yaml:"input_tokens_per_turn"`
	Output        *ipDistribution `yaml:"output_tokens_per_turn"`
	Tool          *ipDistribution `yaml:"tool_call_latency_sec"`
	MaxModelLen   *int            `yaml:"max_model_len" is:">=0"`
}

// ipSessions has the keys that both kinds of recorded sessions share.
type ipSessions struct {
	Directory   string            `yaml:"trace_directory"`
	Files       []string          `yaml:"trace_files" single:"yes"`
	HF          string            `yaml:"hf_dataset_path"`
	Static      bool              `yaml:"use_static_model"`
	StaticName  string            `yaml:"static_model_name"`
	Models      map[string]string `yaml:"model_mapping"`
	MaxTokens   *int              `yaml:"default_max_tokens" is:">=0"`
	Override    *bool             `yaml:"override_tool_call_max_tokens"`
	RandomID    bool              `yaml:"inject_random_session_id"`
	Duplicate   int               `yaml:"duplicate_sessions_target" is:">=0"`
	MaxWait     *float64          `yaml:"max_wait_ms" is:">=0"`
	Predecessor float64           `yaml:"predecessor_wait_timeout_sec" is:">=0"`
	Errors      *bool             `yaml:"include_errors"`
	SkipInvalid bool              `yaml:"skip_invalid_files"`
}

type ipOTel struct {
	ipSessions  `yaml:",inline"`
	Filter      string            `yaml:"filter" yet:"filters are Python; copy the wanted traces to a folder"`
	NoSubstitue bool              `yaml:"disable_output_substitution"`
	Headers     map[string]string `yaml:"attribute_to_header_map"`
	Labels      map[string]string `yaml:"attribute_to_label_map"`
	BadCalls    string            `yaml:"bad_tool_call_handling" one:"none use_recorded"`
}

type ipWeka struct {
	ipSessions `yaml:",inline"`
	GapCap     *float64 `yaml:"trace_idle_gap_cap_seconds" is:">=0"`
	NoDelays   bool     `yaml:"ignore_trace_delays"`
	ThinkOnly  bool     `yaml:"use_think_time_only"`
	BlockSize  *int     `yaml:"default_block_size" is:">=1"`
	Entries    *int     `yaml:"num_dataset_entries" is:">=1"`
}

type ipArena struct {
	Name      string  `yaml:"hf_dataset_name"`
	Split     string  `yaml:"hf_split"`
	Files     any     `yaml:"hf_data_files"`
	Rows      *int    `yaml:"num_rows" is:">=1"`
	Images    *int    `yaml:"max_images_per_request" is:">=1"`
	Insertion float64 `yaml:"insertion_point" is:"0..1"`
}

type ipMedia struct {
	Image *ipImage `yaml:"image"`
	Video any      `yaml:"video" yet:"this program sends no videos"`
	Audio any      `yaml:"audio" yet:"this program sends no audio"`
}

type ipImage struct {
	Count       *ipDistribution `yaml:"count"`
	Insertion   *ipDistribution `yaml:"insertion_point"`
	Resolutions any             `yaml:"resolutions"`
	Format      string          `yaml:"representation" one:"png jpeg"`
}

// ipFormats are the types of data that are files.
var ipFormats = map[ipKind]profile.Format{"cnn_dailymail": "cnn_dailymail", "infinity_instruct": "infinity_instruct",
	"billsum_conversations": "billsum"}

// shareGPTFile is the name of the published file (anon8231489123/ShareGPT_Vicuna_unfiltered).
const shareGPTFile = "ShareGPT_V3_unfiltered_cleaned_split.json"

func (d *ipData) translate(l *ipLoad, t *translation) {
	t.Data.Path, t.Data.Corpus, t.Data.Template = d.Path, d.Corpus, d.Template
	switch d.Type {
	case "", "mock":
		t.Data.Kind, t.Data.Text = profile.Fixed, "What is the capital of France?"
		t.Data.Output = profile.FixedAt(30) // max_tokens of requests without one (inference_perf/apis)
	case "random":
		t.Data.Kind, t.Data.Input, t.Data.Output = profile.Random, d.Input.random(), d.Output.random()
		if d.Trace != nil {
			t.Data.Kind, t.Data.Input, t.Data.Output = profile.TraceLengths, nil, nil
			t.Data.Trace = &profile.TraceFile{Path: d.Trace.File, Format: "azure"}
		}
	case "synthetic":
		t.Data.Kind, t.Data.Input, t.Data.Output = profile.Synthetic, d.Input.random(), d.Output.random()
	case "shared_prefix":
		d.SharedPrefix.translate(t)
	case "conversation_replay":
		d.Conversation.translate(t)
	case "otel_trace_replay", "weka_trace_replay":
		d.sessions(t)
	case "shareGPT":
		t.Data.Kind, t.Data.Shuffle = profile.ShareGPT, false
		t.Data.Input, t.Data.Output = d.Input.bounds(), d.Output.bounds()
		t.path("data.path", shareGPTFile)
		if t.API.IsChat() {
			t.notes.add("data.type: the first question of each chat is sent, and answers are as long as recorded; " +
				"inference-perf sends whole chats and limits answers to 30 tokens")
		}
	case "visionarena":
		t.fail("data.type", "recorded images cannot be sent; use type shared_prefix with multimodal.image, which makes "+
			"images of the same sizes")
	default:
		t.Data.Kind, t.Data.Format = profile.Prompts, ipFormats[d.Type]
		t.path("data.path", string(d.Type))
	}
	d.Multimodal.translate(t)
}

// path sets a default file, because this program downloads nothing.
func (t *translation) path(key, file string) {
	if t.Data.Path == "" {
		t.Data.Path = file
		t.notes.add("%s: nothing is downloaded; put the data set at %s or set %s (`mlperf-go dataset get`)", key, file, key)
	}
}

// bounds returns a distribution that is only used as limits of recorded lengths.
func (d *ipDistribution) bounds() *profile.Distribution {
	if d == nil {
		return nil
	}
	p := d.of()
	return &profile.Distribution{Kind: "uniform", Min: p.Min, Max: p.Max}
}

func (g *ipPrefix) translate(t *translation) {
	if g == nil {
		g = &ipPrefix{}
	}
	length := func(d, legacy *ipDistribution, otherwise float64) *profile.Distribution {
		switch {
		case legacy != nil:
			return legacy.of()
		case d != nil:
			return d.of()
		}
		return profile.FixedAt(otherwise)
	}
	t.Data.Kind, t.Data.Restart, t.Data.Rotate = profile.SharedPrefix, true, g.MultiTurn
	t.Data.Groups = &profile.Groups{
		Count: or(g.Groups, 10), Users: or(g.Users, 10), System: length(g.System, nil, 100),
		Question: length(g.Question, g.Questions, 50), MultiTurn: g.MultiTurn,
	}
	t.Data.Output = length(g.Output, g.Outputs, 50)
	if g.MultiTurn && g.MaxLen > 0 {
		t.notes.add("data.shared_prefix.max_model_len: not read; contexts grow without a limit")
	}
	t.Seed = or(g.Seed, t.Seed)
	g.Media.translate(t)
}

// translate reads the defaults of the code (inference_perf/datagen/replay/conversation_replay_datagen.py): a missing
// distribution is not the default distribution.
func (c *ipConversation) translate(t *translation) {
	if c == nil {
		c = &ipConversation{}
	}
	t.Data.Kind, t.Data.Restart, t.Data.Rotate = profile.Conversations, true, true
	t.Data.Input, t.Data.Output = c.Input.orFixed(512), c.Output.orFixed(256)
	t.Data.Turns = &profile.Turns{
		Conversations: or(c.Conversations, 200), Count: c.Turns.orFixed(10), SharedSystem: or(c.Shared, 8359),
		MaxContext: or(c.MaxModelLen, 225000),
	}
	if c.System != nil {
		t.Data.Turns.System = c.System.of()
	}
	if c.MaxModelLen != nil {
		t.notes.add("data.conversation_replay.max_model_len: a conversation ends before it is longer; inference-perf drops " +
			"its oldest turns")
	}
	if c.Tool != nil {
		if d := c.Tool.of(); d.Max > 0 {
			t.Data.Turns.ToolLatency = d
		}
	}
	t.Seed = or(c.Seed, 42)
}

func (d *ipData) sessions(t *translation) {
	t.Data.Kind = profile.Recorded
	s := &profile.SessionFiles{}
	t.Data.Sessions = s
	var common *ipSessions
	if d.Type == "otel_trace_replay" {
		t.Data.Format = "otel"
		o := d.OTel
		if o == nil {
			o = &ipOTel{}
		}
		common, s.RecordedAnswer = &o.ipSessions, o.NoSubstitue
		if o.BadCalls == "use_recorded" {
			t.notes.add("data.otel_trace_replay.bad_tool_call_handling: not read; answers are not checked for tool calls")
		}
		if len(o.Headers)+len(o.Labels) > 0 {
			t.notes.add("data.otel_trace_replay: attributes are not sent as headers and not used as labels")
		}
	} else {
		t.Data.Format = "weka"
		w := d.Weka
		if w == nil {
			w = &ipWeka{}
		}
		common = &w.ipSessions
		s.IdleGapCap, s.IgnoreDelays, s.ThinkTimeOnly = or(w.GapCap, 60), w.NoDelays, w.ThinkOnly
		s.BlockTokens, s.Count = or(w.BlockSize, 64), or(w.Entries, 100)
	}
	if or(common.Override, d.Type == "otel_trace_replay") { // Weka traces have no tools
		t.notes.add("data.%s.override_tool_call_max_tokens: not read; answers that call tools are as long as recorded, and "+
			"inference-perf lets the server end them within 4096 tokens", d.Type)
	}
	if common.Predecessor > 0 {
		t.notes.add("data.%s.predecessor_wait_timeout_sec: not read; a call waits for those before it; set request_timeout",
			d.Type)
	}
	s.DefaultOutput, s.KeepErrors, s.SkipInvalid = or(common.MaxTokens, 1000), or(common.Errors, true), common.SkipInvalid
	s.MaxWait, s.RandomSession, s.Models = or(common.MaxWait, 15000)/1000, common.RandomID, common.Models
	if common.Static && common.StaticName != "" {
		s.Models = nil
		t.API.Model = common.StaticName
	}
	if common.Duplicate > 0 {
		s.Count = common.Duplicate
	}
	t.Data.Path = common.Directory
	if len(common.Files) > 0 {
		t.Data.Path = common.Files[0]
		if len(common.Files) > 1 {
			t.fail("data."+string(d.Type)+".trace_files", "put the %d files into one folder and name it in trace_directory",
				len(common.Files))
		}
	}
	if common.HF != "" {
		t.path("data."+string(d.Type)+".trace_directory", common.HF[strings.LastIndexByte(common.HF, '/')+1:])
	}
}

// resolutions are the names of sizes of images (inference_perf/config.py).
var resolutions = map[string]profile.Resolution{
	"4k": {Width: 3840, Height: 2160}, "1080p": {Width: 1920, Height: 1080}, "720p": {Width: 1280, Height: 720},
	"360p": {Width: 640, Height: 360},
}

func (m *ipMedia) translate(t *translation) {
	if m == nil || m.Image == nil {
		return
	}
	i := m.Image
	images := &profile.Images{Count: profile.FixedAt(1), Format: cmp.Or(i.Format, "png")}
	if i.Count != nil {
		images.Count = i.Count.of()
	}
	if i.Insertion != nil {
		images.At = min(or(i.Insertion.Mean, 0), 1)
		if or(i.Insertion.Min, 0) != or(i.Insertion.Max, 0) {
			t.notes.add("multimodal.image.insertion_point: images are at the mean of the distribution, %g", images.At)
		}
	}
	list, isList := i.Resolutions.([]any)
	if !isList {
		list = []any{i.Resolutions}
	}
	for _, v := range list {
		r, ok := resolution(v)
		if !ok {
			t.fail("multimodal.image.resolutions", "expected 4k, 1080p, 720p, 360p, or a map with height and width, not "+
				"%.60q", fmt.Sprint(v))
			return
		}
		images.Resolutions = append(images.Resolutions, r)
	}
	t.Data.Images = images
}

// resolution reads a name, a map with height and width, or either with a weight.
func resolution(v any) (profile.Resolution, bool) {
	switch v := v.(type) {
	case nil:
		return resolutions["1080p"], true
	case string:
		r, ok := resolutions[v]
		return r, ok
	case map[string]any:
		number := func(key string) float64 {
			switch n := v[key].(type) {
			case int:
				return float64(n)
			case float64:
				return n
			}
			return 0
		}
		r := profile.Resolution{Width: int(number("width")), Height: int(number("height"))}
		if inner, ok := v["resolution"]; ok {
			if m, _ := inner.(map[string]any); m["resolution"] != nil {
				return r, false // a weight of a weight
			}
			r, ok = resolution(inner)
			if !ok {
				return r, false
			}
		}
		r.Weight = number("weight")
		return r, r.Width >= 1 && r.Height >= 1 && r.Width <= 16384 && r.Height <= 16384 && r.Weight >= 0
	}
	return profile.Resolution{}, false
}
