// HOT PATH: Feed, take and grow run once a read and once an event. No I/O, no clock, no lock; buffers outlive the
// answer.

package reader

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/ndjson"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/sse"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// defaultMaxAnswer bounds an answer where Config.MaxAnswerBytes is 0, in bytes.
const defaultMaxAnswer = 256 << 20

// What a body that is not streamed may have, in bytes: it is kept whole until its end, so that its bound follows from
// what was asked for. A token with its id, its text and several log probabilities takes less than 2 KiB of JSON.
const (
	bodyBytes    = 16 << 20
	bytesOfToken = 2 << 10
)

// keepBuffer is the largest buffer, in bytes, that is kept for the next answer.
const keepBuffer = 1 << 20

// Options are what a protocol says of its answers.
type Options struct {
	Decoder Decoder
	Words   Words
	// EndsByCount is the number of tokens that were asked for, where a stream of so many may end with [DONE] and without a
	// finish reason; 0: it may not.
	EndsByCount int
	// Lines says that a stream is JSON, one document to a line, and no server-sent events.
	Lines bool
	// MayHoldBack says that a server leaves ids out of a stream: fewer of them than it counted are then as good as none.
	MayHoldBack bool
}

// Answer reads one answer, streamed or whole, and judges it. It is a wire.Answer.
type Answer struct {
	Options
	stream     bool // asked for
	needIDs    bool
	keepText   bool
	giveText   bool // the text is the answer, and not only counted
	countText  func([]byte) (int, error)
	minTokens  int
	maxTokens  int // that were asked for; 0: no number was
	vocabulary int
	maxBytes   int64
	maxBody    int64 // of a body that is kept

	reads   func(doc []byte) int // takes a document: take, or that of a batch
	repeat  Repeater             // nil: every document is decoded
	kind    string               // its Content-Type
	events  bool                 // it comes in parts, as its Content-Type says: events, or
	lines   bool                 // lines of JSON
	plain   bool                 // its Content-Type is neither JSON nor events nor absent
	framer  sse.Framer
	ndjson  ndjson.Framer
	event   Event
	body    []byte // the answer so far, where it does not come as events
	read    int64
	tokens  []int32
	timed   int // tokens that were reported
	pieces  int // events with tokens
	merged  int // of them, with more than one
	grown   grown
	text    []byte
	calls   []*call // function calls so far; where there are any, they are the answer
	finish  string
	why     string
	prompt  int64
	count   int64 // tokens of the answer, as the server counts them; -1: not sent
	hasIDs  bool
	bareIDs bool // an event had text and no ids
	early   bool // the first one with output had
	hidden  bool // an event had output that is no part of the text, such as reasoning
	counted int  // tokens of the text, as a tokenizer counts them; -1: they were not
	choice  bool // a choice came
	done    bool // [DONE] came
	over    bool // of a batch: [DONE] came, and every part that began has its end
	reason  backends.Reason
	detail  string

	want      wire.Expected
	nameless  bool   // an event that had to carry the request's id carried none
	named     bool   // an event carried it
	modelName string // that the answer names, where want.Learn is set
}

// KeepsText reports whether the text of answers is kept: as the answer, or for a tokenizer that counts it.
func KeepsText(c *backends.Config) bool { return c.KeepText || c.CountText != nil }

// New makes a reader of answers.
func New(c *backends.Config, o Options) *Answer {
	a := &Answer{
		Options: o, stream: c.Stream, needIDs: c.NeedIDs, keepText: KeepsText(c), giveText: c.KeepText,
		countText: c.CountText,
		minTokens: c.MinTokens, maxTokens: c.Sampling.MaxTokens, vocabulary: c.Vocabulary, maxBytes: c.MaxAnswerBytes,
	}
	if a.maxBytes <= 0 {
		a.maxBytes = defaultMaxAnswer
	}
	a.maxBody = min(a.maxBytes, bodyBytes+bytesOfToken*int64(c.Sampling.MaxTokens)*int64(max(c.Batch, 1)))
	a.reads = a.take
	a.repeat, _ = o.Decoder.(Repeater)
	a.classify("")
	a.Begin("")
	return a
}

// classify says how an answer comes. Without a Content-Type it is taken for what was asked for.
func (a *Answer) classify(contentType string) {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	a.kind = contentType
	bare := kind == "" || kind == "text/plain"
	a.lines = kind == "application/x-ndjson" || kind == "application/jsonl" ||
		(a.Lines && a.stream && (bare || kind == "application/json"))
	a.events = a.lines || kind == "text/event-stream" || (a.stream && bare)
	a.plain = !a.events && kind != "" && !strings.HasSuffix(kind, "json")
}

// Begin starts an answer.
func (a *Answer) Begin(contentType string) {
	if contentType != a.kind {
		a.classify(contentType)
	}
	a.framer.Reset()
	a.ndjson.Reset()
	a.Decoder.Forget()
	a.body, a.text = emptied(a.body), emptied(a.text)
	a.tokens = a.tokens[:0]
	a.read, a.finish, a.why, a.prompt, a.count = 0, "", "", -1, -1
	a.pieces, a.merged = 0, 0
	a.timed, a.hasIDs, a.bareIDs, a.choice, a.done = 0, false, false, false, false
	a.grown.begin("")
	a.reason, a.detail = backends.OK, ""
	a.hidden, a.early, a.over, a.counted, a.calls = false, false, false, -1, nil
	a.want, a.nameless, a.named, a.modelName = wire.Expected{}, false, false, ""
}

func emptied(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Expect sets what the answer must say about itself.
func (a *Answer) Expect(want wire.Expected) {
	a.want = want
	a.grown.begin(want.StreamMode)
}

// Tokens gives the ids so far.
func (a *Answer) Tokens() []int32 { return a.tokens }

// News returns nil: the answer is to one prompt.
func (a *Answer) News() []wire.News { return nil }

// Settled is true after a failure, and after [DONE] of an answer that has its finish reason.
func (a *Answer) Settled() bool {
	return a.reason != backends.OK || a.over || (a.done && a.finish != "")
}

// Feed reads p up to the next event with output tokens.
func (a *Answer) Feed(p []byte) (int, []byte) {
	if a.Settled() {
		return 0, nil
	}
	if !a.events {
		if a.grow(len(p), a.maxBody) {
			a.body = append(a.body, p...)
		}
		return 0, nil
	}
	for {
		tokens := 0
		if n := a.ordinary(p); n > 0 {
			tokens, p = a.add(&a.event), p[n:]
		} else {
			doc, rest, ok := a.next(p)
			if !a.grow(len(p)-len(rest), a.maxBytes) || !ok {
				return 0, nil
			}
			tokens, p = a.reads(doc), rest
		}
		if tokens > 0 {
			a.report(tokens)
			return tokens, p
		}
		if a.Settled() {
			return 0, nil
		}
	}
}

// report counts an event whose n tokens are reported.
func (a *Answer) report(n int) {
	a.timed += n
	a.pieces++
	if n > 1 {
		a.merged++
	}
}

// ordinary reads the event that p begins with, where the decoder knows it: neither its end nor its fields are searched
// for then. n are its bytes; 0: the framer and the decoder read it.
func (a *Answer) ordinary(p []byte) (n int) {
	if a.repeat == nil || a.lines || len(p) == 0 || a.finish != "" || !a.framer.Between() {
		return 0
	}
	blank := 0
	if p[0] == '\n' {
		blank = 1 // the line that ended the event before
	}
	if n = a.repeat.Repeat(p[blank:], &a.event); n == 0 || a.read+int64(blank+n) > a.maxBytes {
		return 0
	}
	a.read += int64(blank + n)
	return blank + n
}

// next gives the next document of a stream. ok is false when p is used up, or the stream has failed.
func (a *Answer) next(p []byte) (doc, rest []byte, ok bool) {
	if a.lines {
		if doc, rest, ok = a.ndjson.Next(p); !ok && a.ndjson.Err() != nil {
			a.fail(backends.FailTooLarge, "the answer was given up: "+a.ndjson.Err().Error())
		}
		return doc, rest, ok
	}
	if doc, rest, ok = a.framer.Next(p); !ok && a.framer.Err() != nil {
		a.fail(backends.FailTooLarge, "the answer was given up: "+a.framer.Err().Error())
	}
	return doc, rest, !a.reported() && ok
}

// reported fails the answer where the stream itself named an error.
func (a *Answer) reported() bool {
	said := a.framer.Failure()
	if said != nil {
		a.fail(backends.FailServerErrorEvent, "the server reported an error inside its answer: "+foreign.Line(string(said),
			400))
	}
	return said != nil
}

// last gives the document that a stream ended in.
func (a *Answer) last() ([]byte, bool) {
	if a.lines {
		return a.ndjson.End()
	}
	doc, ok := a.framer.End()
	return doc, !a.reported() && ok
}

// grow counts bytes of the answer; false: it has more than most.
func (a *Answer) grow(n int, most int64) bool {
	a.read += int64(n)
	if a.read > most {
		a.fail(backends.FailTooLarge, fmt.Sprintf("the answer was given up after %d bytes, the limit of one answer", most))
		return false
	}
	return true
}

func (a *Answer) fail(reason backends.Reason, detail string) {
	if a.reason == backends.OK {
		a.reason, a.detail = reason, detail
	}
}

// take reads one document and gives the number of its new output tokens.
func (a *Answer) take(doc []byte) int {
	if !a.decode(doc) {
		return 0
	}
	return a.apply(&a.event)
}

// decode reads one document into the event; false: it says nothing of the answer.
func (a *Answer) decode(doc []byte) bool {
	if doc = bytes.TrimSpace(doc); string(doc) == "[DONE]" {
		a.done = true
		return false
	}
	if err := a.Decoder.Decode(doc, &a.event); err != nil && !a.event.IsError { // the rest of an error may have any shape
		// llama.cpp begins a batch stream with one (docs/reference/wire-protocols.md#differences-between-servers)
		if string(doc) != "null" {
			a.refuse(doc, err)
		}
		return false
	}
	return a.belongs(&a.event)
}

func (a *Answer) refuse(doc []byte, err error) {
	reason, what := backends.FailBadJSON, "no JSON"
	var shape *ShapeError
	if errors.As(err, &shape) {
		reason, what = backends.FailBadEvent, "JSON of another shape"
	}
	a.fail(reason, fmt.Sprintf("the server sent %s (%v): %s", what, err, foreign.Line(string(doc), 200)))
}
