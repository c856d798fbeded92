package lengths

import (
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Draw returns a number of a distribution, within its smallest and largest value.
func Draw(d *profile.Distribution, r *rand.Rand) float64 { return within(d, draw(d, r)) }

// Tokens returns a whole number of a distribution. Every number of a uniform one is equally likely.
func Tokens(d *profile.Distribution, r *rand.Rand) int {
	if d.Kind == "uniform" {
		return int(within(d, math.Floor(d.Min+r.Float64()*(math.Floor(d.Max)+1-d.Min))))
	}
	return int(math.Round(Draw(d, r)))
}

func within(d *profile.Distribution, v float64) float64 {
	v = max(v, d.Min, 0)
	if d.Max > 0 {
		v = min(v, d.Max)
	}
	return v
}

func draw(d *profile.Distribution, r *rand.Rand) float64 {
	switch d.Kind {
	case "uniform":
		return d.Min + r.Float64()*(d.Max-d.Min)
	case "normal":
		return d.Mean + d.StdDev*r.NormFloat64()
	case "lognormal":
		return lognormal(d, r)
	case "skew-normal":
		return d.Mean + d.StdDev*skewed(d.Skew, r)
	case "poisson":
		return float64(poisson(d.Mean, r))
	}
	return d.Mean
}

// lognormal returns a number with the distribution's mean and standard deviation, from which those of its logarithm
// follow.
func lognormal(d *profile.Distribution, r *rand.Rand) float64 {
	mean, above := d.Mean, 0.0
	if d.Shift {
		mean, above = d.Mean-d.Min, d.Min
	}
	if mean <= 0 {
		return d.Mean
	}
	variance := math.Log1p(d.StdDev * d.StdDev / (mean * mean))
	return above + math.Exp(math.Log(mean)-variance/2+math.Sqrt(variance)*r.NormFloat64())
}

// skewed returns a skew normal number with mean 0 and deviation 1, made of two normal ones (Azzalini, A Class of
// Distributions Which Includes the Normal Ones, 1985).
func skewed(shape float64, r *rand.Rand) float64 {
	delta := shape / math.Sqrt(1+shape*shape)
	z := delta*math.Abs(r.NormFloat64()) + math.Sqrt(1-delta*delta)*r.NormFloat64()
	return (z - delta*math.Sqrt(2/math.Pi)) / math.Sqrt(1-2*delta*delta/math.Pi)
}

// poisson counts exponential gaps up to the mean; above mostGaps it is a rounded normal number.
func poisson(mean float64, r *rand.Rand) int {
	const mostGaps = 1000
	if mean > mostGaps {
		return int(math.Round(mean + math.Sqrt(mean)*r.NormFloat64()))
	}
	n := 0
	for left := mean - r.ExpFloat64(); left > 0; left -= r.ExpFloat64() {
		n++
	}
	return n
}
