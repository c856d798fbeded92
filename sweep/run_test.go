//go:build cgo && !noloadgen

package sweep

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/mlperf-go/mlperf-go/backends/openai" // registers the protocols
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/sim"
)

// events records the reports of a sweep.
type events struct {
	begun   []float64
	number  []int
	of      []int
	repeats int
	points  []Point
	left    []time.Duration

	// Called while a load is measured, after it, and before it is measured again; nil: nothing.
	progress, measured, repeated func()
}

func (*events) Waiting(string)                       {}
func (*events) Preflighted(*run.Preflight, []string) {}

func (e *events) Progress(run.Progress) {
	if e.progress != nil {
		e.progress()
	}
}

func (e *events) Repeats(*Point) {
	if e.repeats++; e.repeated != nil {
		e.repeated()
	}
}

func (e *events) Begins(load float64, number, of int, about time.Duration) {
	e.begun, e.number, e.of = append(e.begun, load), append(e.number, number), append(e.of, of)
}

func (e *events) Measured(p *Point, left time.Duration) {
	e.points, e.left = append(e.points, *p), append(e.left, left)
	if e.measured != nil {
		e.measured()
	}
}

func planOf(t *testing.T, url, model, requestLog string) *plan.Plan {
	t.Helper()
	p, err := plan.New(plan.Settings{"model": "generic", "scenario": "Server", "endpoint": url, "served-model": model,
		"max-tokens": "8", "request-log": requestLog})
	require.NoError(t, err)
	return p
}

func options(t *testing.T, url, model, folder string, e *events, loads ...float64) Options {
	t.Helper()
	return Options{Plan: planOf(t, url, model, "true"), Folder: folder,
		Loads: Loads{Kind: Concurrency, Values: loads}, Observer: e,
		Length: Length{WarmupS: .05, Duration: .2, Queries: 5, Longest: 2}}
}

// Names of what the processes that TestRun starts read from their environment: the server, the folder, and their step.
const (
	childURL    = "SWEEP_TEST_URL"
	childFolder = "SWEEP_TEST_FOLDER"
	childStep   = "SWEEP_TEST_STEP"
)

// TestRun: a sweep measures its loads in the order of the list, stores them in the order of the loads, and continues
// with the same terms. Each step has a process of its own, because LoadGen reads one configuration per process.
func TestRun(t *testing.T) {
	steps := map[string]func(t *testing.T, url, folder string){"run": runs, "changed": changes, "data": changesData,
		"resume": resumes, "rates": measuresRates, "faults": fails}
	if step := steps[os.Getenv(childStep)]; step != nil {
		step(t, os.Getenv(childURL), os.Getenv(childFolder))
		return
	}
	url, _ := runtest.Simulate(t, 2*time.Millisecond, time.Millisecond)
	folder := filepath.Join(t.TempDir(), "sweep")
	for _, step := range []string{"run", "changed", "data", "resume", "rates", "faults"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRun$")
		cmd.Env = append(os.Environ(), childStep+"="+step, childURL+"="+url, childFolder+"="+folder)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", step, out)
	}
}

func runs(t *testing.T, url, folder string) {
	_, err := Run(t.Context(), options(t, url, "another", filepath.Join(t.TempDir(), "other"), &events{}, 1))
	require.ErrorContains(t, err, `the server does not serve "another"`)
	model := sim.DefaultConfig().Model
	var first events
	var shows atomic.Bool
	first.progress = func() {
		shows.Store(true)
		time.Sleep(100 * time.Millisecond) // a slow terminal
		shows.Store(false)
	}
	first.measured = func() { require.False(t, shows.Load(), "the last progress of a load comes before its point") }
	state, err := Run(t.Context(), options(t, url, model, folder, &first, 4, 1))
	require.NoError(t, err)
	require.Equal(t, []float64{4, 1}, first.begun)
	require.Equal(t, [][]int{{1, 2}, {2, 2}}, [][]int{first.number, first.of})
	require.Positive(t, first.left[0])
	require.Zero(t, first.left[1])
	require.Equal(t, []float64{1, 4}, loads(state))
	require.Regexp(t, `^[0-9a-f]{64}$`, state.Dataset)
	require.Positive(t, state.IdleAnswerS)
	require.Equal(t, 2, state.Result.Counted+state.Result.Spoiled) // a busy machine spoils a point
	for i, p := range state.Points {
		require.Positive(t, p.Queries, "load %v", p.Load)
		require.FileExists(t, filepath.Join(folder, p.Folder, record.RequestsName))
		require.Positive(t, p.TookS)
		require.Equal(t, []float64{1, 4}[i], p.Load)
	}

	written, err := ReadState(folder)
	require.NoError(t, err)
	require.Equal(t, loads(state), loads(written))
	for _, name := range []string{TableName, CSVName, PlotName} {
		require.FileExists(t, filepath.Join(folder, name))
	}

	_, err = Run(t.Context(), options(t, url, model, folder, &events{}, 4, 2, 1))
	require.Equal(t, exit.CodeOutputUsed, exit.Classify(err).Code)
}

func changes(t *testing.T, url, folder string) {
	o := options(t, url, sim.DefaultConfig().Model, folder, &events{}, 4, 2, 1)
	o.Resume, o.Accelerators = true, 5
	_, err := Run(t.Context(), o)
	require.Equal(t, exit.CodeSweepChanged, exit.Classify(err).Code)
	require.ErrorContains(t, err, "--accelerators")
}

// changesData: a sweep is not continued with another data set. One of an earlier version recorded none.
func changesData(t *testing.T, url, folder string) {
	state, err := ReadState(folder)
	require.NoError(t, err)
	hash := state.Dataset
	state.Dataset = strings.Repeat("0", 64)
	require.NoError(t, state.write(folder, atomicfile.Shared))
	o := options(t, url, sim.DefaultConfig().Model, folder, &events{}, 4, 2, 1)
	o.Resume = true
	_, err = Run(t.Context(), o)
	require.Equal(t, exit.CodeSweepChanged, exit.Classify(err).Code)
	require.ErrorContains(t, err, "before SHA-256 of the data set="+state.Dataset+", now SHA-256 of the data set="+hash)
	state.Dataset = "" // of an earlier version
	require.NoError(t, state.write(folder, atomicfile.Shared))
}

// measuresRates measures two rates, whose queries are due by their schedule.
func measuresRates(t *testing.T, url, _ string) {
	o := options(t, url, sim.DefaultConfig().Model, filepath.Join(t.TempDir(), "rates"), &events{}, 20, 100)
	o.Loads.Kind = Rate
	o.Length.Duration = 1
	o.Plan = planOf(t, url, sim.DefaultConfig().Model, "false")
	state, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, state.Points, 2)
	for _, p := range state.Points {
		require.FileExists(t, filepath.Join(o.Folder, p.Folder, PointName))
		require.NoFileExists(t, filepath.Join(o.Folder, p.Folder, record.RequestsName))
		require.InEpsilon(t, p.Load, float64(p.Queries)/p.WindowS, .6, "a rate of %v", p.Load)
		require.InDelta(t, 1, p.WindowS, 1e-9)
	}
}

func resumes(t *testing.T, url, folder string) {
	before, err := ReadState(folder)
	require.NoError(t, err)
	var e events
	o := options(t, url, sim.DefaultConfig().Model, folder, &e, 4, 2, 1)
	o.Resume = true
	again, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2, 4}, loads(again))
	require.Len(t, e.begun, 3-before.Result.Counted, "only what is missing, or was spoiled")
	require.True(t, before.Started.Equal(again.Started))
	require.Regexp(t, `^[0-9a-f]{64}$`, again.Dataset)
	require.Equal(t, before.IdleAnswerS, again.IdleAnswerS)
}

// After a signal no further load is announced, even if the last one has ended by itself.
func TestNoLoadBeginsAfterASignal(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	cancel(stopped)
	e := &events{}
	s := &sweeper{Options: options(t, "http://127.0.0.1:1", "m", t.TempDir(), e, 4),
		state: &State{IdleAnswerS: 1, Load: Concurrency, Values: []float64{4}}}
	require.ErrorIs(t, s.run(ctx), stopped)
	require.Empty(t, e.begun)
}
