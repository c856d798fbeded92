package schedule

import (
	"math"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// growth is the rate of a stage over time: from first to last within over seconds, and last from then on.
type growth struct {
	first, last, over float64
	exponential       bool
}

func newGrowth(s *profile.Stage) growth {
	g := growth{first: s.Rate, last: s.Rate}
	if s.Ramp == nil {
		return g
	}
	g.first, g.exponential = s.Ramp.From, s.Ramp.Shape == "exponential"
	if s.Ramp.To > 0 {
		g.last = s.Ramp.To
	}
	if g.first <= 0 || g.first == g.last { // its curve starts above 0, and is not linear
		g.exponential = false
	}
	switch {
	case s.Ramp.Over > 0:
		g.over = s.Ramp.Over.Seconds()
	case s.Duration > 0:
		g.over = s.Duration.Seconds()
	default:
		g.over = float64(s.Requests) / g.mean()
	}
	return g
}

// mean is the mean rate of the ramp.
func (g *growth) mean() float64 {
	if g.exponential {
		return (g.last - g.first) / math.Log(g.last/g.first)
	}
	return (g.first + g.last) / 2
}

// count returns how many requests are due within the first seconds.
func (g growth) count(seconds float64) float64 {
	if seconds > g.over {
		return g.mean()*g.over + g.last*(seconds-g.over)
	}
	if g.exponential {
		rise := math.Log(g.last / g.first)
		return g.first * g.over / rise * math.Expm1(seconds/g.over*rise)
	}
	if g.over == 0 {
		return 0
	}
	return g.first*seconds + (g.last-g.first)*seconds*seconds/(2*g.over)
}

// time returns the seconds after which n requests are due: the inverse of count.
func (g growth) time(requests float64) float64 {
	ramp := g.mean() * g.over
	if requests >= ramp {
		return g.over + (requests-ramp)/g.last
	}
	if g.exponential {
		rise := math.Log(g.last / g.first)
		return g.over / rise * math.Log1p(requests*rise/(g.first*g.over))
	}
	slope := (g.last - g.first) / g.over
	root := math.Sqrt(max(0, g.first*g.first+2*slope*requests))
	if g.first+root == 0 {
		return 0
	}
	return 2 * requests / (g.first + root) // this form is valid for a slope of 0 too
}
