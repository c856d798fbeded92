package accuracy

import "fmt"

// corpusTotals belong to the whole data set: a rehearsal on a part of it, or on a synthetic one, can not reach them.
var corpusTotals = map[string]bool{sumOfLengths: true, tokensPerSample: true}

// Reached tells whether every target was reached and the score may be claimed; a rehearsal is not held to the targets
// of the whole data set.
func (r *Result) Reached(rehearsal bool) bool {
	if !rehearsal {
		return r.Pass != nil && *r.Pass
	}
	return len(r.Short(true)) == 0 && len(r.Unclaimed) == 0 && len(r.Unscored) == 0
}

// Word says whether a metric's target was reached: pass, FAIL, that there is none, or that a rehearsal is not held to
// it.
func (m Metric) Word(rehearsal bool) string {
	switch {
	case m.Pass == nil:
		return "-"
	case *m.Pass:
		return "pass"
	case rehearsal && corpusTotals[m.Name]:
		return "not judged: a total of the whole data set, and this is a rehearsal"
	}
	return "FAIL"
}

// Short are the metrics whose target was not reached, without those that a rehearsal can not reach.
func (r *Result) Short(rehearsal bool) []Metric {
	var short []Metric
	for _, m := range r.Metrics {
		if m.Pass != nil && !*m.Pass && !(rehearsal && corpusTotals[m.Name]) {
			short = append(short, m)
		}
	}
	return short
}

// doubts say why the score is none that may be claimed, whatever its figures: the log is not what one accuracy test of
// the benchmark's whole data set leaves. The reference scripts score such logs all the same.
func (p *pipeline) doubts(r *Result, whole int) []string {
	var out []string
	doubt := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	rows, rule := len(p.in.References), "were left out, as the reference does"
	doubt(p.truncated, "the log has no end: it was cut off, and what came before is scored")
	doubt(p.unreadable > 0, "%d lines of the log can not be read and %s", p.unreadable, rule)
	doubt(r.Missing > 0, "%d of the data set's %d samples have no answer", r.Missing, rows)
	doubt(p.outside > 0, "%d entries answer samples beyond the data set's %d and %s; the log belongs to another data set",
		p.outside, rows, rule)
	if p.sc.repeats {
		rule = "count, as in the reference"
	}
	doubt(r.Duplicates > 0, "%d entries answer a sample that was answered before and %s; an accuracy test asks each "+
		"sample once, so this is the log of another test, or of several", r.Duplicates, rule)
	doubt(r.Empty > 0, "%d answers are empty: those samples failed", r.Empty)
	credited := 0
	for _, s := range p.scores {
		if s.credit && !s.Empty {
			credited++
		}
	}
	doubt(credited > 0, "%d answers are blank and count as right, as in the reference, which finds nothing inside every "+
		"text", credited)
	doubt(p.foreign > 0, "%d answers have token ids that the model does not have (sample %d: %d); the log is another "+
		"model's, or has tokens of another type (--dtype)", p.foreign, p.firstForeign.qsl, p.firstForeign.id)
	doubt(!p.in.Rehearsal && whole > 0 && r.Samples != whole, "%d answers were scored; a run for a submission has %d",
		r.Samples, whole)
	return out
}

// foreignID is a token id beyond the model's vocabulary.
type foreignID struct {
	slot, qsl int
	id        int32
}

// foreignIn finds the first id that the model does not have; a vocabulary of 0 is not known.
func foreignIn(ids []int32, vocabulary int) (int32, bool) {
	if vocabulary > 0 {
		for _, id := range ids {
			if id < 0 || int(id) >= vocabulary {
				return id, true
			}
		}
	}
	return 0, false
}
