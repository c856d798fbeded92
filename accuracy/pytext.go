package accuracy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// The references run in Python, whose character classes are wider than those of Go's regexp and differ from package
// unicode in a few places. The functions here implement Python's.

// pySpace is str.isspace, which is also \s in a pattern.
func pySpace(r rune) bool { return pyrepr.IsSpace(r) }

// pyStrip is str.strip.
func pyStrip(s string) string { return pyrepr.Strip(s) }

// pyRstrip is str.rstrip.
func pyRstrip(s string) string { return strings.TrimRightFunc(s, pySpace) }

// pyWord is \w in a pattern: letters, numbers of every kind and the underscore, but not combining marks.
func pyWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isAlnum(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// pyDigit is \d in a pattern.
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

// pyLower is str.lower: it maps single characters, except for the dotted capital I and the final sigma.
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

// lowerSigma returns the final form of sigma if a letter precedes it and no letter follows.
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
