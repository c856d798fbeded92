package schedule

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

const seconds = time.Second

// The expected number of requests: rate times duration, or the requests, or the smaller of both.
func TestExpected(t *testing.T) {
	for arrival, list := range map[profile.Arrival][]struct {
		s    profile.Stage
		want float64
	}{
		profile.Constant: {{profile.Stage{Duration: 5 * seconds}, 20}, {profile.Stage{Requests: 30}, 30},
			{profile.Stage{Duration: 5 * seconds, Requests: 21}, 20}, {profile.Stage{Duration: 5 * seconds, Requests: 19}, 19},
			{profile.Stage{Duration: 5 * seconds, Requests: 1}, 1}, {profile.Stage{Duration: 1400 * time.Millisecond}, 5},
			{profile.Stage{Duration: 5 * seconds, Ramp: &profile.Ramp{Shape: "linear"}}, 10}},
		profile.Poisson: {{profile.Stage{Duration: 5 * seconds, Requests: 30}, 20}},
		profile.Gamma:   {{profile.Stage{Duration: 5 * seconds}, 20}},
		profile.Scattered: {{profile.Stage{Duration: 5 * seconds}, 20},
			{profile.Stage{Duration: 1400 * time.Millisecond}, 5}},
		profile.PoissonSeconds: {{profile.Stage{Duration: 5 * seconds}, 20},
			{profile.Stage{Duration: 1400 * time.Millisecond}, 5}},
		profile.Burst: {{profile.Stage{Requests: 30}, 30}},
		profile.Closed: {{profile.Stage{Duration: 5 * seconds}, 0}, {profile.Stage{Requests: 30}, 30},
			{profile.Stage{Duration: 5 * seconds, Requests: 30}, 30}},
		profile.Trace:    {{profile.Stage{Duration: 5 * seconds}, 0}, {profile.Stage{Requests: 30}, 30}},
		profile.Sessions: {{profile.Stage{Duration: 5 * seconds}, 0}, {profile.Stage{Requests: 30}, 30}},
	} {
		for _, c := range list {
			c.s.Arrival, c.s.Rate = arrival, 4
			require.InDelta(t, c.want, Expected(&c.s), 1e-9, "%s %+v", arrival, c.s)
		}
	}
	_, err := Due(&profile.Stage{Arrival: profile.Trace, Requests: Most}, Seed{}, []int64{0})
	require.NoError(t, err)
	_, err = Due(&profile.Stage{Arrival: profile.Trace, Requests: Most + 1}, Seed{}, []int64{0})
	require.ErrorContains(t, err, "longer than the 100000000 that a run can hold")
	burst := due(t, profile.Stage{Arrival: profile.Burst, Requests: 3})
	require.Equal(t, []int64{0, 0, 0}, burst)
	burst = due(t, profile.Stage{Arrival: profile.Burst, Requests: 6, Concurrency: 4,
		Ramp: &profile.Ramp{Shape: "linear", Over: 8}})
	require.Equal(t, []int64{0, 2, 4, 6, 8, 8}, burst)
}

// The first request of a random schedule is due after the first gap, and the last one within the duration.
func TestEdgesOfRandomGaps(t *testing.T) {
	const rate = 3.0
	for arrival, next := range map[profile.Arrival]func(*rand.Rand) func() float64{
		profile.Poisson: func(r *rand.Rand) func() float64 { return r.ExpFloat64 },
		profile.Gamma:   func(r *rand.Rand) func() float64 { return gamma(2, r) },
	} {
		draw, at, want := next(Seed{Profile: 7}.source()), 0.0, []int64(nil)
		for range 50 {
			at += draw()
			want = append(want, int64(math.Round(at/rate*1e9)))
		}
		s := profile.Stage{Arrival: arrival, Rate: rate, Requests: len(want), Burstiness: 2}
		require.InDeltaSlice(t, want, due(t, s), 1)
		for _, n := range []int{1, 7, 49} { // cut between two requests
			s := s
			s.Duration = time.Duration(want[n-1]+want[n]) / 2
			require.Len(t, due(t, s), n)
		}
		none := s
		none.Duration = time.Duration(want[0] / 2)
		require.Empty(t, due(t, none))
	}
	require.Equal(t, []int64{0, 1e9, 2e9},
		due(t, profile.Stage{Arrival: profile.Constant, Rate: 1, Duration: 3 * seconds}))
	require.Equal(t, []int64{0, 1e9, 2e9},
		due(t, profile.Stage{Arrival: profile.Constant, Rate: 1, Duration: 3*seconds + seconds/2}),
		"a request has the time of its gap")
	// Two requests are stretched so that the last one ends at requests/rate; one at the start remains there.
	stretched := profile.Stage{Arrival: profile.Constant, Rate: 4, Requests: 3, Rescale: true}
	require.Equal(t, []int64{0, 375e6, 750e6}, due(t, stretched))
	stretched.Requests = 1
	require.Equal(t, []int64{0}, due(t, stretched))
	stretched.Arrival = profile.Poisson
	require.Equal(t, []int64{250e6}, due(t, stretched), "one gap is stretched too")
	stretched.Requests, stretched.Duration = 0, 1
	require.Empty(t, due(t, stretched))
}

// A trace is moved to begin at zero, and cut behind its duration and its number of requests.
func TestCutsOfATrace(t *testing.T) {
	recorded := []int64{0, 10, 10, 20, 30}
	for _, c := range []struct {
		s    profile.Stage
		want int
	}{
		{profile.Stage{}, 5}, {profile.Stage{Duration: 1}, 1}, {profile.Stage{Duration: 9}, 1},
		{profile.Stage{Duration: 10}, 3}, {profile.Stage{Duration: 29}, 4}, {profile.Stage{Duration: 30}, 5},
		{profile.Stage{Requests: 1}, 1}, {profile.Stage{Requests: 4}, 4}, {profile.Stage{Requests: 5}, 5},
		{profile.Stage{Requests: 6}, 5}, {profile.Stage{Duration: 10, Requests: 2}, 2},
	} {
		c.s.Arrival = profile.Trace
		list, err := Due(&c.s, Seed{}, recorded)
		require.NoError(t, err)
		require.Equal(t, recorded[:c.want], list, "%+v", c.s)
	}
	s := &profile.Stage{Arrival: profile.Trace}
	late := []int64{5, 15, 15, 25, 35}
	list, err := Due(s, Seed{}, late)
	require.NoError(t, err)
	require.Equal(t, recorded, list)
	require.Equal(t, int64(5), late[0], "the trace is not changed")
	list, err = Due(s, Seed{}, []int64{0, 20, 10, 30, 10})
	require.NoError(t, err)
	require.Equal(t, recorded, list)
}

func TestStarts(t *testing.T) {
	s := profile.Stage{Concurrency: 4, Duration: 8 * seconds}
	require.Equal(t, []int64{0, 0, 0, 0}, Starts(&s))
	s.Ramp = &profile.Ramp{}
	require.Equal(t, []int64{0, 2e9, 4e9, 6e9}, Starts(&s), "over the whole stage")
	s.Ramp.Over = 4
	require.Equal(t, []int64{0, 1, 2, 3}, Starts(&s))
	s.Ramp.Over, s.Duration = 0, 0
	require.Equal(t, []int64{0, 0, 0, 0}, Starts(&s))
}

// Which ramp a stage has: its rates, its shape and its length.
func TestRamps(t *testing.T) {
	for _, c := range []struct {
		s    profile.Stage
		want growth
	}{
		{profile.Stage{Rate: 5}, growth{first: 5, last: 5}},
		{profile.Stage{Rate: 5, Ramp: &profile.Ramp{Over: 2 * seconds}}, growth{last: 5, over: 2}},
		{profile.Stage{Rate: 5, Duration: 9 * seconds, Ramp: &profile.Ramp{Over: 2 * seconds}}, growth{last: 5, over: 2}},
		{profile.Stage{Rate: 5, Duration: 9 * seconds, Ramp: &profile.Ramp{From: 1, To: 3}},
			growth{first: 1, last: 3, over: 9}},
		{profile.Stage{Rate: 5, Requests: 12, Ramp: &profile.Ramp{From: 1}}, growth{first: 1, last: 5, over: 4}},
		{profile.Stage{Rate: 5, Requests: 12, Duration: seconds, Ramp: &profile.Ramp{From: 1}},
			growth{first: 1, last: 5, over: 1}},
		{profile.Stage{Rate: 5, Duration: seconds, Ramp: &profile.Ramp{Shape: "exponential", From: 1}},
			growth{first: 1, last: 5, over: 1, exponential: true}},
		{profile.Stage{Rate: 5, Duration: seconds, Ramp: &profile.Ramp{Shape: "exponential"}}, growth{last: 5, over: 1}},
		{profile.Stage{Rate: 5, Duration: seconds, Ramp: &profile.Ramp{Shape: "exponential", From: 5}},
			growth{first: 5, last: 5, over: 1}},
		{profile.Stage{Rate: 5, Duration: seconds, Ramp: &profile.Ramp{Shape: "linear", From: 1}},
			growth{first: 1, last: 5, over: 1}},
	} {
		require.Equal(t, c.want, newGrowth(&c.s), "%+v %+v", c.s, c.s.Ramp)
	}
	flat, linear := growth{first: 4, last: 4}, growth{first: 2, last: 6, over: 4}
	curved := growth{first: 1, last: math.E * math.E, over: 2, exponential: true}
	for _, c := range []struct {
		g        growth
		at, want float64
	}{
		{flat, 0, 0}, {flat, 3, 12}, {linear, 0, 0}, {linear, 2, 6}, {linear, 4, 16}, {linear, 5, 22},
		{curved, 0, 0}, {curved, 1, math.E - 1}, {curved, 2, math.E*math.E - 1}, {curved, 3, 2*math.E*math.E - 1},
		{growth{last: 6, over: 3}, 0, 0}, {growth{first: 4, last: 4, over: 2}, 1, 4},
		{growth{first: 0.1, last: 0.5, over: 10}, 5, 1},
	} {
		require.InDelta(t, c.want, c.g.count(c.at), 1e-9, "%+v after %g", c.g, c.at)
		require.InDelta(t, c.at, c.g.time(c.want), 1e-6, "%+v at %g", c.g, c.want)
	}
}

// Poisson counts have equal mean and variance, and scattered times end with their length.
func TestCountsOfSeconds(t *testing.T) {
	r := Seed{Profile: 7}.source()
	scatter := scattered(r, 10, 2, 4)
	require.EqualValues(t, 12e9, scatter[3], "they end with the length")
	for i := range scatter {
		require.Greater(t, scatter[i], int64(10e9))
	}
	seconds := due(t, profile.Stage{Arrival: profile.PoissonSeconds, Rate: 2.5, Duration: 7 * seconds})
	require.Len(t, seconds, 17)
	for _, mean := range []float64{0.25, 3, 40} {
		sum, squares := 0.0, 0.0
		const n = 20_000
		for range n {
			v := float64(poisson(r, mean))
			sum, squares = sum+v, squares+v*v
		}
		require.InEpsilon(t, mean, sum/n, 0.05)
		require.InEpsilon(t, mean, squares/n-sum/n*sum/n, 0.05, "variance and mean are equal")
	}
	require.Zero(t, poisson(r, 0))
}
