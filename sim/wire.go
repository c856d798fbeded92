package sim

// Hot path: appends one event per token to the engine's buffer and allocates nothing.

import (
	"strconv"
)

// fingerprint is system_fingerprint, and Version is the answer of /version: the vLLM release whose protocol is
// simulated, marked by the local part of the version number.
const (
	Version     = "0.32.0+sim"
	fingerprint = `"system_fingerprint":"vllm-0.32.0-sim"`
)

// openAI writes the JSON of one reply: vLLM's completions or chat route.
type openAI struct {
	chat       bool
	returnIDs  bool
	usage      bool
	everyUsage bool
	noUsage    bool
	usageError int
	garble     func([]byte) []byte
	stream     []byte // {"id":...,"model":"...","choices":[
	plain      []byte // the same for an answer that is not streamed
}

func newOpenAI(s *Server, r *request, p *plan, created int64) encoder {
	e := &openAI{chat: r.protocol.chat, returnIDs: r.returnIDs && !p.hideIDs, usage: r.usage && !p.hideUsage,
		everyUsage: r.everyUsage && !p.hideUsage,
		noUsage:    p.hideUsage, usageError: p.usageError, garble: p.garble}
	prefix, object, chunk := "cmpl-", "text_completion", "text_completion"
	if e.chat {
		prefix, object, chunk = "chatcmpl-", "chat.completion", "chat.completion.chunk"
	}
	head := func(object string) []byte {
		b := append([]byte(`{"id":"`+prefix), appendEscaped(nil, r.id)...)
		b = append(b, `","object":"`+object+`","created":`...)
		b = strconv.AppendInt(b, created, 10)
		b = append(append(b, `,"model":"`...), s.named(r)...)
		return append(b, `","choices":[`...)
	}
	e.stream, e.plain = head(chunk), head(object)
	return e
}

// room reserves space for a chunk's length: up to 8 hex digits and the line end.
const room = 10

// openEvent begins a chunk that holds one event; closeEvent ends it.
func openEvent(dst []byte) ([]byte, int) {
	dst, mark := openChunk(dst)
	return append(dst, "data: "...), mark
}

func closeEvent(dst []byte, mark int) []byte { return closeChunk(append(dst, "\n\n"...), mark) }

// end appends the end of a stream of vLLM, SGLang or OpenAI: [DONE] and the end of the chunks.
func (t *tail) end(dst []byte) []byte {
	if t.done {
		var mark int
		dst, mark = openEvent(dst)
		dst = closeEvent(append(dst, "[DONE]"...), mark)
	}
	return t.endChunks(dst)
}

func (t *tail) endChunks(dst []byte) []byte {
	if t.terminator {
		dst = append(dst, "0\r\n\r\n"...)
	}
	return dst
}

// openChunk begins a chunk; closeChunk ends it.
func openChunk(dst []byte) ([]byte, int) {
	mark := len(dst)
	return append(dst, "          "...), mark
}

func closeChunk(dst []byte, mark int) []byte {
	n := len(dst) - mark - room
	var size [room]byte
	head := append(strconv.AppendInt(size[:0], int64(n), 16), "\r\n"...)
	copy(dst[mark:], head)
	copy(dst[mark+len(head):], dst[mark+room:])
	return append(dst[:mark+len(head)+n], "\r\n"...)
}

// event appends the event of tokens [from, to) of q, before it the role event of a chat stream's first token.
func (e *openAI) event(dst []byte, q *sequence, from, to int) []byte {
	if from == 0 && e.chat {
		dst = e.roleEvent(dst, q)
	}
	dst, mark := openEvent(dst)
	body := len(dst)
	if e.chat {
		dst = e.chatDelta(dst, q, from, to)
	} else {
		dst = e.textDelta(dst, q, from, to)
	}
	last := to == len(q.tokens)
	dst = append(dst, "}]"...)
	if e.everyUsage {
		dst = append(dst, ',')
		dst = e.appendUsage(dst, q.counts(to))
	}
	if last && !e.usage && q.reply.live == 1 && q.finish != "" {
		dst = append(append(dst, ','), fingerprint...)
	}
	dst = append(dst, '}')
	if q.garbleAt == to && e.garble != nil {
		dst = append(dst[:body], e.garble(dst[body:])...)
	}
	return closeEvent(dst, mark)
}

func (e *openAI) textDelta(dst []byte, q *sequence, from, to int) []byte {
	dst = append(dst, e.stream...)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(q.index), 10)
	dst = append(dst, `,"text":"`...)
	dst = append(dst, q.spelling.between(from, to)...)
	dst = append(dst, `","logprobs":null,`...)
	dst = q.appendFinish(dst, to)
	dst = append(dst, `,"prompt_token_ids":`...)
	if e.returnIDs && from == 0 {
		dst = appendIDs(dst, q.prompt)
	} else {
		dst = append(dst, "null"...)
	}
	return e.appendTokens(dst, q.tokens[from:to])
}

func (e *openAI) chatDelta(dst []byte, q *sequence, from, to int) []byte {
	dst = append(dst, e.stream...)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(q.index), 10)
	dst = append(dst, `,"delta":{`...)
	switch {
	case from < q.reasoning:
		dst = append(append(append(dst, `"reasoning":"`...), q.spelling.between(from, to)...), '"')
	case q.calls != nil:
		dst = q.appendCalls(dst, from, to)
	default:
		dst = append(append(append(dst, `"content":"`...), q.spelling.between(from, to)...), '"')
	}
	dst = append(dst, `},"logprobs":null,`...)
	if to == len(q.tokens) && q.finish != "" {
		dst = q.appendFinish(dst, to)
	} else {
		dst = append(dst, `"finish_reason":null`...)
	}
	return e.appendTokens(dst, q.tokens[from:to])
}

func (e *openAI) roleEvent(dst []byte, q *sequence) []byte {
	dst, mark := openEvent(dst)
	dst = append(dst, e.stream...)
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(q.index), 10)
	dst = append(dst, `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	if e.everyUsage {
		dst = append(dst, ',')
		dst = e.appendUsage(dst, q.counts(0))
	}
	dst = append(dst, `,"prompt_token_ids":`...)
	if e.returnIDs {
		dst = appendIDs(dst, q.prompt)
	} else {
		dst = append(dst, "null"...)
	}
	return closeEvent(append(dst, `,"prompt_text":null}`...), mark)
}

func (e *openAI) appendTokens(dst []byte, ids []int32) []byte {
	dst = append(dst, `,"token_ids":`...)
	if !e.returnIDs {
		return append(dst, "null"...)
	}
	return appendIDs(dst, ids)
}

func (e *openAI) appendUsage(dst []byte, n counts) []byte {
	tokens := n.tokens + e.usageError
	dst = append(dst, `"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(n.prompt), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(n.prompt+tokens), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(tokens), 10)
	if n.cached >= 0 {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = append(strconv.AppendInt(dst, int64(n.cached), 10), '}')
	}
	return append(dst, '}')
}

// tail appends the end of a stream, after the last token.
func (e *openAI) tail(dst []byte, r *reply) []byte {
	t := &r.plan.tail
	var mark int
	if t.usage && (e.usage || r.plan.noChoices) {
		dst, mark = openEvent(dst)
		dst = append(dst, e.stream...)
		dst = append(dst, `],`...)
		dst = e.appendUsage(dst, r.counts())
		dst = append(append(dst, ','), fingerprint...)
		dst = closeEvent(append(dst, '}'), mark)
	}
	if t.failure {
		dst, mark = openEvent(dst)
		dst = closeEvent(append(dst, engineFailure.body()...), mark)
	}
	return t.end(dst)
}

var engineFailure = &apiError{status: 500, kind: "InternalServerError",
	message: "The engine failed while it generated."}

// body returns the JSON of a reply that is not streamed.
func (e *openAI) body(r *reply) []byte {
	b := append([]byte(nil), e.plain...)
	for i, q := range r.seqs {
		if r.plan.noChoices {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = e.choice(b, q)
	}
	b = append(b, `],"service_tier":null,`+fingerprint+`,`...)
	if e.noUsage {
		b = append(b, `"usage":null`...)
	} else {
		n := r.counts()
		b = e.appendUsage(b, n)
		b = b[:len(b)-1]
		if n.cached < 0 {
			b = append(b, `,"prompt_tokens_details":null`...)
		}
		b = append(b, `,"completion_tokens_details":null}`...)
	}
	if e.chat {
		b = append(b, `,"prompt_logprobs":null,"prompt_token_ids":`...)
		b = e.promptIDs(b, r.seqs[0])
		b = append(b, `,"prompt_text":null`...)
	}
	b = append(b, `,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null}`...)
	if e.garble != nil {
		b = e.garble(b)
	}
	return b
}

func (e *openAI) choice(b []byte, q *sequence) []byte {
	n := len(q.tokens)
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, int64(q.index), 10)
	if e.chat {
		b = append(b, `,"message":{"role":"assistant","content":`...)
		switch {
		case q.calls != nil:
			b = append(append(b, `null,"tool_calls":`...), q.calls.text...)
		case q.reasoning > 0 && q.reasoning == n:
			b = append(b, "null"...)
		default:
			b = append(append(append(b, '"'), q.spelling.between(q.reasoning, n)...), '"')
		}
		b = append(b, `,"refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":`...)
		b = append(q.appendReasoning(b), `},"logprobs":null,`...)
	} else {
		b = append(b, `,"text":"`...)
		b = append(b, q.spelling.between(0, n)...)
		b = append(b, `","logprobs":null,`...)
	}
	b = q.appendFinish(b, n)
	b = e.appendTokens(b, q.tokens)
	if !e.chat {
		b = append(b, `,"prompt_logprobs":null,"prompt_token_ids":`...)
		b = e.promptIDs(b, q)
	}
	return append(b, `,"routed_experts":null}`...)
}

// appendReasoning appends the reasoning of a whole answer; null: none.
func (q *sequence) appendReasoning(b []byte) []byte {
	if q.reasoning == 0 {
		return append(b, "null"...)
	}
	return append(append(append(b, '"'), q.spelling.between(0, q.reasoning)...), '"')
}

func (e *openAI) promptIDs(b []byte, q *sequence) []byte {
	if !e.returnIDs {
		return append(b, "null"...)
	}
	return appendIDs(b, q.prompt)
}

// appendFinish appends finish_reason and stop_reason as of when to tokens are sent.
func (q *sequence) appendFinish(dst []byte, to int) []byte {
	if to < len(q.tokens) || q.finish == "" {
		return append(dst, `"finish_reason":null,"stop_reason":null`...)
	}
	finish := q.finish
	if q.calls != nil {
		finish = finishCalls
	}
	dst = append(append(append(dst, `"finish_reason":"`...), finish...), `","stop_reason":`...)
	if q.stopID < 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(q.stopID), 10)
}
