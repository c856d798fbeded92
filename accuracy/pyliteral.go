package accuracy

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// literalReader parses Python literals: numbers, strings, True, False, None, lists, tuples and dicts.
type literalReader struct {
	s     string
	depth int
}

// pythonLiteral parses a text that consists of one literal. Tuples become lists, as in JSON.
func pythonLiteral(s string) (any, bool) {
	r := literalReader{s: s}
	v, ok := r.value()
	r.space()
	return v, ok && r.s == ""
}

func (r *literalReader) space() { r.s = strings.TrimLeftFunc(r.s, pySpace) }

func (r *literalReader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(r.s, prefix)
	r.s = rest
	return ok
}

var literalWords = map[string]any{"True": true, "False": false, "None": nil}

func (r *literalReader) value() (any, bool) {
	r.space()
	if r.depth++; r.depth > maxNesting || r.s == "" {
		return nil, false
	}
	defer func() { r.depth-- }()
	switch c := r.s[0]; {
	case c == '[':
		r.s = r.s[1:]
		list, _, ok := r.items("]")
		return list, ok
	case c == '(':
		r.s = r.s[1:]
		list, comma, ok := r.items(")")
		if ok && len(list) == 1 && !comma {
			return list[0], true
		}
		return list, ok
	case c == '{':
		r.s = r.s[1:]
		return r.dict()
	case strings.IndexByte("'\"rRuU", c) >= 0:
		return r.text()
	case c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9'):
		return r.number()
	}
	for word, v := range literalWords {
		if rest, ok := strings.CutPrefix(r.s, word); ok && !wordAfter(rest, 0) {
			r.s = rest
			return v, true
		}
	}
	return nil, false
}

// items parses values up to the closing bracket and reports whether a comma preceded it.
func (r *literalReader) items(closing string) (list []any, comma, ok bool) {
	list = []any{}
	for {
		if r.space(); r.take(closing) {
			return list, comma, true
		}
		if len(list) > 0 && !comma {
			return nil, false, false
		}
		v, ok := r.value()
		if !ok {
			return nil, false, false
		}
		list = append(list, v)
		r.space()
		comma = r.take(",")
	}
}

func (r *literalReader) dict() (any, bool) {
	o := newObject()
	for comma := true; ; {
		if r.space(); r.take("}") {
			return o, true
		}
		key, ok := r.value()
		name, isText := key.(string)
		r.space()
		if !ok || !isText || !comma || !r.take(":") {
			return nil, false
		}
		v, ok := r.value()
		if !ok {
			return nil, false
		}
		o.set(name, v)
		r.space()
		comma = r.take(",")
	}
}

// number parses a number after at most one sign, which blanks may follow.
func (r *literalReader) number() (any, bool) {
	sign := ""
	if r.s[0] == '-' || r.s[0] == '+' {
		sign, r.s = r.s[:1], r.s[1:]
		r.space()
	}
	end := 0
	for end < len(r.s) {
		c := r.s[end]
		ofExponent := (c == '-' || c == '+') && end > 0 && r.s[end-1]|0x20 == 'e' && !strings.HasPrefix(r.s, "0x")
		if !isAlnum(c) && c != '.' && c != '_' && !ofExponent {
			break
		}
		end++
	}
	text := sign + r.s[:end]
	r.s = r.s[end:]
	if n, ok := new(big.Int).SetString(text, 0); ok && len(text) < maxIntDigits &&
		(n.Sign() == 0 || strings.TrimLeft(text, "+-")[0] != '0' || strings.ContainsAny(text, "xXoObB")) {
		return pyInt(n.String()), true
	}
	if !strings.ContainsAny(text, ".eE") || strings.ContainsAny(text, "xXnNpP") {
		return nil, false
	}
	f, ok := pyFloatOf(text)
	return f, ok
}

// text parses string literals; adjacent ones are concatenated.
func (r *literalReader) text() (any, bool) {
	var b strings.Builder
	for n := 0; ; n++ {
		raw := r.take("r") || r.take("R")
		if !raw && !r.take("u") {
			r.take("U")
		}
		if r.s == "" || (r.s[0] != '\'' && r.s[0] != '"') {
			return b.String(), n > 0 && !raw
		}
		quote := r.s[:1]
		if triple := strings.Repeat(quote, 3); strings.HasPrefix(r.s, triple) {
			quote = triple
		}
		r.s = r.s[len(quote):]
		if !r.quoted(&b, quote, raw) {
			return nil, false
		}
		r.space()
	}
}

func (r *literalReader) quoted(b *strings.Builder, quote string, raw bool) bool {
	for r.s != "" {
		if r.take(quote) {
			return true
		}
		if r.s[0] == '\n' && len(quote) == 1 {
			return false
		}
		if r.s[0] != '\\' || len(r.s) < 2 {
			b.WriteByte(r.s[0])
			r.s = r.s[1:]
			continue
		}
		if raw {
			b.WriteString(r.s[:2])
			r.s = r.s[2:]
			continue
		}
		if !r.escape(b) {
			return false
		}
	}
	return false
}

var plainEscapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a",
	'b': "\b", 'f': "\f", 'v': "\v", '\n': ""}

// codeEscapes maps escapes to their number of hexadecimal digits.
var codeEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// escape reads an escape. It returns false where Python would reject the literal: a code with too few digits, or above
// Unicode.
func (r *literalReader) escape(b *strings.Builder) bool {
	c := r.s[1]
	if text, ok := plainEscapes[c]; ok {
		b.WriteString(text)
		r.s = r.s[2:]
		return true
	}
	digits, base := codeEscapes[c], 16
	from := 2
	if c >= '0' && c <= '7' {
		from, base = 1, 8
		for digits = 1; digits < 3 && from+digits < len(r.s) && r.s[from+digits] >= '0' && r.s[from+digits] <= '7'; {
			digits++
		}
	}
	if digits == 0 { // not an escape
		b.WriteString(r.s[:2])
		r.s = r.s[2:]
		return true
	}
	if from+digits > len(r.s) {
		return false
	}
	n, err := strconv.ParseUint(r.s[from:from+digits], base, 32)
	if err != nil || n > utf8.MaxRune {
		return false
	}
	b.WriteRune(rune(n))
	r.s = r.s[from+digits:]
	return true
}
