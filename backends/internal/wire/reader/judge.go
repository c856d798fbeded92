package reader

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// reasons are the finish reasons that servers use; a known one costs no allocation.
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

// aborted are the finish reasons that say that the answer is not whole.
var aborted = []string{
	"abort", "error", "cancelled", "canceled", "content_filter",
	"timeout", "timed_out", "not_finished", // TensorRT-LLM's
	Truncated,
}

// isAborted reports whether a finish reason says that the answer is not whole.
func isAborted(reason string) bool { return reason != "" && slices.Contains(aborted, reason) }

// Truncated is the finish reason of an answer, or of a prompt, that did not fit into the server's context.
const Truncated = "truncated"

// byLength are those that say that the answer was ended for its length.
var byLength = []string{"length", "max_tokens"}

// Finish reads what is left and judges the answer.
func (a *Answer) Finish(o *backends.Outcome, cut backends.Reason) string {
	if cut == backends.OK && a.reason == backends.OK {
		a.end()
	}
	if a.EndsByCount > 0 && a.finish == "" && a.done && a.hasIDs && len(a.tokens) == a.EndsByCount &&
		a.count == int64(a.EndsByCount) {
		a.finish = "length"
	}
	if a.Settled() && a.reason == backends.OK {
		cut = backends.OK
	}
	if a.reason == backends.OK {
		a.settleText()
	}
	if a.MayHoldBack && a.hasIDs && a.count > int64(len(a.tokens)) {
		a.hasIDs, a.bareIDs = false, true
	}
	a.countIfNobodyDid(cut)
	reason, detail := a.judge(cut)
	o.Reason, o.FinishReason = reason, a.finish
	o.UsageTokens, o.InputTokens = int(a.count), int(a.prompt)
	o.Tokens, o.Text = nil, nil
	o.NTokens, o.TokenSource = 0, ""
	o.Events, o.Merged = a.pieces, a.merged
	o.Identified, o.Model = a.identified(), a.modelName
	o.StreamMode = a.shown()
	if a.hasIDs {
		o.Tokens, o.NTokens, o.TokenSource = a.tokens, len(a.tokens), backends.TokensFromIDs
	} else if a.count >= 0 {
		o.NTokens, o.TokenSource = int(a.count), backends.TokensFromUsage
	} else if a.counted >= 0 {
		o.NTokens, o.TokenSource = a.counted, backends.TokensFromTokenizer
	}
	if a.giveText {
		o.Text = a.given()
		if len(a.calls) > 0 {
			o.Text = a.callsText()
		}
	}
	return detail
}

// given is the text, never nil: that nothing was said is an answer too, where the output was reasoning alone.
func (a *Answer) given() []byte {
	if a.text == nil {
		a.text = []byte{}
	}
	return a.text
}

// countIfNobodyDid counts the text with a tokenizer, where the server said neither ids nor their number. It takes the
// time of the thread that reads answers: a server that counts is always better.
func (a *Answer) countIfNobodyDid(cut backends.Reason) {
	if a.countText == nil || cut != backends.OK || a.reason != backends.OK || a.hasIDs || a.count >= 0 || !a.bareIDs ||
		a.hidden {
		return
	}
	if n, err := a.countText(a.text); err == nil {
		a.counted = n
	}
}

// end reads the last event without its blank line, or the whole body.
func (a *Answer) end() {
	if !a.events {
		a.whole()
		return
	}
	doc, ok := a.last()
	if !ok {
		return
	}
	if a.reads(doc); a.reason == backends.FailBadJSON {
		a.reason, a.detail = backends.FailTruncated, "the stream ended inside an event: "+foreign.Line(string(doc), 200)
	}
}

func (a *Answer) whole() {
	body := bytes.TrimSpace(a.body)
	if len(body) == 0 {
		return
	}
	if a.plain && body[0] != '{' {
		a.fail(backends.FailBadJSON, "the server answered something else than JSON: "+foreign.Line(string(body), 200))
		return
	}
	a.take(body)
	if a.reason == backends.OK && !a.choice {
		a.fail(backends.FailBadEvent, "the answer has no "+a.Words.Parts+": "+foreign.Line(string(body), 200))
	}
}

// judge gives the first failure of the answer, in the order of what explains most.
func (a *Answer) judge(cut backends.Reason) (backends.Reason, string) {
	n, exact := int(a.count), true
	if a.hasIDs {
		n = len(a.tokens)
	} else if n < 0 && a.counted >= 0 {
		n, exact = a.counted, false
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
	case isAborted(a.finish) && a.why != "":
		return backends.FailAborted, fmt.Sprintf("the server ended the answer with finish_reason %q: %s", a.finish, a.why)
	case isAborted(a.finish):
		return backends.FailAborted, fmt.Sprintf("the server ended the answer with finish_reason %q", a.finish)
	case !a.hasIDs && a.needIDs && (a.bareIDs || n > 0):
		return backends.FailBadEvent, "the answer carries no token ids: " + a.Words.IDs
	case a.hasIDs && a.count >= 0 && a.count != int64(n):
		return backends.FailTokenCount, fmt.Sprintf("the answer carries %d token ids and %s says %d", n, a.Words.Count,
			a.count)
	case a.hasIDs && a.bareIDs && a.count < 0:
		return backends.FailTokenCount, "some events carry text without token ids, and there is no usage to count by"
	case a.hasIDs && a.early:
		return backends.FailTokenCount, "its first output is text without a token id, and later events carry ids: when its " +
			"first token came is not known"
	case n == 0 || (n < 0 && !a.bareIDs):
		return backends.FailEmpty, "the answer has no output token"
	case n < 0:
		return backends.FailBadEvent, "the number of output tokens is unknown: the answer has neither " + a.Words.Needs +
			", and no --tokenizer counts its text"
	case n < a.minTokens:
		return backends.FailTooShort, fmt.Sprintf("the answer has %d output tokens, the benchmark asks for at least %d", n,
			a.minTokens)
	case a.stream && a.timed == 0:
		return backends.FailNoFirstToken, "a stream was asked for and the tokens came without one: the time of the first " +
			"token is unknown"
	case exact && n < a.maxTokens && slices.Contains(byLength, a.finish):
		return backends.FailTooShort, fmt.Sprintf("the server ended the answer at %d output tokens for its length, and %d "+
			"were allowed: its context or a limit of its own is shorter", n, a.maxTokens)
	case exact && a.maxTokens > 0 && n > a.maxTokens:
		return backends.FailTooLarge, fmt.Sprintf("the answer has %d output tokens, and %d were allowed: the server does "+
			"not honour max_tokens", n, a.maxTokens)
	// an id without a text is an answer: one that ends at once
	case a.giveText && !a.hasIDs && len(a.text) == 0 && !a.hidden:
		return backends.FailEmpty, fmt.Sprintf("the server counts %d output tokens, and no text came, which is what this "+
			"benchmark is about", n)
	}
	return backends.OK, ""
}
