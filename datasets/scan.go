package datasets

import (
	"bytes"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// maxDepth is the maximum nesting of a record's values.
const maxDepth = 64

// scanner walks the JSON text of one record and accepts only valid JSON (RFC 8259).
type scanner struct {
	b     []byte
	pos   int
	depth int
}

func (s *scanner) fail(expected string) *fault {
	found := "the end of the record"
	if s.pos < len(s.b) {
		found = shown(s.b[s.pos:min(s.pos+12, len(s.b))])
	}
	return &fault{offset: s.pos, found: found, expected: expected,
		try: "the file is not valid JSON there; write it again with a JSON encoder"}
}

func (s *scanner) space() {
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

func (s *scanner) expect(c byte, what string) *fault {
	if s.peek() != c {
		return s.fail(what)
	}
	s.pos++
	return nil
}

// value scans one value of any kind.
func (s *scanner) value() *fault {
	switch c := s.peek(); c {
	case '{':
		return s.object(func([]byte, int) *fault { return s.value() })
	case '[':
		return s.array(s.value)
	case '"':
		_, _, f := s.text()
		return f
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || (c >= '0' && c <= '9') {
			return s.number()
		}
		return s.fail("a JSON value")
	}
}

func (s *scanner) word(w string) *fault {
	if !bytes.HasPrefix(s.b[s.pos:], []byte(w)) {
		return s.fail(w)
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) enter() *fault {
	s.pos++
	s.depth++
	if s.depth > maxDepth {
		return tooDeep(s.pos - 1)
	}
	return nil
}

func tooDeep(offset int) *fault {
	return &fault{offset: offset, found: "values nested more than 64 deep", expected: "a flat record",
		try: "check that this is a data set file"}
}

// object scans an object. It calls member at each value with the raw key and the key's offset; member must scan the
// value.
func (s *scanner) object(member func(key []byte, at int) *fault) *fault {
	return s.list('}', "a comma or the end of the object", func() *fault {
		at := s.pos
		if s.peek() != '"' {
			return s.fail("a key in double quotes")
		}
		key, _, f := s.text()
		if f != nil {
			return f
		}
		s.space()
		if f := s.expect(':', "a colon after the key"); f != nil {
			return f
		}
		s.space()
		return member(key, at)
	})
}

// array scans an array. It calls element at each element, which must scan it.
func (s *scanner) array(element func() *fault) *fault {
	return s.list(']', "a comma or the end of the array", element)
}

// list scans an object or an array up to its closing bracket.
func (s *scanner) list(end byte, expected string, part func() *fault) *fault {
	if f := s.enter(); f != nil {
		return f
	}
	s.space()
	for first := true; s.peek() != end; first = false {
		if !first {
			if f := s.expect(',', expected); f != nil {
				return f
			}
			s.space()
		}
		if f := part(); f != nil {
			return f
		}
		s.space()
	}
	s.pos++
	s.depth--
	return nil
}

// text scans a string and returns the bytes between its quotes, and whether they contain escapes.
func (s *scanner) text() (raw []byte, escaped bool, f *fault) {
	s.pos++
	start := s.pos
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; {
		case c == '"':
			s.pos++
			return s.b[start : s.pos-1], escaped, nil
		case c == '\\':
			escaped = true
			if f := s.escape(); f != nil {
				return nil, false, f
			}
		case c < 0x20:
			return nil, false, s.fail("no raw control characters in a string")
		default:
			s.pos++
		}
	}
	return nil, false, s.fail("the end of the string")
}

func (s *scanner) escape() *fault {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
		for range 4 {
			if hexValue(s.peek()) < 0 {
				return s.fail("four hexadecimal digits after \\u")
			}
			s.pos++
		}
		return nil
	}
	return s.fail("a JSON escape")
}

func (s *scanner) digits() *fault {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	if s.pos == start {
		return s.fail("a digit")
	}
	return nil
}

func (s *scanner) number() *fault {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if f := s.digits(); f != nil {
		return f
	}
	if s.peek() == '.' {
		s.pos++
		if f := s.digits(); f != nil {
			return f
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

// appendIDs appends the token ids of a JSON array that has been scanned before.
func appendIDs(dst []int32, array []byte) ([]int32, *fault) {
	const try = "write token ids as plain integers, or name the column with the ids"
	i := 1
	for i < len(array)-1 {
		switch c := array[i]; {
		case c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c >= '0' && c <= '9':
			start, value := i, int64(0)
			for ; array[i] >= '0' && array[i] <= '9'; i++ {
				value = min(value*10+int64(array[i]-'0'), math.MaxInt32+1)
			}
			if next := array[i]; next == '.' || next == 'e' || next == 'E' {
				return dst, &fault{offset: start, found: "the number " + element(array[start:]) + " among the ids",
					expected: "integers", try: try}
			}
			if value > math.MaxInt32 {
				return dst, &fault{offset: start, found: "the id " + element(array[start:]), expected: "ids of at most 2147483647",
					try: try}
			}
			dst = append(dst, int32(value))
		case c == '-':
			return dst, &fault{offset: i, found: "the negative id " + element(array[i:]), expected: "ids from 0 on", try: try}
		default:
			return dst, &fault{offset: i, found: "an array that contains " + kindName(c),
				expected: "an array of token ids (integers)", try: try + "; use one object per record, not one per column"}
		}
	}
	return dst, nil
}

// element returns the next element of an array for an error message.
func element(b []byte) string {
	if end := bytes.IndexAny(b, ", ]\n\t\r"); end >= 0 {
		b = b[:end]
	}
	return foreign.Line(string(b), 24)
}

func hexValue(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote appends the text of a scanned string. It returns false if the string has an unpaired surrogate.
func unquote(dst, raw []byte) ([]byte, bool) {
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return append(dst, raw...), true
		}
		dst = append(dst, raw[:at]...)
		if raw[at+1] != 'u' {
			dst = append(dst, simpleEscapes[raw[at+1]])
			raw = raw[at+2:]
			continue
		}
		r := codeUnit(raw[at:])
		raw = raw[at+6:]
		if utf16.IsSurrogate(r) {
			if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
				return dst, false
			}
			if r = utf16.DecodeRune(r, codeUnit(raw)); r == utf8.RuneError {
				return dst, false
			}
			raw = raw[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// codeUnit parses the \uXXXX at the start of b.
func codeUnit(b []byte) rune {
	return hexValue(b[2])<<12 | hexValue(b[3])<<8 | hexValue(b[4])<<4 | hexValue(b[5])
}

// kindName returns the kind of a JSON value whose first byte is c.
func kindName(c byte) string {
	switch c {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// validJSON reports whether b is exactly one JSON value.
func validJSON(b []byte) bool {
	s := scanner{b: b}
	s.space()
	if s.value() != nil {
		return false
	}
	s.space()
	return s.pos == len(b)
}
