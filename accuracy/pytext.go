package accuracy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The references run in Python, whose classes of characters are wider than those of Go's regexp and differ from
// package unicode's in a few places. These are Python's.

// pySpace is str.isspace, which is also \s of a text pattern.
func pySpace(r rune) bool {
	return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f)
}

// IsSpace is Python's str.isspace of one character.
func IsSpace(r rune) bool { return pySpace(r) }

// Strip is Python's str.strip.
func Strip(s string) string { return pyStrip(s) }

// pyStrip is str.strip.
func pyStrip(s string) string { return strings.TrimFunc(s, pySpace) }

// pyRstrip is str.rstrip.
func pyRstrip(s string) string { return strings.TrimRightFunc(s, pySpace) }

// pyWord is \w of a text pattern: letters, numbers of every kind and the underscore, but no combining marks.
func pyWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isAlnum(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// pyDigit is \d of a text pattern.
func pyDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '0' && r <= '9'
	}
	return unicode.Is(unicode.Nd, r)
}

func pyUpperRune(r rune) bool {
	return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r)
}

func pyLowerRune(r rune) bool {
	return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r)
}

// pyLower is str.lower: the mapping of single characters, and the two that depend on more (dotted capital I, final
// sigma).
func pyLower(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || (c >= 'A' && c <= 'Z') {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range s {
		switch r {
		case 'İ':
			b.WriteString("i̇")
		case 'Σ':
			b.WriteRune(lowerSigma(s, i))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// lowerSigma gives the final form where a letter stands before and none after.
func lowerSigma(s string, at int) rune {
	before := strings.TrimRightFunc(s[:at], caseIgnorable)
	after := strings.TrimLeftFunc(s[at+len("Σ"):], caseIgnorable)
	r, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if before != "" && cased(r) && (after == "" || !cased(next)) {
		return 'ς'
	}
	return 'σ'
}

func cased(r rune) bool {
	return pyUpperRune(r) || pyLowerRune(r) || unicode.Is(unicode.Lt, r)
}

func caseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’", r)
}

func isAlnum(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// codePoints is len of a Python string.
func codePoints(s string) int { return utf8.RuneCountInString(s) }
