package accuracy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
	"github.com/mlperf-go/mlperf-go/models"
)

// Names of metrics that several scorers use.
const (
	sumOfLengths    = "gen_len"           // code points in all processed answers
	tokensPerSample = "tokens_per_sample" // mean length in tokens
)

// textForm selects how an answer's bytes are converted to text.
type textForm int

const (
	plainText   textForm = iota // token ids without special tokens
	specialText                 // token ids with special tokens
	utf8Text                    // the bytes are UTF-8 text
)

// sample is one answer and its reference.
type sample struct {
	ref  *Reference
	text string
}

// scoreFunc scores one answer. It may keep state between answers and is used by one goroutine.
type scoreFunc func(ctx context.Context, s *sample, out *SampleScore) error

// scorer describes one way of scoring.
type scorer struct {
	text         textForm
	sentences    bool     // texts are split into sentences
	repeats      bool     // every entry counts, even if its sample was answered before
	countsAll    bool     // the number of answers includes duplicates that were left out
	damagedLogs  bool     // a log that is not a complete array is read line by line
	dropsOutside bool     // entries beyond the data set are ignored instead of being an error
	scores       []string // names of a sample's scores
	worker       func(in *Input) scoreFunc
	finish       func(t *tally) []Metric
	line         func(r *Result) string
}

var scorers map[string]*scorer

func init() {
	scorers = map[string]*scorer{
		models.ScoreSummaries:     summaries(),
		models.ScoreAnswers:       answers(),
		models.ScoreLongContext:   longContext(),
		models.ScoreMixture:       mixture(),
		models.ScoreReasoning:     reasoning(),
		models.ScoreHarmony:       harmony(),
		models.ScoreCatalogue:     catalogue(),
		models.ScoreFunctionCalls: functionCalls(),
	}
}

// blank returns a sample's list of scores before any is set.
func (sc *scorer) blank() []float64 {
	values := make([]float64, len(sc.scores))
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// tally contains the scores from which the totals are computed.
type tally struct {
	scores  []SampleScore // in log order
	answers int           // number of answers by the reference's count
	names   []string
	refs    []Reference
}

// mean returns the mean of one score over the samples that have it, and their number.
func (t *tally) mean(score int) (float64, int) {
	sum, n := 0.0, 0
	for _, s := range t.scores {
		if v := s.Scores[score]; !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return sum / float64(n), n
}

// complete reports whether every sample has a score.
func (t *tally) complete() bool {
	return !slices.ContainsFunc(t.scores, func(s SampleScore) bool { return s.Unscored != "" })
}

// sum adds up a count over all samples.
func (t *tally) sum(of func(s *SampleScore) int) (total int) {
	for i := range t.scores {
		total += of(&t.scores[i])
	}
	return total
}

func (t *tally) chars() int { return t.sum(func(s *SampleScore) int { return s.Chars }) }

func (t *tally) tokens() int { return t.sum(func(s *SampleScore) int { return s.Tokens }) }

func floatMetric(name string, v float64) Metric {
	return Metric{Name: name, Value: v, Text: pyrepr.Float(v)}
}

func countMetric(name string, n int) Metric {
	return Metric{Name: name, Value: float64(n), Text: fmt.Sprint(n)}
}

// dictLine formats metrics like Python prints a dict, for the checker
// (docs/reference/scoring-rules.md#printed-results).
func dictLine(r *Result) string {
	var parts []string
	for _, m := range r.Metrics {
		parts = append(parts, fmt.Sprintf("'%s': %s", m.Name, m.Text))
	}
	return "{" + strings.Join(parts, ", ") + "}\n"
}

// result summarizes the scores of all answers.
func (p *pipeline) result(b *Benchmark) *Result {
	in := p.in
	t := &tally{scores: p.scores, answers: len(p.scores), names: p.sc.scores, refs: in.References}
	if p.sc.countsAll {
		t.answers = p.entries
	}
	r := &Result{
		Benchmark: b.Name, Scenario: string(in.Scenario), Scorer: b.Scorer, Log: in.Log, Tokenizer: in.Tokenizer,
		Source: b.Source, Notes: slices.Clone(b.Notes),
		Entries: p.entries, Samples: len(p.scores), Rehearsal: in.Rehearsal, NotJudged: in.NotJudged,
		Metrics: p.sc.finish(t), Subsets: t.subsets(), Unscored: t.unscored(), ScoreNames: p.sc.scores, line: p.sc.line,
	}
	answered := map[int]bool{}
	for _, s := range p.scores {
		answered[s.Index] = true
		if s.Fallback {
			r.Fallbacks++
		}
		if s.Empty {
			r.Empty++
		}
	}
	r.Missing, r.Duplicates = len(in.References)-len(answered), p.entries-p.outside-len(answered)
	whole := b.wholeSet(in.Scenario)
	r.Unclaimed = p.doubts(r, whole)
	r.judge(b.TargetsFor(in.Scenario), whole)
	r.addNotes(p, whole)
	if in.PerSample {
		r.PerSample = p.scores
	}
	return r
}

func (r *Result) addNotes(p *pipeline, whole int) {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	if p.in.Rehearsal && r.Samples != whole {
		note("%s scored; a submission needs %d", plural.Count(r.Samples, "answer was", "answers were"), whole)
	}
	if p.miscounted > 0 {
		note("%s in length from the log's token_count",
			plural.Count(p.miscounted, "answer differs", "answers differ"))
	}
	if r.Fallbacks > 0 {
		note("%s compared by the built-in algebra, not by the reference's",
			plural.Count(r.Fallbacks, "answer was", "answers were"))
	}
}

// subsets returns the mean of every score over each part of the data set, if there are parts.
func (t *tally) subsets() []Subset {
	type sums struct {
		Subset
		sum []float64
		n   []int
	}
	by := map[string]*sums{}
	for _, s := range t.scores {
		g := by[s.Subset]
		if g == nil {
			g = &sums{Subset: Subset{Name: s.Subset, Means: map[string]float64{}}, sum: make([]float64, len(t.names)),
				n: make([]int, len(t.names))}
			by[s.Subset] = g
		}
		g.Samples++
		if s.Unscored != "" {
			g.Unscored++
		}
		for i, v := range s.Scores {
			if !math.IsNaN(v) {
				g.sum[i] += v
				g.n[i]++
			}
		}
	}
	var out []Subset
	for _, g := range by {
		for i, n := range g.n {
			if n > 0 {
				g.Means[t.names[i]] = g.sum[i] / float64(n)
			}
		}
		out = append(out, g.Subset)
	}
	ordering.Sort(out, func(a, b Subset) int { return strings.Compare(a.Name, b.Name) })
	if len(out) == 1 && out[0].Name == "" {
		return nil
	}
	return out
}

func (t *tally) unscored() []Unscored {
	var out []Unscored
	for _, s := range t.scores {
		if s.Unscored == "" {
			continue
		}
		i := slices.IndexFunc(out, func(u Unscored) bool { return u.Subset == s.Subset && u.Why == s.Unscored })
		if i < 0 {
			i = len(out)
			out = append(out, Unscored{Subset: s.Subset, Why: s.Unscored})
		}
		out[i].Samples++
	}
	return out
}
