package wire

import (
	"github.com/mlperf-go/mlperf-go/backends"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Protocol describes a wire protocol to an HTTP client.
type Protocol struct {
	// Path is appended to the endpoint's URL, such as "/v1/completions".
	Path string
	// NewAnswer returns a reader, which is used for one answer after another.
	NewAnswer func() Answer
	// RequestID is the place of the id that servers send back in the answer; the zero value: they send none.
	RequestID RequestIDField
	// Streamed receives the streamed tokens of a batch instead of the methods FirstToken and Tokens of the sink. It is
	// called by the thread that calls Complete, and before it. nil: a request carries one prompt.
	Streamed func(q loadgen.Query, news []News, atNS int64)
}

// RequestIDField is the place of the id in a request: a header or a member of the body. At most one of them is set.
type RequestIDField struct {
	Header string // name of the header
	Member string // key of the body's member, whose value is a string
}

// Expected is what an answer must contain to belong to its request.
type Expected struct {
	ID    []byte // of the request; nil: it carried none. The bytes do not change until the next Begin.
	Must  bool   // an event without the ID makes the answer FailWrongAnswer
	Model string // an answer that names another model is FailWrongModel; empty: every model is accepted
	Learn bool   // the answer's model is stored in Outcome.Model
	// Asked is the model that the request names, if it is another one than the run's, such as an adapter. An answer to it
	// that names Served, the model of other answers, is FailWrongModel. Empty: unknown, or the run's.
	Asked, Served string
	// StreamMode is what the endpoint's streams repeat; empty: the stream shows it.
	StreamMode backends.StreamMode
}

// Answer reads one answer while its bytes arrive. It is used by one goroutine at a time and reads no clock.
type Answer interface {
	// Begin discards the previous answer and starts one of the given Content-Type.
	Begin(contentType string)
	// Expect sets what the answer must contain. It follows Begin; without it nothing is checked.
	Expect(want Expected)
	// Feed reads p up to and including the next event with output tokens. n is their number (1 if the event has text but
	// no ids), rest is the part of p that was not read yet. n is 0 if all of p was read without such an event. p is not
	// kept.
	Feed(p []byte) (n int, rest []byte)
	// Tokens returns the output ids so far. The returned ids do not change until the next Begin.
	Tokens() []int32
	// Begun reports whether an event came that has a choice, with or without output.
	Begun() bool
	// Visible reports whether output came that is no reasoning: text or a function call.
	Visible() bool
	// News returns the parts of a streamed batch for which the last Feed found tokens; nil for an answer to one prompt.
	// They are valid until the next Feed.
	News() []News
	// Settled reports whether no more bytes are needed: the answer is complete or has failed.
	Settled() bool
	// Finish ends the answer and sets the fields of o that are read from it: reason, ids, text, counts and finish reason.
	// cut is the failure of the transport, OK if the body ended properly; it is ignored if the answer was settled before.
	// detail is one sentence about a failure of the answer itself, empty if the answer did not fail.
	Finish(o *backends.Outcome, cut backends.Reason) (detail string)
}

// News is what one event brought for one part of a batch.
type News struct {
	Part   int // index, as the server sends it
	N      int // new tokens, counted as Feed does
	Tokens []int32
}
