package accuracy

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// checkCallsJSON compares function calls with the expected ones. All arguments are JSON: descriptions of the functions,
// calls as a list of {name: arguments}, and expected calls as a list of {name: {parameter: [allowed values]}}.
func checkCallsJSON(subset, descriptions, calls, expected string) (callVerdict, error) {
	var lists [3][]any
	for i, text := range []string{descriptions, calls, expected} {
		v, err := parseJSON(text)
		if err != nil {
			return callVerdict{}, err
		}
		list, ok := v.([]any)
		if !ok {
			return callVerdict{}, fmt.Errorf("%w: a list is expected", errJSON)
		}
		lists[i] = list
	}
	return checkCalls(subset, lists[0], lists[1], lists[2]), nil
}

// callsJSON returns the calls in an answer as a JSON list of {name, arguments}. native reports whether they are the
// server's structured tool calls.
func callsJSON(text string) (calls string, native bool) {
	list, native := extractCalls(text)
	var b strings.Builder
	pyDump(&b, list)
	return b.String(), native
}

// mathEqual reports whether two MATH answers are equal (docs/reference/scoring-rules.md#mathematics). fallback is true
// if the built-in comparison replaced the reference's symbolic algebra.
func mathEqual(given, truth string) (equal, fallback bool) {
	equal, fallback, _ = gradeMath(context.Background(), nil, given, truth)
	return equal, fallback
}

// rougeTokens returns the tokens that ROUGE compares.
func rougeTokens(text string, stem bool) []string {
	var words []string
	eachWord(text, nil, func(w []byte) { words = append(words, stemmed(string(w), stem)) }, nil)
	return words
}

// scoreLong scores one pair of texts by the metric that the data set names: rouge, niah_em or qa_em.
func scoreLong(metric, label, prediction string) (longScore, error) {
	m, ok := longMetrics[metric]
	if !ok {
		return longScore{}, fmt.Errorf("the metric %q is not known; the data set's are rouge, niah_em and qa_em", metric)
	}
	return longScore{[]string{"rougeL", "exact_match"}[m.score], m.value(newRouge(true), label, prediction)}, nil
}

// pyDump formats a value like json.dumps.
func pyDump(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case pyInt:
		b.WriteString(string(v))
	case float64:
		b.WriteString(pyrepr.Float(v))
	case string:
		dumpString(b, v)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			pyDump(b, item)
		}
		b.WriteByte(']')
	case *object:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			dumpString(b, k)
			b.WriteString(": ")
			pyDump(b, v.values[k])
		}
		b.WriteByte('}')
	}
}

var shortEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func dumpString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch short, known := shortEscapes[r]; {
		case known:
			b.WriteString(short)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}
