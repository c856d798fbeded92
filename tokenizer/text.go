package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// openTail returns the length of the bytes at the end that may yet become a character.
func openTail(b []byte) int {
	for n := 1; n <= 3 && n <= len(b); n++ {
		at := len(b) - n
		if b[at] >= 0xc2 && b[at] <= 0xf4 {
			if length, whole := charPrefix(b[at:]); !whole && length == n {
				return n
			}
			return 0
		}
		if b[at] < 0x80 || b[at] >= 0xc0 {
			return 0
		}
	}
	return 0
}

// charPrefix returns the length of the longest beginning of b that begins some character, at least 1, and whether it is
// the whole of one (Unicode, table 3-7: well-formed byte sequences).
func charPrefix(b []byte) (length int, whole bool) {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch lead := b[0]; {
	case lead < 0x80:
		return 1, true
	case lead < 0xc2 || lead > 0xf4:
		return 1, false
	case lead < 0xe0:
		more = 1
	case lead < 0xf0:
		more = 2
	default:
		more = 3
	}
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	for length = 1; length <= more; length++ {
		if length == len(b) || b[length] < low || b[length] > high {
			return length, false
		}
		low, high = 0x80, 0xbf
	}
	return length, true
}

// validText returns bytes as text, U+FFFD in place of each longest beginning of a character that is not whole, and of
// each other wrong byte.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		n, whole := charPrefix(b)
		if whole {
			out = append(out, b[:n]...)
		} else {
			out = utf8.AppendRune(out, utf8.RuneError)
		}
		b = b[n:]
	}
	return string(out)
}

// tidying is what clean_up_tokenization_spaces replaces, in this order.
var tidying = [...][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
	{" 've", "'ve"}, {" 're", "'re"},
}

// tidied returns text without the spaces that the file wants taken out.
func (d *decoding) tidied(text string) string {
	if d.cleanUp {
		for _, t := range tidying {
			text = strings.ReplaceAll(text, t[0], t[1])
		}
	}
	return text
}

// settled returns the length of the beginning of a text whose tidying nothing that follows can change: it ends after a
// byte that is in none of what is replaced, so that no replacement reaches across.
func settled(text string) int {
	for at := len(text); at > 0; at-- {
		if strings.IndexByte(" .?!,'ntmsvre", text[at-1]) < 0 {
			return at
		}
	}
	return 0
}
