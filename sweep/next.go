package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// Settings of a sweep that chooses its loads.
const (
	growth        = 2.0  // from one load to the next
	leastGain     = 1.1  // of tokens per second; less is not growth
	slower        = 1.5  // factor of the median time of a whole answer: the load only lengthens the queue
	idleShare     = 0.5  // queries in flight on average at the first rate
	mostSpoiled   = 2    // loads in a row at which the server failed
	digitsOfRates = 1000 // rates are rounded to three digits
)

// next returns the next load to measure. more is false at the end, and why states what ended the sweep.
func (s *State) next() (load float64, more bool, why string) {
	if s.Auto {
		return s.nextAuto()
	}
	for _, v := range s.Values {
		if s.at(v) == nil {
			return v, true, ""
		}
	}
	return 0, false, "every load of the list was measured"
}

// nextAuto doubles the load until the server no longer answers more per second, and takes longer for each answer. It
// then measures once between the last two loads, where the knee is.
func (s *State) nextAuto() (load float64, more bool, why string) {
	most := float64(MaxConcurrency)
	load = 1
	if s.Load == Rate {
		load, most = shortRate(idleShare/max(s.IdleAnswerS, 1/float64(MaxRate))), MaxRate
	}
	best, spoiled := 0.0, 0
	before := &Point{} // nothing is below its throughput
	for ; load <= most; load *= growth {
		p := s.at(load)
		if p == nil {
			return load, true, ""
		}
		if !p.counts() {
			if slices.ContainsFunc(p.Spoiled, record.Cause.LimitsClient) {
				return 0, false, fmt.Sprintf("the client itself was too late at %s", s.Load.Text(load))
			}
			if spoiled++; spoiled >= mostSpoiled {
				return 0, false, fmt.Sprintf("%d loads in a row were spoiled", spoiled)
			}
			continue
		}
		spoiled = 0
		if p.throughput() < best*leastGain && p.median() > before.median()*slower {
			return s.knee(before.Load, load)
		}
		best, before = max(best, p.throughput()), p
	}
	return 0, false, fmt.Sprintf("the server was not saturated by %s, the highest load", s.Load.Text(load/growth))
}

// knee returns the load between the last one that the server kept up with and the first that saturated it, which is at
// least twice as high.
func (s *State) knee(low, high float64) (load float64, more bool, why string) {
	mid := math.Sqrt(low * high)
	if s.Load == Concurrency {
		mid = math.Round(mid)
	} else {
		mid = shortRate(mid)
	}
	if mid > low && s.at(mid) == nil {
		return mid, true, ""
	}
	return 0, false, fmt.Sprintf("the server is saturated at %s", s.Load.Text(high))
}

// throughput returns the figure that saturates: tokens, or answers if tokens are not counted.
func (p *Point) throughput() float64 {
	if p.OutputTokensPerS > 0 {
		return p.OutputTokensPerS
	}
	return p.RequestsPerS
}

// median returns the median time of a whole answer in seconds.
func (p *Point) median() float64 {
	if p.E2E == nil {
		return 0
	}
	return p.E2E.P50
}

// shortRate rounds a rate to three digits.
func shortRate(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))) * 10 / digitsOfRates
	return shorten(min(max(math.Round(v/unit)*unit, minRate), MaxRate))
}
