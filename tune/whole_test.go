//go:build cgo && !noloadgen

package tune

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/sim"
)

// What the processes of TestAWholeTune read from their environment: the server, the folder, and their step.
const (
	wholeURL    = "TUNE_TEST_URL"
	wholeFolder = "TUNE_TEST_FOLDER"
	wholeStep   = "TUNE_TEST_STEP"
)

// A tune of a real server ends early, goes on, and confirms its rate by a run of LoadGen. Each of its processes is one
// of this program, because LoadGen reads one configuration per process.
func TestAWholeTune(t *testing.T) {
	steps := map[string]func(t *testing.T, o Options){"ends early": endsEarly, "changed": isChanged, "goes on": goesOn,
		"is over": isOver, "peak": searchesByLoadGen}
	if step := steps[os.Getenv(wholeStep)]; step != nil {
		p, err := plan.New(plan.Settings{"model": "generic", "scenario": "Server", "endpoint": os.Getenv(wholeURL),
			"served-model": sim.DefaultConfig().Model, "max-tokens": "8", "ttft-limit": "200ms", "latency-percentile": "50",
			"min-duration": "1s", "min-queries": "100"})
		require.NoError(t, err)
		step(t, Options{Plan: p, Folder: os.Getenv(wholeFolder), Confidence: 0.95,
			Environ: append(os.Environ(), realRun+"=1"), Stderr: os.Stderr, Observer: silent{}, Resume: true})
		return
	}
	url, _ := runtest.Simulate(t, 20*time.Millisecond, 2*time.Millisecond, func(c *sim.Config) { c.MaxNumSeqs = slots })
	folder := ""
	run := func(step string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAWholeTune$")
		cmd.Env = append(os.Environ(), wholeStep+"="+step, wholeURL+"="+url, wholeFolder+"="+folder)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", step, out)
	}
	folder = filepath.Join(t.TempDir(), "peak")
	run("peak")
	for range 5 { // a busy machine may disturb a server so much that a tune ends without a confirmed rate
		folder = filepath.Join(t.TempDir(), "tune")
		run("ends early")
		run("changed")
		run("goes on")
		r := state(t, folder).Result
		if r != nil && r.Confirmed {
			run("is over")
			return
		}
		t.Logf("not confirmed: %+v", r)
	}
	require.Fail(t, "no tune confirmed a rate")
}

// slots is how many queries the server answers at a time. Each takes 34 ms.
const slots = 8

func state(t *testing.T, folder string) *State {
	s, err := ReadState(folder)
	require.NoError(t, err)
	return s
}

// starts is an observer that keeps the steps that begin, and may cancel the tune before one.
type starts struct {
	silent
	steps  []Step
	cancel func(Step)
}

func (s *starts) Begins(step Step, _ time.Duration) {
	if s.steps = append(s.steps, step); s.cancel != nil {
		s.cancel(step)
	}
}

func endsEarly(t *testing.T, o Options) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Observer = &starts{cancel: func(s Step) {
		if s.Kind == Saturate {
			cancel(stopped)
		}
	}}
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, stopped)
	s := state(t, o.Folder)
	require.Nil(t, s.Result)
	require.Equal(t, Idle, s.Probes[len(s.Probes)-1].Kind)
}

func isChanged(t *testing.T, o Options) {
	o.Confidence = 0.9
	_, err := Run(t.Context(), o)
	require.Equal(t, exit.CodeTuneChanged, exit.Classify(err).Code)
	require.ErrorContains(t, err, "--confidence=0.9")
}

func goesOn(t *testing.T, o Options) {
	before, seen := state(t, o.Folder), &starts{}
	o.Observer = seen
	after, err := Run(t.Context(), o)
	if code := exit.Classify(err); code != nil {
		require.Equal(t, exit.CodeProbeSpoiled, code.Code, err)
	}
	require.NotEqual(t, Idle, seen.steps[0].Kind, "it was measured before")
	require.Len(t, after.Probes, len(before.Probes)+len(seen.steps))
	require.True(t, before.Started.Equal(after.Started))
	require.Greater(t, after.SpentS, before.SpentS)
	for i := range before.Probes {
		require.Equal(t, before.Probes[i].Folder, after.Probes[i].Folder)
		require.True(t, before.Probes[i].Started.Equal(after.Probes[i].Started))
	}
	for i, step := range seen.steps {
		isMeasured(t, &after.Probes[len(before.Probes)+i], step)
	}
	if r := after.Result; r != nil && r.Confirmed {
		last, err := record.Read(filepath.Join(o.Folder, r.Run))
		require.NoError(t, err)
		require.Equal(t, record.Valid, last.Verdict)
		target, _, ok := last.Rate()
		require.True(t, ok)
		require.InEpsilon(t, r.TargetQPS, target, 1e-3)
		require.Less(t, target, 2*slots/.034, "a short run may exceed the capacity, as the limit allows a queue")
		require.Greater(t, target, 50.0)
	}
}

// isMeasured checks the latencies of a step against those of the simulator.
func isMeasured(t *testing.T, p *Probe, step Step) {
	if p.Kind == Confirm || p.Spoiled != "" {
		return
	}
	require.GreaterOrEqual(t, p.Medians[0], 0.020, "time to first token")
	require.GreaterOrEqual(t, p.Answer.Seconds(), p.Medians[0])
	require.GreaterOrEqual(t, p.Tails[0], p.Medians[0])
	if step.Concurrency > 0 {
		require.GreaterOrEqual(t, p.Counts[0].Queries, step.Queries, "no limit ends a closed loop")
	}
}

func isOver(t *testing.T, o Options) {
	before, seen := state(t, o.Folder), &starts{}
	require.True(t, before.Result.Confirmed)
	o.Observer = seen
	after, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Empty(t, seen.steps)
	require.Equal(t, before.Result, after.Result)
}

// searchesByLoadGen lets LoadGen search, until it tests the second rate.
func searchesByLoadGen(t *testing.T, o Options) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	require.NoError(t, o.Plan.Config.Set("target-qps", "20", plan.ProgramOrigin("a test")))
	o.Resume, o.Budget = false, time.Hour
	s, err := FindPeak(ctx, o, func(p *mllog.Peak) {
		if len(p.Tests) > 1 {
			cancel(enough)
		}
	})
	require.ErrorIs(t, err, enough)
	written, err := ReadPeak(o.Folder)
	require.NoError(t, err)
	require.Equal(t, s.Result, written.Result)
	require.Equal(t, &PeakResult{Low: 20, Why: "enough"}, s.Result)
	require.Equal(t, 20.0, s.Tests[0].Rate)
	require.Equal(t, []Limit{{TTFT, 200 * time.Millisecond}}, s.Limits)
	require.True(t, s.Rehearsal)
	require.Contains(t, s.Reasons, PeakReason)
	require.Contains(t, s.Settings, "--max-tokens=8")
	require.Equal(t, []any{"generic", "Server", 20.0, 0.5, time.Second, 100},
		[]any{s.Model, s.Scenario, s.LowerQPS, s.Percentile, s.Test, s.Queries})
	require.False(t, s.Started.IsZero())
	require.Positive(t, s.TookS)
}
