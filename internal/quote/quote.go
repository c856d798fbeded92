package quote

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// Text appends a text as a JSON string, without escapes for HTML.
func Text(dst []byte, text string) []byte { return quoted(dst, text, false) }

// HTML appends a text as a JSON string, with escapes for HTML.
func HTML(dst []byte, text string) []byte { return quoted(dst, text, true) }

// Plain appends a text for which IsPlain is true: both forms of it are the same.
func Plain(dst []byte, text string) []byte { return append(append(append(dst, '"'), text...), '"') }

// IsPlain reports that a text is its own JSON, in both forms: ASCII without quotes, backslashes, control characters and
// the characters of HTML.
func IsPlain(text string) bool {
	n := plain(text, true)
	for n < len(text) && !isOdd[text[n]] && !isHTML[text[n]] {
		n++
	}
	return n == len(text)
}

// quoted copies what is plain at the beginning in one piece, and the rest eight bytes at a time where these are plain.
func quoted(dst []byte, text string, html bool) []byte {
	n := plain(text, html)
	dst = append(append(slices.Grow(dst, len(text)+2), '"'), text[:n]...)
	for text = text[n:]; len(text) > 0; text = text[n:] {
		if len(text) >= 8 {
			if x := word(text); odd(x, html) == 0 {
				dst, n = binary.LittleEndian.AppendUint64(dst, x), 8
				continue
			}
		}
		dst, n = characters(dst, text, html)
	}
	return append(dst, '"')
}

const (
	ones = 0x0101010101010101
	high = 0x80 * ones
)

// odd is 0 if none of eight bytes needs an escape, and all are ASCII: a byte below a limit borrows from its high bit.
func odd(x uint64, html bool) uint64 {
	bad := x | (x - ' '*ones) | (x ^ '"'*ones - ones) | (x ^ '\\'*ones - ones)
	if html {
		bad |= (x ^ '<'*ones - ones) | (x ^ '>'*ones - ones) | (x ^ '&'*ones - ones)
	}
	return bad & high
}

// word returns the first eight bytes of a text.
func word(t string) uint64 {
	_ = t[7]
	return uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
		uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56
}

// plain returns how many bytes at the beginning of a text need no escape, up to 31 too few.
func plain(text string, html bool) (n int) {
	for ; len(text)-n >= 32; n += 32 {
		t := text[n : n+32]
		if odd(word(t), html)|odd(word(t[8:]), html)|odd(word(t[16:]), html)|odd(word(t[24:]), html) != 0 {
			break
		}
	}
	return n
}

// isOdd and isHTML are the bytes that need an escape, or a look at what follows.
var isOdd, isHTML = func() (odd, html [256]bool) {
	for c := range odd {
		odd[c] = c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\'
	}
	html['<'], html['>'], html['&'] = true, true, true
	return odd, html
}()

// letters are the escapes of one letter.
var letters = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

const hex = "0123456789abcdef"

// characters appends at least one character at the beginning of a text, up to eight bytes and the rest of the last one,
// and returns their length.
func characters(dst []byte, text string, html bool) (_ []byte, n int) {
	for n < min(8, len(text)) {
		c := text[n]
		switch {
		case !isOdd[c] && !(html && isHTML[c]):
			dst = append(dst, c)
		case c >= utf8.RuneSelf:
			var size int
			dst, size = character(dst, text[n:])
			n += size
			continue
		case letters[c] != 0:
			dst = append(dst, '\\', letters[c])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		n++
	}
	return dst, n
}

// character appends a character that is not ASCII, and returns its length. A byte that is not UTF-8 becomes U+FFFD.
// JavaScript does not allow U+2028 and U+2029 in its strings, so they have escapes.
func character(dst []byte, text string) ([]byte, int) {
	switch r, size := utf8.DecodeRuneInString(text); {
	case r == utf8.RuneError && size == 1:
		return append(dst, `\ufffd`...), 1
	case r == '\u2028' || r == '\u2029':
		return append(dst, '\\', 'u', '2', '0', '2', hex[r&15]), size
	default:
		return append(dst, text[:size]...), size
	}
}
