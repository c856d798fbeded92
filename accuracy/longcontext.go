package accuracy

import (
	"regexp"
	"strings"
)

var uuidForm = regexp.MustCompile(`[\pL\pN_]{8}-[\pL\pN_]{4}-[\pL\pN_]{4}-[\pL\pN_]{4}-[\pL\pN_]{12}`)

// needleMatch compares the ids in a prediction with those in the label, pair by pair. It returns the share of the label
// id's characters that occur anywhere in the predicted id, as a percentage of the predicted ids
// (docs/reference/scoring-rules.md#long-context).
func needleMatch(label, prediction string) float64 {
	want, got := uuidForm.FindAllString(label, -1), uuidForm.FindAllString(prediction, -1)
	if len(got) == 0 {
		return 0
	}
	sum := 0.0
	for i := 0; i < min(len(want), len(got)); i++ {
		found, n := 0, 0
		lower := pyLower(got[i])
		for _, c := range want[i] {
			n++
			if strings.Contains(lower, pyLower(string(c))) {
				found++
			}
		}
		sum += float64(found) / float64(n)
	}
	return pyRound(sum/float64(len(got))*100, 2)
}

// answerContained returns 100 if the answer is part of the label or one of the label's entries is part of the answer,
// and 0 otherwise.
func answerContained(label, prediction string) float64 {
	answer := prediction
	const mark = "Answer: "
	if at := strings.LastIndex(prediction, mark); at >= 0 {
		answer = prediction[at+len(mark):]
	}
	if strings.Contains(label, answer) {
		return 100
	}
	answer = squeezed(answer)
	for entry := range strings.SplitSeq(label, "|") {
		if strings.Contains(answer, squeezed(entry)) {
			return 100
		}
	}
	return 0
}

// squeezed returns a text in lower case without white space.
func squeezed(s string) string {
	return pyLower(strings.Map(func(r rune) rune {
		if pySpace(r) {
			return -1
		}
		return r
	}, s))
}
