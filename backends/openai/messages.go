package openai

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// The APIs whose streams consist of events with a type (docs/reference/wire-protocols.md#messages-and-responses).
const (
	messages  = "messages"
	responses = "responses"
)

// typedAPI is one of them: the reader of its answers, and their names.
type typedAPI struct {
	decoder func(keepText bool) reader.Decoder
	part    string // member that contains the output
}

var typedAPIs = map[string]typedAPI{
	messages:  {func(keep bool) reader.Decoder { return &messagesDecoder{keepText: keep} }, "content"},
	responses: {func(keep bool) reader.Decoder { return &responsesDecoder{keepText: keep} }, "output"},
}

// IsTyped reports whether the answers of an API consist of events with a type.
func IsTyped(api string) bool { _, ok := typedAPIs[api]; return ok }

func newTyped(c *backends.Config) wire.Answer {
	api := typedAPIs[c.API]
	return reader.New(c, reader.Options{Decoder: api.decoder(reader.KeepsText(c)), Terms: reader.Terms{
		Count: "usage.output_tokens", IDs: "the API " + c.API + " has none", Needs: "usage.output_tokens", Parts: api.part}})
}

// identity is the id and the model at the start of a stream. Later events belong to the same answer and repeat neither.
type identity struct{ id, model []byte }

func (n *identity) forget() { n.id, n.model = n.id[:0], n.model[:0] }

func (n *identity) learn(o reader.Object) {
	n.id, n.model = append(n.id[:0], o.Name("id")...), append(n.model[:0], o.Name("model")...)
}

// set makes e an event of the answer.
func (n *identity) set(e *reader.Event) { e.Choices, e.ID, e.Model = 1, n.id, n.model }

// messagesDecoder reads Anthropic's messages with encoding/json.
type messagesDecoder struct {
	keepText bool
	of       identity
}

// Forget discards the start of the previous answer.
func (d *messagesDecoder) Forget() { d.of.forget() }

// Decode reads a whole message, or one event of a stream. Events of an unknown type are ignored, as Anthropic demands.
func (d *messagesDecoder) Decode(doc []byte, e *reader.Event) error {
	o := reader.ParseObject(doc, e, "type")
	switch string(o.Name("type")) {
	case "message":
		d.of.learn(o)
		for _, block := range o.Objects("content") {
			d.block(block, e)
		}
		e.Finish = stopReason(o.String("stop_reason"))
		d.usage(o.Object("usage"), e)
	case "message_start":
		message := o.Object("message")
		d.of.learn(message)
		if d.usage(message.Object("usage"), e); e.Prompt == 0 {
			e.Prompt = -1 // vLLM sends the count at the end
		}
		e.Produced = -1
	case "content_block_delta":
		d.block(o.Object("delta"), e)
	case "message_delta":
		e.Finish = stopReason(o.Object("delta").String("stop_reason"))
		d.usage(o.Object("usage"), e)
	case "message_stop":
		e.Last = true
	case "error":
		e.IsError = true
		if e.Message == nil {
			e.Message = doc
		}
		return o.Err()
	case "":
		if !e.IsError && o.Err() == nil {
			o.Fail("the document has no type")
		}
		return o.Err()
	default:
		return o.Err()
	}
	d.of.set(e)
	return o.Err()
}

// block reads a block of the content, or a part of it.
func (d *messagesDecoder) block(o reader.Object, e *reader.Event) {
	o.Text("text", d.keepText, e)
	o.Aside("thinking", e)
	o.Call("partial_json", e)
	if string(o.Name("type")) == "tool_use" {
		e.HasText, e.Aside, e.IsCall = true, true, true
	}
}

// usage reads the counts. Tokens of the prompt that come from a cache are counted apart.
func (d *messagesDecoder) usage(o reader.Object, e *reader.Event) {
	e.Produced = o.Count("output_tokens")
	if e.Prompt = o.Count("input_tokens"); e.Prompt >= 0 {
		e.Prompt += max(o.Count("cache_read_input_tokens"), 0) + max(o.Count("cache_creation_input_tokens"), 0)
		e.Cached = o.Cached("cache_read_input_tokens")
	}
}

// stopReasons maps the reasons of Anthropic to those of OpenAI.
var stopReasons = map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length",
	"tool_use": "tool_calls", "refusal": "content_filter"}

func stopReason(name []byte) []byte {
	if known, ok := stopReasons[string(name)]; ok {
		return []byte(known)
	}
	return name
}

// responsesDecoder reads OpenAI's responses with encoding/json.
type responsesDecoder struct {
	keepText bool
	of       identity
}

// Forget discards the start of the previous answer.
func (d *responsesDecoder) Forget() { d.of.forget() }

// Decode reads a whole response, or one event of a stream. Other events repeat what these contain.
func (d *responsesDecoder) Decode(doc []byte, e *reader.Event) error {
	o := reader.ParseObject(doc, e, "type", "output")
	switch string(o.Name("type")) {
	case "response.created":
		d.of.learn(o.Object("response"))
	case "response.output_text.delta", "response.refusal.delta":
		o.Text("delta", d.keepText, e)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		o.Aside("delta", e)
	case "response.function_call_arguments.delta":
		o.Call("delta", e)
	case "response.completed", "response.incomplete", "response.failed":
		d.end(o.Object("response"), e)
		e.Last = true
	case "error":
		e.IsError, e.Message = true, doc
		return o.Err()
	case "":
		if !e.IsError {
			d.whole(o, e)
		}
	default:
		return o.Err()
	}
	d.of.set(e)
	return o.Err()
}

func (d *responsesDecoder) whole(o reader.Object, e *reader.Event) {
	if !o.Has("output") {
		o.Fail("the document has neither a type nor an output")
		return
	}
	d.of.learn(o)
	for _, item := range o.Objects("output") {
		switch kind := string(item.Name("type")); kind {
		case "message":
			for _, part := range item.Objects("content") {
				part.Text("text", d.keepText, e)
				part.Text("refusal", d.keepText, e)
			}
		case "reasoning", "function_call":
			e.HasText, e.Aside = true, true
		}
	}
	d.end(o, e)
}

// end reads the state of a response at its end.
func (d *responsesDecoder) end(o reader.Object, e *reader.Event) {
	o.Error(e)
	usage := o.Object("usage")
	e.Prompt, e.Produced = usage.Count("input_tokens"), usage.Count("output_tokens")
	e.Cached = usage.Inner("input_tokens_details").Cached("cached_tokens")
	switch status := string(o.Name("status")); status {
	case "completed":
		e.Finish = finished
	case "incomplete":
		e.Finish = []byte("length")
		if why := o.Object("incomplete_details").Name("reason"); string(why) != "max_output_tokens" && len(why) > 0 {
			e.Finish = why
		}
	case "failed":
		if !e.IsError {
			e.IsError, e.Message = true, []byte(`"the response failed"`)
		}
	case "", "cancelled":
		e.Finish = o.Name("status")
	default: // queued, in_progress: the rest never comes
		if !e.IsError {
			e.IsError, e.Message = true, []byte(`"the response ended with the status `+foreign.Line(status, 64)+`"`)
		}
	}
}
