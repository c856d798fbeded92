package accuracy

import (
	"regexp"
	"strings"
)

// spaceClass is Python's \s inside a Go pattern.
const spaceClass = `[\s\v\x1c-\x1f\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`

// boxedAnswer returns the content of the last \boxed{...} with balanced braces, stripped.
func boxedAnswer(text string) (string, bool) {
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

// maxAIME is the largest answer in the contest.
const maxAIME = 999

// aimeAnswer returns the last boxed integer, or else the last one after "Answer:", if it is from 0 to 999.
func aimeAnswer(text string) (int, bool) {
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

// lastAnswerInteger returns the last run of digits after "Answer:" that is not followed by a point or a word.
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
