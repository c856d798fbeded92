package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// apiError is an answer of status 4xx or 5xx in vLLM's nested form (docs/reference/wire-protocols.md#vllm-errors).
type apiError struct {
	status  int
	kind    string // type; BadRequestError where empty
	param   string // null where empty
	message string
}

func (e *apiError) Error() string { return e.message }

func (e *apiError) body() []byte {
	kind := e.kind
	if kind == "" {
		kind = "BadRequestError"
	}
	b := append([]byte(`{"error":{"message":"`), appendEscaped(nil, e.message)...)
	b = append(b, `","type":"`+kind+`","param":`...)
	if e.param == "" {
		b = append(b, "null"...)
	} else {
		b = append(b, `"`...)
		b = append(appendEscaped(b, e.param), '"')
	}
	return fmt.Appendf(b, `,"code":%d}}`, e.status)
}

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// malformed returns vLLM's answer to a body that its request model rejects.
func malformed(err error) *apiError {
	e := &apiError{status: http.StatusBadRequest, kind: "Bad Request"}
	var f *fieldError
	if errors.As(err, &f) {
		e.param = "body." + f.field
		e.message = "1 validation error:\n  field " + f.field + ": " + f.reason
		return e
	}
	e.param = "body"
	e.message = "1 validation error:\n  the body cannot be read as a JSON object"
	return e
}

// request is an accepted request.
type request struct {
	protocol   *protocol
	id         string   // without the prefix cmpl- or chatcmpl-
	ids        []string // one a prompt, where SGLang's client gave a list of them
	model      string   // as the client named it
	prompts    []prompt
	limits     []limits // one a prompt
	stream     bool
	usage      bool // usage in an event of its own
	everyUsage bool // and in every event
	returnIDs  bool
	interval   int        // tokens in one event
	tools      bool       // answers may be function calls
	forced     []wireTool // functions of which the answer must call one; none: it may be text
	documents  []string   // of a ranking
	topN       int        // results of a ranking; 0: all
	list       bool       // the prompts came as a list
}

type prompt struct {
	ids []int32
	row int32 // of the data set, or -1
}

// accept checks a decoded body against the server's settings, as vLLM's front end does.
func (s *Server) accept(q *wireRequest, d *protocol) (*request, *apiError) {
	if !d.anyModel && q.Model != nil && !s.serves(*q.Model) {
		return nil, s.unknownModel(*q.Model)
	}
	r := &request{protocol: d, stream: isTrue(q.Stream), returnIDs: isTrue(q.ReturnTokenIDs), list: q.List,
		interval: s.cfg.TokensPerEvent, documents: q.Documents, topN: q.TopN}
	if q.Model != nil {
		r.model = *q.Model
	}
	if e := r.options(q); e != nil {
		return nil, e
	}
	var e *apiError
	if d.chat {
		r.prompts, e = s.chatPrompt(q.Messages)
		r.tools = len(q.Tools) > 2 && string(q.Tools) != "null" && string(q.ToolChoice) != `"none"`
	} else {
		r.prompts, e = s.textPrompts(q.Prompts)
	}
	if e == nil && d.chat {
		r.forced, e = forcedTools(q)
	}
	if e != nil {
		return nil, e
	}
	for i := range r.prompts {
		l, e := s.limitsOf(q, d.unlimited, len(r.prompts[i].ids))
		if e != nil {
			return nil, e
		}
		r.limits = append(r.limits, l)
	}
	if e := r.readRID(q.RequestIDs); e != nil {
		return nil, e
	}
	return r, r.checkForced()
}

// readRID reads SGLang's id of a request: a text, or one for each prompt.
func (r *request) readRID(raw json.RawMessage) *apiError {
	switch {
	case len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &r.id) == nil:
		return nil
	case json.Unmarshal(raw, &r.ids) != nil:
		return badRequest("rid", "The rid should be a string or a list of strings.")
	case len(r.ids) != len(r.prompts):
		return badRequest("rid", "The specified rids length mismatch with the batch_size for batch processing.")
	}
	return nil
}

// maxForced bounds the output tokens that a request can force, because an answer is made before its first token is due.
const maxForced = 4 << 20

func (r *request) checkForced() *apiError {
	forced := 0
	for _, l := range r.limits {
		if l.ignoreEOS {
			forced += l.maxTokens
		} else {
			forced += l.minTokens
		}
	}
	if forced > maxForced {
		return badRequest("max_tokens", "This request forces %d output tokens; this server makes at most %d in one "+
			"request. Send fewer prompts at once.", forced, maxForced)
	}
	return nil
}

// serves reports whether a name is that of the model or of an adapter.
func (s *Server) serves(name string) bool {
	return name == s.cfg.Model || slices.Contains(s.cfg.Adapters, name)
}

// named returns the model's name in the answer to a request, which is that of the request if it has one.
func (s *Server) named(r *request) []byte { return appendEscaped(nil, cmp.Or(r.model, s.cfg.Model)) }

func (s *Server) unknownModel(name string) *apiError {
	return &apiError{http.StatusNotFound, "NotFoundError", "model",
		fmt.Sprintf("No model `%s` here; served: %s.", name, s.cfg.Model)}
}

func (r *request) options(q *wireRequest) *apiError {
	if q.N != nil && *q.N != 1 {
		return badRequest("n", "n must be 1 on this server, got %d. (parameter=n, value=%d)", *q.N, *q.N)
	}
	if o := q.StreamOptions; o != nil {
		if !r.stream {
			return badRequest("stream_options", "stream_options need stream to be true.")
		}
		r.usage = isTrue(o.IncludeUsage)
		r.everyUsage = r.usage && isTrue(o.ContinuousUsageStats)
	}
	if q.StreamInterval != nil {
		if *q.StreamInterval < 1 {
			return badRequest("stream_interval", "stream_interval must be at least 1, got %d.", *q.StreamInterval)
		}
		r.interval = max(r.interval, *q.StreamInterval) // the field can only raise the server's value
	}
	if q.RequestID != nil {
		r.id = *q.RequestID
	}
	return nil
}

func (m *llm) textPrompts(in []wirePrompt) ([]prompt, *apiError) {
	if len(in) == 0 {
		return nil, badRequest("", "At least one prompt is needed.")
	}
	if len(in) > maxPrompts {
		return nil, badRequest("prompt", "%d prompts in one request; the limit is %d.", len(in), maxPrompts)
	}
	out := make([]prompt, len(in))
	for i, p := range in {
		if p.IDs != nil {
			out[i] = prompt{p.IDs, m.library.rowOfIDs(p.IDs)}
		} else {
			row := m.library.rowOfText(p.Text)
			out[i] = prompt{m.library.promptIDs(p.Text, row), row}
		}
		if e := m.checkIDs(out[i].ids); e != nil {
			return nil, e
		}
	}
	return out, nil
}

func (m *llm) checkIDs(ids []int32) *apiError {
	if len(ids) == 0 {
		return badRequest("", "A prompt needs at least one token.")
	}
	if most := slices.Max(ids); int(most) >= m.cfg.Vocabulary {
		return badRequest("", "Token id %d is not in the vocabulary of %d ids.", most, m.cfg.Vocabulary)
	}
	if len(ids) > m.cfg.MaxModelLen {
		return badRequest("input_tokens", "The prompt has %d tokens, more than this model's context of %d. Shorten it. "+
			"(parameter=input_tokens, value=%d)",
			len(ids), m.cfg.MaxModelLen, len(ids))
	}
	return nil
}

// chatPrompt renders plain-text messages: the simulator's own template, a line a message.
func (m *llm) chatPrompt(raw json.RawMessage) ([]prompt, *apiError) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, malformed(&fieldError{"messages", "this field is required"})
	}
	var messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, malformed(&fieldError{"messages", "a list of messages is needed"})
	}
	if len(messages) == 0 {
		return nil, badRequest("messages", "At least one message is needed.")
	}
	var text strings.Builder
	last := ""
	for _, msg := range messages {
		content, err := contentText(msg.Content)
		if err != nil {
			return nil, malformed(err)
		}
		text.WriteString(msg.Role + "\n" + content + "\n")
		last = content
	}
	row, ok := m.library.byChat[hashJSON(raw)]
	if !ok {
		row = m.library.rowOfText(last)
	}
	p := prompt{m.library.tok.Encode(text.String()), row}
	if e := m.checkIDs(p.ids); e != nil {
		return nil, e
	}
	return []prompt{p}, nil
}

// imageText replaces an image in a prompt.
const imageText = "<image>"

// contentText returns the text of the content of a chat message.
func contentText(raw json.RawMessage) (string, error) {
	return textOf(raw, "messages", []string{"text"}, []string{"image_url"})
}

// textOf returns the text of a message's content: a string, null, or a list of parts, text or images. texts and images
// are the types of parts. Errors name field.
func textOf(raw json.RawMessage, field string, texts, images []string) (string, error) {
	var text *string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return "", nil
		}
		return *text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", &fieldError{field, "content must be text or a list of parts"}
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case slices.Contains(texts, p.Type):
			b.WriteString(p.Text)
		case slices.Contains(images, p.Type):
			b.WriteString(imageText)
		default:
			return "", &fieldError{field, fmt.Sprintf("this server accepts parts of type %s and %s, got type %s", texts[0],
				images[0], p.Type)}
		}
	}
	return b.String(), nil
}

// limitsOf returns the limits of one prompt's answer, by default the end of the context. Like vLLM it silently caps
// max_tokens to the room after the prompt and rejects only values above the whole context.
func (m *llm) limitsOf(q *wireRequest, unlimited bool, promptLen int) (limits, *apiError) {
	room := m.cfg.MaxModelLen - promptLen
	if room < 1 {
		return limits{}, badRequest("input_tokens",
			"The prompt has %d tokens and leaves no room for output in a context of %d. (parameter=input_tokens, value=%d)",
			promptLen, m.cfg.MaxModelLen, promptLen)
	}
	l := limits{maxTokens: min(16, room), ignoreEOS: isTrue(q.IgnoreEOS), stopIDs: q.StopTokenIDs}
	want := q.MaxTokens
	if unlimited {
		l.maxTokens = room
		if q.MaxCompletionTokens != nil {
			want = q.MaxCompletionTokens
		}
	}
	if want != nil {
		switch {
		case *want < 1:
			return l, badRequest("max_tokens", "max_tokens is %d; it must be 1 or more. (parameter=max_tokens, value=%d)", *want,
				*want)
		case *want > m.cfg.MaxModelLen:
			return l, badRequest("max_tokens", "max_tokens=%d is above max_model_len=%d. Ask for fewer output tokens. "+
				"(parameter=max_tokens, value=%d)",
				*want, m.cfg.MaxModelLen, *want)
		}
		l.maxTokens = min(*want, room)
	}
	if q.MinTokens != nil {
		l.minTokens = *q.MinTokens
		asked := l.maxTokens
		if want != nil {
			asked = *want
		}
		if l.minTokens < 0 || l.minTokens > asked {
			return l, badRequest("", "min_tokens is %d; it must lie between 0 and max_tokens=%d.", l.minTokens, asked)
		}
	}
	return l, nil
}

func isTrue(b *bool) bool { return b != nil && *b }
