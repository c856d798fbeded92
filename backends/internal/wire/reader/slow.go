package reader

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// ShapeError says that a document is JSON, and not what the protocol knows.
type ShapeError struct{ Text string }

func (e *ShapeError) Error() string { return e.Text }

// Members reads a document with encoding/json, which accepts what a walk gives up on: repeated keys (the last wins),
// escaped keys, whole numbers written as fractions. It notes an error that the document reports in e. parts are the
// keys that an answer of the protocol has: a document without any of them that carries a message or a detail is an
// error too.
func Members(doc []byte, e *Event, parts ...string) (map[string]json.RawMessage, error) {
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
	if raw := top["errors"]; !empty(raw) {
		e.IsError, e.Message = true, raw
	}
	var object string
	if json.Unmarshal(top["object"], &object) == nil && object == "error" {
		e.IsError, e.Message = true, doc
	}
	if !e.IsError && isComplaint(top, parts) {
		e.IsError, e.Message = true, doc
	}
	return top, nil
}

// complaints are keys of error bodies that say nothing of "error": FastAPI's (detail), those of gateways, and RFC
// 9457's (detail).
var complaints = []string{"detail", "message", "msg", "exception", "error_message", "error_msg", "error_code"}

// isComplaint reports whether an object has none of an answer's parts and a key of an error body.
func isComplaint(top map[string]json.RawMessage, parts []string) bool {
	for _, key := range parts {
		if _, ok := top[key]; ok {
			return false
		}
	}
	return slices.ContainsFunc(complaints, func(key string) bool { return !empty(top[key]) })
}

// empty reports whether a member is absent, null, or holds nothing.
func empty(raw []byte) bool {
	switch string(raw) {
	case "", "null", "[]", "{}", `""`, "false":
		return true
	}
	return false
}

// Counts reads the two token counts of an object.
func Counts(object map[string]json.RawMessage, e *Event) (err error) {
	if e.Prompt, err = Count(object, "prompt_tokens"); err != nil {
		return err
	}
	e.Produced, err = Count(object, "completion_tokens")
	return err
}

// Count reads a number of tokens; absent and null are -1.
func Count(object map[string]json.RawMessage, key string) (int64, error) {
	v, err := Whole(object, key, -1)
	if err == nil && v < 0 && !empty(object[key]) {
		err = &ShapeError{fmt.Sprintf("%q is %d, and a count of tokens is not negative", key, v)}
	} else if err == nil && v > maxCount {
		err = &ShapeError{fmt.Sprintf("%q is %d, more tokens than any answer has", key, v)}
	}
	return v, err
}

// SlowIDs reads an array of whole numbers, or null.
func SlowIDs(object map[string]json.RawMessage, key string, e *Event) error {
	var numbers *[]number
	if err := Into(object, key, &numbers); err != nil || numbers == nil {
		return err
	}
	e.HasIDs = true
	for _, text := range *numbers {
		id, err := wholeNumber(text, key, -1)
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
	var text *number
	if err := Into(object, key, &text); err != nil || text == nil {
		return absent, err
	}
	return wholeNumber(*text, key, absent)
}

// number is a JSON number as it is written; empty: null. json.Number would accept one in quotes.
type number string

// UnmarshalJSON keeps the text of a number.
func (n *number) UnmarshalJSON(text []byte) error {
	switch {
	case string(text) == "null":
		*n = ""
	case text[0] == '-' || text[0]-'0' <= 9:
		*n = number(text)
	default:
		return fmt.Errorf("%.40s is no number", text)
	}
	return nil
}

func wholeNumber(text number, key string, null int64) (int64, error) {
	if text == "" {
		return null, nil
	}
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return v, nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, &ShapeError{fmt.Sprintf("%q has %s where a whole number was expected", key, text)}
	}
	return int64(f), nil
}
