package accuracy

import (
	"context"
	"fmt"
)

// Names of the ROUGE scores, in the order in which they are printed.
var rougeNames = []string{"rouge1", "rouge2", "rougeL", "rougeLsum"}

// rougeWorker scores the stripped texts, one sentence a line (docs/reference/scoring-rules.md#rouge).
func rougeWorker(in *Input) scoreFunc {
	r := NewRouge(true)
	return func(_ context.Context, s *sample, out *SampleScore) error {
		text := in.Punkt.Joined(s.text)
		out.Chars = codePoints(text)
		scores := r.Score(in.Punkt.Joined(s.ref.Target), text)
		if r.Refused() {
			return fmt.Errorf("a sentence in it has so many words (%d in all) that comparing it would take more than %d MiB; "+
				"this is no answer to this benchmark", len(r.pred.ids), maxCells*2>>20)
		}
		for i, m := range []RougeScore{scores.Rouge1, scores.Rouge2, scores.RougeL, scores.RougeLsum} {
			out.Scores[i] = m.F * 100
		}
		return nil
	}
}

// rougeMetrics are the rounded means of the ROUGE scores.
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

// tokenMetrics are the counts that most references print last.
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

// longMetrics are the functions that a sample of the long-context set names
// (docs/reference/scoring-rules.md#long-context).
var longMetrics = map[string]struct {
	score int // place in the sample's scores
	value func(r *Rouge, label, prediction string) float64
}{
	"rouge":   {0, func(r *Rouge, label, prediction string) float64 { return 100 * r.RougeL(label, prediction).F }},
	"niah_em": {1, func(_ *Rouge, label, prediction string) float64 { return NeedleMatch(label, prediction) }},
	"qa_em":   {1, func(_ *Rouge, label, prediction string) float64 { return AnswerContained(label, prediction) }},
}

func longContext() *scorer {
	names := []string{"rougeL", "exact_match"}
	return &scorer{
		sentences: true, scores: names, line: dictLine,
		worker: func(in *Input) scoreFunc {
			r := NewRouge(true)
			return func(_ context.Context, s *sample, out *SampleScore) error {
				m, ok := longMetrics[s.ref.Metric]
				if !ok {
					return fmt.Errorf("its metric in the data set is %q, and only rouge, niah_em and qa_em are known", s.ref.Metric)
				}
				text := in.Punkt.Joined(s.text)
				out.Chars = codePoints(text)
				out.Scores[m.score] = m.value(r, in.Punkt.Joined(s.ref.Target), text)
				return nil
			}
		},
		finish: func(t *tally) []Metric { return append(LongContextMeans(t.longScores()), tokenMetrics(t)...) },
	}
}

// LongScore is one sample's value of the metric that its row of the data set names.
type LongScore struct {
	Metric string // rougeL or exact_match
	Value  float64
}

// ScoreLong scores one pair of texts by the metric that the data set names: rouge, niah_em or qa_em.
func ScoreLong(metric, label, prediction string) (LongScore, error) {
	m, ok := longMetrics[metric]
	if !ok {
		return LongScore{}, fmt.Errorf("the metric %q is not known; the data set's are rouge, niah_em and qa_em", metric)
	}
	return LongScore{[]string{"rougeL", "exact_match"}[m.score], m.value(NewRouge(true), label, prediction)}, nil
}

func (t *tally) longScores() []LongScore {
	var out []LongScore
	for _, s := range t.scores {
		for i, v := range s.Scores {
			if v == v {
				out = append(out, LongScore{t.names[i], v})
			}
		}
	}
	return out
}

// LongContextMeans is the mean of each metric over the samples that have it, in order of first appearance, unrounded.
func LongContextMeans(scores []LongScore) []Metric {
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
