package accuracy

import (
	"regexp"
	"slices"
	"strings"
)

// Pieces of the mixture of OpenOrca, GSM8K and MBXP (docs/reference/scoring-rules.md#mixture).

var plainNumber = regexp.MustCompile(`-?[\p{Nd},]*\.?\p{Nd}+`)

// GSM8KNumber is the number that an answer gives: the first after the last "The answer is", or else the last of the
// text before another question begins. Commas are removed; without a number the result is empty.
func GSM8KNumber(text string) string {
	text, _, _ = strings.Cut(text, "\nQ:")
	const phrase = "The answer is"
	number := ""
	if at := strings.LastIndex(text, phrase); at >= 0 {
		number = plainNumber.FindString(text[at+len(phrase):])
	}
	if number == "" {
		if all := plainNumber.FindAllString(text, -1); all != nil {
			number = all[len(all)-1]
		}
	}
	return strings.ReplaceAll(number, ",", "")
}

// GSM8KCorrect compares a number with the data set's as floating point.
func GSM8KCorrect(number, truth string) bool {
	given, ok := pyFloatOf(number)
	want, known := pyFloatOf(truth)
	return ok && known && given == want
}

// codeLanguages are those whose MBXP answers are run.
var codeLanguages = []string{"cpp", "python", "php", "javascript", "ruby", "typescript"}

// MBXPSolution is the program in an answer: what stands before the first fence, with escaped underscores undone.
func MBXPSolution(language, response string) string {
	solution, _, _ := strings.Cut(response, fence)
	if language == "python" {
		solution = strings.TrimLeftFunc(solution, pySpace)
	}
	return strings.ReplaceAll(solution, `\_`, "_")
}

// mbxpStop are the tokens behind which a code answer ends.
var mbxpStop = []int32{13, 13940, 28832, 13}

// TrimMixtral is what the reference reports of an answer's tokens: without trailing end and padding tokens, and for
// MBXP cut behind the first stop sequence.
func TrimMixtral(subset string, ids []int32) []int32 {
	for len(ids) > 0 && (ids[len(ids)-1] == 2 || ids[len(ids)-1] == 0) {
		ids = ids[:len(ids)-1]
	}
	if subset != "MBXP" {
		return ids
	}
	for i := 0; i+len(mbxpStop) <= len(ids); i++ {
		if slices.Equal(ids[i:i+len(mbxpStop)], mbxpStop) {
			return ids[:i+len(mbxpStop)]
		}
	}
	return ids
}
