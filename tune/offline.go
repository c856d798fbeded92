package tune

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Settings of a search in Offline, which measures how fast the server answers while it always has requests.
const (
	offlineStep  = 2    // factor of the requests in flight
	offlineGain  = 1.03 // factor of answers per second with twice as many; less is not growth
	settledLoops = 3    // closed loops at the best number in flight: mean and interval
	mostLoops    = 6    // until three in a row agree, because a server may still be warming up
	loopShare    = 60   // divisor: a closed loop is this part of a full-length run at the fastest rate so far
	shortestLoop = time.Second
	slack        = 1.1 // factor of the expected QPS for the number of samples (docs/reference/loadgen.md#query-counts)
)

// nextOffline returns the next step in Offline. It doubles the requests in flight until the server no longer answers
// more per second, repeats the best number of them, and confirms the mean by a run of the full length.
func (s *Search) nextOffline() Step {
	if c := s.last(Confirm); c != nil && c.Valid {
		low, high, _ := s.throughput()
		return s.finish(&Outcome{Confirmed: true, Rate: c.Rate, InFlight: s.inFlight(), Low: min(low, c.Answers),
			High: max(high, c.Answers)})
	}
	if level, more := s.growing(); more {
		if level > mostConcurrency {
			return s.unsaturated(level/offlineStep, s.best().Answers)
		}
		return s.loop(level)
	}
	if n := len(s.loops(s.inFlight())); n < settledLoops || n < mostLoops && !s.settled() {
		return s.loop(s.inFlight())
	}
	return s.confirmOffline()
}

// loop returns a closed loop that is long enough to be measured.
func (s *Search) loop(level int) Step {
	answers := 0.0
	for _, m := range s.measured {
		answers = max(answers, m.Answers)
	}
	lasts := max(shortestLoop, s.goal.Load.MinDuration/loopShare)
	return Step{Kind: Saturate, Concurrency: level, Queries: max(level*3, int(answers*lasts.Seconds()))}
}

// settled reports whether the last closed loops at the best number in flight agree.
func (s *Search) settled() bool {
	rates := s.lastLoops()
	return slices.Max(rates) <= slices.Min(rates)*(1+mostDrift)
}

// lastLoops returns the answers per second of the last closed loops at the best number in flight.
func (s *Search) lastLoops() []float64 {
	rates := s.loops(s.inFlight())
	return rates[max(0, len(rates)-settledLoops):]
}

// growing returns the next number of requests in flight, until a number brings no growth.
func (s *Search) growing() (level int, more bool) {
	if n := s.goal.InFlight; n > 0 {
		return n, len(s.loops(n)) == 0
	}
	best := 0.0
	for level = firstConcurrency; ; level *= offlineStep {
		loops := s.loops(level)
		if len(loops) == 0 {
			return level, true
		}
		if loops[0] < best*offlineGain {
			return 0, false
		}
		best = max(best, loops[0])
	}
}

// confirmOffline returns the run of the full length. If the server is faster than expected, the run ends before
// LoadGen's minimum duration, and the next run expects the measured rate.
func (s *Search) confirmOffline() Step {
	_, _, mean := s.throughput()
	if rates := s.lastLoops(); !s.settled() {
		return s.offlineUnconfirmed(fmt.Sprintf("the server drifts: with %d requests in flight it answers %.4g to %.4g per "+
			"second; cool it, or keep other work off it", s.inFlight(), slices.Min(rates), slices.Max(rates)))
	}
	rate := mean
	if c := s.last(Confirm); c != nil {
		if c.Answers <= c.Rate*slack {
			return s.offlineUnconfirmed("the confirming run was INVALID, but long enough")
		}
		rate = c.Answers
	}
	if s.count(Confirm) == mostConfirms {
		return s.offlineUnconfirmed(fmt.Sprintf("%d confirmations failed", mostConfirms))
	}
	return Step{Kind: Confirm, Rate: round(rate), InFlight: s.inFlight()}
}

func (s *Search) offlineUnconfirmed(why string) Step {
	low, high, mean := s.throughput()
	return s.finish(&Outcome{Rate: round(mean), InFlight: s.inFlight(), Low: low, High: high, Why: why})
}

// loops returns the answers per second of each closed loop with a number of requests in flight.
func (s *Search) loops(level int) (rates []float64) {
	for _, m := range s.measured {
		if m.Kind == Saturate && m.Concurrency == level {
			rates = append(rates, m.Answers)
		}
	}
	return rates
}

// best returns the first closed loop with the most answers per second. Later loops repeat it.
func (s *Search) best() *Measured {
	var best *Measured
	seen := map[int]bool{}
	for i := range s.measured {
		m := &s.measured[i]
		if m.Kind != Saturate || seen[m.Concurrency] {
			continue
		}
		seen[m.Concurrency] = true
		if best == nil || m.Answers > best.Answers {
			best = m
		}
	}
	return best
}

// inFlight returns the number of requests in flight of the best closed loop; 0 before the first.
func (s *Search) inFlight() int {
	if b := s.best(); b != nil {
		return b.Concurrency
	}
	return 0
}

// throughput returns the mean answers per second with the best number in flight, and its confidence interval by
// Student's t distribution.
func (s *Search) throughput() (low, high, mean float64) {
	rates := s.lastLoops()
	n := float64(len(rates))
	if n == 0 {
		return 0, 0, 0
	}
	squares := 0.0
	for _, r := range rates {
		mean += r / n
	}
	for _, r := range rates {
		squares += (r - mean) * (r - mean)
	}
	half := 0.0
	if len(rates) == settledLoops {
		half = student2((1+s.goal.Confidence)/2) * math.Sqrt(squares/(n-1)/n)
	}
	return max(0, mean-half), mean + half, mean
}

// student2 returns a quantile of Student's t distribution with two degrees of freedom, which has a closed form.
func student2(p float64) float64 { return (2*p - 1) / math.Sqrt(2*p*(1-p)) }
