package models

import "time"

// Scenario is a scenario as a submission names it.
type Scenario string

// The scenarios of large language model benchmarks. Interactive is LoadGen's Server under another key and tighter
// limits.
const (
	Offline      Scenario = "Offline"
	Server       Scenario = "Server"
	Interactive  Scenario = "Interactive"
	SingleStream Scenario = "SingleStream"
)

// Mode is the purpose of a test.
type Mode string

// The modes of a test.
const (
	Performance Mode = "performance"
	Accuracy    Mode = "accuracy"
)

// NoBOS is the value of Row.BOS if prompts have no first token of their own.
const NoBOS int32 = -1

// Sampling contains the sampling parameters of a request. Nil pointers and counts of 0 are not sent.
type Sampling struct {
	MaxTokens    int // largest number of output tokens
	MinTokens    int // smallest number of output tokens
	Temperature  *float64
	TopP         *float64
	TopK         *int
	Seed         *int64
	StopTokenIDs []int32
	IgnoreEOS    bool
}

// ScenarioRow is what one scenario of one benchmark fixes.
type ScenarioRow struct {
	Scenario      Scenario
	LoadGenModel  string        // model key of mlperf.conf and user.conf, such as llama3_1-8b-interactive
	LoadGen       Scenario      // LoadGen's scenario: Server for Interactive
	TTFTLimit     time.Duration // p99 limit of the time to first token; 0: none
	TPOTLimit     time.Duration // p99 limit of the time per output token; 0: none
	TargetLatency time.Duration // p99 limit of the whole answer; 0: none
	MinQueries    int           // smallest query count of a real run (Offline: samples per query)
	MinDuration   time.Duration // smallest duration of a real run
	Stream        bool          // answers are streamed
	Samples       int           // rows of the data set if this scenario has its own; 0: the row's
	Note          string        // a note for users of this scenario
}

// Column is one field of a benchmark's data set.
type Column struct {
	Name     string   // canonical name
	Aliases  []string // older names, accepted in this order
	Type     string   // "ids" (array of integers), "text", "object", "text|object", "messages"
	Required bool
	Role     string // one of the roles of package datasets, such as "input_ids" and "input"; "": checked, not kept
}

// Row is one benchmark, as data. Describe names the source of every constant.
type Row struct {
	Name              string   // submission and checker name, such as llama3.1-8b
	Aliases           []string // other spellings that users type
	ServedModels      []string // Hugging Face ids; the first is the default served name
	Scenarios         []ScenarioRow
	UseTokenLatencies bool
	DatasetSamples    int     // rows of the real data set
	PerformanceCount  int     // performance_sample_count_override of mlperf.conf
	AccuracyCount     int     // accuracy_sample_count_override of mlperf.conf; 0: none
	MaxInputTokens    int     // longest prompt of the real data set; 0: unknown
	Vocabulary        int     // token ids are below this; 0: unknown
	BOS               int32   // first token of every prompt; NoBOS: none
	EOS               []int32 // ids that end an answer; the last ends a chat answer
	MinOutputTokens   int     // fewer output tokens are a failed sample
	Sampling          map[Mode]Sampling
	Columns           []Column
	TextAnswers       bool   // LoadGen gets the answer's UTF-8 text; false: its token ids
	API               string // interface that requests go to; empty: completions
	// special tokens in answers, for the simulator and for decoding without a tokenizer file
	Special   []SpecialToken
	Scoring   Scoring
	Guided    Guided
	Decisions []Decision // points on which sources disagree
	Retired   bool
	Source    string
}

// Guided describes guided decoding, by which a server forces answers into a form. The zero value has no schema. A
// round's file states whether its closed division allows it.
type Guided struct {
	Schema string // JSON schema of an answer
}

// SpecialToken is a token that no text is split into.
type SpecialToken struct {
	ID   int32
	Text string
}

// Decision is a point on which sources disagree (docs/reference/benchmarks.md#where-sources-disagree).
type Decision struct {
	Item   string // what it is about
	Values string // the value of each source
	Taken  string // what this program uses
}
