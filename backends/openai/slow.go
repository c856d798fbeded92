package openai

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// shapeError says that a document is JSON, and not what the protocol knows.
type shapeError struct{ text string }

func (e *shapeError) Error() string { return e.text }

// decodeSlow reads a document with encoding/json. It accepts what the walk gives up on: repeated keys (the last wins),
// escaped keys, whole numbers written as fractions. Its error is a *shapeError or encoding/json's own.
func decodeSlow(doc []byte, keepText bool, e *event) error {
	e.reset()
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		var any json.RawMessage
		if json.Unmarshal(doc, &any) == nil {
			return &shapeError{"an object was expected"}
		}
		return err
	}
	if raw := top["error"]; raw != nil && string(raw) != "null" {
		e.isError, e.message = true, raw
	}
	var object string
	if json.Unmarshal(top["object"], &object) == nil && object == "error" {
		e.isError, e.message = true, doc
	}
	var usage map[string]json.RawMessage
	if err := into(top, "usage", &usage); err != nil {
		return err
	}
	var err error
	if e.prompt, err = whole(usage, "prompt_tokens", -1); err != nil {
		return err
	}
	if e.produced, err = whole(usage, "completion_tokens", -1); err != nil {
		return err
	}
	var choices []map[string]json.RawMessage
	if err := into(top, "choices", &choices); err != nil {
		return err
	}
	e.choices = len(choices)
	if len(choices) == 0 {
		return nil
	}
	return slowChoice(choices[len(choices)-1], keepText, e)
}

func slowChoice(choice map[string]json.RawMessage, keepText bool, e *event) error {
	if choice == nil {
		return &shapeError{"a choice is null"}
	}
	var err error
	if e.index, err = whole(choice, "index", 0); err != nil {
		return err
	}
	var finish *string
	if err := into(choice, "finish_reason", &finish); err != nil {
		return err
	}
	if finish != nil {
		e.finish = []byte(*finish)
	}
	var numbers *[]json.Number
	if err := into(choice, "token_ids", &numbers); err != nil {
		return err
	}
	if numbers != nil {
		e.hasIDs = true
		for _, number := range *numbers {
			id, err := wholeNumber(number, "token_ids", -1)
			if err != nil {
				return err
			}
			if id < 0 || id > math.MaxInt32 {
				e.badID, id = true, -1
			}
			e.ids = append(e.ids, int32(id))
		}
	}
	if err := slowText(choice, "text", keepText, e); err != nil {
		return err
	}
	for _, key := range []string{"delta", "message"} {
		var message map[string]json.RawMessage
		if err := into(choice, key, &message); err != nil {
			return err
		}
		if err := slowText(message, "content", keepText, e); err != nil {
			return err
		}
		for _, key := range []string{"reasoning", "reasoning_content"} {
			if err := slowText(message, key, false, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func slowText(object map[string]json.RawMessage, key string, keep bool, e *event) error {
	var text string
	if err := into(object, key, &text); err != nil {
		return err
	}
	e.hasText = e.hasText || text != ""
	if keep {
		e.text = append(e.text, text...)
	}
	return nil
}

// into decodes one member, where it is there.
func into(object map[string]json.RawMessage, key string, v any) error {
	raw, ok := object[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return &shapeError{fmt.Sprintf("%q has the wrong type: %v", key, err)}
	}
	return nil
}

// whole reads a whole number; absent and null give what is said for them.
func whole(object map[string]json.RawMessage, key string, absent int64) (int64, error) {
	var number *json.Number
	if err := into(object, key, &number); err != nil || number == nil {
		return absent, err
	}
	return wholeNumber(*number, key, absent)
}

func wholeNumber(number json.Number, key string, null int64) (int64, error) {
	if number == "" {
		return null, nil
	}
	if v, err := strconv.ParseInt(string(number), 10, 64); err == nil {
		return v, nil
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, &shapeError{fmt.Sprintf("%q has %s where a whole number was expected", key, number)}
	}
	return int64(f), nil
}
