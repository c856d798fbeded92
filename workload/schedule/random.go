package schedule

import (
	"math"
	"math/rand/v2"
)

// gamma returns a source of Gamma numbers with the given shape and mean 1. Marsaglia and Tsang, A Simple Method for
// Generating Gamma Variables (2000); a shape below 1 is drawn above 1 and corrected by a power of a uniform number.
func gamma(shape float64, r *rand.Rand) func() float64 {
	above := shape
	if shape < 1 {
		above++
	}
	d := above - 1.0/3
	c := 1 / math.Sqrt(9*d)
	return func() float64 {
		for {
			x := r.NormFloat64()
			v := 1 + c*x
			if v <= 0 {
				continue
			}
			v = v * v * v
			if math.Log(1-r.Float64()) >= x*x/2+d-d*v+d*math.Log(v) {
				continue
			}
			if shape < 1 {
				v *= math.Pow(1-r.Float64(), 1/shape)
			}
			return d * v / shape
		}
	}
}

// poisson returns a Poisson number: how many exponential gaps fit into the mean.
func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for left := mean - r.ExpFloat64(); left > 0; left -= r.ExpFloat64() {
		n++
	}
	return n
}
