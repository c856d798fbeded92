package backends

import (
	"context"

	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
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

// Backend answers the queries of one shard.
type Backend interface {
	// Serve takes queries from src and reports each one exactly once to sink. It returns when src has ended and every
	// query is reported. After ctx is cancelled it sends nothing more, and reports outstanding and new queries as
	// FailCancelled. All its goroutines have ended when it returns.
	Serve(ctx context.Context, src loadgen.Source, sink Sink) error
	// Features returns what the backend can do besides; the zero value: nothing.
	Features() Features
}

// Features are what a backend can do besides answering queries. A nil function means that it lacks the feature.
type Features struct {
	// WarmUp is a Serve that leaves its connections open for the next Serve.
	WarmUp func(ctx context.Context, src loadgen.Source, sink Sink) error
	// Traffic returns the counts so far. It may be called at any time.
	Traffic func() Traffic
	// Conducts is set if the backend follows Config.Conduct.
	Conducts bool
	// Loop returns the figures of the event loop of the last Serve. It may be called after that has returned.
	Loop func() LoopStats
}

// Traffic counts connections and unexpected bytes.
type Traffic struct {
	Connections []int64 // opened, by endpoint
	Exclusions  []int64 // by endpoint: how often it was excluded because no connection to it was possible
	Unasked     int64   // answers without a request
	Strays      int64   // times that other bytes came without a request
	Exhausted   Exhausted
}

// Exhausted counts what this machine lacked for another connection, so that requests waited for the client or failed.
type Exhausted struct {
	Ports int64 `json:"ports"` // times that no local port was free
	Files int64 `json:"files"` // times that this process could open no further file
}

// Add adds other counts.
func (e *Exhausted) Add(other Exhausted) {
	e.Ports += other.Ports
	e.Files += other.Files
}

// LoopStats are the figures of an event loop for one Serve.
type LoopStats struct {
	Realtime       bool            `json:"realtime"`        // its thread had real-time priority
	CPU            int             `json:"cpu"`             // the processor that its thread was pinned to; -1: any
	CoalesceUS     float64         `json:"coalesce_us"`     // length of the pauses between wake-ups; 0: none allowed
	Pauses         int64           `json:"pauses"`          // pauses between wake-ups
	Turns          int64           `json:"turns"`           // rounds; each one handles the events that are ready
	Sleeps         int64           `json:"sleeps"`          // rounds that waited for an event
	Events         int64           `json:"events"`          // of sockets and of the ring
	StallMaxUS     float64         `json:"stall_max_us"`    // longest round: no other event is handled meanwhile
	Stalls         []ledger.Bucket `json:"stalls"`          // rounds by length
	CPUSeconds     float64         `json:"cpu_s"`           // of its thread
	RunDelayS      float64         `json:"run_delay_s"`     // time that its thread was ready and waited for a processor
	ConnectionsMax int             `json:"connections_max"` // most connections open at once
	LimitMax       int             `json:"limit"`           // allowed requests in flight; 0: no limit
	QueueMax       int             `json:"queue_max"`       // most queries that waited for a connection at once
	Unasked        int64           `json:"unasked"`         // answers without a request
}

// Sink receives what happens to the queries of one shard.
//
// FirstToken and Complete for one query are called by one OS thread: FirstToken at most once and before Complete,
// Complete exactly once. The other methods may be called from any goroutine.
type Sink interface {
	// FirstToken reports that the first output token arrived at atNS (wall clock, ns since 1970). tokens are the ids that
	// came with it.
	FirstToken(q loadgen.Query, tokens []int32, atNS int64)
	// Complete reports the outcome of a query. o and its slices are valid until Complete returns.
	Complete(q loadgen.Query, o *Outcome)
	// Tokens reports that n tokens of an answer came at atNS (wall clock, ns since 1970), gapNS after the previous
	// tokens. If the event of the first token contained more tokens, they are reported with gapNS 0.
	Tokens(q loadgen.Query, n int, atNS, gapNS int64)
	// Failed reports a failed attempt, whether it is repeated or not.
	Failed(a Attempt)
}

// Bulk is a Sink of a test in which only the sum of all answers counts, not when each comes (Offline).
type Bulk interface {
	Sink
	// StartBulk lets Complete wait for Flush with its report. It returns false, and Complete does not wait, if the time
	// of each answer counts.
	StartBulk() bool
	// Flush reports what waits. The backend calls it within a few answers, and before it waits for anything.
	Flush()
}

// SentMarker is a Sink that marks ranges of requests. Only builds with the tag nvtx call it.
type SentMarker interface {
	// Sent reports that an attempt's request was written. stream: the answer is to be a stream.
	Sent(q loadgen.Query, stream bool)
}

// MarkSent reports to a sink that an attempt's request was written, if the sink marks ranges.
func MarkSent(s Sink, q loadgen.Query, stream bool) {
	if m, ok := s.(SentMarker); ok {
		m.Sent(q, stream)
	}
}

// Outcome is the result of one query.
type Outcome struct {
	Reason       Reason
	Tokens       []int32 // all output ids in order, EOS included; nil: the server sends none
	Text         []byte  // the answer's UTF-8 bytes; nil unless Config.KeepText
	NTokens      int
	TokenSource  TokenSource
	UsageTokens  int // usage.completion_tokens; -1: not sent
	InputTokens  int // usage.prompt_tokens; -1: not sent
	CachedTokens int // of InputTokens: those that the server had in its cache; -1: not sent
	FinishReason string
	Identified   bool       // every event carried the request's id
	Model        string     // the model that the answer names; empty: not asked for, or not sent
	Endpoint     int        // index into Config.Endpoints
	Parts        []Part     // the answers of a batch; nil: the request had one prompt
	Retries      int        // attempts before this one
	Events       int        // events of a stream that contained tokens
	Merged       int        // events that contained more than one token
	StreamMode   StreamMode // how the stream repeats earlier output; empty: no stream, or its events fit several modes
	// Wall clock, ns since 1970; 0: did not happen.
	DequeuedNS, FirstByteNS, FirstTokenNS, LastTokenNS int64
	// SentNS is when an attempt wrote the request for the first time. If none had a connection, it is TriedNS.
	SentNS int64
	// TriedNS is when the first attempt wrote the request, or began if it got no connection. Until then the client
	// itself delays a request. 0: unknown, or SentNS.
	TriedNS int64
	// ChoiceNS is the time of the first event of a stream that has a choice, such as one with the role and without text;
	// 0: it came with the first token, or not at all.
	ChoiceNS int64
	// VisibleNS is the time of the first token that is not reasoning; 0: unknown, or there was no such token.
	VisibleNS int64
	// ReadableNS is the earliest time at which the bytes of the last token may have been readable; 0: unknown.
	ReadableNS int64
}

// EndsByLength reports whether a finish reason means that an answer reached a limit of its length.
func EndsByLength(finish string) bool { return finish == "length" || finish == "max_tokens" }

// Part is one answer of a batch.
type Part struct {
	Outcome
	Index  int    // as the server sends it
	Detail string // one sentence about a failure
}

// Attempt is one failed attempt to get an answer.
type Attempt struct {
	Query    loadgen.Query
	Endpoint int
	Reason   Reason
	Detail   string // one sentence: what was attempted and what came
	Body     []byte // at most the first KiB of the server's answer
	Retried  bool   // another attempt follows
	AtNS     int64  // wall clock, ns since 1970
}
