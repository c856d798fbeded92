package accuracy

import (
	"regexp"
	"strings"
)

// Parts of the mixture of OpenOrca, GSM8K and MBXP (docs/reference/scoring-rules.md#mixture).

var plainNumber = regexp.MustCompile(`-?[\p{Nd},]*\.?\p{Nd}+`)

// gsm8kNumber returns the number in an answer: the first after the last "The answer is", or else the last one before
// another question begins. It removes commas. The result is empty if there is no number.
func gsm8kNumber(text string) string {
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

// gsm8kCorrect compares a number with the data set's as floating point.
func gsm8kCorrect(number, truth string) bool {
	given, ok := pyFloatOf(number)
	want, known := pyFloatOf(truth)
	return ok && known && given == want
}

// codeLanguages are the languages whose MBXP answers are run.
var codeLanguages = []string{"cpp", "python", "php", "javascript", "ruby", "typescript"}

// mbxpSolution returns the program in an answer: the text before the first fence, with escaped underscores restored.
func mbxpSolution(language, response string) string {
	solution, _, _ := strings.Cut(response, fence)
	if language == "python" {
		solution = strings.TrimLeftFunc(solution, pySpace)
	}
	return strings.ReplaceAll(solution, `\_`, "_")
}
