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

// The limit of a body that is not streamed, in bytes. The body is kept until its end, so its limit depends on the
// number of requested tokens: a token with its id, its text and several log probabilities takes less than 2 KiB of
// JSON.
const (
	bodyBytes     = 16 << 20
	bytesPerToken = 2 << 10
)

// keepBuffer is the size of the largest buffer, in bytes, that is reused for the next answer.
const keepBuffer = 1 << 20

// Options describe the answers of a protocol.
type Options struct {
	Decoder Decoder
	Terms   Terms
	// EndsByCount is the number of requested tokens, if a stream of exactly that many may end with [DONE] and without a
	// finish reason; 0: every stream needs a finish reason.
	EndsByCount int
	// Lines is set if a stream consists of lines with one JSON document each, instead of server-sent events.
	Lines bool
	// NoTokens is set if answers consist of something else than tokens, such as numbers.
	NoTokens bool
	// MayHoldBack is set if servers omit ids from a stream: if there are fewer ids than the server counted, all of them
	// are ignored.
	MayHoldBack bool
}

// Answer reads one answer, streamed or whole, and checks it. It implements wire.Answer.
type Answer struct {
	Options
	stream     bool // requested
	needIDs    bool
	keepText   bool
	returnText bool // the text is the answer; else it is kept only to be counted
	countText  func([]byte) (int, error)
	minTokens  int
	maxTokens  int // requested; 0: no limit was requested
	vocabulary int
	maxBytes   int64
	maxBody    int64 // of a body that is not streamed

	readDocument func(doc []byte) int // the method of this type, or that of a batch
	repeat       Repeater             // nil: every document is decoded
	contentType  string
	events       bool // it comes in parts: events, or
	lines        bool // lines of JSON
	plain        bool // its Content-Type is neither JSON nor events nor absent
	framer       sse.Framer
	ndjson       ndjson.Framer
	event        Event
	body         []byte // the answer so far, if it does not come as events
	read         int64  // bytes
	tokens       []int32
	reported     int // tokens
	pieces       int // events with tokens
	merged       int // events with more than one token
	mode         modeTracker
	text         []byte
	calls        []*call // function calls so far; if there are any, they are the answer
	finish       string
	explanation  string // of the finish reason
	prompt       int64
	cached       int64 // tokens of the prompt that the server had in its cache; -1: not sent
	count        int64 // tokens of the answer as the server counts them; -1: not sent
	hasIDs       bool
	lacksIDs     bool // an event had text and no ids
	firstLacks   bool // the first event with output had text and no ids
	visible      bool // an event had output that is no reasoning
	aside        bool // an event had output that is not part of the text, such as reasoning
	tokenized    int  // tokens of the text as a tokenizer counts them; -1: not counted
	hasChoice    bool
	done         bool // [DONE] came
	allDone      bool // of a batch: [DONE] came, and all parts have their finish reason
	reason       backends.Reason
	detail       string

	want      wire.Expected
	lacksName bool   // an event lacked the request's id, or carried another one
	named     bool   // an event carried an id
	modelName string // set if want.Learn is
}

// KeepsText reports whether the text of answers is kept: as the answer, or for a tokenizer that counts it.
func KeepsText(c *backends.Config) bool { return c.KeepText || c.CountText != nil }

// New returns a reader of answers.
func New(c *backends.Config, o Options) *Answer {
	a := &Answer{
		Options: o, stream: c.Stream, needIDs: c.NeedIDs, keepText: KeepsText(c), returnText: c.KeepText,
		countText: c.CountText,
		minTokens: c.MinTokens, maxTokens: c.Sampling.MaxTokens, vocabulary: c.Vocabulary, maxBytes: c.MaxAnswerBytes,
	}
	if a.maxBytes <= 0 {
		a.maxBytes = defaultMaxAnswer
	}
	a.maxBody = min(a.maxBytes, bodyBytes+bytesPerToken*int64(c.Sampling.MaxTokens)*int64(max(c.Batch, 1)))
	a.readDocument = a.readEvent
	a.repeat, _ = o.Decoder.(Repeater)
	a.classify("")
	a.Begin("")
	return a
}

// classify derives the framing of an answer from its Content-Type. Without one, the answer is framed as requested.
func (a *Answer) classify(contentType string) {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	a.contentType = contentType
	bare := kind == "" || kind == "text/plain"
	a.lines = kind == "application/x-ndjson" || kind == "application/jsonl" ||
		(a.Lines && a.stream && (bare || kind == "application/json"))
	a.events = a.lines || kind == "text/event-stream" || (a.stream && bare)
	a.plain = !a.events && kind != "" && !strings.HasSuffix(kind, "json")
}

// Begin discards the previous answer and starts one.
func (a *Answer) Begin(contentType string) {
	if contentType != a.contentType {
		a.classify(contentType)
	}
	a.framer.Reset()
	a.ndjson.Reset()
	a.Decoder.Forget()
	a.body, a.text = emptied(a.body), emptied(a.text)
	a.tokens = a.tokens[:0]
	a.read, a.finish, a.explanation, a.prompt, a.cached, a.count = 0, "", "", -1, -1, -1
	a.pieces, a.merged = 0, 0
	a.reported, a.hasIDs, a.lacksIDs, a.hasChoice, a.done = 0, false, false, false, false
	a.mode.begin("")
	a.reason, a.detail = backends.OK, ""
	a.visible = false
	a.aside, a.firstLacks, a.allDone, a.tokenized, a.calls = false, false, false, -1, nil
	a.want, a.lacksName, a.named, a.modelName = wire.Expected{}, false, false, ""
}

func emptied(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Expect sets what the answer must contain.
func (a *Answer) Expect(want wire.Expected) {
	a.want = want
	a.mode.begin(want.StreamMode)
}

// Tokens returns the ids so far.
func (a *Answer) Tokens() []int32 { return a.tokens }

// Begun reports whether an event had a choice.
func (a *Answer) Begun() bool { return a.hasChoice }

// Visible reports whether an event had output that is no reasoning.
func (a *Answer) Visible() bool { return a.visible }

// News returns nil: the answer is to one prompt.
func (a *Answer) News() []wire.News { return nil }

// Settled reports whether the answer has failed, or has both its finish reason and [DONE].
func (a *Answer) Settled() bool {
	return a.reason != backends.OK || a.allDone || (a.done && a.finish != "")
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
		if n := a.repeatEvent(p); n > 0 {
			tokens, p = a.add(&a.event), p[n:]
		} else {
			doc, rest, ok := a.next(p)
			if !a.grow(len(p)-len(rest), a.maxBytes) || !ok {
				return 0, nil
			}
			tokens, p = a.readDocument(doc), rest
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

// report counts an event whose n tokens are reported to the client.
func (a *Answer) report(n int) {
	a.reported += n
	a.pieces++
	if n > 1 {
		a.merged++
	}
}

// repeatEvent reads the event at the start of p if it differs from an earlier one in its text and ids only, so that
// neither its end nor its fields need a search. It returns the number of bytes; 0: the framer and the decoder have to
// read it.
func (a *Answer) repeatEvent(p []byte) (n int) {
	if a.repeat == nil || a.lines || len(p) == 0 || a.finish != "" || !a.framer.Between() {
		return 0
	}
	blank := 0
	if p[0] == '\n' {
		blank = 1 // the empty line that ended the previous event
	}
	if n = a.repeat.Repeat(p[blank:], &a.event); n == 0 || a.read+int64(blank+n) > a.maxBytes {
		return 0
	}
	a.read += int64(blank + n)
	return blank + n
}

// next returns the next document of a stream. ok is false if p is used up, or the stream has failed.
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
	return doc, rest, !a.hasErrorEvent() && ok
}

// hasErrorEvent fails the answer if the stream contained an error event.
func (a *Answer) hasErrorEvent() bool {
	message := a.framer.Failure()
	if message != nil {
		a.fail(backends.FailServerErrorEvent, "the server reported an error inside its answer: "+foreign.Line(string(message),
			400))
	}
	return message != nil
}

// last returns the document at the end of a stream that lacks its empty line.
func (a *Answer) last() ([]byte, bool) {
	if a.lines {
		return a.ndjson.End()
	}
	doc, ok := a.framer.End()
	return doc, !a.hasErrorEvent() && ok
}

// grow counts n more bytes of the answer, and fails it above the limit.
func (a *Answer) grow(n int, limit int64) bool {
	a.read += int64(n)
	if a.read > limit {
		a.fail(backends.FailTooLarge, fmt.Sprintf("the answer was given up after %d bytes, the limit of one answer", limit))
		return false
	}
	return true
}

func (a *Answer) fail(reason backends.Reason, detail string) {
	if a.reason == backends.OK {
		a.reason, a.detail = reason, detail
	}
}

// readEvent reads one document and returns the number of its new output tokens.
func (a *Answer) readEvent(doc []byte) int {
	if !a.decode(doc) {
		return 0
	}
	return a.apply(&a.event)
}

// decode reads one document into the event, and reports whether it is part of the answer.
func (a *Answer) decode(doc []byte) bool {
	if doc = bytes.TrimSpace(doc); string(doc) == "[DONE]" {
		a.done = true
		return false
	}
	// the other members of an error may have any type
	if err := a.Decoder.Decode(doc, &a.event); err != nil && !a.event.IsError {
		// llama.cpp begins a batch stream with one (docs/reference/wire-protocols.md#differences-between-servers)
		if string(doc) != "null" {
			a.refuse(doc, err)
		}
		return false
	}
	return a.checkIdentity(&a.event)
}

func (a *Answer) refuse(doc []byte, err error) {
	reason, what := backends.FailBadJSON, "invalid JSON"
	var shape *ShapeError
	if errors.As(err, &shape) {
		reason, what = backends.FailBadEvent, "unexpected JSON"
	}
	a.fail(reason, fmt.Sprintf("the server sent %s (%v): %s", what, err, foreign.Line(string(doc), 200)))
}
