package accuracy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Values as returned by Python's json module: nil, bool, pyInt, float64, string, []any and *object. The function-call
// checker distinguishes integers from floats, and the order of a dict decides which error comes first.

// pyInt is an integer of any size in canonical decimal form.
type pyInt string

// object is a dict.
type object struct {
	keys   []string
	values map[string]any
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) set(key string, v any) {
	if _, known := o.values[key]; !known {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// Limits for JSON written by a model.
const (
	maxJSONBytes = 4 << 20
	maxJSONDepth = 200
)

var errJSON = errors.New("not a JSON value")

// parseJSON parses one JSON value.
func parseJSON(s string) (any, error) {
	if len(s) > maxJSONBytes {
		return nil, fmt.Errorf("%w: it is longer than %d MiB", errJSON, maxJSONBytes>>20)
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: other text follows", errJSON)
	}
	return v, nil
}

func readJSON(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errJSON, err)
	}
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("%w: it is nested deeper than %d", errJSON, maxJSONDepth)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return readArray(d, depth)
		}
		return readObject(d, depth)
	case json.Number:
		return pyNumber(t.String())
	default:
		return t, nil
	}
}

func readArray(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := readJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func readObject(d *json.Decoder, depth int) (any, error) {
	o := newObject()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errJSON, err)
		}
		v, err := readJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		o.set(key.(string), v)
	}
	_, err := d.Token()
	return o, err
}

// pyNumber parses a JSON number: an integer unless it has a point or an exponent.
func pyNumber(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("%w: %w", errJSON, err)
		}
		return f, nil
	}
	if n, ok := canonicalInt(s); ok {
		return n, nil
	}
	return nil, fmt.Errorf("%w: %.40q is not a number", errJSON, s)
}

// maxIntDigits is the maximum length of an integer that Python parses.
const maxIntDigits = 4300

func canonicalInt(s string) (pyInt, bool) {
	if len(s) > maxIntDigits {
		return "", false
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return "", false
	}
	return pyInt(n.String()), true
}

// pyKind returns the Python type of a value.
func pyKind(v any) string {
	switch v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case pyInt:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []any:
		return "list"
	}
	return "dict"
}

// pyEqual is Python's ==: numbers and booleans compare by value.
func pyEqual(a, b any) bool {
	if x, ok := a.([]any); ok {
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, pyEqual)
	}
	if x, ok := a.(*object); ok {
		y, ok := b.(*object)
		if !ok || len(x.keys) != len(y.keys) {
			return false
		}
		for _, k := range x.keys {
			if v, known := y.values[k]; !known || !pyEqual(x.values[k], v) {
				return false
			}
		}
		return true
	}
	x, xIsNumber := pyNumeric(a)
	y, yIsNumber := pyNumeric(b)
	switch {
	case xIsNumber != yIsNumber:
		return false
	case !xIsNumber:
		return a == b
	}
	if n, m := pyKind(a), pyKind(b); n == "int" && m == "int" {
		return a == b
	}
	return x == y
}

func pyNumeric(v any) (float64, bool) {
	switch v := v.(type) {
	case bool:
		return number01(v), true
	case float64:
		return v, true
	case pyInt:
		f, _ := strconv.ParseFloat(string(v), 64)
		return f, true
	}
	return 0, false
}

// pyContains is Python's "v in list".
func pyContains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return pyEqual(item, v) })
}
