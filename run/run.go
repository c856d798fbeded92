package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/internal/ledger"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/qsl"
	"github.com/mlperf-go/mlperf-go/sut"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Observer is told how a run goes on. Its methods are called from one goroutine.
type Observer interface {
	// Preflighted comes once, after the endpoints were probed and before the test starts.
	Preflighted(p *Plan, pre *Preflight, notes []string)
	// Progress comes about twice a second while the test runs.
	Progress(Progress)
}

// How long a test that was ended early gets (design.md §4): StartTest to return, and LoadGen's log thread, which writes every 10 ms.
const (
	returnGrace = time.Second
	flushGrace  = 50 * time.Millisecond
)

// test is one run on its way.
type test struct {
	plan     *Plan
	observer Observer
	folder   string
	claimed  bool     // the folder is this run's own
	held     *os.File // the folder, locked
	dataset  *datasets.Dataset
	config   *backends.Config
	keys     []uint64 // of the samples, for the strategy hash; nil: their indices
	settings loadgen.TestSettings
	audit    string // path that LoadGen is given
	library  *qsl.Library
	ledger   *ledger.Ledger
	loaded   atomic.Int64 // largest size of the request bytes that were in memory together
	sut      *sut.SUT
	failures *failures
	sampler  *hostinfo.Sampler
	clock    *hostinfo.ClockWatch
	started  time.Time
	pre      *Preflight
	thread   loadgen.ThreadInfo
	wakes    int
	full     int
	live     *live
	lost     *limitLost         // the limit that can not be met any more; nil: none
	ended    error              // why the test ended early
	backends []backends.Backend // one per shard
	joined   bool               // and all of them have returned
	notes    []string
	scorer   *scorer
	counter  *finder.Source // of the tokenizer that counts answers nobody else counts; nil: there is none
	outside  bool           // it was the caller's context that ended it
}

// Run does one test and leaves its folder. A process can do this once. An error means that there is no verdict: nothing was
// started, or the record could not be written. After an early end LoadGen may still hold a thread: the process should then end.
func Run(ctx context.Context, p *Plan, o Observer) (*Record, error) {
	if o == nil {
		o = silent{}
	}
	t := &test{plan: p, observer: o, folder: p.Folder()}
	defer func() { _ = t.held.Close() }() // of no file it is an error that says so
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

func (silent) Preflighted(*Plan, *Preflight, []string) {}
func (silent) Progress(Progress)                       {}

// Folder is where the run's files go.
func (p *Plan) Folder() string {
	if dir := p.Config.String("output-dir"); dir != "" {
		return filepath.Clean(dir)
	}
	return filepath.Join("results", fmt.Sprintf("%s-%s-%s", p.Row.Name, p.Scenario.Scenario, p.Mode))
}

func registryOrigin(where string) config.Origin {
	return config.Origin{Layer: config.FromRegistry, Where: where}
}

// prepare does everything that can fail before the test: input first, then the machine and the endpoints, and only then files.
func (t *test) prepare(ctx context.Context) error {
	if !loadgen.Built {
		return environment("no_loadgen", errors.New("this program was built without LoadGen"), "Build it with 'make build'")
	}
	p := t.plan
	var err error
	if t.dataset, err = p.ReadDataset(); err != nil {
		return err
	}
	if err := p.Bind(len(t.dataset.Samples)); err != nil {
		return err
	}
	if t.scorer, err = p.newScorer(ctx, t.dataset); err != nil {
		return err
	}
	driver, c, err := p.openDriver()
	if err != nil {
		return err
	}
	t.config = c
	if err := t.findKeys(); err != nil {
		return err
	}
	if err := t.findCounter(ctx); err != nil {
		return err
	}
	if err := claim(t.folder, p.Config.Bool("force")); err != nil {
		return err
	}
	if t.held, err = lock(t.folder); err != nil {
		return err
	}
	t.claimed = !p.Config.Bool("force")
	if t.pre, err = p.preflight(ctx, driver, c, t.dataset.Samples, t.folder); err != nil {
		_ = os.Remove(t.path(LogFolder)) // neither goes unless it is empty
		_ = os.Remove(t.folder)
		return err
	}
	if !t.claimed { // an earlier run is given up only now, when nothing but the test itself can fail
		if err := replace(t.folder); err != nil {
			return err
		}
		t.claimed = true
	}
	if err := t.keepDataset(); err != nil {
		return err
	}
	t.observer.Preflighted(p, t.pre, t.pre.notes())
	if err := t.writeInputs(); err != nil {
		return err
	}
	if err := t.reserve(); err != nil {
		return err
	}
	return t.build(driver)
}

// release takes back what was written for a test that was not started (cli.md: nothing is written but the message).
func (t *test) release(err error) error {
	if closing := t.scorer.close(); closing != nil {
		err = errors.Join(err, closing)
	}
	if !t.claimed {
		return err
	}
	for _, name := range ours {
		_ = os.RemoveAll(t.path(name)) // what stays is told by the next run into this folder
	}
	_ = os.Remove(t.folder) // unless somebody else's files are in it
	return err
}

// keepDataset copies a synthetic data set, which lies in a temporary folder, to where it can be scored against later.
func (t *test) keepDataset() error {
	c := t.plan.Config
	if t.plan.Dataset != nil || c.Origin("dataset").Layer != config.FromRegistry {
		return nil
	}
	from, err := os.Open(c.String("dataset"))
	if err != nil {
		return fmt.Errorf("the synthetic data set is gone: %w", err)
	}
	defer from.Close()
	err = atomicfile.Write(t.path(DatasetName), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	if err != nil {
		return err
	}
	t.dataset.Path = t.path(DatasetName)
	return c.Set("dataset", t.dataset.Path, registryOrigin("synthetic"))
}

func (t *test) path(name string) string { return filepath.Join(t.folder, name) }

// writeInputs writes what the run was told and found, and lets LoadGen read its part.
func (t *test) writeInputs() error {
	p := t.plan
	if err := p.writeUserConf(t.path(UserConfName)); err != nil {
		return err
	}
	if err := atomicfile.Write(t.path(ConfigName), func(w io.Writer) error { return p.Config.WriteYAML(w) }); err != nil {
		return err
	}
	if err := atomicfile.WriteJSON(t.path(PreflightName), t.pre); err != nil {
		return err
	}
	settings, err := p.testSettings(t.path(UserConfName))
	if err != nil {
		return err
	}
	t.settings = settings
	var effective loadgen.TestSettings
	if effective, t.audit, err = p.auditSettings(settings, t.folder); err != nil {
		return err
	}
	total, performance := len(t.dataset.Samples), t.performanceCount()
	if err := effective.Check(total, performance); err != nil {
		return usage("loadgen_setting", err, "")
	}
	return nil
}

// performanceCount is how many samples are in memory at once. TEST07's audit wants the library's own size (design.md §5).
func (t *test) performanceCount() int {
	rows := len(t.dataset.Samples)
	if n := t.plan.Row.PerformanceCount; n > 0 && n < rows {
		return n
	}
	return rows
}

// build puts library, ledger, backend and LoadGen's objects together.
func (t *test) build(driver backends.Driver) error {
	p := t.plan
	var err error
	t.library, err = qsl.New(qsl.Options{
		Dataset: t.dataset, Total: len(t.dataset.Samples), Performance: t.performanceCount(),
		Encode:      func(dst []byte, s *datasets.Sample) ([]byte, error) { return driver.Encode(dst, s, t.config) },
		MemoryLimit: p.Config.Bytes("request-memory"), ScratchDir: t.folder, Store: t.dataset.Store,
	})
	if err != nil {
		return err
	}
	t.config.Request = t.request
	if t.keys != nil {
		t.config.Key = func(index int) uint64 { return t.keys[index] }
	}
	if err := t.openBackends(driver); err != nil {
		return err
	}
	t.ledger = ledger.New(len(t.backends), int(min(max(t.expected(), int64(len(t.dataset.Samples))), largestBook)))
	maxErrors := -1
	if p.Config.Bool("fail-fast") {
		maxErrors = 0
	} else if p.Config.Has("max-errors") {
		maxErrors = p.Config.Int("max-errors")
	}
	t.failures = &failures{path: t.path(FailuresName)}
	for _, e := range t.config.Endpoints {
		t.failures.urls = append(t.failures.urls, e.URL)
	}
	t.sut, err = sut.New(sut.Options{
		Name: p.sutName(t.config.ServedModel), Backends: t.backends, Ledger: t.ledger,
		FirstTokens: t.firstTokens(), Failed: t.failures.add, MaxErrors: maxErrors, DrainTimeout: p.Config.Duration("drain-timeout"),
	})
	return err
}

// NetworkSUT stands in the name of a system that is measured over a network, by which the network division's runs are known
// (spec/submission.md §1.4).
const NetworkSUT = "Network SUT"

func (p *Plan) sutName(served string) string {
	if p.Config.Bool("network-sut") {
		return NetworkSUT + " mlperf-go " + served
	}
	return "mlperf-go " + served
}

// firstTokens says whether LoadGen waits for a first token of every sample.
func (t *test) firstTokens() bool {
	return t.plan.Row.UseTokenLatencies && t.plan.Scenario.LoadGen != models.Offline
}

// run starts the test, waits for its end of whatever kind, and makes the record.
func (t *test) run(ctx context.Context) (*Record, error) {
	library, err := loadgen.ConstructQSL(t.library.Name(), t.library.TotalSampleCount(), t.library.PerformanceSampleCount(),
		t.load, t.unload, t.sut.Stop)
	if err != nil {
		return nil, err
	}
	if err := t.warmUp(ctx); err != nil {
		return nil, err
	}
	if t.sampler, err = hostinfo.StartSampler(100 * time.Millisecond); err != nil {
		return nil, err
	}
	if t.clock, err = hostinfo.WatchClocks(); err != nil {
		return nil, err
	}
	t.quiet()
	t.started = time.Now()
	t.failures.start = t.started.UnixNano()
	t.sut.Start(ctx)
	t.live = t.newLive()
	stopProgress := t.watch()
	returned := make(chan error, 1)
	go func() {
		defer crash.Catch()
		info, err := loadgen.StartTest(t.sut.LoadGen(), library, t.settings, loadgen.LogSettings{
			OutDir: t.path(LogFolder), Prefix: "mlperf_log_", EnableTrace: t.plan.Config.Bool("enable-trace"),
		}, t.audit)
		t.thread = info
		returned <- err
	}()
	err = t.wait(returned)
	t.outside = t.ended != nil && errors.Is(t.ended, context.Cause(ctx))
	stopProgress()
	if err != nil {
		return nil, err
	}
	if t.ended == nil {
		loadgen.DestroyQSL(library)
		if err := t.library.Close(); err != nil {
			return nil, err
		}
		if t.dataset.Store != nil {
			if err := t.dataset.Store.Close(); err != nil {
				return nil, err
			}
		}
	}
	return t.finish(ctx)
}

// load notes how much the library holds: after the test it is empty.
func (t *test) load(indices []int) error {
	defer crash.Catch() // it is called by a thread of LoadGen's
	err := t.library.Load(indices)
	t.loaded.Store(max(t.loaded.Load(), t.library.Bytes()))
	return err
}

// request gives the bytes of a sample. That LoadGen issues it after it was loaded is an order that C++ makes and the Go memory model
// does not see; the atomic that load sets at its end shows it.
func (t *test) request(index int) []byte {
	_ = t.loaded.Load()
	return t.library.Request(index)
}

// unload comes after the last completion, which in the same way is seen through the ledger's counters.
func (t *test) unload(indices []int) error {
	defer crash.Catch()
	_ = t.ledger.Counts()
	return t.library.Unload(indices)
}

// garbageRoom is how many bytes may be allocated in the timed phase before a collection. A busy machine lets collections come
// late, so a share of what is alive alone would bound nothing.
const garbageRoom = 64 << 20

// quiet makes the timed phase free of what the preparation left (spec/performance.md §9): few collections, which have little to do.
func (t *test) quiet() {
	roomToRun(len(t.backends))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(400, max(25, garbageRoom*100/max(m.HeapAlloc, 1)))))
}

// wait ends with StartTest, or soon after the test was ended early: LoadGen then may go on issuing for as long as its schedule is,
// and has no way to be stopped, so it is left behind and the process must end.
func (t *test) wait(returned <-chan error) error {
	select {
	case err := <-returned:
		return t.join(err)
	case <-t.sut.Stopped():
	}
	t.ended = t.sut.Cause()
	select {
	case err := <-returned:
		return t.join(err)
	case <-time.After(returnGrace):
		time.Sleep(flushGrace)
		return nil
	}
}

// join waits for the backends after StartTest has returned.
func (t *test) join(err error) error {
	if cause := t.sut.Cause(); cause != nil {
		t.ended = cause
	}
	for _, s := range t.sut.LoadGen().Shards() {
		t.wakes += s.Wakes()
		t.full += s.FullWaits()
	}
	_ = t.sut.Wait() // a backend's error is the cause already
	t.joined = true
	return err
}

// finish reads back what was left and judges it.
func (t *test) finish(ctx context.Context) (*Record, error) {
	process, err := t.sampler.Stop()
	if err != nil {
		return nil, err
	}
	drift, err := t.clock.Stop()
	if err != nil {
		return nil, err
	}
	if err := t.freeReserve(); err != nil {
		return nil, err
	}
	lost := t.failures.close()
	logs, err := mllog.Summarize(t.path(LogFolder))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	result, score, unwritten := t.score(ctx, logs)
	lost = errors.Join(lost, unwritten, t.scorer.close())
	r := t.record(logs, process, drift, result)
	r.Accuracy = score
	if lost = errors.Join(lost, t.writeRequests()); lost != nil {
		r.lose(lost)
	}
	if r.Files, err = hashFiles(t.folder); err != nil {
		return nil, err
	}
	if err := atomicfile.WriteJSON(t.path(RecordName), r); err != nil {
		return nil, err
	}
	return r, nil
}
