package accuracy

import (
	"strings"
	"unicode/utf8"
)

// Multiple-choice answers. They are parsed by hand because the references' patterns need Unicode word boundaries.

// The last option of a multiple-choice question.
const (
	fourOptions byte = 'D'
	tenOptions  byte = 'J'
)

// finalChoice returns the letter, from A to last, that a text finally chooses
// (docs/reference/scoring-rules.md#reasoning-sets).
func finalChoice(text string, last byte) (string, bool) {
	text = choiceText(pyStrip(text))
	if c, ok := announced(text, last); ok {
		return c, true
	}
	if last == tenOptions {
		return lastSingle(text, last)
	}
	return "", false
}

// harmonyChoice returns the chosen letter in text with harmony markers; the final section takes precedence
// (docs/reference/scoring-rules.md#harmony-answers).
func harmonyChoice(text string, last byte) (string, bool) {
	text = pyStrip(text)
	if text == "" {
		return "", false
	}
	final := choiceText(boldText.ReplaceAllString(finalSection(text), "$1"))
	if c, ok := leading(pyStrip(final), last); ok {
		return c, true
	}
	if c, ok := firstAnswer(final, last); ok {
		return c, true
	}
	if c, ok := announced(unescaped(text), last); ok {
		return c, true
	}
	if last == tenOptions {
		return lastSingle(final, last)
	}
	return "", false
}

// choiceCorrect reports whether a chosen letter equals the data set's.
func choiceCorrect(choice, truth string, last byte) bool {
	return len(choice) == 1 && choice[0] >= 'A' && choice[0] <= last && choice == strings.ToUpper(truth)
}

// choiceText removes the remains of a printed Python list around a text.
func choiceText(text string) string {
	if n := len(text); (strings.HasPrefix(text, "['") || strings.HasPrefix(text, `["`)) &&
		(strings.HasSuffix(text, "']") || strings.HasSuffix(text, `"]`)) {
		text = pyStrip(text[2:max(n-2, 2)])
	}
	return unescaped(text)
}

func unescaped(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, `\n`, "\n"), `\'`, "'")
}

// fold returns the lower-case ASCII letter that equals r when case is ignored, or 0.
func fold(r rune) byte {
	switch {
	case r >= 'a' && r <= 'z':
		return byte(r)
	case r >= 'A' && r <= 'Z':
		return byte(r) + 'a' - 'A'
	case r == 'ı' || r == 'İ':
		return 'i'
	case r == 'ſ':
		return 's'
	case r == '\u212a':
		return 'k'
	}
	return 0
}

// foldPrefix returns the length of a lower-case ASCII word at the start of text, ignoring case, or 0.
func foldPrefix(text, word string) int {
	n := 0
	for i := 0; i < len(word); i++ {
		r, size := utf8.DecodeRuneInString(text[n:])
		if fold(r) != word[i] {
			return 0
		}
		n += size
	}
	return n
}

func skipSpace(text string, at int) int {
	return len(text) - len(strings.TrimLeftFunc(text[at:], pySpace))
}

// boundary reports whether a word begins or ends at a position.
func boundary(text string, at int) bool {
	return wordBefore(text, at) != wordAfter(text, at)
}

func wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return at > 0 && pyWord(r)
}

func wordAfter(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return at < len(text) && pyWord(r)
}

// letterAt returns the option at a position and its end.
func letterAt(text string, at int, last byte) (string, int, bool) {
	r, size := utf8.DecodeRuneInString(text[at:])
	c := fold(r)
	if c < 'a' || c > last+'a'-'A' {
		return "", 0, false
	}
	if r == 'İ' {
		return "İ", at + size, true
	}
	return string(c - 'a' + 'A'), at + size, true
}

// announced returns the letter of the last "ANSWER: X" or "FINAL ANSWER (X)".
func announced(text string, last byte) (string, bool) {
	choice, found := "", false
	for at := range text {
		if wordBefore(text, at) {
			continue
		}
		n := foldPrefix(text[at:], "answer")
		if n == 0 {
			if final := foldPrefix(text[at:], "final"); final > 0 {
				from := skipSpace(text, at+final)
				if n = foldPrefix(text[from:], "answer"); n > 0 {
					n += from - at
				}
			}
		}
		if n == 0 || wordAfter(text, at+n) {
			continue
		}
		at = skipSpace(text, at+n)
		at = skipSpace(text, skipAny(text, at, ":="))
		at = skipSpace(text, skipAny(text, at, "("))
		if c, end, ok := letterAt(text, at, last); ok {
			if r, _ := utf8.DecodeRuneInString(text[end:]); end == len(text) || fold(r) == 0 {
				choice, found = c, true
			}
		}
	}
	return choice, found
}

// skipAny skips one of the characters if it is there.
func skipAny(text string, at int, chars string) int {
	if at < len(text) && strings.IndexByte(chars, text[at]) >= 0 {
		return at + 1
	}
	return at
}

// lastSingle returns the last option that is a word by itself.
func lastSingle(text string, last byte) (string, bool) {
	choice, found := "", false
	for at := range text {
		if c, end, ok := letterAt(text, at, last); ok && !wordBefore(text, at) && !wordAfter(text, end) {
			choice, found = c, true
		}
	}
	return choice, found
}

// leading returns the first letter of the text if it is an option and a word by itself.
func leading(text string, last byte) (string, bool) {
	at := strings.IndexFunc(text, func(r rune) bool { return fold(r) != 0 })
	if at < 0 {
		return "", false
	}
	c, end, ok := letterAt(text, at, last)
	if r, _ := utf8.DecodeRuneInString(text[min(end, len(text)):]); !ok || (end < len(text) && fold(r) != 0) {
		return "", false
	}
	return c, true
}

// firstAnswer returns the letter of the first "Answer: X"; colon, full stop and white space are optional.
func firstAnswer(text string, last byte) (string, bool) {
	for at := range text {
		n := foldPrefix(text[at:], "answer")
		if n == 0 || wordBefore(text, at) {
			continue
		}
		next := skipSpace(text, skipAny(text, skipSpace(text, at+n), ":."))
		if c, end, ok := letterAt(text, next, last); ok && !wordAfter(text, end) {
			return c, true
		}
	}
	return "", false
}
