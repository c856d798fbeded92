package reader

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// ShapeError says that a document is JSON, and not what the protocol knows.
type ShapeError struct{ Text string }

func (e *ShapeError) Error() string { return e.Text }

// Members reads a document with encoding/json, which accepts what a walk gives up on: repeated keys (the last wins),
// escaped keys, whole numbers written as fractions. Errors in the document go into e.
func Members(doc []byte, e *Event) (map[string]json.RawMessage, error) {
	e.Reset()
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		var any json.RawMessage
		if json.Unmarshal(doc, &any) == nil {
			return nil, &ShapeError{"an object was expected"}
		}
		return nil, err
	}
	if raw := top["error"]; raw != nil && string(raw) != "null" {
		e.IsError, e.Message = true, raw
	}
	var object string
	if json.Unmarshal(top["object"], &object) == nil && object == "error" {
		e.IsError, e.Message = true, doc
	}
	return top, nil
}

// Counts reads the two token counts of an object.
func Counts(object map[string]json.RawMessage, e *Event) (err error) {
	if e.Prompt, err = Whole(object, "prompt_tokens", -1); err != nil {
		return err
	}
	e.Produced, err = Whole(object, "completion_tokens", -1)
	return err
}

// SlowIDs reads an array of whole numbers, or null.
func SlowIDs(object map[string]json.RawMessage, key string, e *Event) error {
	var numbers *[]json.Number
	if err := Into(object, key, &numbers); err != nil || numbers == nil {
		return err
	}
	e.HasIDs = true
	for _, number := range *numbers {
		id, err := wholeNumber(number, key, -1)
		if err != nil {
			return err
		}
		if id < 0 || id > math.MaxInt32 {
			e.BadID, id = true, -1
		}
		e.IDs = append(e.IDs, int32(id))
	}
	return nil
}

// SlowText reads a string, or null.
func SlowText(object map[string]json.RawMessage, key string, keep bool, e *Event) error {
	var text string
	if err := Into(object, key, &text); err != nil {
		return err
	}
	e.HasText = e.HasText || text != ""
	if keep {
		e.Text = append(e.Text, text...)
	}
	return nil
}

// SlowName reads a string. Another value gives nil, as an empty string does.
func SlowName(object map[string]json.RawMessage, key string) []byte {
	var name string
	if json.Unmarshal(object[key], &name) != nil || name == "" {
		return nil
	}
	return []byte(name)
}

// SlowAside reads output that is no part of the text, such as reasoning, or null.
func SlowAside(object map[string]json.RawMessage, key string, e *Event) error {
	had := e.HasText
	e.HasText = false
	err := SlowText(object, key, false, e)
	e.HasText, e.Aside = had || e.HasText, e.Aside || e.HasText
	return err
}

// SlowCalls reads the tool calls of a message.
func SlowCalls(message map[string]json.RawMessage, e *Event) {
	if raw, ok := message["tool_calls"]; ok {
		e.called(raw)
	}
}

// SlowBool reads true or false; absent and null are false.
func SlowBool(object map[string]json.RawMessage, key string) (bool, error) {
	var b *bool
	err := Into(object, key, &b)
	return b != nil && *b, err
}

// Into decodes one member, where it is there.
func Into(object map[string]json.RawMessage, key string, v any) error {
	raw, ok := object[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return &ShapeError{fmt.Sprintf("%q has the wrong type: %v", key, err)}
	}
	return nil
}

// Whole reads a whole number; absent and null give what is said for them.
func Whole(object map[string]json.RawMessage, key string, absent int64) (int64, error) {
	var number *json.Number
	if err := Into(object, key, &number); err != nil || number == nil {
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
		return 0, &ShapeError{fmt.Sprintf("%q has %s where a whole number was expected", key, number)}
	}
	return int64(f), nil
}
