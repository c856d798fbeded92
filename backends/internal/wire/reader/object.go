package reader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// ShapeError reports a document that is valid JSON, but not of a form that the protocol defines.
type ShapeError struct{ Text string }

func (e *ShapeError) Error() string { return e.Text }

// Object is a JSON object read with encoding/json. It accepts everything that a Table rejects: repeated keys (the
// last one wins), escaped keys, whole numbers written as fractions. Keys are looked up in a map, because the fields of
// a struct would match keys in any case.
//
// Each method decodes one member; an absent member and null count as the same. The first error of an object, and of the
// objects inside it, is kept for Err, and later calls return zero values.
type Object struct {
	members map[string]json.RawMessage
	err     *error
}

// ParseObject parses a document into an object, resets e, and notes in e an error that the document reports. parts are
// the keys of an answer: a document that has none of them and carries a message or a detail is an error of the server.
func ParseObject(doc []byte, e *Event, parts ...string) Object {
	e.Reset()
	o := Object{err: new(error)}
	if err := json.Unmarshal(doc, &o.members); err != nil {
		if *o.err = err; json.Valid(doc) {
			*o.err = &ShapeError{"an object was expected"}
		}
		return o
	}
	o.Error(e)
	if raw := o.members["errors"]; !empty(raw) {
		e.IsError, e.Message = true, raw
	}
	var object string
	if json.Unmarshal(o.members["object"], &object) == nil && object == "error" {
		e.IsError, e.Message = true, doc
	}
	if !e.IsError && !o.Has(parts...) && o.isComplaint() {
		e.IsError, e.Message = true, doc
	}
	return o
}

// Error notes the member "error" in e, unless it is absent or null.
func (o Object) Error(e *Event) {
	if raw := o.members["error"]; raw != nil && string(raw) != "null" {
		e.IsError, e.Message = true, raw
	}
}

// complaints are the keys of error bodies that have no "error": those of FastAPI (detail), of gateways, and of RFC 9457
// (detail).
var complaints = []string{"detail", "message", "msg", "exception", "error_message", "error_msg", "error_code"}

// isComplaint reports whether an object has a key of an error body.
func (o Object) isComplaint() bool {
	return slices.ContainsFunc(complaints, func(key string) bool { return !empty(o.members[key]) })
}

// empty reports whether a member is absent, null, or holds nothing.
func empty(raw []byte) bool {
	switch string(raw) {
	case "", "null", "[]", "{}", `""`, "false":
		return true
	}
	return false
}

// Err returns the first error of the object and of the objects inside it: a *ShapeError, or encoding/json's own where
// the document is not JSON.
func (o Object) Err() error { return *o.err }

// Has reports whether the object has at least one of the keys.
func (o Object) Has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, ok := o.members[key]; return ok })
}

// into decodes a member into v, unless it is absent.
func (o Object) into(key string, v any) {
	raw, ok := o.members[key]
	if !ok || *o.err != nil {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		*o.err = &ShapeError{fmt.Sprintf("%q has the wrong type: %v", key, err)}
	}
}

// Raw returns the JSON of a member; nil: it is absent.
func (o Object) Raw(key string) json.RawMessage { return o.members[key] }

// Object returns an object inside this one. If the key is absent, the result has no members.
func (o Object) Object(key string) Object {
	inner := Object{err: o.err}
	o.into(key, &inner.members)
	return inner
}

// Objects returns an array of objects. null inside the array is an object whose IsNull is true.
func (o Object) Objects(key string) []Object {
	var list []map[string]json.RawMessage
	o.into(key, &list)
	objects := make([]Object, len(list))
	for i, members := range list {
		objects[i] = Object{members, o.err}
	}
	return objects
}

// IsNull reports whether the object is null or absent.
func (o Object) IsNull() bool { return o.members == nil }

// IsObject reports whether a member is an object.
func (o Object) IsObject(key string) bool {
	return bytes.HasPrefix(o.members[key], []byte{'{'})
}

// Fail keeps an error for Err, unless there is an earlier one.
func (o Object) Fail(text string) {
	if *o.err == nil {
		*o.err = &ShapeError{text}
	}
}

// Strings returns an array of strings.
func (o Object) Strings(key string) (list []string) {
	o.into(key, &list)
	return list
}

// String returns a string; nil means absent or null.
func (o Object) String(key string) []byte {
	var text *string
	if o.into(key, &text); text == nil {
		return nil
	}
	return []byte(*text)
}

// Name returns a string that is not empty. Any other value is not an error, and returns nil.
func (o Object) Name(key string) []byte {
	var name string
	if json.Unmarshal(o.members[key], &name) != nil || name == "" {
		return nil
	}
	return []byte(name)
}

// Bool returns true or false; absent and null are false.
func (o Object) Bool(key string) bool {
	var b *bool
	o.into(key, &b)
	return b != nil && *b
}

// Whole returns a whole number, or absent if the key is missing or null.
func (o Object) Whole(key string, absent int64) int64 {
	var text *number
	if o.into(key, &text); text == nil {
		return absent
	}
	return o.whole(*text, key, absent)
}

// Count returns a number of tokens; -1 means absent or null. A negative number, and one that no answer can have, are
// errors.
func (o Object) Count(key string) int64 {
	v := o.Whole(key, -1)
	switch {
	case v < 0 && !empty(o.members[key]):
		o.Fail(fmt.Sprintf("%q is %d, and a count of tokens is not negative", key, v))
	case v > maxCount:
		o.Fail(fmt.Sprintf("%q is %d, more tokens than any answer has", key, v))
	}
	return v
}

// Cached returns the number of tokens of the prompt that came from a cache. Any other value is not an error, because no
// latency depends on it, and returns -1, as absent does.
func (o Object) Cached(key string) int64 {
	var v *float64
	if json.Unmarshal(o.members[key], &v) != nil || v == nil || *v != math.Trunc(*v) || *v < 0 || *v > maxCount {
		return -1
	}
	return int64(*v)
}

// Inner returns an object inside this one. Any other value is not an error, and returns an object without members.
func (o Object) Inner(key string) Object {
	if !o.IsObject(key) {
		return Object{err: o.err}
	}
	return o.Object(key)
}

// IDs reads an array of token ids into e.
func (o Object) IDs(key string, e *Event) {
	var numbers *[]number
	if o.into(key, &numbers); numbers == nil {
		return
	}
	e.HasIDs = true
	for _, text := range *numbers {
		id := o.whole(text, key, -1)
		if id < 0 || id > math.MaxInt32 {
			e.BadID, id = true, -1
		}
		e.IDs = append(e.IDs, int32(id))
	}
}

// Text reads text of the answer into e, and keeps it where keep is set.
func (o Object) Text(key string, keep bool, e *Event) {
	var text string
	o.into(key, &text)
	e.HasText = e.HasText || text != ""
	if keep {
		e.Text = append(e.Text, text...)
	}
}

// Aside reads output that is not part of the text, such as reasoning.
func (o Object) Aside(key string, e *Event) {
	var text string
	if o.into(key, &text); text != "" {
		e.HasText, e.Aside = true, true
	}
}

// Call reads a part of a function call.
func (o Object) Call(key string, e *Event) {
	before := e.Aside
	e.Aside = false
	o.Aside(key, e)
	e.IsCall = e.IsCall || e.Aside
	e.Aside = e.Aside || before
}

// Calls reads the tool calls of a message.
func (o Object) Calls(e *Event) {
	if raw, ok := o.members["tool_calls"]; ok {
		e.setCalls(raw)
	}
}

// number is the text of a JSON number; empty means null. json.Number would accept a number in quotes.
type number string

// UnmarshalJSON keeps the text of a number.
func (n *number) UnmarshalJSON(text []byte) error {
	switch {
	case string(text) == "null":
		*n = ""
	case text[0] == '-' || text[0]-'0' <= 9:
		*n = number(text)
	default:
		return fmt.Errorf("%.40s is not a number", text)
	}
	return nil
}

// whole parses a whole number that may be written as a fraction or with an exponent, such as 1.0 and 1e2.
func (o Object) whole(text number, key string, null int64) int64 {
	if text == "" {
		return null
	}
	if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return v
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		o.Fail(fmt.Sprintf("%q has %s where a whole number was expected", key, text))
		return null
	}
	return int64(f)
}

// DecodeList reads a document that is an array of answers, one per prompt and in the order of the prompts: read reads
// each of them from its object, and add receives it. An object in place of the array concerns the whole
// batch.
func DecodeList(doc []byte, e *Event, parts []string, read func(o Object, e *Event), add func(*Event)) error {
	var list []json.RawMessage
	if json.Unmarshal(doc, &list) != nil {
		o := ParseObject(doc, e, parts...)
		if read(o, e); o.Err() == nil && !e.IsError {
			o.Fail("a list of answers was expected")
		}
		return o.Err()
	}
	for n, item := range list {
		o := ParseObject(item, e, parts...)
		read(o, e)
		if !o.Has("index") {
			e.Index = int64(n)
		}
		if e.Choices == 0 && !e.IsError {
			o.Fail("an element of the list is not an answer")
		}
		if o.Err() != nil {
			return o.Err()
		}
		add(e)
	}
	e.Reset()
	return nil
}
