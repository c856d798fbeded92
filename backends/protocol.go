package backends

import "github.com/mlperf-go/mlperf-go/internal/foreign"

// Protocol is what an HTTP client must know of a wire protocol: where requests go and who reads the answers.
type Protocol interface {
	// Path is appended to the endpoint's URL, such as "/v1/completions".
	Path() string
	// NewAnswer makes a reader that is used for one answer after another.
	NewAnswer() Answer
}

// Identifying is what a Protocol may also be: one whose servers send the id of a request back in its answer.
type Identifying interface {
	// RequestID names the place of the id in a request.
	RequestID() RequestIDField
}

// RequestIDField is the place of the id in a request: a header, or a member of the body. One of the two is set.
type RequestIDField struct {
	Header string // name of the header
	Member string // key of the body's member, whose value is a string
}

// Expected is what an answer must say about itself.
type Expected struct {
	ID    []byte // of the request; nil: it carried none. The bytes stay as they are until the next Begin.
	Must  bool   // an event without the ID makes the answer FailWrongAnswer
	Model string // another one makes the answer FailWrongModel; empty: every model is taken
	Learn bool   // Outcome.Model is asked for
	// StreamMode is what the endpoint's streams repeat; empty: the stream shows it.
	StreamMode StreamMode
}

// Answer reads one answer while its bytes arrive. It is used by one goroutine at a time and reads no clock.
type Answer interface {
	// Begin forgets the answer before and starts one of the given Content-Type.
	Begin(contentType string)
	// Expect sets what the answer must say about itself. It follows Begin; without it nothing is checked.
	Expect(want Expected)
	// Feed reads p up to and including the next event with output tokens: n is their number (1 where the event has text
	// and no ids), rest is what was not read yet. n is 0 when all of p was read without such an event. p is not kept.
	Feed(p []byte) (n int, rest []byte)
	// Tokens gives the output ids so far. What was given stays as it is until the next Begin.
	Tokens() []int32
	// Settled says that nothing more is needed: the answer is complete, or has failed.
	Settled() bool
	// Finish ends the answer and fills the fields of o that come from it: reason, ids, text, counts and finish reason.
	// cut is the failure of the transport, OK where the body ended as it should; it counts only where the answer was
	// not settled before. detail says in one sentence what was wrong, empty where cut was or nothing was.
	Finish(o *Outcome, cut Reason) (detail string)
}

// Batched is what an Answer may also be: the answers to several prompts, streamed.
type Batched interface {
	// News are the parts for which the last Feed found its tokens. They stand until the next Feed.
	News() []News
}

// News is what one event brought for one part of a batch.
type News struct {
	Part   int // index, as the server gives it
	N      int // tokens that are new, counted as Feed does
	Tokens []int32
}

// Cut makes text that a server sent fit for a message: one line of at most n bytes that no terminal obeys.
func Cut(text string, n int) string { return foreign.Line(text, n) }
