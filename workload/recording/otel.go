package recording

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// The keys of a recorded trace (inference_perf/datagen/replay/otel_trace_to_replay_graph.py); the attributes are those
// of OpenTelemetry's conventions for generative AI.
type otelTrace struct {
	SessionID string          `json:"session_id"`
	TraceID   string          `json:"trace_id"`
	Spans     json.RawMessage `json:"spans"`
}

type otelSpan struct {
	Name       string                     `json:"name"`
	SpanID     string                     `json:"span_id"`
	Start      string                     `json:"start_time"`
	End        string                     `json:"end_time"`
	Attributes map[string]json.RawMessage `json:"attributes"`
	Status     struct {
		Code json.RawMessage `json:"code"`
	} `json:"status"`
}

// Attributes of spans.
const (
	operation   = "gen_ai.operation.name"
	inMessages  = "gen_ai.input.messages"
	outMessages = "gen_ai.output.messages"
	tools       = "gen_ai.tool.definitions"
	model       = "gen_ai.request.model"
)

var (
	outTexts     = []string{"gen_ai.output.text", "gen_ai.completion", "gen_ai.output"}
	inputTokens  = []string{"gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens"}
	outputTokens = []string{"gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens"}
)

func readOTel(text []byte, o *Options) (*raw, error) {
	var t otelTrace
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("expected a trace with spans: %w", err)
	}
	var spans []otelSpan
	if err := json.Unmarshal(embedded(t.Spans), &spans); err != nil {
		return nil, fmt.Errorf("spans: expected a list of spans with start_time, end_time and attributes: %w", err)
	}
	s := &raw{id: cmp.Or(t.SessionID, t.TraceID)}
	var talks []talk
	seen := map[[sha256.Size]byte]bool{}
	for i := range spans {
		one := &spans[i]
		if !one.isChat() || one.failed() && !o.KeepErrors || one.repeated(seen) {
			continue
		}
		if len(talks) == mostCalls {
			return nil, fmt.Errorf("it has more than %d calls", mostCalls)
		}
		c, err := one.talk()
		if err != nil {
			return nil, fmt.Errorf("spans.%d: %w", i, err)
		}
		talks = append(talks, c)
	}
	ordering.Sort(talks, func(a, b talk) int { return cmp.Compare(a.start, b.start) })
	link(talks)
	for _, c := range talks {
		s.calls = append(s.calls, c.rawCall)
	}
	return s, nil
}

// embedded returns the JSON text of a value that may be written as a string.
func embedded(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return json.RawMessage(text)
	}
	return value
}

func (s *otelSpan) text(name string) (text string) {
	if json.Unmarshal(s.Attributes[name], &text) != nil {
		return ""
	}
	return text
}

func (s *otelSpan) number(names []string) int {
	for _, name := range names {
		var n float64
		if json.Unmarshal(s.Attributes[name], &n) == nil && n > 0 && n <= mostTokens {
			return int(n)
		}
	}
	return 0
}

// isChat reports whether the span is a call of a model with recorded messages.
func (s *otelSpan) isChat() bool {
	messages := string(embedded(s.Attributes[inMessages]))
	return (s.text(operation) == "chat" || strings.HasPrefix(s.Name, "chat ")) && strings.HasPrefix(messages, "[")
}

func (s *otelSpan) failed() bool {
	code := strings.Trim(string(s.Status.Code), `"`)
	return code == "2" || strings.HasSuffix(code, "ERROR")
}

// repeated reports that an equal span came before: some exporters write a span twice.
func (s *otelSpan) repeated(seen map[[sha256.Size]byte]bool) bool {
	text, err := json.Marshal(s.Attributes)
	if err != nil {
		return false
	}
	key := sha256.Sum256(append(text, s.Start+"|"+s.End...))
	isKnown := seen[key]
	seen[key] = true
	return isKnown
}

// talk is a call with its messages one by one.
type talk struct {
	rawCall
	messages []json.RawMessage
	answer   json.RawMessage // nil: not recorded
	isPlain  bool            // the answer is text alone
}

func (s *otelSpan) talk() (c talk, err error) {
	c.before, c.think = -1, -1
	if c.start, err = seconds(s.Start); err != nil {
		return c, fmt.Errorf("start_time: %w", err)
	}
	if c.end = c.start; s.End != "" {
		if c.end, err = seconds(s.End); err != nil {
			return c, fmt.Errorf("end_time: %w", err)
		}
	}
	c.Model, c.Input, c.Output = s.text(model), s.number(inputTokens), s.number(outputTokens)
	if c.messages, c.isUser, err = messagesOf(embedded(s.Attributes[inMessages])); err != nil {
		return c, fmt.Errorf("%s: %w", inMessages, err)
	}
	if len(c.messages) == 0 {
		return c, fmt.Errorf("%s: the list is empty", inMessages)
	}
	c.Messages = array(c.messages)
	if c.Tools, err = toolsOf(embedded(s.Attributes[tools])); err != nil {
		return c, fmt.Errorf("%s: %w", tools, err)
	}
	return c, s.answered(&c)
}

// answered finds the recorded answer.
func (s *otelSpan) answered(c *talk) error {
	for _, name := range outTexts {
		if text := s.text(name); text != "" {
			c.answer, c.isPlain = encode(wireMessage{Role: "assistant", Content: &text}), true
			return nil
		}
	}
	value := embedded(s.Attributes[outMessages])
	if len(value) == 0 {
		return nil
	}
	list, _, err := messagesOf(value)
	if err != nil {
		return fmt.Errorf("%s: %w", outMessages, err)
	}
	if len(list) == 1 {
		c.answer, c.isPlain = list[0], !strings.Contains(string(list[0]), `"tool_calls"`)
	}
	return nil
}

func seconds(text string) (float64, error) {
	forms := []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"}
	for _, form := range forms {
		if at, err := time.Parse(form, text); err == nil {
			return float64(at.Unix()) + float64(at.Nanosecond())/1e9, nil
		}
	}
	return 0, fmt.Errorf("expected a time such as 2026-01-02T03:04:05.678Z, not %.40q", text)
}

// link finds the earlier call that each call continues: its prompt and answer begin the later prompt. Otherwise it is
// the last call whose answer is among the messages.
func link(talks []talk) {
	seed := maphash.MakeSeed()
	whole := map[uint64]int{}   // prompt and answer of a call
	answers := map[uint64]int{} // the answer of a call
	step := func(hash uint64, message []byte) uint64 {
		var h maphash.Hash
		h.SetSeed(seed)
		maphash.WriteComparable(&h, hash)
		h.Write(message) // never fails
		return h.Sum64()
	}
	type pending struct{ whole, answer uint64 }
	known := make([]pending, len(talks))
	isOver := func(k, i int) bool { return talks[k].end <= talks[i].start }
	for i := range talks {
		c, prompt := &talks[i], uint64(0)
		for n, m := range c.messages {
			prompt = step(prompt, m)
			if k, ok := whole[prompt]; ok && isOver(k, i) {
				c.before = k
				c.Continues, c.Own = 0, nil
				if rest := c.messages[n+1:]; talks[k].isPlain && len(rest) > 0 {
					c.Continues, c.Own = k+1, array(rest)
				}
			} else if k, ok := answers[step(0, m)]; ok && isOver(k, i) && c.Continues == 0 {
				c.before = max(c.before, k)
			}
		}
		if c.answer != nil {
			known[i] = pending{step(prompt, c.answer), step(0, c.answer)}
			whole[known[i].whole], answers[known[i].answer] = i, i
		}
	}
}

func array(list []json.RawMessage) json.RawMessage {
	size := 2
	for _, m := range list {
		size += len(m) + 1
	}
	text := append(make([]byte, 0, size), '[')
	for i, m := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, m...)
	}
	return append(text, ']')
}

// wireMessage is a message in OpenAI's form.
type wireMessage struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content,omitempty"`
	ToolCalls []wireTool `json:"tool_calls,omitempty"`
	ToolID    string     `json:"tool_call_id,omitempty"`
}

type wireTool struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func encode(m wireMessage) json.RawMessage {
	text, _ := json.Marshal(m) // strings are always encoded
	return text
}

// part is a part of a recorded message, or a recorded call of a tool in any of its forms.
type part struct {
	Type      string          `json:"type"`
	Text      json.RawMessage `json:"text"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	ToolUseID string          `json:"tool_use_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Result    json.RawMessage `json:"result"`
	Response  json.RawMessage `json:"response"`
	Function  *struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// messagesOf converts recorded messages to OpenAI's form. isUser reports whether the last one is a user's.
func messagesOf(text json.RawMessage) (list []json.RawMessage, isUser bool, err error) {
	var in []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Parts     []part          `json:"parts"`
		ToolCalls []part          `json:"tool_calls"`
		ToolID    string          `json:"tool_call_id"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, false, fmt.Errorf("expected a list of messages: %w", err)
	}
	for i, m := range in {
		parts := m.Parts
		var plain string
		if json.Unmarshal(m.Content, &plain) == nil {
			parts = append(parts, part{Type: "text", Text: m.Content})
		} else if len(m.Content) > 0 {
			var more []part
			if err := json.Unmarshal(m.Content, &more); err != nil {
				return nil, false, fmt.Errorf("message %d: content: expected a text or a list of parts: %w", i, err)
			}
			parts = append(parts, more...)
		}
		for _, t := range m.ToolCalls {
			t.Type = "tool_call"
			parts = append(parts, t)
		}
		made, err := convert(m.Role, m.ToolID, parts)
		if err != nil {
			return nil, false, fmt.Errorf("message %d: %w", i, err)
		}
		list, isUser = append(list, made...), m.Role == "user" && len(made) == 1 && !strings.Contains(string(made[0]),
			`"tool_call_id"`)
	}
	return list, isUser, nil
}

// convert returns the messages of one recorded message, which may contain the results of several tools.
func convert(role, toolID string, parts []part) (list []json.RawMessage, err error) {
	if role == "developer" {
		role = "system"
	}
	if role == "" {
		return nil, errors.New("it has no role")
	}
	out := wireMessage{Role: role, ToolID: toolID}
	var said []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			said = append(said, flat(p.Text)+flat(p.Content))
		case "tool_call", "tool_use":
			t, err := p.call()
			if err != nil {
				return nil, err
			}
			out.ToolCalls = append(out.ToolCalls, t)
		case "tool_call_response", "tool_result":
			text := flat(p.Result) + flat(p.Response) + flat(p.Content)
			list = append(list, encode(wireMessage{Role: "tool", ToolID: cmp.Or(p.ID, p.ToolUseID, toolID), Content: &text}))
		case "reasoning", "thinking", "": // servers write their own
		default:
			return nil, fmt.Errorf("a part of type %.30q cannot be sent", p.Type)
		}
	}
	if len(said) > 0 || len(out.ToolCalls) == 0 && len(list) == 0 {
		text := strings.Join(said, "")
		out.Content = &text
	}
	if out.Content != nil || len(out.ToolCalls) > 0 {
		list = append(list, encode(out))
	}
	return list, nil
}

func (p *part) call() (t wireTool, err error) {
	name, arguments := p.Name, p.Arguments
	if p.Function != nil {
		name, arguments = p.Function.Name, p.Function.Arguments
	}
	if len(arguments) == 0 {
		arguments = p.Input
	}
	if p.ID == "" {
		return t, fmt.Errorf("the call of tool %.40q has no id", name)
	}
	t.ID, t.Type, t.Function.Name = p.ID, "function", name
	if json.Unmarshal(arguments, &t.Function.Arguments) != nil {
		t.Function.Arguments = string(compact(arguments))
	}
	return t, nil
}

// flat returns a text, or the texts of a list of parts. It writes other values as JSON.
func flat(value json.RawMessage) string {
	var text string
	if len(value) == 0 || json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []struct {
		Text    *string `json:"text"`
		Content string  `json:"content"`
	}
	if json.Unmarshal(value, &list) != nil {
		return string(compact(value))
	}
	for _, p := range list {
		if p.Text != nil {
			text += *p.Text
		}
		text += p.Content
	}
	return text
}

// toolsOf converts the definitions of tools to OpenAI's form.
func toolsOf(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("expected a list of functions: %w", err)
	}
	var out []json.RawMessage
	for _, t := range list {
		if t["function"] == nil {
			if schema, ok := t["input_schema"]; ok {
				t["parameters"] = schema
			}
			inner, _ := json.Marshal(map[string]json.RawMessage{"name": t["name"], // parsed texts are always encoded
				"description": orEmpty(t["description"]), "parameters": t["parameters"]})
			t = map[string]json.RawMessage{"type": json.RawMessage(`"function"`), "function": inner}
		}
		one, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return array(out), nil
}

func orEmpty(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage(`""`)
	}
	return text
}
