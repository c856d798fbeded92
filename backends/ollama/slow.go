package ollama

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// decodeSlow reads a document with encoding/json. Its error is a *reader.ShapeError or encoding/json's own.
func decodeSlow(doc []byte, keepText bool, e *reader.Event) error {
	parts := []string{"response", "message", "done"}
	top, err := reader.Members(doc, e, parts...)
	if err != nil {
		return err
	}
	for _, key := range parts {
		if _, ok := top[key]; ok {
			e.Choices = 1
		}
	}
	e.Model = reader.SlowName(top, "model")
	if e.Prompt, err = reader.Count(top, "prompt_eval_count"); err != nil {
		return err
	}
	if e.Produced, err = reader.Count(top, "eval_count"); err != nil {
		return err
	}
	if err := slowText(top, "response", keepText, e); err != nil {
		return err
	}
	var message map[string]json.RawMessage
	if err := reader.Into(top, "message", &message); err != nil {
		return err
	}
	if err := slowText(message, "content", keepText, e); err != nil {
		return err
	}
	reader.SlowCalls(message, e)
	done, err := reader.SlowBool(top, "done")
	if err != nil {
		return err
	}
	var reason string
	if err := reader.Into(top, "done_reason", &reason); err != nil {
		return err
	}
	finish(e, done, []byte(reason))
	return nil
}

// slowText reads the text of an object, and its reasoning.
func slowText(object map[string]json.RawMessage, key string, keepText bool, e *reader.Event) error {
	if err := reader.SlowText(object, key, keepText, e); err != nil {
		return err
	}
	return reader.SlowAside(object, "thinking", e)
}
