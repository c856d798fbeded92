package profile

import (
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/config/strict"
)

// DataKind is where prompts come from.
type DataKind string

// The kinds of data.
const (
	Fixed         DataKind = "fixed"         // one text, sent unchanged
	Random        DataKind = "random"        // random token ids, with exact lengths
	Synthetic     DataKind = "synthetic"     // text of a corpus, with exact lengths
	SharedPrefix  DataKind = "shared-prefix" // groups of users with a common system prompt
	Conversations DataKind = "conversations" // synthetic conversations of several turns
	ShareGPT      DataKind = "sharegpt"      // conversations.json of ShareGPT
	Prompts       DataKind = "prompts"       // a file with one prompt per line or row
	Recorded      DataKind = "recorded"      // recorded sessions of agents: OpenTelemetry, Weka
	TraceLengths  DataKind = "trace"         // lengths, and prefix blocks if present, of Data.Trace
	None          DataKind = "none"          // nothing is sent: the report is about the server's start
)

// Values returns all kinds.
func (DataKind) Values() []string {
	return []string{"fixed", "random", "synthetic", "shared-prefix", "conversations", "sharegpt", "prompts", "recorded",
		"trace", "none"}
}

// Format is the form of a file with prompts.
type Format string

// Values returns all formats.
func (Format) Values() []string {
	return []string{"jsonl", "json", "csv", "parquet", "text", "sharegpt", "cnn_dailymail", "infinity_instruct", "billsum",
		"sonnet", "burstgpt", "visionarena", "otel", "weka"}
}

// Data defines which prompts are sent. Which keys matter depends on the kind.
type Data struct {
	Kind     DataKind      `yaml:"kind" need:"yes" doc:"where prompts come from"`
	Path     string        `yaml:"path,omitempty" doc:"file or folder with the data"`
	Format   Format        `yaml:"format,omitempty" doc:"form of the file; empty: by its name"`
	Category string        `yaml:"category,omitempty" doc:"only rows of a JSON file whose member category has this value"`
	Rows     int           `yaml:"rows,omitempty" is:">=0" doc:"distinct prompts to make or read; 0: as many as requests"`
	Text     string        `yaml:"text,omitempty" doc:"prompt of kind fixed"`
	Input    *Distribution `yaml:"input,omitempty" doc:"tokens of a prompt"`
	Output   *Distribution `yaml:"output,omitempty" doc:"tokens of an answer; absent: as in the data"`
	MaxTotal int           `yaml:"max_total,omitempty" is:">=0" doc:"of kind sharegpt: tokens of both at most"`
	Prefix   int           `yaml:"prefix,omitempty" is:">=0" doc:"tokens at the start of every prompt that are equal"`
	Template bool          `yaml:"chat_template,omitempty" doc:"put prompts into the tokenizer's chat template"`
	Corpus   string        `yaml:"corpus,omitempty" doc:"text file for kind synthetic; empty: the built-in one"`
	Shuffle  bool          `yaml:"shuffle,omitempty" doc:"take rows in a random order"`
	// Restart and Rotate are inference-perf's ways (loadgen/load_generator.py; datagen/replay).
	Restart bool `yaml:"restart,omitempty" doc:"each stage begins with the first row; else with the next one"`
	Rotate  bool `yaml:"rotate,omitempty" doc:"users send the next turn of all conversations in turn"`

	Groups        *Groups       `yaml:"groups,omitempty" doc:"of kind shared-prefix"`
	Buckets       []Bucket      `yaml:"buckets,omitempty" doc:"pools of shared prefixes, chosen by weight"`
	Turns         *Turns        `yaml:"turns,omitempty" doc:"of kind conversations"`
	Sessions      *SessionFiles `yaml:"sessions,omitempty" doc:"of kind recorded"`
	Trace         *TraceFile    `yaml:"trace,omitempty" doc:"of kind trace"`
	Images        *Images       `yaml:"images,omitempty" doc:"that each request carries"`
	Passages      *Passages     `yaml:"passages,omitempty" doc:"of a rerank request; absent: 10 of 100 tokens"`
	SampleColumns []string      `yaml:"columns,omitempty" doc:"names of the prompt's and the answer's column"`
}

// Groups is a population of users who share system prompts. A prompt is the group's system prompt and a question.
type Groups struct {
	Count     int           `yaml:"count" is:">=1" need:"yes" doc:"different system prompts"`
	Users     int           `yaml:"users" is:">=1" need:"yes" doc:"users per system prompt"`
	System    *Distribution `yaml:"system" need:"yes" doc:"tokens of a system prompt, one value per group"`
	Question  *Distribution `yaml:"question" need:"yes" doc:"tokens of a question"`
	MultiTurn bool          `yaml:"multi_turn,omitempty" doc:"each user is a session whose context grows"`
}

// Bucket is a pool of prefixes of equal length.
type Bucket struct {
	Weight float64 `yaml:"weight" is:">0" need:"yes" doc:"relative share of requests"`
	Count  int     `yaml:"count" is:">=1" need:"yes" doc:"different prefixes"`
	Tokens int     `yaml:"tokens" is:">=0" need:"yes" doc:"of a prefix"`
}

// Turns is a population of conversations. Data.Input and Data.Output are the tokens of one turn.
type Turns struct {
	Conversations int           `yaml:"conversations" is:">=1" need:"yes" doc:"a finished one starts again"`
	Fresh         bool          `yaml:"fresh,omitempty" doc:"instead another begins, whose texts are new"`
	Count         *Distribution `yaml:"count" need:"yes" doc:"turns of a conversation"`
	SharedSystem  int           `yaml:"shared_system,omitempty" is:">=0" doc:"tokens of a system prompt for all"`
	System        *Distribution `yaml:"system,omitempty" doc:"tokens of each conversation's own system prompt"`
	FirstInput    *Distribution `yaml:"first_input,omitempty" doc:"tokens of the first turn; absent: data.input"`
	ToolLatency   *Distribution `yaml:"tool_latency,omitempty" doc:"seconds between turns; with rotate after each one"`
	MaxContext    int           `yaml:"max_context,omitempty" is:">=0" doc:"tokens that end one; 0: no limit"`
}

// SessionFiles defines how recorded sessions are replayed: a graph of calls, each due when the calls before it have
// answered and its recorded delay has passed.
type SessionFiles struct {
	Count          int               `yaml:"count,omitempty" is:">=0" doc:"sessions; 0: all; more than recorded: repeated"`
	IdleGapCap     float64           `yaml:"idle_gap_cap,omitempty" is:">=0" doc:"seconds; longer pauses are cut; 0: kept"`
	IgnoreDelays   bool              `yaml:"ignore_delays,omitempty" doc:"send a call as soon as those before it end"`
	ThinkTimeOnly  bool              `yaml:"think_time_only,omitempty" doc:"keep users' pauses, drop tools' latencies"`
	MaxWait        float64           `yaml:"max_wait,omitempty" is:">=0" doc:"seconds before a call at most; 0: any"`
	BlockTokens    int               `yaml:"block_tokens,omitempty" is:">=0" doc:"tokens of a block of a Weka trace"`
	DefaultOutput  int               `yaml:"default_output,omitempty" is:">=0" doc:"tokens of answers of unknown length"`
	KeepErrors     bool              `yaml:"keep_errors,omitempty" doc:"also replay calls that failed when recorded"`
	SkipInvalid    bool              `yaml:"skip_invalid,omitempty" doc:"skip files that cannot be read"`
	RecordedAnswer bool              `yaml:"recorded_answers,omitempty" doc:"history: recorded answers, not the server's"`
	RandomSession  bool              `yaml:"random_session_id,omitempty" doc:"sessions start with a random id"`
	Models         map[string]string `yaml:"models,omitempty" doc:"recorded model name to served one"`
}

// Images defines which images a request carries.
type Images struct {
	Count       *Distribution `yaml:"count" need:"yes" doc:"images per request"`
	Resolutions []Resolution  `yaml:"resolutions" need:"yes" doc:"sizes, chosen by weight"`
	Format      string        `yaml:"format,omitempty" one:"png jpeg" doc:"encoding; empty: png"`
	At          float64       `yaml:"at,omitempty" is:"0..1" doc:"place within the prompt: 0 before the text, 1 after it"`
}

// Passages defines what a rerank request ranks. Data.Prefix and Data.Input are the tokens of its query.
type Passages struct {
	Count  int           `yaml:"count" is:"1..10000" need:"yes" doc:"passages per request"`
	Tokens *Distribution `yaml:"tokens" need:"yes" doc:"of a passage"`
}

// Ranked returns the passages of a rerank request. Without the key, they are 10 of 100 tokens.
func (d *Data) Ranked() *Passages {
	if d.Passages != nil {
		return d.Passages
	}
	return &Passages{Count: 10, Tokens: FixedAt(100)}
}

// Resolution is the size of an image.
type Resolution struct {
	Width  int     `yaml:"width" is:"1..16384" need:"yes" doc:"pixels"`
	Height int     `yaml:"height" is:"1..16384" need:"yes" doc:"pixels"`
	Weight float64 `yaml:"weight,omitempty" is:">=0" doc:"relative share; 0 means 1"`
}

// Distribution is a random quantity. A profile may write a fixed one as its number.
type Distribution struct {
	Kind   string  `yaml:"kind" one:"fixed uniform normal lognormal skew-normal poisson" need:"yes" doc:"family"`
	Mean   float64 `yaml:"mean,omitempty" is:">=0" doc:"mean before clipping; the value of kind fixed"`
	StdDev float64 `yaml:"std_dev,omitempty" is:">=0" doc:"standard deviation before clipping"`
	Min    float64 `yaml:"min,omitempty" is:">=0" doc:"smallest value; smaller samples become it"`
	Max    float64 `yaml:"max,omitempty" is:">=0" doc:"largest value; larger samples become it; 0: no limit"`
	Skew   float64 `yaml:"skew,omitempty" doc:"shape of kind skew-normal"`
	Shift  bool    `yaml:"shift,omitempty" doc:"lognormal above min, not above 0"`
}

// FixedAt returns the distribution that is always v.
func FixedAt(v float64) *Distribution { return &Distribution{Kind: "fixed", Mean: v, Min: v, Max: v} }

// Shorthand reads a fixed value.
func (d *Distribution) Shorthand(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if _, isDuration := strict.Duration(text); err != nil && isDuration {
		return fmt.Errorf("%.60q has a unit: write seconds as a number, such as 0.1", text)
	}
	if err != nil || !(v >= 0 && v < 1<<53) {
		return fmt.Errorf("expected a number of at least 0, or a map with kind and mean, not %.60q", text)
	}
	*d = *FixedAt(v)
	return nil
}
