package accuracy

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spaceClass is Python's \s inside a Go pattern.
const spaceClass = `[\s\v\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`

// Boxed is the content of the last \boxed{...} with balanced braces, stripped.
func Boxed(text string) (string, bool) {
	text = pyStrip(text)
	const open = `\boxed{`
	at := strings.LastIndex(text, open)
	if at < 0 {
		return "", false
	}
	start, depth := at+len(open), 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return pyStrip(text[start:i]), true
			}
			depth--
		}
	}
	return "", false
}

var boxedInteger = regexp.MustCompile(`\\boxed\{` + spaceClass + `*(\p{Nd}+)` + spaceClass + `*\}`)

// maxAIME is the largest answer of that contest.
const maxAIME = 999

// AIMEAnswer is the last boxed integer, or else the last one after "Answer:", when it lies from 0 to 999.
func AIMEAnswer(text string) (int, bool) {
	text = pyStrip(text)
	digits := ""
	if boxed := boxedInteger.FindAllStringSubmatch(text, -1); boxed != nil {
		digits = boxed[len(boxed)-1][1]
	} else if digits = lastAnswerInteger(text); digits == "" {
		return 0, false
	}
	n, ok := pyIntOf(digits)
	if !ok || n > maxAIME {
		return 0, false
	}
	return n, true
}

// lastAnswerInteger is the last run of digits after "Answer:" that neither a point nor a word goes on from.
func lastAnswerInteger(text string) string {
	digits := ""
	for at := range text {
		n := foldPrefix(text[at:], "answer")
		if n == 0 || !strings.HasPrefix(text[at+n:], ":") {
			continue
		}
		start := skipSpace(text, at+n+1)
		end := len(text) - len(strings.TrimLeftFunc(text[start:], pyDigit))
		if end > start && !strings.HasPrefix(text[end:], ".") && !wordAfter(text, end) {
			digits = text[start:end]
		}
	}
	return digits
}

// asciiDigits writes the decimal digits of every script as 0 to 9.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf || !pyDigit(r) {
			return r
		}
		// Decimal digits stand in runs of ten from zero on, and a range of the table is one or several such runs.
		for _, span := range unicode.Nd.R16 {
			if r >= rune(span.Lo) && r <= rune(span.Hi) {
				return '0' + (r-rune(span.Lo))%10
			}
		}
		for _, span := range unicode.Nd.R32 {
			if r >= rune(span.Lo) && r <= rune(span.Hi) {
				return '0' + (r-rune(span.Lo))%10
			}
		}
		return r
	}, s)
}

// pyFloatOf is float of a Python string.
func pyFloatOf(s string) (float64, bool) {
	s = asciiDigits(pyStrip(s))
	if strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") ||
		strings.Contains(s, "__") {
		return 0, false
	}
	plain := strings.ReplaceAll(s, "_", "")
	for i, c := range s {
		if c == '_' && (s[i-1] < '0' || s[i-1] > '9' || s[i+1] < '0' || s[i+1] > '9') {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil && f == 0 {
		return 0, false
	}
	return f, true
}

// pyIntOf is int of a Python string.
func pyIntOf(s string) (int, bool) {
	n, err := strconv.Atoi(asciiDigits(pyStrip(s)))
	return n, err == nil
}
