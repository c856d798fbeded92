package search

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// chat returns a profile with the given stages.
func chat(stages ...profile.Stage) *profile.Profile {
	p := profile.Defaults()
	p.Name, p.Seed = "chat", 7
	p.Data = profile.Data{Kind: profile.Fixed, Text: "Hello"}
	p.Load.Stages = stages
	return p
}

// TestProfilesOfMeasurements makes one stage of a profile, with a load, a length and a seed of its own.
func TestProfilesOfMeasurements(t *testing.T) {
	const length = 10 * time.Second
	warm := profile.Stage{Arrival: profile.Constant, Rate: 1, Requests: 5, Warmup: true}
	ramp := &profile.Ramp{Shape: "linear", From: 1}
	for name, c := range map[string]struct {
		of   *profile.Profile
		kind Kind
		from float64
		want profile.Stage
	}{
		"a rate": {chat(warm, profile.Stage{Name: "peak", Arrival: profile.Poisson, Rate: 4, Requests: 100, Ramp: ramp},
			profile.Stage{Arrival: profile.Constant, Rate: 9, Requests: 1}), Rate, 4,
			profile.Stage{Arrival: profile.Poisson, Rate: 3, Duration: length}},
		"users": {chat(profile.Stage{Arrival: profile.Closed, Concurrency: 16, Requests: 100,
			ThinkTime: &profile.Distribution{Kind: "fixed", Mean: 1}}), Concurrency, 16,
			profile.Stage{Arrival: profile.Closed, Concurrency: 3, Duration: length,
				ThinkTime: &profile.Distribution{Kind: "fixed", Mean: 1}}},
		"a limit in flight": {chat(profile.Stage{Arrival: profile.Gamma, Burstiness: 2, Rate: 4, Concurrency: 8,
			Duration: time.Second}), Rate, 4,
			profile.Stage{Arrival: profile.Gamma, Burstiness: 2, Rate: 3, Concurrency: 8, Duration: length}},
	} {
		t.Run(name, func(t *testing.T) {
			_, kind, from, err := template(c.of)
			require.NoError(t, err)
			require.Equal(t, c.kind, kind)
			require.Equal(t, c.from, from)
			own, err := at(c.of, 3, length, 2)
			require.NoError(t, err)
			require.Equal(t, []profile.Stage{c.want}, own.Load.Stages)
			require.Equal(t, profile.Window{Share: settling}, own.Load.Warmup)
			require.NotEqual(t, c.of.Seed, own.Seed)
			again, err := at(c.of, 3, length, 3)
			require.NoError(t, err)
			require.NotEqual(t, own.Seed, again.Seed)
		})
	}
	sweep := chat()
	sweep.Load.Sweep = &profile.Sweep{Kind: "linear", StageDuration: time.Second, Arrival: profile.Poisson}
	own, err := at(sweep, 3, length, 1)
	require.NoError(t, err)
	require.Equal(t, []profile.Stage{{Arrival: profile.Poisson, Rate: 3, Duration: length}}, own.Load.Stages)
	_, _, _, err = template(chat(profile.Stage{Arrival: profile.Trace}))
	require.ErrorContains(t, err, `arrival "trace", which has neither a rate nor a number of users`)
}

// TestRounds rounds loads to what users would write.
func TestRounds(t *testing.T) {
	for load, want := range map[float64]float64{1234.56: 1235, 0.0123456: 0.01235, 7: 7, 99999: 100000} {
		require.InEpsilon(t, want, Rate.round(load), 1e-12)
	}
	require.Equal(t, 3.0, Concurrency.round(2.6))
	require.Equal(t, 1.0, Concurrency.round(0.2))
}
