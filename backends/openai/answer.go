package openai

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/sse"
)

// defaultMaxAnswer bounds an answer where Config.MaxAnswerBytes is 0, in bytes.
const defaultMaxAnswer = 256 << 20

// keepBuffer is the largest buffer, in bytes, that is kept for the next answer.
const keepBuffer = 1 << 20

// answer reads one completion, streamed or whole, and judges it.
type answer struct {
	stream     bool // asked for
	needIDs    bool
	keepText   bool
	minTokens  int
	vocabulary int
	maxBytes   int64

	events  bool // it comes as events, as its Content-Type says
	plain   bool // its Content-Type is neither JSON nor events nor absent
	framer  sse.Framer
	walker  walker
	event   event
	body    []byte // the answer so far, where it does not come as events
	read    int64
	tokens  []int32
	text    []byte
	finish  string
	prompt  int64
	count   int64 // usage.completion_tokens; -1: not sent
	hasIDs  bool
	bareIDs bool // an event had text and no ids
	timed   bool // an event carried a token while the stream ran
	choice  bool // a choice came
	done    bool // [DONE] came
	reason  backends.Reason
	detail  string
}

func newAnswer(c *backends.Config) *answer {
	a := &answer{
		stream: c.Stream, needIDs: c.NeedIDs, keepText: c.KeepText,
		minTokens: c.MinTokens, vocabulary: c.Vocabulary, maxBytes: c.MaxAnswerBytes,
	}
	if a.maxBytes <= 0 {
		a.maxBytes = defaultMaxAnswer
	}
	a.walker.keepText = c.KeepText
	a.Begin("")
	return a
}

// Begin starts an answer. Without a Content-Type it is taken for what was asked for.
func (a *answer) Begin(contentType string) {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	a.events = kind == "text/event-stream" || (a.stream && (kind == "" || kind == "text/plain"))
	a.plain = !a.events && kind != "" && !strings.HasSuffix(kind, "json")
	a.framer.Reset()
	a.walker.forget()
	a.body, a.text = emptied(a.body), emptied(a.text)
	a.tokens = a.tokens[:0]
	a.read, a.finish, a.prompt, a.count = 0, "", -1, -1
	a.hasIDs, a.bareIDs, a.timed, a.choice, a.done = false, false, false, false, false
	a.reason, a.detail = backends.OK, ""
}

func emptied(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Tokens gives the ids so far.
func (a *answer) Tokens() []int32 { return a.tokens }

// Settled is true after a failure, and after [DONE] of an answer that has its finish reason.
func (a *answer) Settled() bool {
	return a.reason != backends.OK || (a.done && a.finish != "")
}

// Feed reads p up to the next event with output tokens.
func (a *answer) Feed(p []byte) (int, []byte) {
	if a.reason != backends.OK {
		return 0, nil
	}
	if !a.events {
		if a.grow(len(p)) {
			a.body = append(a.body, p...)
		}
		return 0, nil
	}
	for {
		doc, rest, ok := a.framer.Next(p)
		if !a.grow(len(p) - len(rest)) {
			return 0, nil
		}
		if !ok {
			if err := a.framer.Err(); err != nil {
				a.fail(backends.FailTooLarge, "the answer was given up: "+err.Error())
			}
			return 0, nil
		}
		if n := a.take(doc); n > 0 {
			a.timed = true
			return n, rest
		}
		if a.Settled() {
			return 0, nil
		}
		p = rest
	}
}

// grow counts bytes of the answer; false: it is too large.
func (a *answer) grow(n int) bool {
	a.read += int64(n)
	if a.read > a.maxBytes {
		a.fail(backends.FailTooLarge, fmt.Sprintf("the answer was given up after %d bytes, the limit of one answer", a.maxBytes))
		return false
	}
	return true
}

func (a *answer) fail(reason backends.Reason, detail string) {
	if a.reason == backends.OK {
		a.reason, a.detail = reason, detail
	}
}

// take reads one document and gives the number of its output tokens.
func (a *answer) take(doc []byte) int {
	if doc = bytes.TrimSpace(doc); string(doc) == "[DONE]" {
		a.done = true
		return 0
	}
	e := &a.event
	if !a.walker.walk(doc, e) {
		if string(doc) == "null" {
			return 0 // llama.cpp begins a batch stream with one (spec/real-servers.md §3)
		}
		if err := decodeSlow(doc, a.keepText, e); err != nil {
			a.refuse(doc, err)
			return 0
		}
	}
	return a.apply(e)
}

func (a *answer) refuse(doc []byte, err error) {
	reason, what := backends.FailBadJSON, "no JSON"
	if _, ok := err.(*shapeError); ok {
		reason, what = backends.FailBadEvent, "JSON of another shape"
	}
	a.fail(reason, fmt.Sprintf("the server sent %s (%v): %s", what, err, backends.Cut(string(doc), 200)))
}

// apply adds what a document says to the answer and gives the number of output tokens in it.
func (a *answer) apply(e *event) int {
	if e.isError {
		a.fail(backends.FailServerErrorEvent, "the server reported an error inside its answer: "+backends.Cut(string(e.message), 400))
		return 0
	}
	if e.prompt >= 0 {
		a.prompt = e.prompt
	}
	if e.produced >= 0 {
		a.count = e.produced
	}
	if e.choices == 0 {
		return 0
	}
	a.choice = true
	if e.choices > 1 || e.index != 0 {
		a.fail(backends.FailBadEvent, fmt.Sprintf("one choice with index 0 was asked for, %d came, the last with index %d", e.choices, e.index))
		return 0
	}
	if e.finish != nil {
		a.finish = intern(e.finish)
	}
	if a.keepText {
		a.text = append(a.text, e.text...)
	}
	a.hasIDs = a.hasIDs || e.hasIDs
	if !e.hasIDs && e.hasText {
		a.bareIDs = true
		return 1
	}
	if !a.inVocabulary(e) {
		return 0
	}
	a.tokens = append(a.tokens, e.ids...)
	return len(e.ids)
}

func (a *answer) inVocabulary(e *event) bool {
	if e.badID {
		a.fail(backends.FailBadEvent, "a token id is negative or above 2147483647")
		return false
	}
	if a.vocabulary == 0 {
		return true
	}
	for _, id := range e.ids {
		if int(id) >= a.vocabulary {
			a.fail(backends.FailBadEvent, fmt.Sprintf("token id %d is outside the vocabulary of %d ids: the server runs another model, or its ids are wrong", id, a.vocabulary))
			return false
		}
	}
	return true
}

// reasons are the finish reasons that servers use; a known one costs no allocation.
var reasons = [...]string{"stop", "length", "abort", "error", "cancelled", "content_filter", "tool_calls", "repetition", "eos_token"}

func intern(b []byte) string {
	for _, r := range reasons {
		if string(b) == r {
			return r
		}
	}
	return backends.Cut(string(b), 64)
}

// aborted are the finish reasons that say that the answer is not whole.
var aborted = map[string]bool{"abort": true, "error": true, "cancelled": true, "canceled": true, "content_filter": true}

// Finish reads what is left and judges the answer.
func (a *answer) Finish(o *backends.Outcome, cut backends.Reason) string {
	if cut == backends.OK && a.reason == backends.OK {
		a.end()
	}
	if a.Settled() && a.reason == backends.OK {
		cut = backends.OK
	}
	reason, detail := a.judge(cut)
	o.Reason, o.FinishReason = reason, a.finish
	o.UsageTokens, o.InputTokens = int(a.count), int(a.prompt)
	o.Tokens, o.Text = nil, nil
	o.NTokens, o.TokenSource = 0, ""
	if a.hasIDs {
		o.Tokens, o.NTokens, o.TokenSource = a.tokens, len(a.tokens), backends.TokensFromIDs
	} else if a.count >= 0 {
		o.NTokens, o.TokenSource = int(a.count), backends.TokensFromUsage
	}
	if a.keepText {
		o.Text = a.text
	}
	return detail
}

// end reads the last event without its blank line, or the whole body.
func (a *answer) end() {
	if !a.events {
		a.whole()
		return
	}
	doc, ok := a.framer.End()
	if !ok {
		return
	}
	if a.take(doc); a.reason == backends.FailBadJSON {
		a.reason, a.detail = backends.FailTruncated, "the stream ended inside an event: "+backends.Cut(string(doc), 200)
	}
}

func (a *answer) whole() {
	body := bytes.TrimSpace(a.body)
	if len(body) == 0 {
		return
	}
	if a.plain && body[0] != '{' {
		a.fail(backends.FailBadJSON, "the server answered something else than JSON: "+backends.Cut(string(body), 200))
		return
	}
	a.take(body)
	if a.reason == backends.OK && !a.choice {
		a.fail(backends.FailBadEvent, "the answer has no choices: "+backends.Cut(string(body), 200))
	}
}

// judge gives the first failure of the answer, in the order of what explains most.
func (a *answer) judge(cut backends.Reason) (backends.Reason, string) {
	n := int(a.count)
	if a.hasIDs {
		n = len(a.tokens)
	}
	switch {
	case a.reason != backends.OK:
		return a.reason, a.detail
	case cut != backends.OK:
		return cut, ""
	case a.read == 0:
		return backends.FailEmpty, "the server answered 200 with an empty body"
	case a.finish == "":
		return backends.FailTruncated, "the answer ended without a finish_reason"
	case aborted[a.finish]:
		return backends.FailAborted, fmt.Sprintf("the server ended the answer with finish_reason %q", a.finish)
	case !a.hasIDs && a.needIDs && (a.bareIDs || n > 0):
		return backends.FailBadEvent, "the answer carries no token ids: they are asked for with return_token_ids, which vLLM >= 0.10.2 honours and older servers ignore"
	case a.hasIDs && a.count >= 0 && a.count != int64(n):
		return backends.FailTokenCount, fmt.Sprintf("the answer carries %d token ids and usage.completion_tokens says %d", n, a.count)
	case a.hasIDs && a.bareIDs && a.count < 0:
		return backends.FailTokenCount, "some events carry text without token ids, and there is no usage to count by"
	case n == 0 || (n < 0 && !a.bareIDs):
		return backends.FailEmpty, "the answer has no output token"
	case n < 0:
		return backends.FailBadEvent, "the number of output tokens is unknown: the answer has neither token ids (return_token_ids, vLLM >= 0.10.2) nor usage (stream_options.include_usage)"
	case n < a.minTokens:
		return backends.FailTooShort, fmt.Sprintf("the answer has %d output tokens, the benchmark asks for at least %d", n, a.minTokens)
	case a.stream && !a.timed:
		return backends.FailNoFirstToken, "a stream was asked for and the tokens came without one: the time of the first token is unknown"
	}
	return backends.OK, ""
}
