package accuracy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Markers of harmony text.
const (
	finalChannel = "<|channel|>final"
	messageMark  = "<|message|>"
	returnMark   = "<|return|>"
)

var boldText = regexp.MustCompile(`\*\*([^*]+)\*\*`)

// finalSection returns the text of the first final channel, stripped, or the whole text if it has no final channel. It
// accepts the other text that models write between the channel's name and the message mark.
func finalSection(text string) string {
	text = pyStrip(text)
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, finalChannel)
		if !ok {
			return text
		}
		rest = after
		if mark := strings.IndexByte(after, '<'); mark >= 0 && strings.HasPrefix(after[mark:], messageMark) {
			section, _, _ := strings.Cut(after[mark+len(messageMark):], returnMark)
			return pyStrip(section)
		}
	}
}

// correctCount is the number of correct answers in a subset.
type correctCount struct{ Correct, Total int }

// harmonyTotal is the weighted score of the gpt-oss sets (docs/reference/scoring-rules.md#harmony-answers).
type harmonyTotal struct {
	Score   float64 // sum over correct answers, each divided by its set's repeats
	Max     float64 // sum over all answers, each divided by its set's repeats: the largest possible score
	Percent float64
	Plain   float64 // percentage of correct answers, without weights
}

// setRepeats is the number of times that each question of a set is asked. Questions of other sets are asked once.
var setRepeats = map[string]int{"aime25": 8, "gpqa_diamond": 5, "livecodebench_v6": 3}

// weightedScore adds up the counts of all sets, each divided by the set's repeats.
func weightedScore(sets map[string]correctCount) harmonyTotal {
	var t harmonyTotal
	var correct, total int
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		c, repeats := sets[name], float64(max(setRepeats[name], 1))
		t.Score += float64(c.Correct) / repeats
		t.Max += float64(c.Total) / repeats
		correct, total = correct+c.Correct, total+c.Total
	}
	if total > 0 {
		t.Percent = 100 * t.Score / t.Max
		t.Plain = float64(correct) / float64(total) * 100
	}
	return t
}

// text returns the percentage as the reference prints it.
func (t harmonyTotal) text() string { return fmt.Sprintf("%.3f", t.Percent) }
