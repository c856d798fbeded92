package datasets

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// appendPython appends a JSON value as Python formats it. A string at the outermost level is appended unchanged, and
// any other value in the format of json.dumps, or in the format of repr if repr is set. ok is false if a string is not
// valid Unicode.
func appendPython(dst, value []byte, repr bool, depth int) (_ []byte, ok bool) {
	switch value[0] {
	case '"':
		text, valid := unquote(nil, value[1:len(value)-1])
		switch {
		case !valid:
			return dst, false
		case repr:
			return appendRepr(dst, text), true
		case depth == 0:
			return append(dst, text...), true
		}
		return appendDumped(dst, text), true
	case '[', '{':
		return appendPythonParts(dst, value, repr, depth)
	case 't', 'f', 'n':
		if repr {
			return append(dst, map[byte]string{'t': "True", 'f': "False", 'n': "None"}[value[0]]...), true
		}
	}
	return append(dst, value...), true
}

// appendPythonParts appends a list or a dict with Python's spaces after commas and colons.
func appendPythonParts(dst, value []byte, repr bool, depth int) ([]byte, bool) {
	ok := true
	dst = append(dst, value[0])
	from := len(dst)
	s := scanner{b: value}
	element := func() {
		if len(dst) > from {
			dst = append(dst, ", "...)
		}
	}
	part := func() *fault {
		start := s.pos
		f := s.value()
		if f == nil && ok {
			dst, ok = appendPython(dst, value[start:s.pos], repr, depth+1)
		}
		return f
	}
	if value[0] == '[' {
		s.array(func() *fault { element(); return part() })
		return append(dst, ']'), ok
	}
	s.object(func(raw []byte, _ int) *fault {
		element()
		key, fine := unquote(nil, raw)
		ok = ok && fine
		if repr {
			dst = appendRepr(dst, key)
		} else {
			dst = appendDumped(dst, key)
		}
		dst = append(dst, ": "...)
		return part()
	})
	return append(dst, '}'), ok
}

// pythonEscapes maps control characters to their letter after a backslash.
var pythonEscapes = map[rune]byte{'\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'}

// appendDumped appends a string in the format of json.dumps: ASCII only.
func appendDumped(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, r := range string(text) {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case pythonEscapes[r] != 0:
			dst = append(dst, '\\', pythonEscapes[r])
		case r >= ' ' && r < 0x7f:
			dst = append(dst, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}

// appendRepr appends a string in the format of repr: in single quotes unless it contains some and no double ones.
func appendRepr(dst, text []byte) []byte {
	quote := byte('\'')
	if bytes.IndexByte(text, '\'') >= 0 && bytes.IndexByte(text, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, quote)
	for _, r := range string(text) {
		switch {
		case r == rune(quote) || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n' || r == '\r' || r == '\t':
			dst = append(dst, '\\', pythonEscapes[r])
		case r == ' ' || unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, quote)
}
