package mllog

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Value is the raw text of a value in the detail log.
type Value []byte

// Entry is one line of the detail log. Its Value is valid only during the callback.
type Entry struct {
	Key       string
	Value     Value
	IsError   bool
	IsWarning bool
	TimeMS    float64 // time since the log was opened, in ms
	Line      int     // number of the line, starting at 1
}

// Text returns the value without its quotes. LoadGen writes most strings unescaped; Text returns those that are not
// valid JSON unchanged.
func (v Value) Text() string {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return string(v)
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(inner)
}

// Any returns a bool, int64, uint64 (above int64), float64, string, nil for null, or a copied json.RawMessage for lists
// and maps. Values that are not JSON (-nan, inf, broken text) are returned as text.
func (v Value) Any() any {
	if len(v) == 0 {
		return ""
	}
	switch v[0] {
	case '"':
		return v.Text()
	case '[', '{':
		if json.Valid(v) {
			return json.RawMessage(bytes.Clone(v))
		}
		return string(v)
	}
	switch s := string(v); s {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	default:
		return number(s)
	}
}

func number(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return u
	}
	// Only JSON's notation counts as a number, not all of Go's: "inf" and "0x1p2" stay text.
	if f, err := strconv.ParseFloat(s, 64); err == nil && json.Valid([]byte(s)) {
		return f
	}
	return s
}
