package tune

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// anywhere is the prior under which each rate is equally likely.
var anywhere = Prior{Likely: math.Inf(1), High: math.Inf(1), Limits: 1}

// certain returns a curve whose highest valid rate and slope are known.
func certain(i, k int) *Curve {
	c := NewCurve(NewGrid(10, 100, func(float64) float64 { return 0.01 }), anywhere)
	for a := range c.logPost {
		for b := range c.logPost[a] {
			if a != i || b != k {
				c.logPost[a][b] = math.Inf(-1)
			}
		}
	}
	return c
}

// A known curve predicts valid runs as often as drawn runs are valid. The prediction is less certain if late queries
// come in bursts.
func TestValidOfAKnownCurve(t *testing.T) {
	const i, k, queries, share, runs = rateSteps / 2, 0, 20_000, 0.01, 4000
	c, rng := certain(i, k), rand.New(rand.NewPCG(1, 2))
	for _, factor := range []float64{0.98, 0.995, 1, 1.005, 1.02} {
		rate := factor * c.rates[i]
		p, valid := c.late(rate, i, k), 0
		for range runs {
			late := math.Round(queries*p + math.Sqrt(queries*p*(1-p))*rng.NormFloat64())
			if late <= share*queries {
				valid++
			}
		}
		got := c.Valid(rate, queries, share, share*queries)
		require.InDelta(t, float64(valid)/runs, got, 0.03, "at %v of the threshold", factor)
		bursty := c.Valid(rate, queries, share, share*queries/16)
		require.LessOrEqual(t, math.Abs(bursty-0.5), math.Abs(got-0.5)+0.02, "at %v of the threshold", factor)
	}
	rate := 1.02 * c.rates[i]
	require.Greater(t, c.Valid(rate, queries, share, 10), 2*c.Valid(rate, queries, share, share*queries))
}

// The divergence of a share from an equal probability is 0. It grows in both directions, and is finite without late
// queries.
func TestDivergence(t *testing.T) {
	require.InDelta(t, 0, divergence(0.1, 0.1), 1e-12)
	require.InDelta(t, -math.Log(0.9), divergence(0, 0.1), 1e-12)
	require.InDelta(t, 0.5*math.Log(4.0/3), divergence(0.5, 0.25), 1e-12)
	for _, p := range []float64{0.01, 0.1, 0.3} {
		require.Greater(t, divergence(0.2, p), 0.0)
		require.Greater(t, divergence(p/2, p), divergence(0.75*p, p))
	}
}

// Too few late queries raise the expected threshold, too many lower it, and a run without queries has no effect. Far
// above the bearable share only the direction counts.
func TestAddMovesTheCurve(t *testing.T) {
	bearable := func(float64) float64 { return 0.01 }
	grid := NewGrid(10, 100, bearable)
	const middle, queries, bursts = rateSteps / 2, 10_000, 50
	after := func(queries int, late float64) [rateSteps]float64 {
		c := NewCurve(grid, anywhere)
		before := c.above() // the weights are cached: Add must drop them
		require.InDelta(t, 1, before[0], 1e-9)
		for range 3 { // one count alone may be stray
			c.Add(grid.rates[middle], queries, late, bursts)
		}
		return c.above()
	}
	prior := NewCurve(grid, anywhere).above()
	require.Equal(t, prior, after(0, 0))
	require.Greater(t, after(queries, 0)[middle], 0.95)
	require.Less(t, after(queries, 300)[middle], 0.05)
	require.Greater(t, after(queries, 100)[middle-10], 0.9)
	require.Less(t, after(queries, 100)[middle+10], 0.1)

	half, all := after(queries, queries/2), after(queries, queries)
	require.Equal(t, half, all)
	require.Greater(t, after(queries, 0.02*queries)[middle/2], 0.95, "twice the share is near the threshold")
	require.Less(t, half[middle/2], 0.6, "half of all are late far above it, wherever it is")
	require.InDelta(t, half[middle/4]-half[middle/4+1], half[10]-half[11], 1e-3, "and is as likely as one farther below")
}

// The lowest limit's rate has the prior's weights, however many limits there are.
func TestPriorOfACurve(t *testing.T) {
	const low, likely, high = rateSteps / 4, rateSteps / 2, 3 * rateSteps / 4
	grid := NewGrid(10, 100, func(float64) float64 { return 0.01 })
	for limits := 1; limits <= 4; limits++ {
		c := NewCurve(grid, Prior{Low: grid.rates[low], Likely: grid.rates[likely], High: grid.rates[high], Limits: limits})
		above := c.above()
		weight := func(i int) float64 {
			return math.Pow(above[i], float64(limits)) - math.Pow(above[i+1], float64(limits))
		}
		one := weight(low)
		require.InEpsilon(t, 1, weight(likely)/one, 1e-6)
		require.InEpsilon(t, lessLikely, weight(likely+1)/one, 1e-6)
		require.InEpsilon(t, lessLikely, weight(high)/one, 1e-6)
		require.InEpsilon(t, unlikely, weight(high+1)/one, 1e-6)
		require.InEpsilon(t, unlikely, weight(low-1)/one, 1e-6)
	}
}
