package lengths

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func moments(n int, of func() float64) (mean, deviation, skew float64) {
	values := make([]float64, n)
	for i := range values {
		values[i] = of()
		mean += values[i] / float64(n)
	}
	var two, three float64
	for _, v := range values {
		two += (v - mean) * (v - mean) / float64(n)
		three += math.Pow(v-mean, 3) / float64(n)
	}
	return mean, math.Sqrt(two), three / math.Pow(two, 1.5)
}

func TestMomentsAreTheProfiles(t *testing.T) {
	for _, d := range []profile.Distribution{
		{Kind: "normal", Mean: 500, StdDev: 50},
		{Kind: "lognormal", Mean: 500, StdDev: 100},
		{Kind: "lognormal", Mean: 500, StdDev: 100, Min: 300, Shift: true},
		{Kind: "skew-normal", Mean: 500, StdDev: 50, Skew: 4},
		{Kind: "skew-normal", Mean: 500, StdDev: 50, Skew: -4},
		{Kind: "poisson", Mean: 400, StdDev: 20},
		{Kind: "poisson", Mean: 250_000, StdDev: 500},
		{Kind: "uniform", Mean: 500, StdDev: 1000 / math.Sqrt(12), Max: 1000},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		mean, deviation, skew := moments(50_000, func() float64 { return Draw(&d, r) })
		require.InEpsilon(t, d.Mean, mean, 0.01, "%+v", d)
		require.InEpsilon(t, d.StdDev, deviation, 0.03, "%+v", d)
		if d.Skew != 0 {
			require.Greater(t, skew*d.Skew, 1.0, "%+v", d)
		}
	}
}

func TestSamplesAreClippedAndRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	wide := &profile.Distribution{Kind: "normal", Mean: 50, StdDev: 1000, Min: 10, Max: 100}
	low, high := 0, 0
	for range 1000 {
		n := Tokens(wide, r)
		require.True(t, n >= 10 && n <= 100)
		if n == 10 {
			low++
		}
		if n == 100 {
			high++
		}
	}
	require.Greater(t, low, 300)
	require.Greater(t, high, 300)
	die, counts := &profile.Distribution{Kind: "uniform", Min: 1, Max: 6}, [7]int{}
	for range 60_000 {
		counts[Tokens(die, r)]++
	}
	require.Zero(t, counts[0])
	for face, n := range counts[1:] {
		require.InDelta(t, 10_000, n, 500, "face %d", face+1)
	}
	require.Equal(t, 64, Tokens(profile.FixedAt(64), r))
}
