package compare

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// tail is a percentile of a latency.
type tail struct {
	measure string
	p       float64 // 0.99
}

// measure is a latency with LoadGen's keys of its percentiles.
type measure struct {
	name  string
	key   string // format of a percentile such as 99.00
	unit  string
	scale float64 // units per second
	of    func(*ledger.Times) float64
}

var measures = []measure{
	{"TTFT", "result_first_token_%.2f_percentile_latency_ns", "ms", 1e3, func(t *ledger.Times) float64 { return t.TTFT }},
	{"TPOT", "result_time_per_output_token_%.2f_percentile_ns", "ms/token", 1e3,
		func(t *ledger.Times) float64 { return t.TPOT }},
	{"request time", "result_%.2f_percentile_latency_ns", "s", 1, func(t *ledger.Times) float64 { return t.E2E }},
}

// loadgenPercentiles are the percentiles that LoadGen writes.
var loadgenPercentiles = []float64{0.5, 0.9, 0.95, 0.97, 0.99, 0.999}

// DefaultPercentiles are compared unless the settings name others.
var DefaultPercentiles = []float64{50, 99}

// values returns a measure of each request in the order in which the requests were due; NaN: the request has no value.
func (m *measure) values(t *ledger.Test) []float64 {
	values := make([]float64, len(t.Entries))
	for i := range t.Entries {
		e := &t.Entries[i]
		times := ledger.TimesOf(e, ledger.ScheduledNS(e, t.Schedule, t.T0NS, t.Origin))
		values[i] = m.of(&times)
	}
	return values
}

// Percentile returns a percentile of the requests, such as 99.9, or that of the record; nil: unknown.
func (r *Result) percentile(m *measure, p float64) *float64 {
	if r.requests != nil {
		if sorted := present(m.values(r.requests)); len(sorted) > 0 {
			return &sorted[index(len(sorted), p)]
		}
	}
	if v, ok := r.tails[tail{m.name, p}]; ok {
		return &v
	}
	return nil
}

// sameRequests reports whether both runs sent the same samples in the same order.
func sameRequests(a, b *ledger.Test) bool {
	return len(a.Entries) == len(b.Entries) && commonRequests(a, b) == len(a.Entries)
}

// commonRequests returns how many requests at the beginning of both runs are the same samples.
func commonRequests(a, b *ledger.Test) int {
	n := min(len(a.Entries), len(b.Entries))
	for i := range n {
		if a.Entries[i].Index != b.Entries[i].Index || a.Entries[i].Seq != b.Entries[i].Seq {
			return i
		}
	}
	return n
}

// amount returns the number of an answer's tokens, or 1.
func amount(e *ledger.Entry, tokens bool) float64 {
	switch {
	case !e.Succeeded():
		return 0
	case tokens:
		return float64(e.OutputTokens)
	}
	return 1
}

// inOrder returns the flow of the first n requests in the order of the schedule. The seconds of a request are those by
// which it delayed the end of the run so far, so that their sum is the duration of the run.
func inOrder(t *ledger.Test, n int, tokens bool) flow {
	f := flow{make([]float64, n), make([]float64, n)}
	if n == 0 {
		return f
	}
	last := t.Entries[0].IssuedNS
	for i := range n {
		e := &t.Entries[i]
		f.amounts[i] = amount(e, tokens)
		if e.DoneNS > last {
			f.seconds[i], last = float64(e.DoneNS-last)/1e9, e.DoneNS
		}
	}
	return f
}

// mostPieces bounds the pieces into which the time of a run is divided for the interval of its rate.
const mostPieces = 2000

// inPieces returns the flow of a run whose requests are all due at its start: the answers of equal pieces of its
// time.
func inPieces(t *ledger.Test, tokens bool) flow {
	first, last, done := int64(math.MaxInt64), int64(0), 0
	for i := range t.Entries {
		first = min(first, t.Entries[i].IssuedNS)
		if e := &t.Entries[i]; e.Succeeded() {
			last, done = max(last, e.DoneNS), done+1
		}
	}
	pieces := min(done/5, mostPieces)
	if pieces < 1 || last <= first {
		return flow{}
	}
	f := flow{make([]float64, pieces), make([]float64, pieces)}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Succeeded() {
			at := float64(e.DoneNS-first) / float64(last-first) * float64(pieces)
			f.amounts[min(int(at), pieces-1)] += amount(e, tokens)
		}
	}
	for i := range f.seconds {
		f.seconds[i] = float64(last-first) / 1e9 / float64(pieces)
	}
	return f
}

// rateInterval returns the interval of the change of a rate. In Server the schedule determines a part of the rate,
// which is not noise because the seeds are fixed. Equal requests of both runs are therefore drawn together.
func rateInterval(a, b *Result, tokens bool, confidence float64) (*Interval, error) {
	if a.Scenario == "Offline" {
		return intervalOfRate(inPieces(a.requests, tokens), inPieces(b.requests, tokens), confidence, false)
	}
	na, nb := len(a.requests.Entries), len(b.requests.Entries)
	common := commonRequests(a.requests, b.requests)
	paired := 2*common >= min(na, nb)
	if paired {
		na, nb = common, common
	}
	return intervalOfRate(inOrder(a.requests, na, tokens), inOrder(b.requests, nb, tokens), confidence, paired)
}

// percentName returns a percentile's name, such as p99.9.
func percentName(p float64) string { return fmt.Sprintf("p%g", math.Round(p*1e6)/1e4) }
