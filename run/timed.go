package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/results"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sut"
)

// How long LoadGen gets to finish after an early end of the test (docs/reference/loadgen.md#traps): StartTest to
// return, and LoadGen's log thread, which writes every 10 ms.
const (
	returnGrace = time.Second
	flushGrace  = 50 * time.Millisecond
)

// run starts the test, waits for its end, and makes the record.
func (t *test) run(ctx context.Context) (*record.Record, error) {
	library, err := t.ready(ctx)
	if err != nil {
		return nil, t.release(err)
	}
	logFolder, err := t.openLogFolder()
	if err != nil {
		return nil, t.release(err)
	}
	if err := results.Point(t.folder); err != nil && results.Check(t.folder) == nil { // else preflight.json has it
		t.notes = append(t.notes, err.Error())
	}
	t.metrics.Start(ctx)
	quiet(len(t.backends))
	t.started = time.Now()
	t.failures.start = t.started.UnixNano()
	if t.profile != nil {
		t.profile.Begin(ctx)
	}
	t.sut.Start(ctx)
	t.planned = t.newPlanned()
	t.live = t.newLive()
	stopProgress := (&watcher{&t.evidence, t.failures, t.sut.Stop}).start()
	t.logs = watchLogs(t.path(record.LogFolder))
	defer t.logs.close()
	returned := make(chan error, 1)
	go func() {
		defer crash.Catch()
		info, err := loadgen.StartTest(t.sut.LoadGen(), library, t.settings, loadgen.LogSettings{
			OutDir: logFolder, Prefix: logPrefix, EnableTrace: t.plan.Config.Bool("enable-trace"),
		}, t.audit)
		t.thread = info
		returned <- err
	}()
	err = t.wait(returned)
	t.outside = t.ended != nil && errors.Is(t.ended, context.Cause(ctx))
	stopProgress()
	if err != nil {
		t.logs.stop()
		_, _ = t.metrics.Stop()
		_, _ = t.endProfile()
		return nil, t.notStarted(err)
	}
	if t.ended == nil {
		loadgen.DestroyQSL(library)
		t.unsaved = t.evidence.close()
	}
	r, err := t.finish(ctx)
	return r, t.afterTest(err)
}

// ready does the last steps before the timed phase.
func (t *test) ready(ctx context.Context) (*loadgen.QSL, error) {
	q := t.requests.library
	library, err := loadgen.ConstructQSL(q.Name(), q.TotalSampleCount(), q.PerformanceSampleCount(), t.requests.load,
		t.unload, t.sut.Stop)
	if err != nil {
		return nil, err
	}
	if err := t.warmUp(ctx); err != nil {
		return nil, err
	}
	if err := t.emptyCaches(ctx); err != nil {
		return nil, err
	}
	if t.sampler, err = hostinfo.StartSampler(100 * time.Millisecond); err != nil {
		return nil, err
	}
	t.clock, err = hostinfo.WatchClocks()
	return library, err
}

// garbageRoom is how many bytes the timed phase may allocate before a collection. Collections come late on a busy
// machine, so a share of the live heap alone would be no bound.
const garbageRoom = 16 << 20

// quiet prepares the timed phase by a garbage collection, so that few collections follow and each has little to do
// (docs/reference/measurements.md#garbage-collection-during-a-test).
func quiet(shards int) {
	roomToRun(shards)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(400, max(25, garbageRoom*100/max(m.HeapAlloc, 1)))))
}

// wait returns with StartTest, or soon after the test was ended early. LoadGen may then go on issuing for as long as
// its schedule is and cannot be stopped, so it is left behind and the process must end.
func (t *test) wait(returned <-chan error) error {
	look := time.NewTicker(returnEvery)
	defer look.Stop()
	overdue, final := returnWatch{bound: t.returnBound}, t.final
	for stopped := false; !stopped; {
		select {
		case err := <-returned:
			return t.join(err)
		case <-t.sut.Stopped():
			stopped = true
		case <-final:
			t.early, final = t.startRequestLog(nil), nil
		case <-look.C:
			if overdue.look(t.sut.Settled() && !t.requests.inLibrary(), t.activity()) {
				t.sut.Stop(t.notReturned())
			}
		}
	}
	t.ended = t.cause()
	select {
	case err := <-returned:
		return t.join(err)
	case <-time.After(returnGrace):
		time.Sleep(flushGrace)
		if err := t.logs.freeze(); err != nil {
			t.unsaved = errors.Join(t.unsaved, err)
		}
		time.Sleep(flushGrace) // lets a write finish that had begun
		return nil
	}
}

// cause returns why the SUT ended the test, with the setting that made it; nil: it did not.
func (t *test) cause() error {
	err, c := t.sut.Cause(), t.plan.Config
	switch {
	case errors.Is(err, sut.ErrDrain):
		return fmt.Errorf("%w: --drain-timeout %v", err, c.Duration("drain-timeout"))
	case !errors.Is(err, sut.ErrTooManyFailures):
		return err
	case c.Bool("fail-fast"):
		return fmt.Errorf("%w: --fail-fast ends it at the first that fails", err)
	}
	return fmt.Errorf("%w: --max-errors %d", err, c.Int("max-errors"))
}

// join waits for the backends after StartTest has returned.
func (t *test) join(err error) error {
	if cause := t.cause(); cause != nil {
		t.ended = cause
	}
	for _, s := range t.sut.LoadGen().Shards() {
		t.wakes += s.Wakes()
		t.full += s.FullWaits()
	}
	_ = t.sut.Wait() // a backend's error is reported as the cause already
	t.joined = true
	return err
}
