package openai

import (
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// decodeSlow reads a document with encoding/json. Its error is a *reader.ShapeError or encoding/json's own.
func decodeSlow(doc []byte, keepText bool, e *reader.Event) error {
	return decodeChoices(doc, &reader.Scanner{KeepText: keepText}, e, nil)
}

// decodeChoices is decodeSlow that gives every choice to each, unless that is nil.
func decodeChoices(doc []byte, s *reader.Scanner, e *reader.Event, each func(*reader.Event)) error {
	top, err := reader.Members(doc, e, "choices", "usage")
	if err != nil {
		return err
	}
	if e.ID = reader.SlowName(top, "id"); e.ID == nil {
		e.ID = reader.SlowName(top, "request_id")
	}
	e.Model = reader.SlowName(top, "model")
	var usage map[string]json.RawMessage
	if err := reader.Into(top, "usage", &usage); err != nil {
		return err
	}
	if err := reader.Counts(usage, e); err != nil {
		return err
	}
	var choices []map[string]json.RawMessage
	if err := reader.Into(top, "choices", &choices); err != nil {
		return err
	}
	e.Choices = len(choices)
	if len(choices) == 0 {
		return nil
	}
	if each != nil {
		return eachChoice(choices, s, each)
	}
	return slowChoice(choices[len(choices)-1], s, e)
}

func eachChoice(choices []map[string]json.RawMessage, s *reader.Scanner, each func(*reader.Event)) error {
	var part reader.Event
	for _, choice := range choices {
		part.Reset()
		part.Choices = 1
		if err := slowChoice(choice, s, &part); err != nil {
			return err
		}
		each(&part)
	}
	return nil
}

func slowChoice(choice map[string]json.RawMessage, s *reader.Scanner, e *reader.Event) (err error) {
	if choice == nil {
		return &reader.ShapeError{Text: "a choice is null"}
	}
	if raw := choice["error"]; raw != nil && string(raw) != "null" {
		e.IsError, e.Message = true, raw
	}
	if e.Index, err = reader.Whole(choice, "index", 0); err != nil {
		return err
	}
	var finish *string
	if err := reader.Into(choice, "finish_reason", &finish); err != nil {
		return err
	}
	if finish != nil {
		e.Finish = []byte(*finish)
	}
	if s.IDsInLogprobs {
		err = slowLogprobs(choice, e)
	} else {
		err = reader.SlowIDs(choice, "token_ids", e)
	}
	if err != nil {
		return err
	}
	if !e.HasIDs {
		if err := reader.SlowIDs(choice, "response_token_ids", e); err != nil {
			return err
		}
	}
	if err := reader.SlowText(choice, "text", s.KeepText, e); err != nil {
		return err
	}
	for _, key := range []string{"delta", "message"} {
		var message map[string]json.RawMessage
		if err := reader.Into(choice, key, &message); err != nil {
			return err
		}
		if err := reader.SlowText(message, "content", s.KeepText, e); err != nil {
			return err
		}
		reader.SlowCalls(message, e)
		for _, key := range []string{"reasoning", "reasoning_content"} {
			if err := reader.SlowAside(message, key, e); err != nil {
				return err
			}
		}
	}
	return nil
}
