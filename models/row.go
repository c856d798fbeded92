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
	MaxTokens    int // maximum number of output tokens
	MinTokens    int // minimum number of output tokens
	Temperature  *float64
	TopP         *float64
	TopK         *int
	Seed         *int64
	StopTokenIDs []int32
	IgnoreEOS    bool
}

// ScenarioRow holds the values that are fixed for one scenario of a benchmark.
type ScenarioRow struct {
	Scenario      Scenario
	LoadGenModel  string        // model key of mlperf.conf and user.conf, such as llama3_1-8b-interactive
	LoadGen       Scenario      // LoadGen's scenario: Server for Interactive
	TTFTLimit     time.Duration // p99 limit of the time to first token; 0: none
	TPOTLimit     time.Duration // p99 limit of the time per output token; 0: none
	TargetLatency time.Duration // p99 limit of the whole answer; 0: none
	MinQueries    int           // minimum number of queries of an official run (Offline: samples in its one query)
	MinDuration   time.Duration // minimum duration of an official run
	Stream        bool          // whether answers are streamed
	Samples       int           // rows of this scenario's own data set; 0: Row.DatasetSamples
	Note          string        // advice for users of this scenario
}

// Column is one field of a benchmark's data set.
type Column struct {
	Name     string   // canonical name
	Aliases  []string // older names, tried in this order
	Type     string   // "ids" (array of integers), "text", "object", "text|object", "messages"
	Required bool
	Role     string // one of the roles of package datasets, such as "input_ids" and "input"; "": checked, not kept
}

// Row describes one benchmark. Describe lists the source of every value.
type Row struct {
	Name              string   // submission and checker name, such as llama3.1-8b
	Aliases           []string // other accepted spellings
	ServedModels      []string // Hugging Face ids; the first is the default of --served-model
	Scenarios         []ScenarioRow
	UseTokenLatencies bool    // whether LoadGen measures TTFT and TPOT
	DatasetSamples    int     // rows of the real data set
	PerformanceCount  int     // performance_sample_count_override of mlperf.conf
	AccuracyCount     int     // accuracy_sample_count_override of mlperf.conf; 0: none
	MaxInputTokens    int     // longest prompt of the real data set; 0: unknown
	Vocabulary        int     // number of token ids; 0: unknown
	BOS               int32   // first token of every prompt, or NoBOS
	EOS               []int32 // ids that end an answer; chat answers end with the last one
	MinOutputTokens   int     // an answer with fewer tokens is a failed sample
	Sampling          map[Mode]Sampling
	Columns           []Column
	Data              DataSource
	TextAnswers       bool   // whether LoadGen receives answers as UTF-8 text instead of token ids
	API               string // HTTP interface for requests; "": completions
	// special tokens in answers, for the simulator and for decoding without a tokenizer file
	Special   []SpecialToken
	Scoring   Scoring
	Guided    Guided
	Decisions []Decision // points on which sources disagree
	Retired   bool       // no longer in any round
	Source    string     // where the row comes from
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
	Item   string // the subject
	Values string // the value of each source
	Taken  string // the value that this program uses
}
