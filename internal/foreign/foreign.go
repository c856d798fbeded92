package foreign

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// ellipsis marks the end of a text that was cut.
const ellipsis = "..."

// Line returns text as one line of valid UTF-8: at most most bytes, followed by "..." if it was cut.
func Line(text string, most int) string { return clean(text, most, "") }

// Lines is like Line for text of several lines: it keeps line feeds and tabs.
func Lines(text string, most int) string { return clean(text, most, "\n\t") }

func clean(text string, most int, kept string) string {
	most = max(most, 0)
	if len(text) <= most && harmless(text, kept) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // an invalid byte is U+FFFD here
		shown := show(r, kept)
		if b.Len()+len(shown) > most {
			return b.String() + ellipsis
		}
		b.WriteString(shown)
	}
	return b.String()
}

func harmless(text, kept string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !plain(r, kept) }) < 0
}

// plain reports whether a character is shown unchanged: a letter, mark, number, punctuation, symbol or blank.
func plain(r rune, kept string) bool { return unicode.IsGraphic(r) || strings.ContainsRune(kept, r) }

// show returns the text shown for a character: itself, or its escape.
func show(r rune, kept string) string {
	if plain(r, kept) {
		return string(r)
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return escape(high) + escape(low)
	}
	return escape(r)
}

func escape(r rune) string {
	const digits = "0123456789abcdef"
	return string([]byte{'\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15]})
}
