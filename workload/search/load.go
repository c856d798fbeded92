package search

import (
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Kind is what a search varies.
type Kind string

// The kinds.
const (
	Rate        Kind = "rate"        // requests per second, whatever the answers take
	Concurrency Kind = "concurrency" // requests in flight
)

// Text returns a load with its unit.
func (k Kind) Text(load float64) string {
	if k == Concurrency {
		return fmt.Sprintf("%.0f in flight", load)
	}
	return plural.Figure(load) + " requests/s"
}

// Bounds of a load.
const (
	leastRate       = 1e-3
	mostRate        = 1e6
	mostConcurrency = 1 << 16
)

// least and most return the bounds of a kind.
func (k Kind) least() float64 {
	if k == Concurrency {
		return 1
	}
	return leastRate
}

func (k Kind) most() float64 {
	if k == Concurrency {
		return mostConcurrency
	}
	return mostRate
}

// round returns the nearest load that the search measures: a whole number in flight, or a rate of four digits.
func (k Kind) round(load float64) float64 {
	if k == Concurrency {
		return max(1, math.Round(load))
	}
	const digits = 3 // after the first
	unit := math.Pow(10, math.Floor(math.Log10(load))-digits)
	return math.Round(load/unit) * unit
}

// template returns the stage that a search of a profile repeats, what it varies, and the load of the profile itself.
// It is the first stage that is measured, or what a sweep would send.
func template(p *profile.Profile) (s profile.Stage, k Kind, load float64, err error) {
	if sweep := p.Load.Sweep; sweep != nil {
		s.Arrival = sweep.Arrival
		if s.Arrival == "" {
			s.Arrival = profile.Constant
		}
		return s, Rate, 1, nil
	}
	for _, s = range p.Load.Stages {
		if !s.Warmup {
			break
		}
	}
	switch s.Arrival {
	case profile.Constant, profile.Poisson, profile.Gamma, profile.Scattered, profile.PoissonSeconds:
		return s, Rate, max(s.Rate, leastRate), nil
	case profile.Closed:
		return s, Concurrency, float64(s.Concurrency), nil
	}
	return s, k, 0, fmt.Errorf("its stage has arrival %q, which has neither a rate nor a number of users that could be "+
		"varied; a search needs constant, poisson, gamma, scattered, poisson-seconds or closed", s.Arrival)
}

// settling is the share of a measurement before its figures begin, if the profile has no warm-up.
const settling = 0.1

// at returns the profile of one measurement: a single stage with a load and a length. Each has a seed of its own, so
// that no prompt is in the server's prefix cache because an earlier measurement sent it.
func at(p *profile.Profile, load float64, length time.Duration, number int) (*profile.Profile, error) {
	s, k, _, err := template(p)
	if err != nil {
		return nil, err
	}
	s.Name, s.Ramp, s.Requests, s.Rescale, s.Duration = "", nil, 0, false, length
	if k == Concurrency {
		s.Concurrency = int(load)
	} else {
		s.Rate = load
	}
	own := *p
	own.Seed += uint64(number) * seedStep
	own.Load.Sweep, own.Load.Stages = nil, []profile.Stage{s}
	if (own.Load.Warmup == profile.Window{}) {
		own.Load.Warmup.Share = settling
	}
	return &own, own.Validate()
}

// seedStep is far from the steps by which users choose seeds.
const seedStep = 1_000_003
