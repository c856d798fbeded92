package sglang

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// parts are what an answer consists of.
var parts = []string{"text", "output_ids", "meta_info"}

// decodeSlow reads a document with encoding/json. Its error is a *reader.ShapeError or encoding/json's own. A list of
// answers is what a batch gets: it counts as its last one.
func decodeSlow(doc []byte, keepText bool, e *reader.Event) error {
	var list []json.RawMessage
	if len(doc) > 0 && doc[0] == '[' && json.Unmarshal(doc, &list) == nil && len(list) > 0 {
		doc = list[len(list)-1]
	}
	top, err := reader.Members(doc, e, parts...)
	if err != nil {
		return err
	}
	e.Running = true
	if err := slowAnswer(top, keepText, e); err != nil {
		return err
	}
	e.Choices *= max(1, len(list))
	return nil
}

func slowAnswer(top map[string]json.RawMessage, keepText bool, e *reader.Event) (err error) {
	for _, key := range parts {
		if _, ok := top[key]; ok {
			e.Choices = 1
		}
	}
	if e.Index, err = reader.Whole(top, "index", 0); err != nil {
		return err
	}
	if err := reader.SlowText(top, "text", keepText, e); err != nil {
		return err
	}
	if err := reader.SlowIDs(top, "output_ids", e); err != nil {
		return err
	}
	var meta map[string]json.RawMessage
	if err := reader.Into(top, "meta_info", &meta); err != nil {
		return err
	}
	e.ID = reader.SlowName(meta, "id")
	if err := reader.Counts(meta, e); err != nil {
		return err
	}
	return slowFinish(meta, e)
}

// slowFinish reads a finish reason: null, an object with a type, or, of old servers, a word.
func slowFinish(meta map[string]json.RawMessage, e *reader.Event) error {
	var word *string
	if raw := meta["finish_reason"]; len(raw) > 0 && raw[0] == '{' {
		var why *string
		var reason map[string]json.RawMessage
		if err := reader.Into(meta, "finish_reason", &reason); err != nil {
			return err
		}
		if err := reader.Into(reason, "type", &word); err != nil {
			return err
		}
		if word == nil {
			return &reader.ShapeError{Text: "a finish_reason has no type"}
		}
		if err := reader.Into(reason, "message", &why); err != nil {
			return err
		}
		if why != nil {
			e.Why = []byte(*why)
		}
	} else if err := reader.Into(meta, "finish_reason", &word); err != nil {
		return err
	}
	if word != nil {
		e.Finish = []byte(*word)
	}
	return nil
}
