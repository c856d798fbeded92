package compare

import "slices"

// Requests are the requests of a workload's run in the order in which they were sent.
type Requests struct {
	Seq     []int // numbers of the requests in the profile
	EndNS   []int64
	OK      []bool
	Tokens  []float64            // of successful answers; 0 of others
	Latency map[string][]float64 // by metric, in seconds; NaN: the request has none
	StartNS int64                // time of the first sending
}

// workloadRow returns the row of a figure of two runs of a workload: a percentile of a latency, such as 0.99, or with
// the name OutputRate or RequestRate a rate. judgeAll fills in its interval.
func workloadRow(name string, p, base, other float64, a, b *Requests) *Row {
	row := &Row{Name: name, Base: &base, Other: &other}
	paired := len(a.Seq) == len(b.Seq)
	for i := range a.Seq {
		paired = paired && a.Seq[i] == b.Seq[i]
	}
	switch la, lb := a.Latency[name], b.Latency[name]; {
	case name == OutputRate || name == RequestRate:
		row.higher = true
		row.interval = func(confidence float64) (*Interval, error) {
			return intervalOfRate(a.flow(name), b.flow(name), confidence, paired)
		}
	case len(la) > 0 && len(lb) > 0:
		row.interval = func(confidence float64) (*Interval, error) {
			return intervalOfQuantile(la, lb, p, confidence, paired)
		}
	default:
		row.Why = "each request has several values of it, and an interval needs one"
	}
	return row
}

// Rates of a workload's run.
const (
	RequestRate = "requests/s"
	OutputRate  = "output tokens/s"
)

// newGate returns a gate that nothing has failed yet.
func newGate(threshold float64) *Gate {
	return &Gate{Passed: true, Threshold: threshold, Failures: []string{}}
}

// addWorkload adds a pair of runs of a workload, which is not ranked for the reasons in why. It passes if it is
// ranked, at least one row has an interval, and no row certainly got worse by more than the threshold.
func (g *Gate) addWorkload(name string, why []string, rows []*Row) {
	fail := func(text string) { g.Passed, g.Failures = false, append(g.Failures, name+": "+text) }
	for _, w := range why {
		fail("not ranked: " + w)
	}
	if len(why) > 0 {
		return
	}
	if !slices.ContainsFunc(rows, func(row *Row) bool { return row.Interval != nil }) {
		fail("nothing can be judged: no figure has an interval")
	}
	for _, row := range rows {
		if text := row.failure(g.Threshold); text != "" {
			fail(text)
		}
	}
}

// flow returns the output of a run over time. The seconds of a request are those by which it delayed the end of the run
// so far.
func (r *Requests) flow(rate string) flow {
	f := flow{make([]float64, len(r.Seq)), make([]float64, len(r.Seq))}
	last := r.StartNS
	for i, end := range r.EndNS {
		switch {
		case rate == OutputRate:
			f.amounts[i] = r.Tokens[i]
		case r.OK[i]:
			f.amounts[i] = 1
		}
		if end > last {
			f.seconds[i], last = float64(end-last)/1e9, end
		}
	}
	return f
}
