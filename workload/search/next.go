package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// Settings of a search.
const (
	growth       = 2.0 // from one load to the next, while no load misses a limit
	mostMeasured = 3   // measurements of one load whose counts stay unclear; then the share of its requests decides
	mostBroken   = 3   // measurements in a row that were spoiled by neither the load nor the client
	mostSlow     = 2   // measurements of one load for which the client was too slow
	mostConfirms = 4
	stretch      = 10 // factor of Terms.Probe: the longest measurement
	margin       = 3  // factor of the fewest requests that can show that a limit is met
)

// Step is the next measurement.
type Step struct {
	Load    float64
	Confirm bool
	Length  time.Duration
}

// level is all measurements of one load.
type level struct {
	load     float64
	times    int // measured, apart from slow
	slow     int // measurements for which the client was too slow, whose counts are left out
	requests int64
	missed   []int64 // by limit
	failed   bool    // a confirmation of the load failed
}

// levels returns the loads that were measured, in ascending order.
func (s *State) levels() (list []level) {
	for _, p := range s.Probes {
		if p.Broken {
			continue
		}
		i := slices.IndexFunc(list, func(l level) bool { return l.load == p.Load })
		if i < 0 {
			i, list = len(list), append(list, level{load: p.Load, missed: make([]int64, len(s.Limits))})
		}
		l := &list[i]
		l.failed = l.failed || p.Confirm && !p.Met && !p.Client
		if p.Client {
			l.slow++
			continue
		}
		l.times++
		l.requests += p.Requests
		for k := range l.missed {
			l.missed[k] += p.Missed[k]
		}
	}
	ordering.Sort(list, func(a, b level) int { return cmp.Compare(a.load, b.load) })
	return list
}

// decision returns what all measurements of a load show together. A load for which the client was too slow counts as
// one that misses the limits. Then client is true, unless the requests show that the server misses one.
func (l *level) decision(limits []measure.Limit, confidence float64) (d Decision, client bool) {
	if l.failed {
		return Misses, false
	}
	if d = l.counts(limits, confidence); d != Misses && l.slow >= mostSlow {
		return Misses, true
	}
	return d, false
}

// counts returns what the requests of a load show.
func (l *level) counts(limits []measure.Limit, confidence float64) Decision {
	all, share := Meets, true
	for k, limit := range limits {
		d := decide(limit, l.requests, l.missed[k], confidence)
		if d == Misses {
			return Misses
		}
		if d == Unclear {
			all = Unclear
		}
		share = share && float64(l.missed[k]) <= allowed(limit)*float64(l.requests)
	}
	if all == Unclear && l.times >= mostMeasured {
		if share && l.requests > 0 {
			return Meets
		}
		return Misses
	}
	return all
}

// bracket is what the measurements show of the highest load.
type bracket struct {
	low, high float64 // the highest load that meets the limits, and the lowest above it that misses one; 0: none
	client    bool    // the client was too slow at high
	again     float64 // a load to measure once more, because its counts are unclear or contradict others; 0: none
}

// bracket finds the loads between which the result lies. If a load misses a limit that a higher load meets, the lower
// one is measured again before it counts.
func (s *State) bracket() (b bracket) {
	list := s.levels()
	for i := range list {
		l := &list[i]
		switch d, client := l.decision(s.Limits, s.Terms.Confidence); {
		case d == Unclear:
			b.again = cmp.Or(b.again, l.load)
		case d == Meets && b.high == 0:
			b.low = l.load
		case d == Misses && b.high == 0:
			b.high, b.client = l.load, client
		case d == Meets && b.again == 0 && !l.failed:
			if at := slices.IndexFunc(list, func(x level) bool { return x.load == b.high }); list[at].times < mostMeasured &&
				list[at].slow < mostSlow && !list[at].failed {
				b.again = b.high
			}
		}
	}
	return b
}

// Next returns the next measurement. done is how the search ended; nil: it goes on.
func (s *State) Next() (step Step, done *Result) {
	if n := s.broken(); n >= mostBroken {
		p := &s.Probes[len(s.Probes)-1]
		return step, s.result(0, fmt.Sprintf("%d measurements in a row were spoiled: %s", n, p.Reasons[0].Text))
	}
	b := s.bracket()
	load := b.again
	switch {
	case load > 0:
	case len(s.levels()) == 0:
		load = s.Terms.From
	case b.high == 0 && b.low >= s.Terms.To:
		return s.confirm(b)
	case b.high == 0:
		load = min(b.low*growth, s.Terms.To)
	case b.low == 0 && b.high <= s.Load.least():
		if b.client {
			return step, s.result(0, fmt.Sprintf("this client was too slow even for %s", s.Load.Text(b.high)))
		}
		return step, s.result(0, fmt.Sprintf("even %s misses the limits", s.Load.Text(b.high)))
	case b.low == 0:
		load = max(b.high/growth, s.Load.least())
	case b.client || s.close(b):
		return s.confirm(b)
	default:
		load = math.Sqrt(b.low * b.high)
	}
	load = s.Load.round(load)
	if b.again == 0 && (load == b.low || load == b.high) { // no load is between the two
		return s.confirm(b)
	}
	return Step{Load: load, Length: s.length(load)}, nil
}

// close reports whether no load between the bracket's two is worth a measurement.
func (s *State) close(b bracket) bool {
	return b.high <= b.low*(1+s.Terms.Precision) || s.Load == Concurrency && b.high-b.low <= 1
}

// confirm returns the run of the full length at the highest load that meets the limits, or the end.
func (s *State) confirm(b bracket) (Step, *Result) {
	tried := 0
	for _, p := range s.Probes {
		if p.Confirm && !p.Broken && !p.Client {
			tried++
			if p.Load == b.low && p.Met {
				return Step{}, s.result(b.low, "")
			}
		}
	}
	if tried >= mostConfirms {
		return Step{}, s.result(0, fmt.Sprintf("%d full-length runs missed the limits that shorter ones met: the server's "+
			"latencies grow during a run, or vary between runs; give a longer --probe-duration", tried))
	}
	return Step{Load: b.low, Confirm: true, Length: max(s.Terms.Confirm, s.length(b.low))}, nil
}

// length returns how long a load is measured: as long as the terms state, or until enough requests can show that the
// limits are met.
func (s *State) length(load float64) time.Duration {
	perS := load
	if s.Load == Concurrency { // as many answers as the nearest load had
		perS = 0
		for _, p := range s.Probes {
			if p.RequestsPerS > 0 {
				perS = p.RequestsPerS * min(1, load/p.Load)
			}
		}
	}
	if perS <= 0 {
		return s.Terms.Probe
	}
	need := time.Duration(margin * enough(s.Limits, s.Terms.Confidence) / perS * float64(time.Second))
	return min(max(s.Terms.Probe, need), stretch*s.Terms.Probe).Round(time.Millisecond)
}

// broken returns how many measurements at the end were spoiled by neither the load nor the client.
func (s *State) broken() (n int) {
	for i := len(s.Probes) - 1; i >= 0 && s.Probes[i].Broken; i-- {
		n++
	}
	return n
}

// result returns the end of a search at a load, or without one if why states a reason.
func (s *State) result(load float64, why string) *Result {
	b := s.bracket()
	r := &Result{Load: load, Confirmed: why == "", Why: why, Met: b.low, Missed: b.high, ClientLimit: b.client}
	if b.high == 0 && why == "" {
		r.Why = fmt.Sprintf("the server met the limits at the highest load, %s", s.Load.Text(s.Terms.To))
	}
	return r
}

// Sentence returns the result in one line.
func (s *State) Sentence() string {
	r := s.Result
	if r == nil {
		return fmt.Sprintf("the search has not ended; %s", plural.Count(len(s.Probes), "measurement", "measurements"))
	}
	text := "no load was confirmed: " + r.Why
	if r.Confirmed {
		text = fmt.Sprintf("%s, confirmed by a valid run", s.Load.Text(r.Load))
		switch {
		case r.ClientLimit:
			text += fmt.Sprintf("; this client was too slow at %s, so the server's limit may be higher", s.Load.Text(r.Missed))
		case r.Missed > 0:
			text += fmt.Sprintf("; %s misses the limits", s.Load.Text(r.Missed))
		default:
			text += "; " + r.Why
		}
	} else if r.Met > 0 {
		text += fmt.Sprintf("; shorter runs met the limits at %s", s.Load.Text(r.Met))
	}
	return text
}
