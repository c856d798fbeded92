package accuracy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// Indices of a catalogue sample's scores.
const (
	levelsCommon = iota
	levelsPredicted
	levelsTrue
	brandMatches
	secondhandPredicted
	secondhandTrue
	answerValid
)

func catalogue() *scorer {
	return &scorer{
		text: utf8Text, repeats: true,
		scores: []string{"common_levels", "predicted_levels", "true_levels", "brand", "secondhand_predicted",
			"secondhand_true", "valid"},
		worker: func(*Input) scoreFunc {
			return func(_ context.Context, s *sample, out *SampleScore) error {
				scoreProduct(s, out)
				return nil
			}
		},
		finish: catalogueMetrics,
		line: func(r *Result) string {
			m, _ := r.Metric("f1")
			return catalogueLine(m.Value)
		},
	}
}

// scoreProduct scores one answer. An invalid answer counts as a wrong path that is as deep as the truth. For such an
// answer the reference draws the boolean at random; this function leaves the boolean out.
func scoreProduct(s *sample, out *SampleScore) {
	out.Chars = codePoints(s.text)
	p, err := parseProduct(s.text)
	out.Scores[answerValid] = number01(err == nil)
	if err != nil {
		depth := strings.Count(s.ref.Target, levelSeparator) + 1
		p = catalogueProduct{Category: strings.TrimSuffix(strings.Repeat(padCategory+levelSeparator, depth), levelSeparator),
			Brand: padBrand}
	}
	out.Answer = shortened(p.Category)
	common, predicted, truth := pathLevels(p.Category, s.ref.Target)
	out.Scores[levelsCommon], out.Scores[levelsPredicted], out.Scores[levelsTrue] = float64(common), float64(predicted),
		float64(truth)
	if s.ref.Brand != "" || s.ref.Secondhand != "" {
		out.Scores[brandMatches] = number01(brandMatch(p.Brand, s.ref.Brand))
	}
	if want, known := truthWords[strings.ToLower(s.ref.Secondhand)]; known && err == nil {
		out.Scores[secondhandPredicted], out.Scores[secondhandTrue] = number01(p.Secondhand), number01(want)
	}
}

func number01(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func catalogueMetrics(t *tally) []Metric {
	var common, predicted, truth int
	var predictions, truths []bool
	invalid := 0
	for _, s := range t.scores {
		common += int(s.Scores[levelsCommon])
		predicted += int(s.Scores[levelsPredicted])
		truth += int(s.Scores[levelsTrue])
		if s.Scores[answerValid] == 0 {
			invalid++
		}
		if v := s.Scores[secondhandPredicted]; v == v {
			predictions, truths = append(predictions, v == 1), append(truths, s.Scores[secondhandTrue] == 1)
		}
	}
	out := []Metric{floatMetric("f1", hierarchicalF1(common, predicted, truth)), countMetric("invalid_answers", invalid)}
	if brand, n := t.mean(brandMatches); n > 0 {
		out = append(out, floatMetric("brand", brand))
	}
	if len(predictions) > 0 {
		m := floatMetric("is_secondhand", secondhandF1(predictions, truths))
		m.Note = "only of the valid answers; the reference draws a value at random for the others"
		out = append(out, m)
	}
	return out
}

// catalogueLine returns the JSON text that the checker reads, followed by its hash.
func catalogueLine(f1 float64) string {
	text := `{"f1": ` + pyrepr.Float(f1) + `}`
	return fmt.Sprintf("%s\n\nhash=%x", text, sha256.Sum256([]byte(text)))
}
