package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/nvtx"
	"github.com/mlperf-go/mlperf-go/internal/results"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/profile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sut"
)

// Observer receives the progress of a run. Its methods are never called concurrently.
type Observer interface {
	// Waiting is called when an endpoint takes long to answer before the test.
	Waiting(text string)
	// Preflighted is called once, after the endpoints were probed and before the test starts.
	Preflighted(pre *Preflight, notes []string)
	// Progress is called about twice a second while the test runs.
	Progress(Progress)
}

// test is the life of one run: it is prepared, runs, and finishes with its record.
type test struct {
	evidence
	output
	sut     *sut.SUT
	scorer  *scorer
	profile *profile.Control // nil: no --profile-window

	final     chan struct{} // receives when no sample will change any more
	early     *requestLog   // started before LoadGen returned; nil: not started
	earlyFrom int64         // number of samples from which it is

	returnBound time.Duration // how long LoadGen has to end a test whose samples have all ended
}

// newTest returns the test of a plan that writes into folder.
func newTest(p *plan.Plan, o Observer, folder string) *test {
	return &test{evidence: evidence{inputs: inputs{plan: p, observer: o}}, output: output{folder: folder},
		final: make(chan struct{}, 1), earlyFrom: earlyFrom, returnBound: returnBound}
}

// Run runs one test and leaves its folder. A process can call it once, because LoadGen keeps state. An error means that
// there is no verdict: the test did not start, or its record could not be written. After an early end LoadGen may still
// run a thread, so the process should then end.
func Run(ctx context.Context, p *Plan, o Observer) (*Record, error) {
	if o == nil {
		o = silent{}
	}
	t := newTest(p.inner(), o, p.Folder())
	defer func() { t.lock.release() }()
	err := t.prepare(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return nil, t.release(fmt.Errorf("the run was ended before its test began: %w", cause))
	}
	if err != nil {
		return nil, t.release(err)
	}
	return t.run(ctx)
}

type silent struct{}

func (silent) Waiting(string)                   {}
func (silent) Preflighted(*Preflight, []string) {}
func (silent) Progress(Progress)                {}

// checkProgram rejects a program without LoadGen, and loads NVTX's library if the program marks ranges.
func checkProgram() error {
	if !loadgen.Built {
		return exit.Environment(exit.CodeNoLoadGen, "Build it with 'make build'", "this program was built without LoadGen")
	}
	err := nvtx.Open()
	if err == nil {
		return nil
	}
	return exit.Environment(exit.CodeNVTX, "Install it (`pip install nvidia-nvtx-cu12`, or CUDA), and add its folder to "+
		"LD_LIBRARY_PATH; or use a program that was built without the tag nvtx", "%w", err)
}

// prepare does everything that can fail before the test: first the input, then the machine and the endpoints, and files
// last.
func (t *test) prepare(ctx context.Context) error {
	if err := checkProgram(); err != nil {
		return err
	}
	p := t.plan
	var err error
	if t.dataset, err = p.ReadDataset(); err != nil {
		return err
	}
	choice, err := bind(ctx, p, len(t.dataset.Samples), t.observer)
	if err != nil {
		return err
	}
	if t.scorer, err = newScorer(ctx, p, t.dataset); err != nil {
		return err
	}
	driver, c, err := p.OpenDriver()
	if err != nil {
		return err
	}
	t.config, t.driver = c, driver
	if err := cmp.Or(t.findKeys(), t.findMetrics(t.path(record.MetricsName))); err != nil {
		return err
	}
	if err := t.findCounter(ctx); err != nil {
		return err
	}
	t.created = missing(t.folder)
	if t.lock, err = claim(t.folder, p.Config.Bool("force"), p.Access()); err != nil {
		return err
	}
	t.claimed = !p.Config.Bool("force")
	t.pre, err = (&prober{p, driver, c, t.observer}).preflight(ctx, t.dataset.Samples, t.folder)
	if err = cmp.Or(err, t.scorer.refusal()); err != nil { // an unusable server explains more
		_ = os.Remove(t.path(record.LogFolder)) // removed only if it is empty
		_ = os.Remove(t.folder)
		return err
	}
	t.pre.choose(choice)
	t.pre.Notes = slices.Concat(t.pre.Notes, p.Adjusted, p.TraceNotes(), t.dataset.Notes)
	if err := results.Check(t.folder); err != nil {
		t.pre.Notes = append(t.pre.Notes, err.Error())
	}
	t.addProfiled()
	if !t.claimed { // an earlier run is replaced only now, when only the test itself can fail
		notes, err := replace(t.folder, p.Access())
		if err != nil {
			return err
		}
		t.pre.Notes, t.claimed = append(t.pre.Notes, notes...), true
	}
	if err := t.keepDataset(); err != nil {
		return err
	}
	t.observer.Preflighted(t.pre, t.pre.notes())
	if err := t.writeInputs(); err != nil {
		return err
	}
	if err := t.reserve(); err != nil {
		return err
	}
	return t.build()
}

// release removes what was written for a test that did not start, and returns err (docs/reference/runs.md#files).
func (t *test) release(err error) error {
	if t.models != nil {
		t.models.end(false)
	}
	if closing := t.scorer.close(); closing != nil {
		err = errors.Join(err, closing)
	}
	if !t.claimed {
		return err
	}
	for _, name := range record.Entries {
		_ = os.RemoveAll(t.path(name)) // the next run into this folder reports what remains
	}
	t.removeEmpty()
	return err
}
