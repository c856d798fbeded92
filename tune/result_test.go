package tune

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// The result of a confirmed tune names the confirming run, and neither an invalid run nor a valid probe.
func TestResultNamesTheConfirmingRun(t *testing.T) {
	probe := func(kind Kind, folder string, valid bool, took time.Duration) Probe {
		return Probe{Measured: Measured{Kind: kind, Valid: valid, Took: took, Tails: []float64{0.1}}, Folder: folder}
	}
	p := &plan.Plan{Test: &plan.Test{Config: config.New(config.RunSettings())}}
	for _, confirmed := range []bool{true, false} {
		tn := &tuner{Options: Options{Plan: p, Folder: t.TempDir()}, state: &State{
			Goal: Goal{Percentile: 0.99, Limits: []Limit{{TTFT, time.Second}}}}}
		tn.state.Probes = []Probe{probe(Confirm, "confirm/1", false, 3*time.Second),
			probe(Confirm, "confirm/2", true, 5*time.Second), probe(Confirm, "confirm/3", false, 7*time.Second),
			probe(Rate, "probes/004", true, time.Second)}
		require.NoError(t, tn.end(&Outcome{Rate: 12, Low: 11, High: 13, Confirmed: confirmed, Why: "it is over"}))
		want := Result{TargetQPS: 12, Low: 11, High: 13, Confirmed: confirmed, Why: "it is over"}
		if confirmed {
			want.Run, want.RunS = "confirm/2", 5
		}
		require.Equal(t, &want, tn.state.Result)
		text, err := os.ReadFile(filepath.Join(tn.Folder, FileName))
		require.NoError(t, err)
		require.Contains(t, string(text), `"it is over"`)
		require.FileExists(t, filepath.Join(tn.Folder, PlotName))
	}
}

// A run that the client itself made INVALID measures nothing, even if LoadGen reports missed limits: the search must
// not mistake the client's limit for the server's.
func TestAConfirmationThatTheClientSpoiled(t *testing.T) {
	tn := &tuner{state: &State{Goal: Goal{Percentile: 0.99, Limits: []Limit{{TTFT, time.Second}}}}}
	late := record.Cause{Code: record.CodeLoadGenInvalid, Text: "LoadGen: INVALID"}
	lag := record.Cause{Code: record.CodeClientLag, Text: "the client was late"}
	for _, c := range []struct {
		causes  []record.Cause
		spoiled string
		lag     bool
	}{
		{[]record.Cause{late}, "", false},
		{[]record.Cause{late, lag}, "the confirming run was INVALID: the client was late", true},
		{[]record.Cause{lag}, "the confirming run was INVALID: the client was late", true},
	} {
		m, spoiled := tn.confirmed(Step{Kind: Confirm, Rate: 10}, &record.Record{Verdict: record.Invalid, Reasons: c.causes})
		require.False(t, m.Valid)
		require.Equal(t, c.spoiled, spoiled)
		require.Equal(t, c.lag, isLag(c.causes))
	}
}

// If the client remains too late, the tune ends with the results so far, and reports that the limit is the client's.
func TestTheClientsOwnLimitEndsATune(t *testing.T) {
	s := NewSearch(offlineGoal(), everySample)
	for step := s.Next(); s.count(Saturate) < 3; step = s.Next() {
		s.Observe(Measured{Kind: step.Kind, Concurrency: step.Concurrency, Answers: float64(step.Concurrency)})
	}
	o := s.clientLimit(s.Next(), "the client was late")
	require.Equal(t, "the client itself is the limit (saturate: 128 in flight): the client was late", o.Why)
	require.False(t, o.Confirmed)
	require.Zero(t, o.High, "the server's limit is unknown")
}

// The remaining time shown is that of a few probes and a confirming run, until a run is valid.
func TestTimeThatIsLeft(t *testing.T) {
	g := shape{ttft: 2, tpot: 0.1}.goal()
	tn := &tuner{search: NewSearch(g, everySample), state: &State{Goal: *g},
		Options: Options{Plan: &plan.Plan{Test: &plan.Test{Scenario: &models.ScenarioRow{}}}}}
	require.Zero(t, tn.left(), "nothing is known")
	tn.search.capacity, tn.search.met, tn.search.answer = 100, 100, time.Second
	tn.search.draw(10)
	run := tn.about(Step{Kind: Confirm, Rate: tn.search.guess()})
	probe := tn.about(tn.search.probe(tn.search.guess()))
	require.Greater(t, run, 10*time.Minute)
	require.Equal(t, run+4*probe, tn.left())
	require.Equal(t, 12*time.Second, tn.about(Step{Kind: Rate, Queries: 100, Rate: 10, Answer: 2 * time.Second}))
	require.Equal(t, 10*time.Second+(fill+1)*2*time.Second,
		tn.about(Step{Kind: Reference, Queries: 100, Rate: 10, Answer: 2 * time.Second}))
	require.Greater(t, probe, 2*time.Minute, "a quarter of a run")
	for _, s := range []time.Duration{70, 80, 90} {
		tn.search.measured = append(tn.search.measured, Measured{Kind: Rate, Took: s * time.Second})
	}
	require.Equal(t, run+80*time.Second, tn.left(), "one at least, as long as those before")
	tn.search.measured = append(tn.search.measured, Measured{Kind: Confirm})
	require.Equal(t, run+80*time.Second, tn.left(), "an INVALID run is followed by others")
	tn.search.measured = append(tn.search.measured, Measured{Kind: Confirm, Valid: true})
	require.Zero(t, tn.left())

	require.Equal(t, 5*time.Second, tn.about(Step{Kind: Saturate, Queries: 40, Concurrency: 16, Answer: 2 * time.Second}))
	tn.search.measured = append(tn.search.measured, Measured{Kind: Idle, Answer: 4 * time.Second})
	require.Equal(t, 10*time.Second, tn.about(Step{Kind: Saturate, Queries: 40, Concurrency: 16, Answer: 2 * time.Second}))
}

// After each probe, the remaining time shown is about what the rest of a tune needs, on each of the virtual servers.
func TestTimeThatIsLeftIsAbout(t *testing.T) {
	for _, sh := range shapes {
		g, shown, took := sh.goal(), 0.0, 0.0
		for seed := range uint64(3) {
			_, steps, rest := tuneVirtually(sh, 1000+seed)
			tn := &tuner{search: NewSearch(g, everySample), state: &State{Goal: *g},
				Options: Options{Plan: &plan.Plan{Test: &plan.Test{Scenario: &models.ScenarioRow{}}}}}
			for _, m := range steps {
				tn.search.Next()
				tn.search.Observe(m)
				if rest -= m.Took.Seconds(); m.Kind == Rate {
					shown, took = shown+tn.left().Seconds(), took+rest
				}
			}
		}
		require.InDelta(t, 1, shown/took, 0.25, sh.name)
	}
}
