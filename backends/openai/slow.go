package openai

import "github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"

// decodeSlow reads a document with encoding/json, and passes every choice to each, unless that is nil. Its error is a
// *reader.ShapeError or encoding/json's own.
func decodeSlow(doc []byte, s *reader.Scanner, e *reader.Event, each func(*reader.Event)) error {
	o := reader.ParseObject(doc, e, "choices", "usage")
	if e.ID = o.Name("id"); e.ID == nil {
		e.ID = o.Name("request_id")
	}
	e.Model = o.Name("model")
	usage := o.Object("usage")
	e.Prompt, e.Produced = usage.Count("prompt_tokens"), usage.Count("completion_tokens")
	e.Cached = usage.Inner("prompt_tokens_details").Cached("cached_tokens")
	choices := o.Objects("choices")
	if e.Choices = len(choices); len(choices) == 0 || o.Err() != nil {
		return o.Err()
	}
	if each == nil {
		slowChoice(choices[len(choices)-1], s, e)
		return o.Err()
	}
	var part reader.Event
	for _, choice := range choices {
		part.Reset()
		if slowChoice(choice, s, &part); o.Err() != nil {
			return o.Err()
		}
		each(&part)
	}
	return nil
}

func slowChoice(o reader.Object, s *reader.Scanner, e *reader.Event) {
	if o.IsNull() {
		o.Fail("a choice is null")
		return
	}
	o.Error(e)
	e.Index = o.Whole("index", 0)
	e.Finish = o.String("finish_reason")
	if s.IDsInLogprobs {
		slowLogprobs(o.Object("logprobs"), e)
	} else {
		o.IDs("token_ids", e)
	}
	if !e.HasIDs {
		o.IDs("response_token_ids", e)
	}
	o.Text("text", s.KeepText, e)
	for _, key := range []string{"delta", "message"} {
		message := o.Object(key)
		message.Text("content", s.KeepText, e)
		message.Calls(e)
		message.Aside("reasoning", e)
		message.Aside("reasoning_content", e)
	}
}
