package engine

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// queueing feeds a rule with a server that answers capacity requests a second, one after the other, at a constant rate
// of arrivals. It returns the second of the detection; 0: there was none within the given time.
func queueing(s *saturation, capacity, rate float64, long int) int {
	const base = int64(1e15)
	const tick = 20 // looks a second
	noise := rand.New(rand.NewPCG(1, 2))
	var firsts []firstToken
	began := 0.0 // requests that the server has begun
	for look := 1; look <= long*tick; look++ {
		at := float64(look) / tick
		arrived := math.Floor(rate * at)
		until := math.Min(arrived, capacity*at)
		firsts = firsts[:0]
		for ; began < until; began++ {
			ns := base + int64((at-noise.Float64()/tick)*1e9)
			firsts = append(firsts, firstToken{sentNS: base + int64(began/rate*1e9), atNS: ns})
		}
		if s.look(base+int64(at*1e9), base, int64(arrived), int64(began), firsts) {
			return int(math.Ceil(at))
		}
	}
	return 0
}

func ruleOf(s profile.Saturation) *saturation { return &saturation{Saturation: s.Full()} }

// A server at twice its capacity is found as soon as the rule allows, and one below it never is.
func TestOverSaturation(t *testing.T) {
	for name, c := range map[string]struct {
		rule           profile.Saturation
		capacity, rate float64
		from, to       int
	}{
		"twice":              {profile.Saturation{}, 10, 20, 30, 31},
		"a tenth more":       {profile.Saturation{}, 10, 11, 30, 60},
		"half":               {profile.Saturation{}, 10, 5, 0, 0},
		"at its capacity":    {profile.Saturation{}, 10, 10, 0, 0},
		"a higher limit":     {profile.Saturation{TTFT: time.Minute}, 10, 20, 178, 182},
		"earlier":            {profile.Saturation{MinTime: 6 * time.Second, TTFT: time.Second}, 10, 20, 6, 7},
		"too few points":     {profile.Saturation{MinPoints: 1e6}, 10, 20, 0, 0},
		"no margin":          {profile.Saturation{Margin: 1e-9}, 10, 20, 0, 0},
		"no first token yet": {profile.Saturation{}, 0, 20, 30, 31},
	} {
		got := queueing(ruleOf(c.rule), c.capacity, c.rate, 200)
		require.GreaterOrEqual(t, got, c.from, name)
		require.LessOrEqual(t, got, c.to, name)
	}
}

// Long answers let the requests in flight grow while the server keeps up: times to first tokens decide.
func TestGrowthWithoutLateFirstTokens(t *testing.T) {
	s := ruleOf(profile.Saturation{MinTime: time.Second, TTFT: time.Second})
	const base = int64(1e15)
	for second := int64(1); second < 100; second++ {
		now := base + second*1e9
		require.False(t, s.look(now, base, second, 0, []firstToken{{now - 5e8, now}}))
	}
	require.Zero(t, s.atNS)
}

// The slopes are those of the latest values: at most a share of all, and none older than the window.
func TestWindowOfSaturation(t *testing.T) {
	s := ruleOf(profile.Saturation{Window: 10 * time.Second, WindowShare: .5})
	const base = int64(1e15)
	for second := int64(1); second <= 40; second++ {
		now := base + second*1e9
		s.look(now, base, second, 0, []firstToken{{now - 3e9, now}})
		want := min(second/2, 11)
		require.Len(t, s.inFlight.points, int(want), "second %d", second)
		require.Len(t, s.ttft.points, int(want))
		require.EqualValues(t, want, s.late)
		var again trend
		for _, p := range s.inFlight.points {
			again.add(p)
		}
		require.InDelta(t, again.xy, s.inFlight.xy, 1e-6)
	}
}

// Quantiles of the t distribution agree with tables from three degrees of freedom on, within 4 %.
func TestStudentQuantile(t *testing.T) {
	for free, want := range map[float64]float64{3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 1000: 1.962} {
		require.InEpsilon(t, want, studentQuantile(.975, free), .04, "%v", free)
	}
}
