// HOT PATH: every byte of an event passes here, except those that are compared with an earlier event. No allocation.

package reader

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Blank steps over white space.
func (s *Scanner) Blank() {
	for s.I < len(s.B) {
		switch s.B[s.I] {
		case ' ', '\t', '\n', '\r':
			s.I++
		default:
			return
		}
	}
}

// Open steps over c; false: the next byte is another one.
func (s *Scanner) Open(c byte) bool {
	if s.I < len(s.B) && s.B[s.I] == c {
		s.I++
		return true
	}
	return false
}

// literal steps over a fixed text.
func (s *Scanner) literal(word string) bool {
	if len(s.B)-s.I >= len(word) && string(s.B[s.I:s.I+len(word)]) == word {
		s.I += len(word)
		return true
	}
	return false
}

// Null steps over null, if that is next.
func (s *Scanner) Null() bool {
	return s.I < len(s.B) && s.B[s.I] == 'n' && s.literal("null")
}

// plain are the bytes that mean themselves in a string: all except the quote, the backslash and control characters.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// Str steps over a string and returns the bytes between its quotes, escapes included.
func (s *Scanner) Str() (raw []byte, escaped, ok bool) {
	if !s.Open('"') {
		return nil, false, false
	}
	return s.Rest()
}

// Rest steps over the rest of a string, from a position between two of its characters.
func (s *Scanner) Rest() (raw []byte, escaped, ok bool) {
	b, from := s.B, s.I
	for i := plainEnd(b, from); i < len(b); i = plainEnd(b, i+1) {
		switch b[i] {
		case '"':
			s.I = i + 1
			return b[from:i], escaped, true
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return nil, false, false
			}
			escaped = true
			i += n - 1
		default:
			return nil, false, false
		}
	}
	return nil, false, false
}

// plainEnd returns the index of the first byte from i on that is not plain, or the length of b. It reads 8 bytes at
// once.
func plainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := notPlain(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return min(i, len(b))
}

// notPlain sets the highest bit of the lowest byte of eight that is not plain, and no bit below it. Bits above it may
// be wrong, because a borrow disturbs the higher bytes.
func notPlain(eight uint64) uint64 {
	const (
		each    = 0x0101010101010101
		highest = 0x80 * each
	)
	quote, backslash := eight^('"'*each), eight^('\\'*each)
	return ((quote-each)&^quote | (backslash-each)&^backslash | (eight-' '*each)&^eight) & highest
}

// escapeLen returns the length of the escape at the start of b; 0: it is invalid.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if c-'0' > 9 && (c|0x20)-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}

// Skip steps over any value that is nested no deeper than maxDepth, and checks its grammar.
func (s *Scanner) Skip() bool { return s.skip(0) }

func (s *Scanner) skip(depth int) bool {
	if s.I >= len(s.B) || depth > maxDepth {
		return false
	}
	switch c := s.B[s.I]; {
	case c == '"':
		_, _, ok := s.Str()
		return ok
	case c == 'n':
		return s.literal("null")
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == '{':
		return s.skipObject(depth)
	case c == '[':
		return s.skipArray(depth)
	}
	return s.skipNumber()
}

func (s *Scanner) skipObject(depth int) bool {
	s.I++
	first := true
	for {
		s.Blank()
		if s.Open('}') {
			return true
		}
		if !first {
			if !s.Open(',') {
				return false
			}
			s.Blank()
		}
		first = false
		if _, _, ok := s.Str(); !ok {
			return false
		}
		s.Blank()
		if !s.Open(':') {
			return false
		}
		s.Blank()
		if !s.skip(depth + 1) {
			return false
		}
	}
}

func (s *Scanner) skipArray(depth int) bool {
	s.I++
	s.Blank()
	if s.Open(']') {
		return true
	}
	for {
		s.Blank()
		if !s.skip(depth + 1) {
			return false
		}
		s.Blank()
		if s.Open(']') {
			return true
		}
		if !s.Open(',') {
			return false
		}
	}
}

// skipNumber steps over a number of JSON's grammar: minus, digits without a leading zero, fraction, exponent.
func (s *Scanner) skipNumber() bool {
	b, i := s.B, s.I
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	i = digitsEnd(b, i)
	if i == from || (i-from > 1 && b[from] == '0') {
		return false
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digitsEnd(b, from); i == from {
			return false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = digitsEnd(b, from); i == from {
			return false
		}
	}
	s.I = i
	return true
}

func digitsEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// SkipNumbers steps over an array of numbers at the speed of memchr, because a prompt of 40,000 ids may come back with
// its answer. If there is neither a quote nor an opening bracket before it, the first closing bracket ends the array.
// The grammar of the numbers is not checked.
func (s *Scanner) SkipNumbers() bool {
	if s.I >= len(s.B) || s.B[s.I] != '[' {
		return s.Skip()
	}
	rest := s.B[s.I+1:]
	end := bytes.IndexByte(rest, ']')
	if end < 0 || bytes.IndexByte(rest[:end], '"') >= 0 || bytes.IndexByte(rest[:end], '[') >= 0 {
		return s.Skip()
	}
	s.I += 1 + end + 1
	return true
}
