package accuracy

import (
	"strings"
	"unicode/utf8"
)

// Multiple-choice answers. The references' patterns need Unicode word boundaries, so they are walked by hand.

// Options of multiple-choice questions: the last letter that may be chosen.
const (
	FourOptions byte = 'D'
	TenOptions  byte = 'J'
)

// Choice finds the letter that a text ends up choosing (docs/reference/scoring-rules.md#reasoning-sets), from A to the
// last option.
func Choice(text string, last byte) (string, bool) {
	text = choiceText(pyStrip(text))
	if c, ok := announced(text, last); ok {
		return c, true
	}
	if last == TenOptions {
		return lastSingle(text, last)
	}
	return "", false
}

// HarmonyChoice finds the letter in text with harmony markers: first in the final section
// (docs/reference/scoring-rules.md#harmony-answers).
func HarmonyChoice(text string, last byte) (string, bool) {
	text = pyStrip(text)
	if text == "" {
		return "", false
	}
	final := choiceText(boldText.ReplaceAllString(FinalSection(text), "$1"))
	if c, ok := leading(pyStrip(final), last); ok {
		return c, true
	}
	if c, ok := firstAnswer(final, last); ok {
		return c, true
	}
	if c, ok := announced(unescaped(text), last); ok {
		return c, true
	}
	if last == TenOptions {
		return lastSingle(final, last)
	}
	return "", false
}

// ChoiceCorrect compares a chosen letter with the data set's.
func ChoiceCorrect(choice, truth string, last byte) bool {
	return len(choice) == 1 && choice[0] >= 'A' && choice[0] <= last && choice == strings.ToUpper(truth)
}

// choiceText removes what a printed Python list leaves around a text.
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

// fold gives the lower-case ASCII letter that a character equals where case is ignored; 0: none.
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

// foldPrefix gives the length of a lower-case ASCII word at the start of text, case ignored; 0: it is not there.
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

// boundary tells whether a word begins or ends at a place.
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

// letterAt gives the option at a place and where it ends.
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

// announced is the last "ANSWER: X" or "FINAL ANSWER (X)".
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

// skipAny passes one of the characters if it is there.
func skipAny(text string, at int, chars string) int {
	if at < len(text) && strings.IndexByte(chars, text[at]) >= 0 {
		return at + 1
	}
	return at
}

// lastSingle is the last letter of the options that stands alone.
func lastSingle(text string, last byte) (string, bool) {
	choice, found := "", false
	for at := range text {
		if c, end, ok := letterAt(text, at, last); ok && !wordBefore(text, at) && !wordAfter(text, end) {
			choice, found = c, true
		}
	}
	return choice, found
}

// leading is the first letter of the text, where it is an option and stands alone.
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

// firstAnswer is the first "Answer: X"; colon, full stop and blanks may be missing.
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
