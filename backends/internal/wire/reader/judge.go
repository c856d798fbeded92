package reader

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// reasons are the finish reasons of known servers. intern returns them without an allocation.
var reasons = [...]string{"stop", "length", "abort", "error", "cancelled", "content_filter", "tool_calls", "repetition",
	"eos_token"}

func intern(b []byte) string {
	for _, r := range reasons {
		if string(b) == r {
			return r
		}
	}
	return foreign.Line(string(b), 64)
}

// aborted are the finish reasons of answers that are not complete.
var aborted = []string{
	"abort", "error", "cancelled", "canceled", "content_filter",
	"timeout", "timed_out", "not_finished", // of TensorRT-LLM
	Truncated,
}

// isAborted reports whether a finish reason means that the answer is not complete.
func isAborted(reason string) bool { return reason != "" && slices.Contains(aborted, reason) }

// Truncated is the finish reason of an answer, or of a prompt, that did not fit into the server's context.
const Truncated = "truncated"

// Finish reads what is left and checks the answer.
func (a *Answer) Finish(o *backends.Outcome, cut backends.Reason) string {
	if cut == backends.OK && a.reason == backends.OK {
		a.end()
	}
	if a.EndsByCount > 0 && a.finish == "" && a.done && a.hasIDs && len(a.tokens) == a.EndsByCount &&
		a.count == int64(a.EndsByCount) {
		a.finish = "length"
	}
	if a.Settled() {
		cut = backends.OK
	}
	if a.reason == backends.OK {
		a.settleText()
	}
	if a.MayHoldBack && a.count > int64(len(a.tokens)) {
		a.hasIDs, a.lacksIDs = false, true
	}
	a.tokenize(cut)
	reason, detail := a.check(cut)
	o.Reason, o.FinishReason = reason, a.finish
	o.UsageTokens, o.InputTokens, o.CachedTokens = int(a.count), int(a.prompt), int(a.cachedOfPrompt())
	o.Tokens, o.Text = nil, nil
	o.NTokens, o.TokenSource = 0, ""
	o.Events, o.Merged = a.pieces, a.merged
	o.Identified, o.Model = a.identified(), a.modelName
	o.StreamMode = a.shownMode()
	if a.hasIDs {
		o.Tokens, o.NTokens, o.TokenSource = a.tokens, len(a.tokens), backends.TokensFromIDs
	} else if a.count >= 0 {
		o.NTokens, o.TokenSource = int(a.count), backends.TokensFromUsage
	} else if a.tokenized >= 0 {
		o.NTokens, o.TokenSource = a.tokenized, backends.TokensFromTokenizer
	}
	if a.returnText {
		o.Text = a.answerText()
		if len(a.calls) > 0 {
			o.Text = a.callsText()
		}
	}
	return detail
}

// cachedOfPrompt returns how many tokens of the prompt came from a cache; -1: unknown, also if a server counts more of
// them than the prompt has.
func (a *Answer) cachedOfPrompt() int64 {
	if a.cached > a.prompt {
		return -1
	}
	return a.cached
}

// answerText returns the text, which is never nil: an answer of nothing but reasoning has an empty text.
func (a *Answer) answerText() []byte {
	if a.text == nil {
		a.text = []byte{}
	}
	return a.text
}

// tokenize counts the tokens of the text with a tokenizer if the server sent neither ids nor a count. It costs time of
// the thread that reads answers, so that a count by the server is always better.
func (a *Answer) tokenize(cut backends.Reason) {
	if a.countText == nil || cut != backends.OK || a.reason != backends.OK || a.hasIDs || a.count >= 0 || !a.lacksIDs ||
		a.aside {
		return
	}
	if n, err := a.countText(a.text); err == nil {
		a.tokenized = n
	}
}

// end reads the last event if it lacks its empty line, or the whole body.
func (a *Answer) end() {
	if !a.events {
		a.readBody()
		return
	}
	doc, ok := a.last()
	if !ok {
		return
	}
	if a.readDocument(doc); a.reason == backends.FailBadJSON {
		a.reason, a.detail = backends.FailTruncated, "the stream ended inside an event: "+foreign.Line(string(doc), 200)
	}
}

func (a *Answer) readBody() {
	body := bytes.TrimSpace(a.body)
	if len(body) == 0 {
		return
	}
	if a.plain && body[0] != '{' {
		a.fail(backends.FailBadJSON, "the server's answer is not JSON: "+foreign.Line(string(body), 200))
		return
	}
	a.readEvent(body)
	if a.reason == backends.OK && !a.hasChoice {
		a.fail(backends.FailBadEvent, "the answer has no "+a.Terms.Parts+": "+foreign.Line(string(body), 200))
	}
}

// check returns the first failure of the answer. The order puts causes before their effects.
func (a *Answer) check(cut backends.Reason) (backends.Reason, string) {
	n, exact := int(a.count), true
	if a.hasIDs {
		n = len(a.tokens)
	} else if a.tokenized >= 0 {
		n, exact = a.tokenized, false
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
	case a.want.Must && !a.identified():
		return backends.FailWrongAnswer, unidentified
	case isAborted(a.finish) && a.explanation != "":
		return backends.FailAborted, fmt.Sprintf("the server ended the answer with finish_reason %q: %s", a.finish,
			a.explanation)
	case isAborted(a.finish):
		return backends.FailAborted, fmt.Sprintf("the server ended the answer with finish_reason %q", a.finish)
	case a.NoTokens:
		return backends.OK, ""
	case !a.hasIDs && a.needIDs && (a.lacksIDs || n > 0):
		return backends.FailBadEvent, "the answer carries no token ids: " + a.Terms.IDs
	case a.count >= 0 && a.count != int64(n):
		return backends.FailTokenCount, fmt.Sprintf("the answer carries %d token ids, but %s is %d", n, a.Terms.Count,
			a.count)
	case a.hasIDs && a.lacksIDs && a.count < 0:
		return backends.FailTokenCount, "some events carry text without token ids, and no usage counts the tokens"
	case a.hasIDs && a.firstLacks:
		return backends.FailTokenCount, "the first output is text without a token id, and later events carry ids: the time " +
			"of the first token is unknown"
	case n == 0 || (n < 0 && !a.lacksIDs):
		return backends.FailEmpty, "the answer has no output token"
	case n < 0:
		return backends.FailBadEvent, "the number of output tokens is unknown: the answer has neither " + a.Terms.Needs +
			", and no --tokenizer counts its text"
	}
	return a.checkCount(n, exact)
}

// checkCount returns the first failure of a complete answer of n tokens.
func (a *Answer) checkCount(n int, exact bool) (backends.Reason, string) {
	switch {
	case n < a.minTokens:
		return backends.FailTooShort, fmt.Sprintf("the answer has %d output tokens, but the benchmark requires at least %d",
			n, a.minTokens)
	case a.stream && a.reported == 0:
		return backends.FailNoFirstToken, "a stream was requested, but the tokens came without one: the time of the first " +
			"token is unknown"
	case !a.hasIDs && !a.aside && exact && a.pieces > n:
		return backends.FailTokenCount, fmt.Sprintf("the stream has %d events with text, but %s is %d: events came twice",
			a.pieces, a.Terms.Count, n)
	case exact && n < a.maxTokens && backends.EndsByLength(a.finish):
		return backends.FailTooShort, fmt.Sprintf("the server cut the answer at %d output tokens, but %d were allowed: its "+
			"context or another limit of the server is shorter", n, a.maxTokens)
	case exact && a.maxTokens > 0 && n > a.maxTokens:
		return backends.FailTooLarge, fmt.Sprintf("the answer has %d output tokens, but %d were allowed: the server "+
			"ignores max_tokens", n, a.maxTokens)
	// ids without a text are a valid answer that ended at once
	case a.returnText && !a.hasIDs && len(a.text) == 0 && !a.aside:
		return backends.FailEmpty, fmt.Sprintf("the server counts %d output tokens, but sent no text, which this "+
			"benchmark scores", n)
	// the only token may be the end token, which is no text
	case a.reported == 0 && !a.hasIDs && !a.lacksIDs && (n > 1 || backends.EndsByLength(a.finish)):
		return backends.FailEmpty, fmt.Sprintf("the server counts %d output tokens, but sent no output", n)
	}
	return backends.OK, ""
}
