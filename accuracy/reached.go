package accuracy

// corpusTotals belong to the whole data set: a rehearsal on a part of it, or on a synthetic one, can not reach them.
var corpusTotals = map[string]bool{sumOfLengths: true, "tokens_per_sample": true}

// Reached tells whether every target was reached and every answer scored; for a rehearsal the targets of the whole data set do not count.
func (r *Result) Reached(rehearsal bool) bool {
	if !rehearsal {
		return r.Pass != nil && *r.Pass
	}
	return len(r.Short(true)) == 0 && r.Missing == 0 && len(r.Unscored) == 0
}

// Word says whether a metric's target was reached: pass, FAIL, that there is none, or that a rehearsal is not held to it.
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
