package models

import "time"

// Scenario is the name of a scenario in a submission.
type Scenario string

// The scenarios of large language model benchmarks. For LoadGen, Interactive is Server with another key and tighter
// limits.
const (
	Offline      Scenario = "Offline"
	Server       Scenario = "Server"
	Interactive  Scenario = "Interactive"
	SingleStream Scenario = "SingleStream"
)

// Mode is the mode of a test.
type Mode string

// The modes of a test.
const (
	Performance Mode = "performance"
	Accuracy    Mode = "accuracy"
)

// NoBOS is the value of Row.BOS if prompts have no fixed first token.
const NoBOS int32 = -1

// Sampling holds the sampling parameters of a request. Nil pointers and zero counts are not sent.
type Sampling struct {
	// maximum number of output tokens
	MaxTokens int `yaml:"max-tokens" is:">=1"`
	// minimum number of output tokens
	MinTokens    int      `yaml:"min-tokens" is:">=0"`
	Temperature  *float64 `yaml:"temperature" is:"0..1e6"`
	TopP         *float64 `yaml:"top-p" is:"0..1"`
	TopK         *int     `yaml:"top-k" is:">=-1"`
	Seed         *int64   `yaml:"seed" is:">=0"`
	StopTokenIDs []int32  `yaml:"stop-ids" is:">=0"`
	IgnoreEOS    bool     `yaml:"ignore-eos"`
}

// ScenarioRow holds the values that are fixed for one scenario of a benchmark.
type ScenarioRow struct {
	Scenario Scenario
	// model key of mlperf.conf and user.conf, such as llama3_1-8b-interactive
	LoadGenModel string   `yaml:"loadgen-model"`
	LoadGen      Scenario // scenario that LoadGen runs: Server for Interactive
	// p99 limit of the time to first token; 0: none
	TTFTLimit time.Duration `yaml:"ttft-limit"`
	// p99 limit of the time per output token; 0: none
	TPOTLimit time.Duration `yaml:"tpot-limit"`
	// p99 limit of the whole answer; 0: none
	TargetLatency time.Duration `yaml:"latency-limit"`
	// minimum number of queries of an official run (Offline: samples in its one query)
	MinQueries int `yaml:"min-queries" is:">=1"`
	// minimum duration of an official run
	MinDuration time.Duration `yaml:"min-duration"`
	Stream      bool          // whether answers are streamed
	// rows of the data set in this scenario; 0: Row.DatasetSamples
	Samples int    `yaml:"samples" is:">=1"`
	Note    string // advice for users of this scenario
}

// Column is one field of a benchmark's data set.
type Column struct {
	// canonical name of the column
	Name string `yaml:"name" need:"yes"`
	// older names of the column, tried in this order
	Aliases []string `yaml:"aliases"`
	// "ids" (array of integers), "text", "object", "text|object", "messages"
	Type     string `yaml:"type"`
	Required bool   `yaml:"required"`
	// role in package datasets, such as "input_ids" or "input"; "": the column is checked but not kept
	Role string `yaml:"role" one:"input_ids input target messages id"`
}

// Row describes one benchmark. Describe lists the source of every value. The tags are the keys of a model file
// (docs/how-to/models.md).
type Row struct {
	// name in submissions and in the checker, such as llama3.1-8b
	Name string `yaml:"name" need:"yes"`
	// other accepted spellings of Name
	Aliases []string `yaml:"aliases"`
	// Hugging Face ids; the first is the default of --served-model
	ServedModels []string `yaml:"served-models"`
	Scenarios    []ScenarioRow
	// whether LoadGen measures TTFT and TPOT
	UseTokenLatencies bool `yaml:"token-latencies"`
	// number of rows in the real data set
	DatasetSamples int `yaml:"dataset-samples" is:">=1"`
	// performance_sample_count_override of mlperf.conf
	PerformanceCount int `yaml:"performance-count" is:">=1"`
	// accuracy_sample_count_override of mlperf.conf; 0: none
	AccuracyCount int `yaml:"accuracy-count" is:">=1"`
	// length of the longest prompt in the real data set, in tokens; 0: unknown
	MaxInputTokens int `yaml:"max-input-tokens" is:">=1"`
	// number of token ids of the model; 0: unknown
	Vocabulary int `yaml:"vocabulary" is:">=1"`
	// first token of every prompt, or NoBOS
	BOS int32 `yaml:"bos" is:">=-1"`
	// token ids that end an answer; chat answers end with the last of them
	EOS []int32 `yaml:"eos" is:">=0"`
	// minimum number of output tokens; a sample whose answer has fewer fails
	MinOutputTokens int `yaml:"min-output-tokens" is:">=1"`
	Sampling        map[Mode]Sampling
	Columns         []Column
	Data            DataSource `yaml:"data"`
	// whether LoadGen receives answers as UTF-8 text instead of token ids
	TextAnswers bool `yaml:"text-answers"`
	// HTTP interface for requests; "": completions
	API string `yaml:"api" one:"completions chat generate"`
	// special tokens in answers, for the simulator and for decoding without a tokenizer file
	Special   []SpecialToken
	Scoring   Scoring
	Guided    Guided
	Decisions []Decision // points on which sources disagree
	Retired   bool       // whether no current round has the benchmark
	Source    string     // origin of the row's values
}

// Guided describes guided decoding, with which a server restricts the form of answers. The zero Guided means none. A
// round's file states whether the closed division allows it.
type Guided struct {
	Schema string // JSON schema of an answer
}

// SpecialToken is a token that never results from tokenizing ordinary text.
type SpecialToken struct {
	ID   int32
	Text string
}

// Decision is a point on which sources disagree (docs/reference/benchmarks.md#where-sources-disagree).
type Decision struct {
	Item   string // subject of the disagreement
	Values string // the value of each source
	Taken  string // the value that this program uses
}
