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

// FinalSection is the text of the first final channel, stripped; the whole text where there is none. Whatever stands
// between the channel's name and the message mark is tolerated, as models write it.
func FinalSection(text string) string {
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

// Count is how many answers of a subset are right.
type Count struct{ Correct, Total int }

// HarmonyTotal is the weighted score of the gpt-oss sets (docs/reference/scoring-rules.md#harmony-answers).
type HarmonyTotal struct {
	Score   float64 // sum of correct answers, each over its set's repeats
	Max     float64 // the same for all answers
	Percent float64
	Plain   float64 // percentage of correct answers without weights
}

// setRepeats are how often a set's questions are asked; 1 for those not named.
var setRepeats = map[string]int{"aime25": 8, "gpqa_diamond": 5, "livecodebench_v6": 3}

// WeightedScore sums the sets up, those that are asked repeatedly by their repeats.
func WeightedScore(sets map[string]Count) HarmonyTotal {
	var t HarmonyTotal
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

// Line is the line that the checker reads.
func (t HarmonyTotal) Line() string { return fmt.Sprintf("'exact_match': %.3f", t.Percent) }
