package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// openTail returns the number of bytes at the end of b that may be the start of an incomplete character.
func openTail(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// validText returns b as text. Like Python's errors="replace", it replaces each invalid byte by U+FFFD, and each
// longest incomplete character by a single one.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			for n < len(b) && !utf8.FullRune(b[:n+1]) {
				n++
			}
		}
		out, b = utf8.AppendRune(out, r), b[n:]
	}
	return string(out)
}

// tidying lists the replacements of clean_up_tokenization_spaces, in order.
var tidying = [...][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
	{" 've", "'ve"}, {" 're", "'re"},
}

// tidied applies tidying to text if the tokenizer's configuration requires it.
func (d *decoding) tidied(text string) string {
	if d.cleanUp {
		for _, t := range tidying {
			text = strings.ReplaceAll(text, t[0], t[1])
		}
	}
	return text
}

// settled returns the length of the prefix of text whose tidying later text cannot change. The prefix ends after a byte
// that occurs in no replaced text, so that no replacement can cross its end.
func settled(text string) int {
	for at := len(text); at > 0; at-- {
		if strings.IndexByte(" .?!,'ntmsvre", text[at-1]) < 0 {
			return at
		}
	}
	return 0
}
