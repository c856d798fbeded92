package judge

import (
	"encoding/json"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// sameText compares a program's output with the expected one line by line, stripped. Lines that differ as text must be
// equal as lists of decimal numbers (docs/reference/scoring-rules.md#running-programs).
func sameText(got, want string) bool {
	gotLines, wantLines := strippedLines(got), strippedLines(want)
	return slices.EqualFunc(gotLines, wantLines, func(a, b string) bool {
		if a == b {
			return true
		}
		x, ok := decimals(a)
		y, known := decimals(b)
		return ok && known && slices.EqualFunc(x, y, decimal.equal)
	})
}

func strippedLines(text string) []string {
	lines := strings.Split(pyrepr.Strip(text), "\n")
	for i := range lines {
		lines[i] = pyrepr.Strip(lines[i])
	}
	return lines
}

// decimal is a number as parsed by Python's decimal: digits without leading or trailing zeros, and the power of ten of
// the last digit.
type decimal struct {
	negative bool
	digits   string // significant digits; empty: the number is zero
	exponent int64
	special  string // "inf" or "nan"; empty: the number is finite
}

func (d decimal) equal(o decimal) bool {
	if d.special != "" || o.special != "" {
		return d.special == o.special && d.special == "inf" && d.negative == o.negative
	}
	if d.digits == "" || o.digits == "" {
		return d.digits == o.digits
	}
	return d == o
}

func decimals(line string) ([]decimal, bool) {
	var out []decimal
	for _, field := range strings.FieldsFunc(line, pyrepr.IsSpace) {
		d, ok := parseDecimal(field)
		if !ok {
			return nil, false
		}
		out = append(out, d)
	}
	return out, true
}

// specials maps the lower-case spellings of infinity and NaN to their values in decimal.special.
var specials = map[string]string{"inf": "inf", "infinity": "inf", "nan": "nan", "snan": "nan"}

func parseDecimal(text string) (d decimal, ok bool) {
	text = strings.ToLower(strings.ReplaceAll(text, "_", ""))
	if rest, found := strings.CutPrefix(text, "-"); found {
		d.negative, text = true, rest
	} else {
		text = strings.TrimPrefix(text, "+")
	}
	if special, found := specials[strings.TrimRight(text, "0123456789")]; found &&
		(special == "nan" || specials[text] != "") {
		d.special = special
		return d, true
	}
	mantissa, power, scaled := strings.Cut(text, "e")
	if scaled {
		var err error
		if d.exponent, err = strconv.ParseInt(power, 10, 62); err != nil {
			return d, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return d, false
	}
	trimmed := strings.TrimRight(digits, "0")
	d.exponent += int64(len(digits)-len(trimmed)) - int64(len(fraction))
	if d.digits = strings.TrimLeft(trimmed, "0"); d.digits == "" {
		d.exponent = 0
	}
	return d, true
}

// sameReturned compares a returned value, tagged with its type, with expected JSON like Python's ==: numbers of all
// types by value, lists and dictionaries element by element.
func sameReturned(tagged json.RawMessage, want string) bool {
	d := json.NewDecoder(strings.NewReader(want))
	d.UseNumber()
	var expected any
	if err := d.Decode(&expected); err != nil {
		return false
	}
	if _, err := d.Token(); err != io.EOF {
		return false
	}
	return sameValue(tagged, expected)
}

func sameValue(tagged json.RawMessage, want any) bool {
	var parts []json.RawMessage
	var kind string
	if json.Unmarshal(tagged, &parts) != nil || len(parts) == 0 || json.Unmarshal(parts[0], &kind) != nil {
		return false
	}
	if kind == "none" {
		return want == nil
	}
	if len(parts) != 2 {
		return false
	}
	switch kind {
	case "text":
		var text string
		return json.Unmarshal(parts[1], &text) == nil && want == any(text)
	case "list":
		var items []json.RawMessage
		wants, isList := want.([]any)
		return isList && json.Unmarshal(parts[1], &items) == nil && slices.EqualFunc(items, wants, sameValue)
	case "dict":
		return sameObject(parts[1], want)
	}
	got, ok := numberOf(kind, parts[1])
	expected, known := expectedNumber(want)
	return ok && known && got.Cmp(expected) == 0
}

func sameObject(tagged json.RawMessage, want any) bool {
	var pairs [][]json.RawMessage
	wants, isObject := want.(map[string]any)
	if !isObject || json.Unmarshal(tagged, &pairs) != nil || len(pairs) != len(wants) {
		return false
	}
	for _, pair := range pairs {
		var key []string
		if len(pair) != 2 || json.Unmarshal(pair[0], &key) != nil || len(key) != 2 || key[0] != "text" {
			return false
		}
		value, has := wants[key[1]]
		if !has || !sameValue(pair[1], value) {
			return false
		}
	}
	return true
}

// numberOf parses a tagged bool, int or float exactly.
func numberOf(kind string, raw json.RawMessage) (*big.Rat, bool) {
	if kind == "bool" {
		return boolean(string(raw) == "true"), true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil, false
	}
	return number(text, kind == "float")
}

func expectedNumber(want any) (*big.Rat, bool) {
	switch v := want.(type) {
	case bool:
		return boolean(v), true
	case json.Number:
		return number(v.String(), strings.ContainsAny(v.String(), ".eE"))
	}
	return nil, false
}

func boolean(b bool) *big.Rat {
	if b {
		return big.NewRat(1, 1)
	}
	return new(big.Rat)
}

// mostDigits limits integers, whose parsing takes quadratic time.
const mostDigits = 1 << 16

// number parses a floating-point number as the nearest double, or an integer exactly.
func number(text string, float bool) (*big.Rat, bool) {
	if float {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, false
		}
		return new(big.Rat).SetFloat64(v), true
	}
	if len(text) > mostDigits {
		return nil, false
	}
	v, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetInt(v), true
}
