package backends

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
)

// Reason is why a sample failed; the empty Reason is success.
type Reason = ledger.Reason

// The failure reasons of package ledger.
const (
	OK                   = ledger.OK
	FailConnect          = ledger.FailConnect
	FailTLS              = ledger.FailTLS
	FailFirstToken       = ledger.FailFirstToken
	FailBetweenTokens    = ledger.FailBetweenTokens
	FailRequestTimeout   = ledger.FailRequestTimeout
	FailReset            = ledger.FailReset
	FailTruncated        = ledger.FailTruncated
	FailBadChunk         = ledger.FailBadChunk
	FailBadJSON          = ledger.FailBadJSON
	FailBadEvent         = ledger.FailBadEvent
	FailServerErrorEvent = ledger.FailServerErrorEvent
	FailAborted          = ledger.FailAborted
	FailEmpty            = ledger.FailEmpty
	FailTooShort         = ledger.FailTooShort
	FailTooLarge         = ledger.FailTooLarge
	FailNoFirstToken     = ledger.FailNoFirstToken
	FailTokenCount       = ledger.FailTokenCount
	FailCancelled        = ledger.FailCancelled
	FailNoEndpoint       = ledger.FailNoEndpoint
	FailBatch            = ledger.FailBatch
	FailWrongAnswer      = ledger.FailWrongAnswer
	FailWrongModel       = ledger.FailWrongModel
	FailUnsent           = ledger.FailUnsent
)

// TokenSource is where an answer's token count comes from.
type TokenSource = ledger.TokenSource

// The token sources of package ledger.
const (
	TokensFromIDs       = ledger.TokensFromIDs
	TokensFromUsage     = ledger.TokensFromUsage
	TokensFromTokenizer = ledger.TokensFromTokenizer
)

// Outcome is what became of one query. Slices are read only during Sink.Complete.
type Outcome struct {
	Reason       Reason
	Tokens       []int32 // every output id in order, EOS included; nil where the server sends none
	Text         []byte  // the answer's UTF-8 bytes; nil unless Config.KeepText
	NTokens      int
	TokenSource  TokenSource
	UsageTokens  int // usage.completion_tokens; -1: not sent
	InputTokens  int // usage.prompt_tokens; -1: not sent
	FinishReason string
	Identified   bool       // every event carried the request's id
	Model        string     // that the answer names; filled only where Expected.Learn is set
	Endpoint     int        // index into Config.Endpoints
	Parts        []Part     // the answers of a batch; nil: it was none
	Retries      int        // attempts before this one
	Events       int        // of a stream, that brought tokens
	Merged       int        // of them, with more than one token
	StreamMode   StreamMode // that a stream has shown; empty: none, or its events fit several
	// Wall clock, ns since 1970; 0: did not happen.
	DequeuedNS, SentNS, FirstByteNS, FirstTokenNS, LastTokenNS int64
	// ReadableNS is the earliest time at which the bytes of the last token can have been there to read; 0: not known.
	ReadableNS int64
}

// Part is one answer of a batch, in its own right.
type Part struct {
	Outcome
	Index  int    // as the server gives it
	Detail string // one sentence where it failed
}

// Attempt is one failed attempt, whether it was repeated or ended its sample.
type Attempt struct {
	Query    loadgen.Query
	Endpoint int
	Reason   Reason
	Detail   string // one sentence: what was attempted, what came
	Body     []byte // at most the first KiB of the server's answer
	Retried  bool
	AtNS     int64
}

// Sink takes what happens to the queries of one shard.
//
// FirstToken and Complete for one query come from one OS thread, FirstToken at most once and before Complete, Complete
// exactly once. The other methods may be called from any goroutine.
type Sink interface {
	// FirstToken says that the first output token arrived at atNS. tokens are the ids that came with it.
	FirstToken(q loadgen.Query, tokens []int32, atNS int64)
	Complete(q loadgen.Query, o *Outcome)
	// TokenGap says that n tokens came gapNS after the ones before them, inside one answer.
	TokenGap(gapNS int64, n int)
	Failed(a Attempt)
}

// BatchSink is what a Sink may also be: one that takes streamed tokens by the parts of a batch, in place of FirstToken
// and TokenGap. The calls for one query come from the thread of its Complete, and before it.
type BatchSink interface {
	Streamed(q loadgen.Query, news []News, atNS int64)
}

// Endpoint is one server address.
type Endpoint struct {
	URL    string // scheme, host, port and an optional path prefix; no trailing slash
	APIKey string // sent as a bearer token; never logged
	// IDs says whether requests carry an id. It takes effect where the protocol is Identifying.
	IDs IDUse
	// Model is the name that answers of this endpoint carry; empty: the first answer decides.
	Model string
	// StreamMode is what the server's streams repeat, as a probe found it; empty: not known, each stream shows it.
	StreamMode StreamMode
}

// IDUse says what a client does with request ids at one endpoint.
type IDUse uint8

// The uses of request ids.
const (
	IDsOff      IDUse = iota // requests carry none
	IDsTried                 // requests carry one, and Outcome.Identified reports whether it came back
	IDsRequired              // requests carry one, and an answer without it is FailWrongAnswer
)

// StreamMode says what an event of a stream repeats of the events before it. SGLang's arguments choose it for all
// streams of a server.
type StreamMode string

// The modes of streams.
const (
	StreamCumulative     StreamMode = "cumulative"      // all ids and all text so far
	StreamIncremental    StreamMode = "incremental"     // new ids and new text
	StreamIncrementalIDs StreamMode = "incremental_ids" // new ids and all text so far: SGLang before March 2026
)

// Config is what a backend needs to know.
type Config struct {
	Endpoints   []Endpoint
	API         string // "completions", "chat" or "generate"; empty: the driver's default
	ServedModel string
	Sampling    models.Sampling
	Stream      bool
	KeepText    bool    // LoadGen gets text, not ids
	NeedIDs     bool    // an answer without token ids is a failure
	MinTokens   int     // fewer output tokens are too_short
	Vocabulary  int     // ids at or above it are bad_event; 0: not checked
	Batch       int     // prompts in one request; 0: one, as itself
	Format      *Format // that answers have to have; nil: any
	// ServerVersion is what the servers say of themselves; empty: not known.
	ServerVersion string
	// Drop are fields that a server has refused: they are left out of requests.
	Drop []string
	// IDsInLogprobs says that token ids are asked for, and read, among the log probabilities.
	IDsInLogprobs bool
	// CountText counts the tokens of an answer's text where the server sends neither ids nor a count; nil: nobody can.
	CountText func(text []byte) (int, error)
	// Reconnected is called when an endpoint takes a connection after one was refused or reset, from any goroutine. It
	// must not block; nil: nothing is called.
	Reconnected func(endpoint int)
	// Request gives the encoded body of a loaded sample; the bytes stay valid until the test ends.
	Request func(index int) []byte

	Concurrency        int // requests in flight; 0: no limit
	PerEndpoint        int // requests in flight at one endpoint; 0: no limit
	RequestTimeout     time.Duration
	FirstTokenTimeout  time.Duration
	TokenTimeout       time.Duration
	ConnectTimeout     time.Duration
	CoalesceWakeups    time.Duration // pause between wake-ups where they come thick and fast; 0: none
	PinLoop            int           // processor of the thread that reports, counted from 1; 0: any
	Loops              int           // backends beside each other, which share the files of the process; 0: 1
	Retries            int           // further attempts on a fresh connection, before the first byte
	Balance            string
	Key                func(index int) uint64 // what the strategy hash goes by; nil: the index
	EndpointTimeout    time.Duration          // how long queries wait once every endpoint was left out; 0: 30 s
	InsecureSkipVerify bool
	CAFile             string // PEM file of authorities to trust beside the system's; empty: none
	Proxy              string // URL of the HTTP proxy that all endpoints are reached through; empty: none
	ProbeTokens        int    // longest answer of a probe; 0: 8
	// Asking is called before an answer is waited for outside of a test: with the request, and how long that may take;
	// nil: nobody listens.
	Asking         func(request string, longest time.Duration)
	MaxAnswerBytes int64 // larger answers are too_large; 0: 256 MiB of a stream, and of one body what its tokens can take
}

// Drops says whether a field is left out of requests.
func (c *Config) Drops(field string) bool { return slices.Contains(c.Drop, field) }

// Format is a form of answers: JSON.
type Format struct {
	Schema json.RawMessage // compact; nil: any object
}

// SchemaText is the schema; that of any object where there is none.
func (f *Format) SchemaText() string {
	if f.Schema == nil {
		return `{"type":"object"}`
	}
	return string(f.Schema)
}

// Backend answers the queries of one shard.
type Backend interface {
	// Serve takes queries from src and reports each one exactly once to sink. It returns when src has ended and every
	// query is reported. After ctx ends nothing more is sent, and what is outstanding or still comes is reported as
	// cancelled. Serve has ended all its goroutines when it returns.
	Serve(ctx context.Context, src loadgen.Source, sink Sink) error
}

// Connected is what a backend may also be: one that counts the connections it opened.
type Connected interface {
	// Connections is the count by endpoint. It may be asked at any time.
	Connections() []int64
	// Exclusions is how often an endpoint was left out because it was not there.
	Exclusions() []int64
}

// Watched is what a backend may also be: one that counts what its servers send without having been asked.
type Watched interface {
	// Unasked is the number of answers that nothing had asked for, and how often other bytes came in such a place. It may
	// be asked at any time.
	Unasked() (answers, strays int64)
}

// Looped is what a backend may also be: one whose queries are carried by one event loop.
type Looped interface {
	// Loop says what the loop of the last Serve did, once that has returned; false: there is none after all.
	Loop() (LoopStats, bool)
}

// Warmed is what a backend may also be: one that can keep what it has opened.
type Warmed interface {
	// WarmUp is a Serve whose connections stay open for the next Serve.
	WarmUp(ctx context.Context, src loadgen.Source, sink Sink) error
}

// Driver is one wire protocol family, found by name.
type Driver interface {
	// Encode appends the request body of one sample to dst.
	Encode(dst []byte, s *datasets.Sample, c *Config) ([]byte, error)
	// Open makes a backend; it connects to nothing yet.
	Open(c *Config) (Backend, error)
	// Probe asks one endpoint what it is and, with generate, what it honours in one short answer.
	Probe(ctx context.Context, e Endpoint, c *Config, sample *datasets.Sample, generate bool) (*Probe, error)
}

// TextOnly is what a driver may also be: one whose servers take text and never token ids.
type TextOnly interface{ TextOnly() }

// SendsText reports whether requests carry text or messages even where a sample has token ids too.
func SendsText(d Driver, api string) bool {
	_, only := d.(TextOnly)
	return only || api == "chat"
}

// CacheEmptier is what a driver may also be: one whose servers can be told to forget the prompts they have seen.
type CacheEmptier interface {
	// EmptyCache tells one endpoint, and waits for it to have no request that holds on to a prompt. offered is false where
	// the server has no such route.
	EmptyCache(ctx context.Context, e Endpoint, c *Config) (offered bool, err error)
}

// ModelAsker is what a driver may also be: one that can ask an endpoint for the model that it serves, and for nothing
// else.
type ModelAsker interface {
	// AskModel returns what Probe.Identity is. Its error is an *EndpointError, with FaultWrongModel where the served name
	// is not there.
	AskModel(ctx context.Context, e Endpoint, c *Config) (identity map[string]string, err error)
}

// Probe is what an endpoint said of itself before the first query.
type Probe struct {
	URL             string   `json:"url"`
	Server          string   `json:"server,omitempty"`  // vllm, sglang, ... where it can be told
	Version         string   `json:"version,omitempty"` // as the server reports it
	Models          []string `json:"models"`            // served names
	MaxModelLen     int      `json:"max_model_len,omitempty"`
	HealthStatus    int      `json:"health_status"`
	InFlight        *int     `json:"in_flight,omitempty"` // requests that the server had already; nil: it does not tell
	Client          string   `json:"client"`              // which HTTP client will be used
	Generated       bool     `json:"generated"`
	TokenIDPrompt   bool     `json:"token_id_prompt"`
	ReturnsTokenIDs bool     `json:"returns_token_ids"`
	Usage           bool     `json:"usage"`
	IDsInLogprobs   bool     `json:"ids_in_logprobs,omitempty"` // ids come among the log probabilities only
	Dropped         []string `json:"dropped,omitempty"`         // fields that it refuses and that are left out
	Streams         bool     `json:"streams"`
	Identified      bool     `json:"identified"`             // the answer carries the id of its request
	AnswerModel     string   `json:"answer_model,omitempty"` // the model that the answer names
	// Profilers are the signs of a profiler in the server's configuration: no result of it is to be published.
	Profilers []string `json:"profilers,omitempty"`
	// Identity is what tells the model from another one that is served under the same name, such as its path.
	Identity map[string]string `json:"model_identity,omitempty"`
	// as the server's arguments say, or else the short answer showed
	StreamMode   StreamMode    `json:"stream_mode,omitempty"`
	OutputTokens int           `json:"output_tokens"`
	TTFT         time.Duration `json:"ttft_ns"`
	Latency      time.Duration `json:"latency_ns"`
	Notes        []string      `json:"notes,omitempty"`
}
