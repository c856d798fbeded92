package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// latencies returns log-normal values whose logarithms are autocorrelated, like those of a server with a queue.
func latencies(random *rand.Rand, n int, correlation float64) []float64 {
	values, x := make([]float64, n), random.NormFloat64()
	for i := range values {
		x = correlation*x + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
		values[i] = 0.1 * math.Exp(0.4*x)
	}
	return values
}

func quantileInterval(t *testing.T, a, b []float64, p, confidence float64) *Interval {
	t.Helper()
	i, err := intervalOfQuantile(a, b, p, confidence, false)
	require.NoError(t, err)
	return i
}

func includes(i *Interval, change float64) bool { return i.Low <= change && change <= i.High }

// At 95 %, two runs of the same server differ in about 5 % of the cases (of 150 pairs: 8, 9, 8, 7 of 91). By chance,
// more than 4 of 30 pairs would differ once in 60 times; the seeds are fixed. A pair without an interval does not
// differ.
func TestSameServerIsRarelyDifferent(t *testing.T) {
	const pairs = 30
	for _, c := range []struct{ p, correlation float64 }{{0.5, 0}, {0.5, 0.8}, {0.99, 0}, {0.99, 0.8}} {
		wrong, judged := 0, 0
		for seed := range uint64(pairs) {
			random := rand.New(rand.NewPCG(seed, 1))
			a, b := latencies(random, 2000, c.correlation), latencies(random, 2000, c.correlation)
			i, err := intervalOfQuantile(a, b, c.p, 0.95, false)
			if err == nil {
				judged++
			}
			if err == nil && !includes(i, 0) {
				wrong++
			}
		}
		t.Logf("quantile %v, correlation %v: %d of %d", c.p, c.correlation, wrong, pairs)
		require.LessOrEqual(t, wrong, 4, "%+v", c)
		require.Greater(t, judged, pairs/2)
	}
}

func TestKnownShiftIsFound(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		a, b := latencies(random, 4000, 0.5), latencies(random, 4000, 0.5)
		for i := range b {
			b[i] *= 1.2
		}
		i := quantileInterval(t, a, b, 0.5, 0.95)
		if i.Low > 0 && includes(i, 0.2) {
			found++
		}
	}
	require.GreaterOrEqual(t, found, 17)
}

// Requests with the same prompts vary together, so that pairs show a small shift that unpaired runs do not.
func TestPairsShowSmallerShifts(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	a := latencies(random, 2000, 0.3)
	b := make([]float64, len(a))
	for i := range b {
		b[i] = a[i] * 1.03 * math.Exp(0.02*random.NormFloat64())
	}
	paired, err := intervalOfQuantile(a, b, 0.5, 0.95, true)
	require.NoError(t, err)
	apart, err := intervalOfQuantile(a, b, 0.5, 0.95, false)
	require.NoError(t, err)
	require.True(t, paired.Low > 0 && includes(paired, 0.03), "%+v", paired)
	require.True(t, includes(apart, 0), "%+v", apart)
	require.Less(t, paired.High-paired.Low, (apart.High-apart.Low)/2)
}

// The quantile of the drawn blocks equals that of their sorted values.
func TestQuantileOfAResample(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		values := latencies(random, 200+random.IntN(800), 0.2)
		for i := range values {
			if random.IntN(10) == 0 {
				values[i] = math.NaN()
			}
		}
		length, p := 1+random.IntN(9), 0.5+0.45*random.Float64()
		q, err := newQuantile(values, p, length)
		require.NoError(t, err)
		weights := make([]uint16, q.blocks())
		draw(random, weights)
		var resample []float64
		block := 0
		for part := range slices.Chunk(values, length) {
			for range weights[block] {
				resample = append(resample, part...)
			}
			block++
		}
		sorted := present(resample)
		require.Equal(t, sorted[index(len(sorted), p)], q.at(weights))
	}
}

func TestBlocksGrowWithCorrelation(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	require.LessOrEqual(t, politisWhite(latencies(random, 5000, 0)), 5)
	near, far := politisWhite(latencies(random, 5000, 0.5)), politisWhite(latencies(random, 5000, 0.95))
	require.Greater(t, near, 5)
	require.Greater(t, far, 2*near)
	require.Equal(t, 1, blockLength([]float64{1, 1, 1, 1}))
	require.Equal(t, 2500, blockLength(make([]float64, 1_000_000)), "no more than mostBlocks")
}

// The tables of Student's distribution: 95 % with 19 degrees, 99.9 % with 30.
func TestStudentT(t *testing.T) {
	require.InDelta(t, 1.7291, studentT(0.95, 19), 1e-3)
	require.InDelta(t, 3.3852, studentT(0.999, 30), 3e-3)
	require.InDelta(t, 0.025, normal(-1.959964), 1e-6)
}

func TestTooLittleForAnInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	_, err := intervalOfQuantile(latencies(random, 300, 0), latencies(random, 300, 0), 0.999, 0.95, false)
	require.ErrorContains(t, err, "of neighbouring requests, and 10 are needed")
	_, err = intervalOfQuantile(latencies(random, 12, 0), latencies(random, 12, 0), 0.5, 0.95, false)
	require.ErrorContains(t, err, "the run is too short for an interval: ")
	_, err = intervalOfQuantile(nil, nil, 0.5, 0.95, false)
	require.ErrorContains(t, err, "no values")
}
