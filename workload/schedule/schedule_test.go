package schedule

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func due(t *testing.T, s profile.Stage) []int64 {
	t.Helper()
	list, err := Due(&s, Seed{Profile: 7}, nil)
	require.NoError(t, err)
	require.True(t, slices.IsSorted(list), "times ascend")
	again, err := Due(&s, Seed{Profile: 7}, nil)
	require.NoError(t, err)
	require.Equal(t, list, again, "the seed decides")
	return list
}

// variation returns the mean and the coefficient of variation of the gaps, in seconds.
func variation(due []int64) (mean, cv float64) {
	n := float64(len(due) - 1)
	var sum, squares float64
	for i := 1; i < len(due); i++ {
		gap := float64(due[i]-due[i-1]) / 1e9
		sum += gap
		squares += gap * gap
	}
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean)) / mean
}

func TestConstantGapsAreEqual(t *testing.T) {
	list := due(t, profile.Stage{Arrival: profile.Constant, Rate: 1000, Duration: 10 * time.Second})
	require.Len(t, list, 10_000)
	require.Zero(t, list[0])
	mean, cv := variation(list)
	require.InEpsilon(t, 1e-3, mean, 1e-6)
	require.Less(t, cv, 1e-5)

	require.Len(t, due(t, profile.Stage{Arrival: profile.Constant, Rate: 0.1, Duration: 30 * time.Second}), 3)
	require.Len(t, due(t, profile.Stage{Arrival: profile.Constant, Rate: 10, Requests: 7}), 7)
	both := profile.Stage{Arrival: profile.Constant, Rate: 10, Requests: 7, Duration: 500 * time.Millisecond}
	require.Len(t, due(t, both), 5, "the first limit ends the stage")
}

// distance is the Kolmogorov-Smirnov statistic of gaps against a cumulative distribution.
func distance(due []int64, cdf func(float64) float64) float64 {
	gaps := make([]float64, len(due)-1)
	for i := range gaps {
		gaps[i] = float64(due[i+1]-due[i]) / 1e9
	}
	slices.Sort(gaps)
	n, d := float64(len(gaps)), 0.0
	for i, gap := range gaps {
		f := cdf(gap)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d
}

// At 1e5 gaps the Kolmogorov-Smirnov test rejects at the 1 % level above 1.628/sqrt(n). The seed is fixed.
func TestPoissonGapsAreExponential(t *testing.T) {
	const rate, n = 200.0, 100_001
	list := due(t, profile.Stage{Arrival: profile.Poisson, Rate: rate, Requests: n})
	exponential := func(x float64) float64 { return -math.Expm1(-rate * x) }
	limit := 1.628 / math.Sqrt(n-1)
	require.Less(t, distance(list, exponential), limit)
	uniform := due(t, profile.Stage{Arrival: profile.Constant, Rate: rate, Requests: n})
	require.Greater(t, distance(uniform, exponential), limit, "the test can fail")
	// a shape of 2 is the sum of two exponential numbers
	double := due(t, profile.Stage{Arrival: profile.Gamma, Burstiness: 2, Rate: rate, Requests: n})
	require.Less(t, distance(double, func(x float64) float64 {
		return 1 - math.Exp(-2*rate*x)*(1+2*rate*x)
	}), limit)
	// a shape of 1/2 is the square of a normal number
	half := due(t, profile.Stage{Arrival: profile.Gamma, Burstiness: 0.5, Rate: rate, Requests: n})
	require.Less(t, distance(half, func(x float64) float64 { return math.Erf(math.Sqrt(rate * x / 2)) }), limit)
}

func TestBurstinessIsTheShape(t *testing.T) {
	for _, shape := range []float64{0.25, 0.5, 1, 4, 100} {
		mean, cv := variation(due(t, profile.Stage{Arrival: profile.Gamma, Burstiness: shape, Rate: 50, Requests: 50_000}))
		require.InEpsilon(t, 1.0/50, mean, 0.03, "shape %v", shape)
		require.InEpsilon(t, 1/math.Sqrt(shape), cv, 0.03, "shape %v", shape)
	}
}

func TestRescaledGapsEndAtTheRate(t *testing.T) {
	list := due(t, profile.Stage{Arrival: profile.Gamma, Burstiness: 1, Rate: 8, Requests: 2000, Rescale: true})
	require.InDelta(t, 250e9, float64(list[len(list)-1]), 1)
}

func TestScatteredFillsItsDuration(t *testing.T) {
	list := due(t, profile.Stage{Arrival: profile.Scattered, Rate: 2.5, Duration: 7 * time.Second})
	require.Len(t, list, 17)
	require.InDelta(t, 7e9, float64(list[16]), 1)
	perSecond := due(t, profile.Stage{Arrival: profile.PoissonSeconds, Rate: 100, Duration: 50 * time.Second})
	require.Len(t, perSecond, 5000)
	require.InEpsilon(t, 50e9, float64(perSecond[4999]), 0.1, "its length is random")
}

func TestRampsAccelerate(t *testing.T) {
	linear := due(t, profile.Stage{Arrival: profile.Constant, Rate: 100, Duration: 20 * time.Second,
		Ramp: &profile.Ramp{Shape: "linear", Over: 10 * time.Second}})
	require.Len(t, linear, 1500, "half of the rate while it grows")
	half, _ := slices.BinarySearch(linear, 5e9)
	require.InDelta(t, 125, half, 1, "rate t^2 / (2 ramp)")
	exponential := due(t, profile.Stage{Arrival: profile.Constant, Rate: 1, Requests: 1000,
		Ramp: &profile.Ramp{Shape: "exponential", From: 1, To: 100}})
	require.Len(t, exponential, 1000)
	whole := 1000 * math.Log(100) / 99
	require.InEpsilon(t, whole, float64(exponential[999])/1e9, 0.01)
	middle, _ := slices.BinarySearch(exponential, int64(whole/2*1e9))
	require.InDelta(t, 1000.0/11, middle, 2, "the tenth of the last rate at half time")
}

// The two functions of a ramp are inverses of each other.
func TestGrowthIsInverted(t *testing.T) {
	for _, g := range []growth{{first: 5, last: 5}, {last: 9, over: 3}, {first: 9, last: 2, over: 3},
		{first: 2, last: 20, over: 4, exponential: true}} {
		for at := 0.0; at < 10; at += 0.37 {
			require.InDelta(t, at, g.time(g.count(at)), 1e-6, "%+v at %v", g, at)
		}
	}
}

func TestTraceIsSortedAndCut(t *testing.T) {
	recorded := []int64{5e9, 1e9, 3e9, 2e9, 9e9}
	s := profile.Stage{Arrival: profile.Trace, Duration: 4 * time.Second, Requests: 3}
	list, err := Due(&s, Seed{}, recorded)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1e9, 2e9}, list)
	require.Equal(t, int64(5e9), recorded[0], "the trace is not changed")
	_, err = Due(&s, Seed{}, nil)
	require.ErrorContains(t, err, "no arrivals")

	inOrder := []int64{0, 1e9, 2e9, 3e9, 9e9}
	list, err = Due(&s, Seed{}, inOrder)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1e9, 2e9}, list)
	require.Same(t, &inOrder[0], &list[0], "a long trace is not copied")
}

func TestStagesWithoutTimes(t *testing.T) {
	_, err := Due(&profile.Stage{Arrival: profile.Closed, Concurrency: 2}, Seed{}, nil)
	require.ErrorContains(t, err, "wait for answers")
	_, err = Due(&profile.Stage{Arrival: profile.Constant, Rate: 1e9, Duration: time.Hour}, Seed{}, nil)
	require.ErrorContains(t, err, "lower its rate")
	require.Equal(t, []int64{0, 25e8, 5e9, 75e8}, Starts(&profile.Stage{Concurrency: 4,
		Ramp: &profile.Ramp{Shape: "linear", Over: 10 * time.Second}}))
	require.Equal(t, []int64{0, 0}, Starts(&profile.Stage{Concurrency: 2}))
}

// Each stage and seed has its own random numbers.
func TestSeedsDiffer(t *testing.T) {
	s := profile.Stage{Arrival: profile.Poisson, Rate: 5, Requests: 10}
	a, _ := Due(&s, Seed{7, 0}, nil)
	b, _ := Due(&s, Seed{7, 1}, nil)
	c, _ := Due(&s, Seed{8, 0}, nil)
	require.NotEqual(t, a, b)
	require.NotEqual(t, a, c)
}
