package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// A plan has the requests, the tokens and the times of a trace. Lengths that it does not state stay unknown.
func TestPlanOfATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	f := &profile.TraceFile{Path: path, Format: "jsonl"}
	p := &profile.Profile{Data: profile.Data{Kind: profile.TraceLengths, Trace: f}, Load: profile.Load{Trace: f,
		Stages: []profile.Stage{{Arrival: profile.Trace}}}}
	for _, c := range []struct {
		rows          string
		limit         int
		requests      float64
		input, output float64
		duration      time.Duration
	}{
		{`{"seconds": 5, "input": 7, "output": 2}` + "\n" + `{"seconds": 7.5, "input": 10, "output": 3}`, 0, 2, 17, 5, 2500e6},
		{`{"seconds": 0, "input": 7, "output": 2}` + "\n" + `{"seconds": 1, "input": 9, "output": 3}` + "\n" +
			`{"seconds": 9, "input": 10, "output": 3}`, 2, 2, 16, 5, time.Second},
		{`{"seconds": 0, "input": 7, "output": 2}` + "\n" + `{"seconds": 1, "input": 9, "output": 0}`, 0, 2, 16, 0, time.Second},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.rows), 0o644))
		p.Load.Stages[0].Requests = c.limit
		plan := NewPlan(p)
		require.NoError(t, plan.ReadTraces(p))
		require.Equal(t, []float64{c.requests, c.input, c.output}, []float64{plan.Requests, plan.Input, plan.Output}, c.rows)
		require.Equal(t, c.duration, plan.Duration)
	}
	require.NoError(t, os.WriteFile(path, []byte(`{"seconds": 0, "input": 7}`), 0o644))
	require.EqualError(t, NewPlan(p).ReadTraces(p), "data.trace: trace "+path+
		" line 1: the object lacks output; add it, or set data.output")
	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, NewPlan(p).ReadTraces(p), "load.trace: cannot read the trace")
}

// The bounds of recorded lengths are not lengths.
func TestPlanOfAFileInventsNoTokens(t *testing.T) {
	within := &profile.Distribution{Kind: "uniform", Min: 10, Max: 1024}
	p := &profile.Profile{Data: profile.Data{Kind: profile.ShareGPT, Input: within, Output: within},
		Load: profile.Load{Stages: []profile.Stage{{Arrival: profile.Closed, Concurrency: 1, Requests: 5}}}}
	plan := NewPlan(p)
	require.Equal(t, []float64{5, 0, 0}, []float64{plan.Requests, plan.Input, plan.Output})
	p.Data.Output = profile.FixedAt(3)
	require.Equal(t, 15.0, NewPlan(p).Output)
}

// The plan of a rotation has the tokens of all its conversations, not of as many as there are users.
func TestPlanOfARotation(t *testing.T) {
	for rotate, want := range map[bool]float64{false: 10 + 40 + 70 + 100, true: 4 * 10} {
		p := profile.Defaults()
		p.Data = profile.Data{Kind: profile.Conversations, Rotate: rotate, Input: profile.FixedAt(10),
			Output: profile.FixedAt(20), Turns: &profile.Turns{Conversations: 4, Count: profile.FixedAt(9)}}
		p.Load.Stages = []profile.Stage{{Arrival: profile.Closed, Concurrency: 1, Requests: 4}}
		require.Equal(t, want, NewPlan(p).Input)
	}
}
