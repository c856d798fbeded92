package check

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// The organisers' tools are Python programs. These functions convert and print values like Python.

// truthy is Python's bool(v).
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	f, ok := number(v)
	return !ok || f != 0
}

// number returns the value of any number type that the readers of JSON, YAML and logs produce. As in Python, true is 1.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil
	}
	return 0, false
}

// pyFloat is float(v): numbers, and texts that hold one.
func pyFloat(v any) (float64, bool) {
	if text, ok := v.(string); ok {
		f, err := pyrepr.ParseFloat(text)
		return f, err == nil
	}
	return number(v)
}

// equalsInt compares as Python does: exactly, and never with a text.
func equalsInt(v any, want uint64) bool {
	switch v := v.(type) {
	case int:
		return v >= 0 && uint64(v) == want
	case int64:
		return v >= 0 && uint64(v) == want
	case uint64:
		return v == want
	case float64: // not by big.Float.Uint64, which reports 7.5 as exactly 7
		return v >= 0 && v < 1<<64 && v == math.Trunc(v) && uint64(v) == want
	}
	return false
}

// pyInt is int(v): integers, numbers truncated to integers, and texts that contain an integer.
func pyInt(v any) (*big.Int, bool) {
	text, isText := v.(string)
	if n, ok := v.(json.Number); ok && !strings.ContainsAny(string(n), ".eE") {
		text, isText = string(n), true
	}
	if isText {
		n, err := pyrepr.ParseInt(text)
		return n, err == nil
	}
	f, ok := number(v)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, false
	}
	whole, _ := big.NewFloat(math.Trunc(f)).Int(nil)
	return whole, true
}

// pyStr is str(v) of a value from a JSON document.
func pyStr(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pyRepr(v)
}

func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return pyQuote(v)
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(string(v), ".eE") {
			return pyrepr.Float(f)
		}
		return string(v)
	case float64:
		return pyrepr.Float(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = pyRepr(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for k, e := range v {
			parts = append(parts, pyQuote(k)+": "+pyRepr(e))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return shown(v)
}

func pyQuote(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	s = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	if quote == "'" {
		s = strings.ReplaceAll(s, "'", `\'`)
	}
	return quote + s + quote
}
