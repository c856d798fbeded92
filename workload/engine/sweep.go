package engine

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Defaults of a sweep, those of inference-perf and guidellm (docs/reference/profiles.md).
const (
	sweepRequests   = 2000
	sweepTimeout    = time.Minute
	sweepPercentile = 95
	sweepInFlight   = 512
	sweepStages     = 5
	burstOver       = 5 * time.Second // in which the burst of a drain probe is sent
	drainEvery      = 500 * time.Millisecond
)

// probes returns the stages that find the limits of a sweep. They are warm-up: no total contains them.
func probes(s *profile.Sweep) []profile.Stage {
	long := s.StageDuration
	if long == 0 {
		long = sweepTimeout
	}
	if s.Probe == "throughput" {
		most := s.InFlight
		if most == 0 {
			most = sweepInFlight
		}
		throughput := profile.Stage{Name: "throughput", Arrival: profile.Closed, Concurrency: most, Duration: long,
			Warmup: true}
		if s.Ramp > 0 {
			throughput.Ramp = &profile.Ramp{Shape: "linear", Over: s.Ramp}
		}
		return []profile.Stage{
			{Name: "synchronous", Arrival: profile.Closed, Concurrency: 1, Duration: long, Warmup: true}, throughput}
	}
	n, timeout := s.Requests, s.Timeout
	if n == 0 {
		n = sweepRequests
	}
	if timeout == 0 {
		timeout = sweepTimeout
	}
	return []profile.Stage{{Name: "saturation", Arrival: profile.Constant, Rate: float64(n) / burstOver.Seconds(),
		Requests: n, Timeout: timeout, Warmup: true}}
}

// swept returns the stages of a sweep between the limits that its probes found. The first stage after the probe
// throughput is above the lower limit, at which its synchronous stage ran (guidellm 0.8.1, profiles/sweep.py).
func swept(s *profile.Sweep, low, high float64) []profile.Stage {
	n := s.Stages
	if n == 0 {
		n = sweepStages
	}
	stages := make([]profile.Stage, n)
	for i := range stages {
		share := 1.0
		switch {
		case s.Probe == "throughput":
			share = float64(i+1) / float64(n)
		case n > 1:
			share = float64(i) / float64(n-1)
		}
		rate := low + share*(high-low)
		if s.Kind == "geometric" { // dense near the top
			rate = low + high - math.Exp(math.Log(low)*share+math.Log(high)*(1-share))
		}
		stages[i] = profile.Stage{Arrival: cmp.Or(s.Arrival, profile.Constant),
			Rate: max(math.Round(rate*100)/100, 0.01), Duration: s.StageDuration, Concurrency: s.InFlight}
	}
	return stages
}

// limits returns the lowest and the highest rate of a sweep, from what its probes measured.
func (d *director) limits(s *profile.Sweep) (low, high float64) {
	if s.Probe == "throughput" {
		return answersPerS(d.ends[0]), answersPerS(d.ends[1])
	}
	percent := s.Percentile
	if percent == 0 {
		percent = sweepPercentile
	}
	return 1, drainRate(d.begins[0], d.ends[0], percent)
}

// answersPerS is the rate of answers from the first to the last.
func answersPerS(ends []int64) float64 {
	if len(ends) < 2 {
		return 1
	}
	return float64(len(ends)-1) / (float64(slices.Max(ends)-slices.Min(ends)) / 1e9)
}

// drainRate returns a percentile of the rates at which the requests in flight decrease, every half second
// (inference-perf, loadgen/load_generator.py).
func drainRate(begins, ends []int64, percent float64) float64 {
	if len(begins) == 0 || len(ends) == 0 {
		return 1
	}
	slices.Sort(begins)
	slices.Sort(ends)
	var rates []float64
	inFlight := func(at int64) int {
		sent, _ := slices.BinarySearch(begins, at)
		ended, _ := slices.BinarySearch(ends, at)
		return sent - ended
	}
	last := 0
	for at := begins[0]; at <= ends[len(ends)-1]+int64(drainEvery); at += int64(drainEvery) {
		now := inFlight(at)
		if now < last {
			rates = append(rates, float64(last-now)/drainEvery.Seconds())
		}
		last = now
	}
	if len(rates) == 0 {
		return answersPerS(ends)
	}
	slices.Sort(rates)
	at := percent / 100 * float64(len(rates)-1)
	below := int(at)
	if below+1 == len(rates) {
		return rates[below]
	}
	return rates[below] + (at-float64(below))*(rates[below+1]-rates[below])
}
