package sim

// Hot path: appends one event per token to the engine's buffer and allocates nothing.

import "strconv"

// openShape is how a server other than vLLM writes the answers of OpenAI's routes
// (docs/reference/wire-protocols.md#differences-between-servers).
type openShape struct {
	completionID, chatID string // prefixes of ids
	fingerprint          string // member behind the model; empty: none
	role                 string // delta of a chat stream's first event; empty: each delta carries the role
	deltaHead, deltaTail string // a chat delta around its text
	thought              string // member with reasoning
	thoughtHead          string // a chat delta of reasoning up to its text
	noDelta              string // delta of a chat stream's last event
	members              string // members of every choice of the completions route
	matched              bool   // choices carry matched_stop
	ids                  bool   // return_token_ids is honoured
	ownEnd               bool   // finish_reason comes in an event of its own, also in completions
	noUsage              string // member of a completion's events without usage; empty: usage comes at the end only
	endUsage             bool   // usage comes with a completion's finish_reason, even if not requested
}

var (
	sglangShape = openShape{
		role:      `{"reasoning_content":null,"role":"assistant","content":""}`,
		deltaHead: `{"reasoning_content":null,"content":"`, deltaTail: `"}`, noDelta: `{"reasoning_content":null}`,
		thought: "reasoning_content", thoughtHead: `{"reasoning_content":"`,
		members: `,"logprobs":null`, matched: true, ids: true, noUsage: `,"usage":null`,
	}
	llamaShape = openShape{
		completionID: "chatcmpl-", chatID: "chatcmpl-", fingerprint: `,"system_fingerprint":"b0-sim"`,
		role: `{"role":"assistant","content":null}`, deltaHead: `{"content":"`, deltaTail: `"}`, noDelta: `{}`,
		thought: "reasoning_content", thoughtHead: `{"reasoning_content":"`,
		members: `,"logprobs":null`, ownEnd: true, endUsage: true,
	}
	ollamaShape = openShape{
		completionID: "cmpl-", chatID: "chatcmpl-", fingerprint: `,"system_fingerprint":"fp_ollama"`,
		deltaHead: `{"role":"assistant","content":"`, deltaTail: `"}`, noDelta: `{"role":"assistant","content":""}`,
		thought: "reasoning", thoughtHead: `{"role":"assistant","content":"","reasoning":"`,
		ownEnd: true, noUsage: `,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`,
	}
)

// shapedOpenAI writes the JSON of one reply on OpenAI's routes of a server other than vLLM.
type shapedOpenAI struct {
	*openShape
	openAI
	ownEnd bool
}

// newShaped returns the encoders of a shape.
func newShaped(shape *openShape) func(*Server, *request, *plan, int64) encoder {
	return func(s *Server, r *request, p *plan, created int64) encoder {
		e := &shapedOpenAI{openShape: shape, ownEnd: shape.ownEnd || r.protocol.chat, openAI: openAI{
			chat: r.protocol.chat, returnIDs: r.returnIDs && shape.ids && !p.hideIDs, usage: r.usage && !p.hideUsage,
			everyUsage: r.everyUsage && shape.matched && !p.hideUsage,
			noUsage:    p.hideUsage, usageError: p.usageError, garble: p.garble}}
		prefix, object, chunk := shape.completionID, "text_completion", "text_completion"
		if e.chat {
			prefix, object, chunk = shape.chatID, "chat.completion", "chat.completion.chunk"
		}
		head := func(object string) []byte {
			b := append([]byte(`{"id":"`+prefix), appendEscaped(nil, r.id)...)
			b = strconv.AppendInt(append(b, `","object":"`+object+`","created":`...), created, 10)
			b = append(append(b, `,"model":"`...), s.named(r)...)
			return append(b, `"`+shape.fingerprint+`,"choices":[`...)
		}
		e.stream, e.plain = head(chunk), head(object)
		return e
	}
}

// event appends the event of tokens [from, to) of q, with the role event before it and the end behind it where they are
// events of their own.
func (e *shapedOpenAI) event(dst []byte, q *sequence, from, to int) []byte {
	if from == 0 && e.chat && e.role != "" {
		dst = e.appendEvent(dst, q, e.role, 0, 0, false)
	}
	ends := to == len(q.tokens) && q.finish != ""
	dst = e.appendEvent(dst, q, "", from, to, ends && !e.ownEnd)
	if ends && e.ownEnd {
		dst = e.appendEvent(dst, q, e.noDelta, to, to, true)
	}
	return dst
}

// appendEvent appends one event with tokens [from, to), or with a delta that has none.
func (e *shapedOpenAI) appendEvent(dst []byte, q *sequence, delta string, from, to int, ends bool) []byte {
	dst, mark := openEvent(dst)
	body := len(dst)
	dst = append(append(dst, e.stream...), `{"index":`...)
	dst = strconv.AppendInt(dst, int64(q.index), 10)
	switch {
	case !e.chat:
		dst = append(dst, `,"text":"`...)
		dst = append(dst, q.spelling.between(from, to)...)
		dst = append(append(dst, '"'), e.members...)
	case delta != "":
		dst = append(append(dst, `,"delta":`...), delta...)
	case from < q.reasoning:
		dst = append(append(dst, `,"delta":`...), e.thoughtHead...)
		dst = append(append(dst, q.spelling.between(from, to)...), `"}`...)
	case q.calls != nil:
		dst = append(q.appendCalls(append(dst, `,"delta":{`...), from, to), '}')
	default:
		dst = append(append(dst, `,"delta":`...), e.deltaHead...)
		dst = append(append(dst, q.spelling.between(from, to)...), e.deltaTail...)
	}
	dst = e.appendEnd(dst, q, ends)
	if e.returnIDs && !e.chat {
		dst = appendIDs(append(dst, `,"token_ids":`...), q.tokens[from:to])
		if from == 0 {
			dst = appendIDs(append(dst, `,"prompt_token_ids":`...), q.prompt)
		}
	}
	dst = append(dst, `}]`...)
	switch {
	case e.everyUsage, ends && e.endUsage && !e.chat && !e.noUsageAtAll():
		dst = e.appendUsage(append(dst, ','), q.counts(to))
	case !e.chat && (e.usage || e.matched):
		dst = append(dst, e.openShape.noUsage...)
	}
	dst = append(dst, '}')
	if from < to && q.garbleAt == to && e.garble != nil {
		dst = append(dst[:body], e.garble(dst[body:])...)
	}
	return closeEvent(dst, mark)
}

// noUsageAtAll reports whether a fault hides the usage.
func (e *shapedOpenAI) noUsageAtAll() bool { return e.openAI.noUsage }

// appendEnd appends finish_reason, which is null unless the choice ends, and SGLang's matched_stop.
func (e *shapedOpenAI) appendEnd(dst []byte, q *sequence, ends bool) []byte {
	if !ends {
		dst = append(dst, `,"finish_reason":null`...)
	} else {
		finish := q.finish
		if q.calls != nil {
			finish = finishCalls
		}
		dst = append(append(append(dst, `,"finish_reason":"`...), finish...), '"')
	}
	if !e.matched {
		return dst
	}
	dst = append(dst, `,"matched_stop":`...)
	if !ends || q.finish != finishStop {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(q.tokens[len(q.tokens)-1]), 10)
}

// tail appends the end of a stream: the usage event, a failure, and [DONE].
func (e *shapedOpenAI) tail(dst []byte, r *reply) []byte {
	t := &r.plan.tail
	var mark int
	if t.usage && (e.usage && !(e.endUsage && !e.chat) || r.plan.noChoices) {
		dst, mark = openEvent(dst)
		dst = append(append(dst, e.stream...), `],`...)
		dst = closeEvent(append(e.appendUsage(dst, r.counts()), '}'), mark)
	}
	if t.failure {
		dst, mark = openEvent(dst)
		dst = closeEvent(append(dst, r.fail(engineFailure)...), mark)
	}
	return t.end(dst)
}

// body returns the JSON of a reply that is not streamed.
func (e *shapedOpenAI) body(r *reply) []byte {
	b := append([]byte(nil), e.plain...)
	for i, q := range r.seqs {
		if r.plan.noChoices {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = e.wholeChoice(b, q)
	}
	b = append(b, ']')
	switch {
	case !e.noUsageAtAll():
		b = e.appendUsage(append(b, ','), r.counts())
	default:
		b = append(b, `,"usage":null`...)
	}
	b = append(b, '}')
	if e.garble != nil {
		b = e.garble(b)
	}
	return b
}

func (e *shapedOpenAI) wholeChoice(b []byte, q *sequence) []byte {
	n := len(q.tokens)
	b = strconv.AppendInt(append(b, `{"index":`...), int64(q.index), 10)
	switch {
	case !e.chat:
		b = append(append(b, `,"text":"`...), q.spelling.between(0, n)...)
		b = append(append(b, '"'), e.members...)
	case q.calls != nil:
		b = append(b, `,"message":{"role":"assistant","content":null,"tool_calls":`...)
		b = append(e.appendThought(append(b, q.calls.text...), q), '}')
	default:
		b = append(b, `,"message":{"role":"assistant","content":"`...)
		b = append(append(b, q.spelling.between(q.reasoning, n)...), '"')
		b = append(e.appendThought(b, q), '}')
	}
	b = e.appendEnd(b, q, q.finish != "")
	if e.returnIDs && e.chat {
		b = appendIDs(append(b, `,"response_token_ids":`...), q.tokens)
	} else if e.returnIDs {
		b = appendIDs(append(b, `,"token_ids":`...), q.tokens)
	}
	return append(b, '}')
}

// appendThought appends the member with the reasoning of a whole answer, if it has any.
func (e *shapedOpenAI) appendThought(b []byte, q *sequence) []byte {
	if q.reasoning == 0 {
		return b
	}
	return q.appendReasoning(append(b, `,"`+e.thought+`":`...))
}
