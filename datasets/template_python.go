package datasets

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// appendPython appends a JSON value as a Python program puts it into a text: a string at the outermost level as it is,
// another value as json.dumps writes it with its defaults, or, with repr, as repr does. false: a string is no text.
func appendPython(dst, value []byte, repr bool, depth int) ([]byte, bool) {
	switch value[0] {
	case '"':
		text, ok := unquote(nil, value[1:len(value)-1])
		switch {
		case !ok:
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

// appendPythonParts appends a list or a dict with Python's blanks behind commas and colons.
func appendPythonParts(dst, value []byte, repr bool, depth int) ([]byte, bool) {
	ok := true
	dst = append(dst, value[0])
	s := scanner{b: value}
	first := true
	element := func() *fault {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		return nil
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

// appendDumped appends a string as json.dumps does: ASCII only.
func appendDumped(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, r := range string(text) {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\b':
			dst = append(dst, '\\', 'b')
		case r == '\f':
			dst = append(dst, '\\', 'f')
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

// appendRepr appends a string as repr does: in single quotes unless it has some and no double ones.
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
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
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
