package accuracy

import (
	"regexp"
	"strings"
)

// Extractors of the endpoints client (docs/reference/scoring-rules.md#harmony-answers). Go's patterns consume the
// characters at Python's word boundaries and look-arounds, which makes no difference to the letter found.
const (
	wordStart  = `(?:^|[^\pL\pN_])`
	wordEnd    = `(?:$|[^\pL\pN_])`
	plainStart = `(?:^|[^A-Za-z0-9])`
	plainEnd   = `(?:$|[^A-Za-z0-9])`
	emphasis   = `(?:\*{1,2}|_{1,2})`
	blanks     = spaceClass + `*`
	dashes     = `[:\-–]`
)

// choicePatterns are tried in order; the first match decides.
var choicePatterns = compileAll(
	`(?i)`+emphasis+`Answer[s]?`+blanks+dashes+`?`+emphasis+blanks+`([ABCD])`+wordEnd,
	`(?im:^)`+blanks+emphasis+`?(?i:Answer:?)`+emphasis+`?`+blanks+`:?`+blanks+emphasis+`?(?i:([ABCD]))`,
	`(?i)`+wordStart+`Answer[s]?`+blanks+dashes+`?`+blanks+`\(`+blanks+`([ABCD])`+blanks+`\)`,
	`(?i)`+wordStart+`Answer[s]?(?:`+spaceClass+`+`+dashes+`?|`+dashes+`)`+blanks+`([ABCD])`+wordEnd,
	`(?i)`+wordStart+`(?:Option|Choice)(?:`+spaceClass+`+`+dashes+`?|`+dashes+`)`+blanks+`([ABCD])`+wordEnd,
	`\\boxed\{[^}]*?([ABCD])[^}]*\}`,
	plainStart+`[\(\[]`+blanks+`([ABCD])`+blanks+`[\)\]]`+plainEnd,
	plainStart+emphasis+`([ABCD])`+emphasis+plainEnd,
	`\\textbf\{[^}]*?([ABCD])[^}]*\}`,
	plainStart+emphasis+blanks+`([ABCD])\)[^*_\n]+?`+emphasis+plainEnd,
	`(?m)^`+blanks+emphasis+`?([ABCD])`,
)

func compileAll(patterns ...string) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		out[i] = regexp.MustCompile(p)
	}
	return out
}

// choiceKey is the client's abcd_extractor: it returns choice1 to choice4, or an empty string.
func choiceKey(text string) string {
	for _, p := range choicePatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return "choice" + string('1'+(fold([]rune(m[1])[0])-'a'))
		}
	}
	text = strings.TrimPrefix(text, "**")
	if text != "" {
		if c := text[0] | 0x20; c >= 'a' && c <= 'd' {
			return "choice" + string('1'+(c-'a'))
		}
	}
	return ""
}

var (
	boxedEither = regexp.MustCompile(`(?s)boxed\{(.*?)\}|framebox\{(.*?)\}`)
	integerRun  = regexp.MustCompile(`\p{Nd}+`)
)

// boxedValue is the client's boxed_math_extractor: the text after the last comma in the last box that is not empty, or
// without a box, the last integer of the text.
func boxedValue(text string) (string, bool) {
	boxes := boxedEither.FindAllStringSubmatch(text, -1)
	for i := len(boxes) - 1; i >= 0; i-- {
		for _, group := range boxes[i][1:] {
			if group != "" {
				return pyStrip(group[strings.LastIndexByte(group, ',')+1:]), true
			}
		}
	}
	if all := integerRun.FindAllString(text, -1); all != nil {
		return all[len(all)-1], true
	}
	return "", false
}

// codeBlock is the client's python_code_extractor: the last block marked as Python, else the last block.
func codeBlock(text string) (string, bool) { return lastBlock(pyStrip(text)) }
