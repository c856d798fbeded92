package sim

// Hot path: event appends one event per token to the engine's buffer and allocates nothing.

import (
	"encoding/json"
	"strconv"
)

// messagesFields and responsesFields are the fields of vLLM's routes for Anthropic's messages and OpenAI's responses
// (docs/reference/wire-protocols.md#messages-and-responses).
var (
	messagesFields = fields{
		"model":      func(q *wireRequest) any { return &q.Model },
		"messages":   func(q *wireRequest) any { return &q.Messages },
		"system":     func(q *wireRequest) any { return &q.System },
		"max_tokens": func(q *wireRequest) any { return &q.MaxTokens },
		"stream":     func(q *wireRequest) any { return &q.Stream },
	}
	responsesFields = fields{
		"model":             func(q *wireRequest) any { return &q.Model },
		"input":             func(q *wireRequest) any { return &q.Messages },
		"instructions":      func(q *wireRequest) any { return &q.System },
		"max_output_tokens": func(q *wireRequest) any { return &q.MaxTokens },
		"ignore_eos":        func(q *wireRequest) any { return &q.IgnoreEOS },
		"stream":            func(q *wireRequest) any { return &q.Stream },
		"request_id":        func(q *wireRequest) any { return &q.RequestID },
	}
)

// typedMessage is a message of either API.
type typedMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// adoptMessages checks what Anthropic's route requires, and puts the system prompt before the messages.
func adoptMessages(q *wireRequest) *apiError {
	if q.MaxTokens == nil {
		return malformed(&fieldError{"max_tokens", "this field is required"})
	}
	return adoptTyped(q, "messages")
}

// adoptResponses reads a text, or a list of messages.
func adoptResponses(q *wireRequest) *apiError {
	var text *string
	if json.Unmarshal(q.Messages, &text) == nil && text != nil {
		content, _ := json.Marshal(*text) // a text is always encoded
		q.Messages, _ = json.Marshal([]typedMessage{{"user", content}})
	}
	return adoptTyped(q, "input")
}

// adoptTyped writes the messages in the form of chat requests.
func adoptTyped(q *wireRequest, field string) *apiError {
	var list []typedMessage
	if len(q.Messages) == 0 || json.Unmarshal(q.Messages, &list) != nil {
		return malformed(&fieldError{field, "a list of messages is needed"})
	}
	if len(q.System) > 0 && string(q.System) != "null" {
		list = append([]typedMessage{{"system", q.System}}, list...)
	}
	for i := range list {
		if len(list[i].Content) == 0 {
			return malformed(&fieldError{field, "content is required"})
		}
		content, err := textOf(list[i].Content, "content", typedText, typedImage)
		if err != nil {
			return malformed(&fieldError{field, err.Error()})
		}
		list[i].Content, _ = json.Marshal(content) // a text is always encoded
	}
	q.Messages, _ = json.Marshal(list) // so is a list of them
	return nil
}

// typedText and typedImage are the types of blocks of both APIs.
var (
	typedText  = []string{"text", "input_text", "output_text"}
	typedImage = []string{"image", "input_image"}
)

// messagesError is the form of an error of Anthropic's API.
func messagesError(e *apiError) []byte {
	kind := "invalid_request_error"
	if e.status >= 500 {
		kind = "internal_error"
	}
	b := appendEscaped([]byte(`{"type":"error","error":{"type":"`+kind+`","message":"`), e.message)
	return append(b, `"}}`...)
}

// openNamed begins a chunk that contains an event with a name; closeEvent ends it.
func openNamed(dst []byte, name string) ([]byte, int) {
	dst, mark := openChunk(dst)
	return append(append(append(dst, "event: "...), name...), "\ndata: "...), mark
}

// typed is what the encoders of both APIs share.
type typed struct {
	hideUsage  bool
	usageError int
	garble     func([]byte) []byte
	id, model  []byte // escaped
	created    int64
	sequence   int64 // number of the next event of a response
}

func newTyped(s *Server, r *request, p *plan, prefix string, created int64) typed {
	return typed{hideUsage: p.hideUsage, usageError: p.usageError, garble: p.garble, created: created,
		id: appendEscaped([]byte(prefix), r.id), model: s.named(r)}
}

// broken applies the fault of an event that begins at body.
func (e *typed) broken(dst []byte, body int, q *sequence, to int) []byte {
	if q.garbleAt == to && e.garble != nil {
		return append(dst[:body], e.garble(dst[body:])...)
	}
	return dst
}

func (e *typed) appendUsage(dst []byte, n counts) []byte {
	if e.hideUsage {
		return append(dst, `,"usage":null`...)
	}
	dst = strconv.AppendInt(append(dst, `,"usage":{"input_tokens":`...), int64(n.prompt), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), int64(n.tokens+e.usageError), 10)
	return append(dst, '}')
}

// ending appends what follows the events of an API: a failure, and the end of the chunks.
func ending(dst []byte, r *reply) []byte {
	if r.plan.tail.failure {
		var mark int
		dst, mark = openNamed(dst, "error")
		dst = closeEvent(append(dst, messagesError(engineFailure)...), mark)
	}
	return r.plan.tail.endChunks(dst)
}

// messagesEncoder writes Anthropic's messages as vLLM does.
type messagesEncoder struct{ typed }

func newMessages(s *Server, r *request, p *plan, created int64) encoder {
	return &messagesEncoder{newTyped(s, r, p, "chatcmpl-", created)}
}

func (e *messagesEncoder) begin(dst []byte, promptTokens int) []byte {
	dst, mark := openNamed(dst, "message_start")
	dst = append(append(dst, `{"type":"message_start","message":{"id":"`...), e.id...)
	dst = append(append(dst, `","type":"message","role":"assistant","content":[],"model":"`...), e.model...)
	dst = append(dst, `","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(promptTokens), 10)
	dst = closeEvent(append(dst, `,"output_tokens":0}}}`...), mark)
	dst, mark = openNamed(dst, "content_block_start")
	return closeEvent(append(dst,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`...), mark)
}

func (e *messagesEncoder) event(dst []byte, q *sequence, from, to int) []byte {
	if from == 0 {
		dst = e.begin(dst, len(q.prompt))
	}
	dst, mark := openNamed(dst, "content_block_delta")
	body := len(dst)
	dst = append(dst, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`...)
	dst = append(append(dst, q.spelling.between(from, to)...), `"}}`...)
	return closeEvent(e.broken(dst, body, q, to), mark)
}

// anthropicReasons maps finish reasons to those of Anthropic.
var anthropicReasons = map[string]string{finishStop: "end_turn", "length": "max_tokens"}

func (e *messagesEncoder) appendReason(dst []byte, q *sequence) []byte {
	reason, ok := anthropicReasons[q.finish]
	switch {
	case q.finish == "":
		return append(dst, `"stop_reason":null`...)
	case !ok:
		reason = q.finish
	}
	return append(append(append(dst, `"stop_reason":"`...), reason...), '"')
}

func (e *messagesEncoder) tail(dst []byte, r *reply) []byte {
	t, q := &r.plan.tail, r.seqs[0]
	var mark int
	if r.plan.noChoices && t.usage {
		dst = e.begin(dst, r.counts().prompt)
	}
	if t.usage {
		dst, mark = openNamed(dst, "content_block_stop")
		dst = closeEvent(append(dst, `{"type":"content_block_stop","index":0}`...), mark)
		dst, mark = openNamed(dst, "message_delta")
		dst = append(e.appendReason(append(dst, `{"type":"message_delta","delta":{`...), q), '}')
		dst = closeEvent(append(e.appendUsage(dst, r.counts()), '}'), mark)
	}
	if t.done && !t.failure {
		dst, mark = openNamed(dst, "message_stop")
		dst = closeEvent(append(dst, `{"type":"message_stop"}`...), mark)
	}
	return ending(dst, r)
}

func (e *messagesEncoder) body(r *reply) []byte {
	q := r.seqs[0]
	b := append(append([]byte(`{"id":"`), e.id...), `","type":"message","role":"assistant","content":[`...)
	if !r.plan.noChoices {
		b = append(append(b, `{"type":"text","text":"`...), q.spelling.between(0, len(q.tokens))...)
		b = append(b, `"}`...)
	}
	b = append(append(append(b, `],"model":"`...), e.model...), `",`...)
	b = append(e.appendReason(b, q), `,"stop_sequence":null`...)
	b = append(e.appendUsage(b, r.counts()), '}')
	if e.garble != nil {
		b = e.garble(b)
	}
	return b
}

// responsesEncoder writes OpenAI's responses as vLLM does.
type responsesEncoder struct{ typed }

func newResponses(s *Server, r *request, p *plan, created int64) encoder {
	return &responsesEncoder{newTyped(s, r, p, "resp_", created)}
}

// part is the place of the one text in the output.
const part = `"content_index":0,"item_id":"msg_0","output_index":0`

// open begins an event with its number and its type, and more members to come.
func (e *responsesEncoder) open(dst []byte, kind string) ([]byte, int) {
	dst, mark := openNamed(dst, kind)
	dst = strconv.AppendInt(append(dst, `{"sequence_number":`...), e.sequence, 10)
	e.sequence++
	return append(append(append(dst, `,"type":"`...), kind...), `",`...), mark
}

func (e *responsesEncoder) begin(dst []byte, r *reply) []byte {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		var mark int
		dst, mark = e.open(dst, kind)
		dst = closeEvent(append(e.response(append(dst, `"response":`...), r, "in_progress"), '}'), mark)
	}
	dst, mark := e.open(dst, "response.output_item.added")
	dst = closeEvent(append(dst, `"output_index":0,"item":{"id":"msg_0","type":"message","role":"assistant",`+
		`"content":[],"status":"in_progress"}}`...), mark)
	dst, mark = e.open(dst, "response.content_part.added")
	return closeEvent(append(dst, part+`,"part":{"type":"output_text","text":"","annotations":[]}}`...), mark)
}

func (e *responsesEncoder) event(dst []byte, q *sequence, from, to int) []byte {
	if from == 0 {
		dst = e.begin(dst, q.reply)
	}
	dst, mark := openNamed(dst, "response.output_text.delta")
	body := len(dst)
	dst = append(append(dst, `{"content_index":0,"delta":"`...), q.spelling.between(from, to)...)
	dst = append(dst, `","item_id":"msg_0","logprobs":[],"output_index":0,"sequence_number":`...)
	dst = append(strconv.AppendInt(dst, e.sequence, 10), `,"type":"response.output_text.delta"}`...)
	e.sequence++
	return closeEvent(e.broken(dst, body, q, to), mark)
}

// response appends the object of the whole response. One in progress has no output yet.
func (e *responsesEncoder) response(dst []byte, r *reply, status string) []byte {
	q := r.seqs[0]
	dst = append(append(append(dst, `{"id":"`...), e.id...), `","object":"response","created_at":`...)
	dst = append(strconv.AppendInt(dst, e.created, 10), `,"status":"`...)
	dst = append(append(append(dst, status...), `","model":"`...), e.model...)
	dst = append(dst, `","error":null,"incomplete_details":`...)
	if status == "incomplete" {
		dst = append(dst, `{"reason":"max_output_tokens"}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"output":[`...)
	if status == "in_progress" {
		return append(dst, `],"usage":null}`...)
	}
	if !r.plan.noChoices {
		dst = append(dst, `{"id":"msg_0","type":"message","role":"assistant","status":"completed",`...)
		dst = append(e.text(dst, q), '}')
	}
	return append(e.appendUsage(append(dst, ']'), r.counts()), '}')
}

func (e *responsesEncoder) text(dst []byte, q *sequence) []byte {
	dst = append(dst, `"content":[{"type":"output_text","annotations":[],"text":"`...)
	return append(append(dst, q.spelling.between(0, len(q.tokens))...), `"}]`...)
}

// status returns the state of an answer that has ended.
func (e *responsesEncoder) status(q *sequence) string {
	switch q.finish {
	case finishStop:
		return "completed"
	case "length":
		return "incomplete"
	case "":
		return "queued"
	}
	return "cancelled"
}

func (e *responsesEncoder) tail(dst []byte, r *reply) []byte {
	t, q := &r.plan.tail, r.seqs[0]
	var mark int
	if r.plan.noChoices && t.usage {
		dst = e.begin(dst, r)
	}
	if t.usage && !r.plan.noChoices {
		dst, mark = e.open(dst, "response.output_text.done")
		dst = append(append(append(dst, part+`,"text":"`...), q.spelling.between(0, len(q.tokens))...), `"}`...)
		dst = closeEvent(dst, mark)
	}
	if t.done && !t.failure {
		dst, mark = e.open(dst, "response.completed")
		dst = closeEvent(append(e.response(append(dst, `"response":`...), r, e.status(q)), '}'), mark)
	}
	return ending(dst, r)
}

func (e *responsesEncoder) body(r *reply) []byte {
	b := e.response(nil, r, e.status(r.seqs[0]))
	if e.garble != nil {
		b = e.garble(b)
	}
	return b
}
