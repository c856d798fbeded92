package compare

// intervalOfQuantile returns the interval of the change of a quantile. The values of both runs are in the order in
// which the requests were due; paired means that equal places are the same prompt at the same place of the
// schedule.
func intervalOfQuantile(a, b []float64, p, confidence float64, paired bool) (*Interval, error) {
	ea, eb := exceeds(a, p), exceeds(b, p)
	la, lb := blockLength(ea), blockLength(eb)
	if paired {
		la = blockLength(difference(ea, eb))
		lb = la
	}
	qa, err := newQuantile(a, p, la)
	if err != nil {
		return nil, err
	}
	qb, err := newQuantile(b, p, lb)
	if err != nil {
		return nil, err
	}
	return bootstrap(qa, qb, confidence, paired)
}

// flow is the output of a run over time: amounts and the seconds that they took.
type flow struct{ amounts, seconds []float64 }

// intervalOfRate returns the interval of the change of a rate.
func intervalOfRate(a, b flow, confidence float64, paired bool) (*Interval, error) {
	ra, rb := residuals(a.amounts, a.seconds), residuals(b.amounts, b.seconds)
	la, lb := blockLength(ra), blockLength(rb)
	if paired {
		la = blockLength(difference(ra, rb))
		lb = la
	}
	return bootstrap(newRatio(a.amounts, a.seconds, la), newRatio(b.amounts, b.seconds, lb), confidence, paired)
}

// difference is the series that determines the blocks of pairs. Common causes, such as long prompts, cancel each other.
func difference(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = b[i] - a[i]
	}
	return out
}
