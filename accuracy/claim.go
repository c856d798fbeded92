package accuracy

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// corpusTotals are totals over the whole data set. A rehearsal on a part of the set, or on a synthetic set, cannot
// reach them.
var corpusTotals = map[string]bool{sumOfLengths: true, tokensPerSample: true}

// Reached reports whether every target was reached and the score may be claimed. A rehearsal need not reach the totals
// of the whole data set.
func (r *Result) Reached(rehearsal bool) bool {
	if !rehearsal {
		return r.Pass != nil && *r.Pass
	}
	return len(r.Short(true)) == 0 && len(r.Unclaimed) == 0 && len(r.Unscored) == 0
}

// Word returns pass, FAIL, "-" for a metric without a target, or a note that it is not judged or that a rehearsal
// cannot reach it.
func (m Metric) Word(rehearsal bool) string {
	switch {
	case m.Pass == nil && (m.Min != 0 || m.Max != 0):
		return "not judged"
	case m.Pass == nil:
		return "-"
	case *m.Pass:
		return "pass"
	case rehearsal && corpusTotals[m.Name]:
		return "not judged in a rehearsal: a total of the whole data set"
	}
	return "FAIL"
}

// Short returns the metrics below their target, except for those that a rehearsal cannot reach.
func (r *Result) Short(rehearsal bool) []Metric {
	var short []Metric
	for _, m := range r.Metrics {
		if m.Pass != nil && !*m.Pass && !(rehearsal && corpusTotals[m.Name]) {
			short = append(short, m)
		}
	}
	return short
}

// doubts returns the reasons why the score must not be claimed whatever its value: the log is not that of one accuracy
// test of the whole data set. The reference scripts score such logs anyway.
func (p *pipeline) doubts(r *Result, whole int) []string {
	var out []string
	doubt := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	rows, rule := len(p.in.References), "left out, like in the reference"
	doubt(p.truncated, "the log is truncated; the answers before its end were scored")
	doubt(p.unreadable > 0, "%s unreadable (%s)",
		plural.Count(p.unreadable, "line of the log is", "lines of the log are"), rule)
	doubt(r.Missing > 0, "%d of the data set's %d samples %s no answer", r.Missing, rows,
		plural.Word(r.Missing, "has", "have"))
	doubt(p.outside > 0, "%s for samples beyond the data set's %d (%s); the log belongs to another data set",
		plural.Count(p.outside, "entry is", "entries are"), rows, rule)
	if p.sc.repeats {
		rule = "counted, like in the reference"
	}
	doubt(r.Duplicates > 0, "%s for a sample that was answered before (%s); an accuracy test asks each "+
		"sample once, so this is the log of another test or of several tests",
		plural.Count(r.Duplicates, "entry is", "entries are"), rule)
	doubt(r.Empty > 0, "%s failed",
		plural.Count(r.Empty, "answer is empty; its sample", "answers are empty; their samples"))
	credited := 0
	for _, s := range p.scores {
		if s.credit && !s.Empty {
			credited++
		}
	}
	doubt(credited > 0, "%s as correct, like in the reference, which finds an empty text in every text",
		plural.Count(credited, "answer is blank and counts", "answers are blank and count"))
	doubt(p.foreign > 0, "%s token ids outside of the model's vocabulary (sample %d: %d); the log is "+
		"another model's, or has tokens of another type (--dtype)", plural.Count(p.foreign, "answer has", "answers have"),
		p.firstForeign.qsl, p.firstForeign.id)
	doubt(!p.in.Rehearsal && whole > 0 && r.Samples != whole, "%s scored; a submission needs %d",
		plural.Count(r.Samples, "answer was", "answers were"), whole)
	return out
}

// foreignID is a token id outside of the model's vocabulary.
type foreignID struct {
	slot, qsl int
	id        int32
}

// foreignIn returns the first id outside of the vocabulary; a vocabulary of 0 is unknown.
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
