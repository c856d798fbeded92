package run

import (
	"errors"
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/qsl"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sut"
)

// performanceCount returns how many samples are in memory at once. TEST07's audit requires the library's own size
// (docs/reference/audits.md#test07).
func (in *inputs) performanceCount() int {
	rows := len(in.dataset.Samples)
	if n := in.plan.Row.PerformanceCount; n > 0 && n < rows {
		return n
	}
	return rows
}

// openClient creates what the queries of a test or a probe need: the requests, the watch of the models, and a backend
// per shard.
func (e *evidence) openClient(folder string) error {
	store, _ := e.dataset.Store.(*spill.Store) // nil if the messages are on Go's heap
	err := e.requests.open(qsl.Options{
		Dataset: e.dataset, Total: len(e.dataset.Samples), Performance: e.performanceCount(),
		Encode:      func(dst []byte, s *datasets.Sample) ([]byte, error) { return e.driver.Encode(dst, s, e.config) },
		MemoryLimit: e.plan.Config.Bytes("request-memory"), ScratchDir: folder, Store: store,
	})
	if err != nil {
		return err
	}
	e.config.Body = e.requests.of
	if e.keys != nil {
		e.config.Key = func(index int) uint64 { return e.keys[index] }
	}
	e.models = watchModels(e.driver, e.config, e.pre)
	e.config.Reconnected = e.models.reconnected
	return e.openBackends()
}

// build creates the client, the ledger and LoadGen's objects.
func (t *test) build() error {
	p := t.plan
	if err := t.openClient(t.folder); err != nil {
		return err
	}
	t.ledger = ledger.New(len(t.backends), int(max(t.expected(), int64(len(t.dataset.Samples)))))
	var err error
	if t.profile, err = t.newProfile(); err != nil {
		return err
	}
	if t.profile != nil {
		for i, b := range t.backends {
			t.backends[i] = t.profile.Wrap(b)
		}
	}
	maxErrors := -1
	if p.Config.Bool("fail-fast") {
		maxErrors = 0
	} else if p.Config.Has("max-errors") {
		maxErrors = p.Config.Int("max-errors")
	}
	t.failures = &failures{path: t.path(record.FailuresName), access: t.plan.Access(), secrets: t.plan.Secrets}
	for _, e := range t.config.Endpoints {
		t.failures.urls = append(t.failures.urls, e.URL)
	}
	t.sut, err = sut.New(sut.Options{
		Name: p.SUTName(t.config.ServedModel), Backends: t.backends, Ledger: t.ledger,
		FirstTokens: p.FirstTokens(), Bulk: p.Scenario.Scenario == models.Offline, Failed: t.failures.add,
		Unusual: t.finishes.add, MaxErrors: maxErrors, DrainTimeout: p.Config.Duration("drain-timeout"),
		Settled: t.settle,
	})
	return err
}

// requests are the complete bytes of the requests of the samples that are loaded.
type requests struct {
	library *qsl.Library
	loaded  atomic.Int64 // largest size of what was in memory together
	calls   atomic.Int64 // number of begins and ends of loads and unloads
}

// inLibrary reports whether LoadGen waits for samples that are loaded or unloaded.
func (r *requests) inLibrary() bool { return r.calls.Load()%2 == 1 }

func (r *requests) open(o qsl.Options) (err error) {
	r.library, err = qsl.New(o)
	return err
}

// load loads samples, and records how much the library holds: after the test it is empty.
func (r *requests) load(indices []int) error {
	defer crash.Catch() // a thread of LoadGen's calls load
	r.calls.Add(1)
	defer r.calls.Add(1)
	err := r.library.Load(indices)
	r.loaded.Store(max(r.loaded.Load(), r.library.Bytes()))
	return err
}

// of returns the request of a sample. C++ orders the load before the issue, but the Go memory model does not see that
// order. The atomic that load sets at its end makes it visible.
func (r *requests) of(index int) []byte {
	_ = r.loaded.Load()
	return r.library.Request(index)
}

// unload runs after the last completion. The ledger's counters make that order visible to Go in the same way.
func (e *evidence) unload(indices []int) error {
	defer crash.Catch()
	e.requests.calls.Add(1)
	defer e.requests.calls.Add(1)
	_ = e.ledger.Counts()
	return e.requests.library.Unload(indices)
}

// close frees the requests and the data set behind them.
func (e *evidence) close() error {
	err := e.requests.library.Close()
	if e.dataset.Store != nil {
		err = errors.Join(err, e.dataset.Store.Close())
	}
	return err
}
