package report

import (
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Bins of the time axis (docs/reference/report.md#bins).
const (
	mostBins    = 240
	leastPerBin = 20 // below this number of requests, a bin's percentiles would be single requests
)

// sample is one request on the time axis. Its durations are computed on demand, because they would take as much memory
// as the log.
type sample struct {
	entry *ledger.Entry
	dueNS int64 // wall clock
}

// timeline divides the time of a run into bins of equal width.
type timeline struct {
	samples []sample
	zeroNS  int64 // wall clock of the log at the axis' zero
	endS    float64
	bins    int
	gaps    []float32 // Workload.GapS; nil: a run of LoadGen

	stalled bool // whether stalls have been searched
	found   []stall
}

// times are the durations of a request that charts show.
type times struct {
	ledger.Times
	Gap float64 // the longest gap between its tokens, in seconds
}

// times returns the durations of request i. Those of a workload begin when the request was sent, as in its record.
func (l *timeline) times(i int) times {
	s := &l.samples[i]
	if l.gaps == nil {
		return times{ledger.TimesOf(s.entry, s.dueNS), math.NaN()}
	}
	t := times{ledger.TimesOf(s.entry, s.entry.SentNS), float64(l.gaps[i])}
	t.DispatchLag, t.ReportLag = math.NaN(), math.NaN()
	if s.entry.SentNS != 0 {
		t.DispatchLag = float64(s.entry.SentNS-s.entry.IssuedNS) / 1e9
	}
	return t
}

func newTimeline(r *Run) *timeline {
	t := r.Requests
	l := &timeline{samples: make([]sample, len(t.Entries)), zeroNS: math.MaxInt64}
	if w := r.Workload; w != nil {
		l.gaps = w.GapS
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		l.samples[i] = sample{e, ledger.ScheduledNS(e, t.Schedule, t.T0NS, t.Origin)}
		l.zeroNS = min(l.zeroNS, l.samples[i].dueNS)
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		l.endS = max(l.endS, l.at(max(e.DoneNS, e.IssuedNS)))
	}
	l.bins = min(max(len(l.samples)/leastPerBin, 1), mostBins)
	return l
}

// EachRequest calls take with the requests of the log in their order: when each was due, and the durations from
// which the record's figures are computed.
func (r *Run) EachRequest(take func(e *ledger.Entry, dueNS int64, t ledger.Times)) {
	if r.Requests == nil {
		return
	}
	l := newTimeline(r)
	for i := range l.samples {
		take(l.samples[i].entry, l.samples[i].dueNS, l.times(i).Times)
	}
}

// WallClock returns the wall clock time of a time of the request log. A log of LoadGen counts from its first issue.
func (r *Run) WallClock(ns int64) time.Time {
	if r.Workload != nil || r.Requests == nil || len(r.Requests.Entries) == 0 {
		return time.Unix(0, ns)
	}
	zero := r.Record.FirstIssue
	if zero.IsZero() {
		zero = r.Record.Started
	}
	return zero.Add(time.Duration(ns - r.Requests.Entries[0].IssuedNS))
}

// at returns a wall clock time of the log on the axis.
func (l *timeline) at(ns int64) float64 { return float64(ns-l.zeroNS) / 1e9 }

func (l *timeline) width() float64 { return max(l.endS, 1e-9) / float64(l.bins) }

// bin returns the bin of a time.
func (l *timeline) bin(s float64) int { return min(max(int(s/l.width()), 0), l.bins-1) }

// middles returns the middle of each bin.
func (l *timeline) middles() []float64 {
	x := make([]float64, l.bins)
	for i := range x {
		x[i] = (float64(i) + 0.5) * l.width()
	}
	return x
}

// percentiles returns for each bin the percentiles of a duration of the requests that were due in it. NaN: no request
// has the duration.
func (l *timeline) percentiles(of func(*times) float64, ps ...float64) [][]float64 {
	values := make([][]float64, l.bins)
	for i := range l.samples {
		times := l.times(i)
		if v := of(&times); !math.IsNaN(v) {
			b := l.bin(l.at(l.samples[i].dueNS))
			values[b] = append(values[b], v)
		}
	}
	lines := make([][]float64, len(ps))
	for k := range ps {
		lines[k] = make([]float64, l.bins)
	}
	for b := range values {
		slices.Sort(values[b])
		for k, p := range ps {
			lines[k][b] = Percentile(values[b], p)
		}
	}
	return lines
}

// Percentile returns element trunc(n·p) of sorted values, as in the record; NaN without values.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

// rate returns for each bin the amount per second of events, each with a time and a weight.
func (l *timeline) rate(each func(add func(atS, weight float64))) []float64 {
	r := make([]float64, l.bins)
	each(func(at, weight float64) { r[l.bin(at)] += weight / l.width() })
	return r
}

// spread adds weight evenly over the bins from one time to another.
func (l *timeline) spread(r []float64, from, to, weight float64) {
	first, last := l.bin(from), l.bin(to)
	if first == last || to <= from {
		r[last] += weight / l.width()
		return
	}
	for b := first; b <= last; b++ {
		low, high := max(from, float64(b)*l.width()), min(to, float64(b+1)*l.width())
		r[b] += weight * max(high-low, 0) / (to - from) / l.width()
	}
}

// inFlight returns for each bin the highest number of requests that were issued and not ended.
func (l *timeline) inFlight() []float64 {
	begins, ends := make([]int64, 0, len(l.samples)), make([]int64, 0, len(l.samples))
	for i := range l.samples {
		e := l.samples[i].entry
		begins = append(begins, e.IssuedNS)
		if e.DoneNS != 0 {
			ends = append(ends, e.DoneNS)
		}
	}
	slices.Sort(begins)
	slices.Sort(ends)
	highest := make([]float64, l.bins)
	now, ended, bin := 0, 0, 0
	reach := func(b int) {
		for ; bin < b; bin++ { // a bin starts with the requests in flight from the one before
			highest[bin+1] = float64(now)
		}
	}
	end := func(to int64) {
		for ; ended < len(ends) && ends[ended] <= to; ended++ {
			reach(l.bin(l.at(ends[ended])))
			now--
		}
	}
	for _, at := range begins {
		end(at)
		reach(l.bin(l.at(at)))
		now++
		highest[bin] = max(highest[bin], float64(now))
	}
	end(math.MaxInt64)
	reach(l.bins - 1)
	return highest
}

// distribution returns, for each share of the requests, the value that this share does not exceed. The shares are
// denser in the tail.
func (l *timeline) distribution(of func(*times) float64) (values, shares []float64) {
	var sorted []float64
	for i := range l.samples {
		times := l.times(i)
		if v := of(&times); !math.IsNaN(v) {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	if len(sorted) == 0 {
		return nil, nil
	}
	for _, p := range distributionShares {
		values, shares = append(values, Percentile(sorted, p)), append(shares, 100*p)
	}
	return append(values, sorted[len(sorted)-1]), append(shares, 100)
}

// distributionShares are every half percent up to 99 %, then finer.
var distributionShares = func() (ps []float64) {
	for i := range 198 {
		ps = append(ps, float64(i)/200)
	}
	for p := 0.99; p < 0.9999; p += 0.0005 {
		ps = append(ps, p)
	}
	return ps
}()

// histogram counts values in bins of equal width over 0 to the largest.
func histogram(values []float64) (edges, counts []float64) {
	if len(values) == 0 {
		return nil, nil
	}
	const bars = 40
	high := slices.Max(values)
	step := max(high/bars, 1e-9)
	edges, counts = make([]float64, bars), make([]float64, bars)
	for i := range edges {
		edges[i] = (float64(i) + 0.5) * step
	}
	for _, v := range values {
		counts[min(int(v/step), bars-1)]++
	}
	return edges, counts
}
