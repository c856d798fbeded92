package datasets

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nextPiece returns the length in bytes of the first piece that the Llama-3 pre-tokenizer cuts off text (spec/models.md §10.1):
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// The synthetic vocabulary follows it, so that a byte-level BPE tokenizer.json with this pattern gives the same ids.
func nextPiece(text string) int {
	if n := contraction(text); n > 0 {
		return n
	}
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsLetter(r):
		return run(text, 0, unicode.IsLetter)
	case unicode.IsNumber(r):
		return numbers(text)
	}
	if r != '\r' && r != '\n' {
		if next, _ := utf8.DecodeRuneInString(text[size:]); size < len(text) && unicode.IsLetter(next) {
			return run(text, size, unicode.IsLetter)
		}
	}
	start := 0
	if r == ' ' {
		start = 1
	}
	if end := run(text, start, isMark); end > start {
		return run(text, end, isBreak)
	}
	return spaces(text)
}

// run returns where the run of runes that begins at from ends.
func run(text string, from int, in func(rune) bool) int {
	for i, r := range text[from:] {
		if !in(r) {
			return from + i
		}
	}
	return len(text)
}

func isMark(r rune) bool  { return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
func isBreak(r rune) bool { return r == '\r' || r == '\n' }

func numbers(text string) int {
	n := 0
	for i, r := range text {
		if n == 3 || !unicode.IsNumber(r) {
			return i
		}
		n++
	}
	return len(text)
}

// spaces cuts a run of white space: up to its last line break, else all but the last, which goes with what follows.
func spaces(text string) int {
	end := run(text, 0, unicode.IsSpace)
	if at := strings.LastIndexAny(text[:end], "\r\n"); at >= 0 {
		return at + 1
	}
	if end < len(text) {
		if _, last := utf8.DecodeLastRuneInString(text[:end]); end > last {
			return end - last
		}
	}
	return end
}

// contraction returns the length of an English contraction's second half, or 0.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	for _, half := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
		rest, n := text[1:], 0
		for range len(half) {
			_, size := utf8.DecodeRuneInString(rest[n:])
			n += size
		}
		if strings.EqualFold(rest[:n], half) {
			return 1 + n
		}
	}
	return 0
}
