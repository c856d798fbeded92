package accuracy

import (
	"context"
	"fmt"
)

// rougeNames are the names of the ROUGE scores in printing order.
var rougeNames = []string{"rouge1", "rouge2", "rougeL", "rougeLsum"}

// rougeWorker scores the stripped texts with one sentence per line (docs/reference/scoring-rules.md#rouge).
func rougeWorker(in *Input) scoreFunc {
	r := newRouge(true)
	return func(_ context.Context, s *sample, out *SampleScore) error {
		text := in.Punkt.Joined(s.text)
		out.Chars = codePoints(text)
		scores := r.Score(in.Punkt.Joined(s.ref.Target), text)
		if r.Refused() {
			return fmt.Errorf("a sentence in it is too long (%d words in total): comparing it would take more than %d MiB; "+
				"this is not an answer to this benchmark", len(r.pred.ids), maxCells*2>>20)
		}
		for i, m := range []rougeScore{scores.Rouge1, scores.Rouge2, scores.RougeL, scores.RougeLsum} {
			out.Scores[i] = m.F * 100
		}
		return nil
	}
}

// rougeMetrics returns the rounded means of the ROUGE scores.
func rougeMetrics(t *tally, quote string) []Metric {
	var out []Metric
	for i, name := range rougeNames {
		mean, _ := t.mean(i)
		m := floatMetric(name, numpyRound4(mean))
		m.Text = quote + m.Text + quote
		out = append(out, m)
	}
	return out
}

// tokenMetrics returns the length metrics that most references print last.
func tokenMetrics(t *tally) []Metric {
	tokens := t.tokens()
	return []Metric{
		countMetric(sumOfLengths, t.chars()), countMetric("gen_num", t.answers), countMetric("gen_tok_len", tokens),
		floatMetric(tokensPerSample, pyRound(float64(tokens)/float64(max(t.answers, 1)), 1)),
	}
}

func summaries() *scorer {
	return &scorer{
		sentences: true, scores: rougeNames, worker: rougeWorker, line: dictLine,
		finish: func(t *tally) []Metric {
			return append(rougeMetrics(t, "'"), countMetric(sumOfLengths, t.chars()), countMetric("gen_num", t.answers))
		},
	}
}

func answers() *scorer {
	return &scorer{
		sentences: true, scores: rougeNames, worker: rougeWorker, line: dictLine,
		finish: func(t *tally) []Metric { return append(rougeMetrics(t, ""), tokenMetrics(t)...) },
	}
}

// longMetrics contains the metrics that samples of the long-context set ask for
// (docs/reference/scoring-rules.md#long-context).
var longMetrics = map[string]struct {
	score int // index in the sample's scores
	value func(r *rougeScorer, label, prediction string) float64
}{
	"rouge":   {0, func(r *rougeScorer, label, prediction string) float64 { return 100 * r.RougeL(label, prediction).F }},
	"niah_em": {1, func(_ *rougeScorer, label, prediction string) float64 { return needleMatch(label, prediction) }},
	"qa_em":   {1, func(_ *rougeScorer, label, prediction string) float64 { return answerContained(label, prediction) }},
}

func longContext() *scorer {
	names := []string{"rougeL", "exact_match"}
	return &scorer{
		sentences: true, scores: names, line: dictLine,
		worker: func(in *Input) scoreFunc {
			r := newRouge(true)
			return func(_ context.Context, s *sample, out *SampleScore) error {
				m, ok := longMetrics[s.ref.Metric]
				if !ok {
					return fmt.Errorf("its metric in the data set is %q, expected rouge, niah_em or qa_em", s.ref.Metric)
				}
				text := in.Punkt.Joined(s.text)
				out.Chars = codePoints(text)
				out.Scores[m.score] = m.value(r, in.Punkt.Joined(s.ref.Target), text)
				return nil
			}
		},
		finish: func(t *tally) []Metric { return append(longContextMeans(t.longScores()), tokenMetrics(t)...) },
	}
}

// longScore is one sample's value of the metric that the data set names.
type longScore struct {
	Metric string // rougeL or exact_match
	Value  float64
}

func (t *tally) longScores() []longScore {
	var out []longScore
	for _, s := range t.scores {
		for i, v := range s.Scores {
			if v == v {
				out = append(out, longScore{t.names[i], v})
			}
		}
	}
	return out
}

// longContextMeans returns the unrounded mean of each metric over the samples that have it, in order of first
// appearance.
func longContextMeans(scores []longScore) []Metric {
	var out []Metric
	var counts []int
	at := map[string]int{}
	for _, s := range scores {
		i, known := at[s.Metric]
		if !known {
			i = len(out)
			at[s.Metric] = i
			out, counts = append(out, Metric{Name: s.Metric}), append(counts, 0)
		}
		out[i].Value += s.Value
		counts[i]++
	}
	for i := range out {
		out[i] = floatMetric(out[i].Name, out[i].Value/float64(counts[i]))
	}
	return out
}
