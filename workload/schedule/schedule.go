package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Most is the largest number of requests of a stage.
const Most = 100_000_000

// Seed chooses the random numbers of one stage.
type Seed struct {
	Profile uint64
	Stage   int // position in the profile
}

// arrivalStream keeps the random numbers of arrivals apart from those of lengths and prompts.
const arrivalStream = 0x61727269

func (s Seed) source() *rand.Rand {
	return rand.New(rand.NewPCG(s.Profile, arrivalStream<<32|uint64(uint32(s.Stage))))
}

// Due returns the times in ns after the start of a stage at which its requests are due, in ascending order. recorded
// are the times of the profile's trace in ns, for stages with arrival trace; the result may share their memory. A stage
// whose requests wait for answers is an error, and so is one of more than Most requests.
func Due(s *profile.Stage, seed Seed, recorded []int64) ([]int64, error) {
	if n := Expected(s); n > Most {
		return nil, fmt.Errorf("a stage of %.0f requests is longer than the %d that a run can hold: lower its rate or its "+
			"duration", n, Most)
	}
	switch s.Arrival {
	case profile.Constant:
		return gaps(s, func() float64 { return 1 }, -1), nil
	case profile.Poisson:
		return gaps(s, seed.source().ExpFloat64, 0), nil
	case profile.Gamma:
		return gaps(s, gamma(s.Burstiness, seed.source()), 0), nil
	case profile.Scattered:
		return scattered(seed.source(), 0, s.Duration.Seconds(), int(s.Rate*s.Duration.Seconds())), nil
	case profile.PoissonSeconds:
		return poissonSeconds(s, seed.source()), nil
	case profile.Burst:
		return burst(s), nil
	case profile.Trace:
		return replayed(s, recorded)
	}
	return nil, fmt.Errorf("the requests of a stage with arrival %s have no times: they wait for answers", s.Arrival)
}

// Expected returns the expected number of requests of a stage; 0: it depends on answers, or on a trace.
func Expected(s *profile.Stage) float64 {
	switch s.Arrival {
	case profile.Trace, profile.Sessions, profile.Closed, profile.Burst:
		return float64(s.Requests)
	}
	n := newGrowth(s).count(s.Duration.Seconds())
	switch s.Arrival {
	case profile.Constant:
		n = math.Floor(n + rounding)
	case profile.Scattered, profile.PoissonSeconds:
		n = math.Floor(n)
	}
	if s.Requests > 0 && (s.Duration == 0 || float64(s.Requests) < n) {
		n = float64(s.Requests)
	}
	return n
}

// burst returns the times of requests that are due at once, or, except for the first ones, at the end of a ramp.
func burst(s *profile.Stage) []int64 {
	due := make([]int64, s.Requests)
	if s.Ramp == nil {
		return due
	}
	starts := Starts(s)
	for i := range due {
		due[i] = int64(s.Ramp.Over)
		if i < len(starts) {
			due[i] = starts[i]
		}
	}
	return due
}

// rounding keeps a request that floating point would lose: 30 s at 0.1 per second are 3 requests.
const rounding = 1e-9

// gaps returns due times whose gaps, in requests' worth of load, are drawn by next. The first request is due after the
// first gap; with first -1 it is due at once. The growth of the rate stretches the times.
func gaps(s *profile.Stage, next func() float64, first float64) []int64 {
	g := newGrowth(s)
	end, most := math.Inf(1), s.Requests
	if s.Duration > 0 {
		end = g.count(s.Duration.Seconds())
	}
	if most == 0 {
		most = math.MaxInt
	}
	due := make([]int64, 0, int(Expected(s))+1)
	at := first
	for len(due) < most {
		at += next()
		if first < 0 && at+1 > end+rounding || first == 0 && at > end {
			break
		}
		due = append(due, nanoseconds(g.time(at)))
	}
	if s.Rescale && len(due) > 0 && due[len(due)-1] > 0 {
		stretch(due, float64(len(due))/s.Rate*1e9)
	}
	return due
}

// stretch scales times so that the last one is at ns.
func stretch(due []int64, ns float64) {
	factor := ns / float64(due[len(due)-1])
	for i := range due {
		due[i] = int64(math.Round(float64(due[i]) * factor))
	}
}

// scattered returns n times that end at seconds after from: cumulated exponential gaps, scaled to that length
// (inference-perf, loadgen/load_timer.py).
func scattered(r *rand.Rand, from, seconds float64, n int) []int64 {
	at := make([]float64, n)
	sum := 0.0
	for i := range at {
		sum += r.ExpFloat64()
		at[i] = sum
	}
	due := make([]int64, n)
	for i := range due {
		due[i] = nanoseconds(from + at[i]*seconds/sum)
	}
	return due
}

// poissonSeconds draws a Poisson count for each second and scatters that many requests in it, until the stage has the
// floor of rate and duration (inference-perf, loadgen/load_timer.py).
func poissonSeconds(s *profile.Stage, r *rand.Rand) []int64 {
	n := int(s.Rate * s.Duration.Seconds())
	due := make([]int64, 0, n)
	for second := 0.0; len(due) < n; second++ {
		due = append(due, scattered(r, second, 1, poisson(r, s.Rate))...)
	}
	return due[:n]
}

// replayed cuts a trace to the stage's duration and number of requests. The trace may be unsorted. A sorted trace that
// begins at 0 is not copied.
func replayed(s *profile.Stage, recorded []int64) ([]int64, error) {
	if len(recorded) == 0 {
		return nil, fmt.Errorf("the trace has no arrivals")
	}
	due := recorded
	if recorded[0] != 0 || !slices.IsSorted(recorded) {
		due = slices.Clone(recorded)
		slices.Sort(due)
		start := due[0]
		for i := range due {
			due[i] -= start
		}
	}
	if s.Duration > 0 {
		end, _ := slices.BinarySearch(due, int64(s.Duration)+1)
		due = due[:end]
	}
	if s.Requests > 0 && s.Requests < len(due) {
		due = due[:s.Requests]
	}
	return due, nil
}

// Starts returns when each user of a closed stage, or each session slot, sends its first request: at once, or spread
// over the stage's ramp. The times are ns after the stage's start.
func Starts(s *profile.Stage) []int64 {
	starts := make([]int64, s.Concurrency)
	if s.Ramp == nil {
		return starts
	}
	over := s.Ramp.Over
	if over == 0 {
		over = s.Duration
	}
	for i := range starts {
		starts[i] = int64(over) * int64(i) / int64(s.Concurrency)
	}
	return starts
}

func nanoseconds(seconds float64) int64 { return int64(math.Round(seconds * float64(time.Second))) }
