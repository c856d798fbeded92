package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/backends"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/qsl"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sut"
)

// Observer is told how a run goes on. Its methods are never called two at a time.
type Observer interface {
	// Waiting comes when an endpoint takes long to answer a question that stands between the user and the test.
	Waiting(text string)
	// Preflighted comes once, after the endpoints were probed and before the test starts.
	Preflighted(pre *Preflight, notes []string)
	// Progress comes about twice a second while the test runs.
	Progress(Progress)
}

// test is the life of one run: it is prepared, runs, and finishes with its record.
type test struct {
	inputs
	output
	evidence

	observer Observer
	driver   backends.Driver
	library  *qsl.Library
	loaded   atomic.Int64 // largest size of the request bytes that were in memory together
	sut      *sut.SUT
	scorer   *scorer
	notes    []string
}

// newTest returns the test of a plan that writes into folder.
func newTest(p *plan.Plan, o Observer, folder string) *test {
	t := &test{inputs: inputs{plan: p}, output: output{folder: folder}, observer: o}
	t.evidence.inputs = &t.inputs
	return t
}

// Run does one test and leaves its folder. A process can do this once. An error means that there is no verdict: nothing
// was started, or the record could not be written. After an early end LoadGen may still hold a thread: the process
// should then end.
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

// prepare does everything that can fail before the test: input first, then the machine and the endpoints, and only then
// files.
func (t *test) prepare(ctx context.Context) error {
	if !loadgen.Built {
		return exit.Environment("no_loadgen", "Build it with 'make build'", "this program was built without LoadGen")
	}
	p := t.plan
	var err error
	if t.dataset, err = p.ReadDataset(); err != nil {
		return err
	}
	if err := p.Bind(len(t.dataset.Samples)); err != nil {
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
	if err := t.findKeys(); err != nil {
		return err
	}
	if err := t.findCounter(ctx); err != nil {
		return err
	}
	if t.lock, err = claim(t.folder, p.Config.Bool("force"), p.Access()); err != nil {
		return err
	}
	t.claimed = !p.Config.Bool("force")
	if t.pre, err = (&prober{p, driver, c, t.observer}).preflight(ctx, t.dataset.Samples, t.folder); err != nil {
		_ = os.Remove(t.path(record.LogFolder)) // neither goes unless it is empty
		_ = os.Remove(t.folder)
		return err
	}
	t.pre.Notes = append(t.pre.Notes, t.dataset.Notes...)
	t.addProfiled()
	if t.scorer != nil && t.scorer.notScored != "" {
		t.pre.Notes = append(t.pre.Notes, "the answers will not be scored, which makes the run INVALID (not_scored): "+
			t.scorer.notScored+"; --no-score asks for the log only")
	}
	if !t.claimed { // an earlier run is given up only now, when nothing but the test itself can fail
		if err := replace(t.folder, p.Access()); err != nil {
			return err
		}
		t.claimed = true
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
	return t.build(driver)
}

// release takes back what was written for a test that was not started (docs/reference/runs.md#files).
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
		_ = os.RemoveAll(t.path(name)) // what stays is told by the next run into this folder
	}
	_ = os.Remove(t.folder) // unless somebody else's files are in it
	return err
}
