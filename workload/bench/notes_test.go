package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// A stage that could not be sent as its profile asks, because of the server, has a note.
func TestNotesAboutTheLoad(t *testing.T) {
	stage := func(wait time.Duration) measure.Part {
		p := measure.Part{Figures: measure.Figures{Throughput: measure.Throughput{SendRate: 54.3}}}
		p.Latency = map[string]*measure.Distribution{
			"schedule_delay": {Percentile: map[string]float64{"p99": wait.Seconds() + 0.001}},
			"client_delay":   {Percentile: map[string]float64{"p99": 0.001}}}
		return p
	}
	limited := profile.Stage{Arrival: profile.Constant, Rate: 2000, Concurrency: 2}
	for name, c := range map[string]struct {
		stage    profile.Stage
		inFlight int
		wait     time.Duration
		want     []string
	}{
		"waited": {limited, 0, 34 * time.Second, []string{"stage 0: requests waited for the limit of 2 in flight, " +
			"34 s at the 99th percentile: 54.3 of 2000 requests/s were sent"}},
		"limit of the run": {profile.Stage{Arrival: profile.Constant, Rate: 9}, 1, time.Second, []string{"stage 0: " +
			"requests waited for the limit of 1 in flight, 1 s at the 99th percentile: 54.3 of 9 requests/s were sent"}},
		"in time":  {limited, 0, time.Millisecond, nil},
		"no limit": {profile.Stage{Arrival: profile.Constant, Rate: 9}, 0, time.Second, nil},
		"users":    {profile.Stage{Arrival: profile.Closed, Concurrency: 2}, 0, time.Second, nil},
	} {
		m := &measure.Measured{}
		m.Stages = []measure.Part{stage(c.wait)}
		p := &profile.Profile{Load: profile.Load{InFlight: c.inFlight, Stages: []profile.Stage{c.stage}}}
		require.Equal(t, c.want, loadNotes(m, p), name)
	}

	m := &measure.Measured{}
	m.Total.Requests.OK, m.Total.Tokens.ShortIn = 9, 2
	require.Equal(t, []string{"for 2 of 9 requests the server counts less than 90 % of the prompt's tokens: it cuts " +
		"prompts, or uses another tokenizer"}, loadNotes(m, &profile.Profile{}))
	m.Total.Tokens.ShortIn, m.Total.Tokens.ShortOut = 0, 3
	require.Empty(t, loadNotes(m, &profile.Profile{}))
	require.Equal(t, []string{"3 of 9 answers are shorter than the profile asks for, although it sets ignore_eos: the " +
		"server does not support it"}, loadNotes(m, &profile.Profile{API: profile.API{IgnoreEOS: true}}))
}
