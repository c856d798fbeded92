package accuracy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
	"github.com/mlperf-go/mlperf-go/models"
)

// Metrics that several scorers have.
const (
	sumOfLengths    = "gen_len"           // code points of all processed answers
	tokensPerSample = "tokens_per_sample" // mean length in tokens
)

// textForm is how an answer's bytes become text.
type textForm int

const (
	plainText   textForm = iota // token ids without special tokens
	specialText                 // token ids with special tokens
	utf8Text                    // the bytes are the text
)

// sample is one answer and what it is compared with.
type sample struct {
	ref  *Reference
	text string
}

// scoreFunc scores one answer. It may keep tables between answers and belongs to one goroutine.
type scoreFunc func(ctx context.Context, s *sample, out *SampleScore) error

// scorer is one way of scoring, as data.
type scorer struct {
	text         textForm
	sentences    bool     // text is split into sentences
	repeats      bool     // every entry counts, also of a sample that was answered before
	countsAll    bool     // the number of answers includes those left out as duplicates
	damagedLogs  bool     // a log that is no whole array is read line by line
	dropsOutside bool     // entries beyond the data set are left out, not an error
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

// blank is a sample's list of scores before any is set.
func (sc *scorer) blank() []float64 {
	values := make([]float64, len(sc.scores))
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}

// tally is what the totals are made of.
type tally struct {
	scores  []SampleScore // in the log's order
	answers int           // number of answers as the reference counts them
	names   []string
	refs    []Reference
}

// mean is that of one score over the samples that have it, and their number.
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

// complete tells whether no sample stayed unscored.
func (t *tally) complete() bool {
	return !slices.ContainsFunc(t.scores, func(s SampleScore) bool { return s.Unscored != "" })
}

// has tells whether the data set has a sample of a kind.
func (t *tally) has(kind func(*Reference) bool) bool {
	for i := range t.refs {
		if kind(&t.refs[i]) {
			return true
		}
	}
	return false
}

func (t *tally) chars() (sum int) {
	for _, s := range t.scores {
		sum += s.Chars
	}
	return sum
}

func (t *tally) tokens() (sum int) {
	for _, s := range t.scores {
		sum += s.Tokens
	}
	return sum
}

func floatMetric(name string, v float64) Metric {
	return Metric{Name: name, Value: v, Text: pyrepr.Float(v)}
}

func countMetric(name string, n int) Metric {
	return Metric{Name: name, Value: float64(n), Text: fmt.Sprint(n)}
}

// dictLine prints metrics as Python prints a dict. The checker reads it
// (docs/reference/scoring-rules.md#printed-results).
func dictLine(r *Result) string {
	var parts []string
	for _, m := range r.Metrics {
		parts = append(parts, fmt.Sprintf("'%s': %s", m.Name, m.Text))
	}
	return "{" + strings.Join(parts, ", ") + "}\n"
}

// result sums up when every answer is scored.
func (p *pipeline) result(b *Benchmark) *Result {
	in := p.in
	t := &tally{scores: p.scores, answers: len(p.scores), names: p.sc.scores, refs: in.References}
	if p.sc.countsAll {
		t.answers = p.entries
	}
	r := &Result{
		Benchmark: b.Name, Scenario: string(in.Scenario), Scorer: b.Scorer, Log: in.Log, Tokenizer: in.Tokenizer,
		Source: b.Source, Notes: slices.Clone(b.Notes),
		Entries: p.entries, Samples: len(p.scores), Rehearsal: in.Rehearsal,
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
		note("%d answers were scored; a run for a submission has %d", r.Samples, whole)
	}
	if p.miscounted > 0 {
		note("%d answers have another number of tokens than the log's token_count says", p.miscounted)
	}
	if r.Fallbacks > 0 {
		note("%d answers were decided by the built-in stand-in for symbolic algebra, not by the reference's", r.Fallbacks)
	}
}

// subsets gives the mean of every score over each part of the data set, where there are parts.
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
	slices.SortFunc(out, func(a, b Subset) int { return strings.Compare(a.Name, b.Name) })
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
