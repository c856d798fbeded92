package run

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/ledger"
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

// build creates the library, the ledger, the backends and LoadGen's objects.
func (t *test) build(driver backends.Driver) error {
	p := t.plan
	if err := t.newLibrary(driver); err != nil {
		return err
	}
	t.models = watchModels(driver, t.config, t.pre)
	t.config.Reconnected = t.models.reconnected
	if err := t.openBackends(driver); err != nil {
		return err
	}
	t.ledger = ledger.New(len(t.backends), int(min(max(t.expected(), int64(len(t.dataset.Samples))), maxPreallocated)))
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
		FirstTokens: p.FirstTokens(), Failed: t.failures.add, Unusual: t.finishes.add, MaxErrors: maxErrors,
		DrainTimeout: p.Config.Duration("drain-timeout"),
	})
	return err
}

// newLibrary creates the library, and lets the backends' requests come from it.
func (t *test) newLibrary(driver backends.Driver) error {
	store, _ := t.dataset.Store.(*spill.Store) // nil if the messages are on Go's heap
	var err error
	t.library, err = qsl.New(qsl.Options{
		Dataset: t.dataset, Total: len(t.dataset.Samples), Performance: t.performanceCount(),
		Encode:      func(dst []byte, s *datasets.Sample) ([]byte, error) { return driver.Encode(dst, s, t.config) },
		MemoryLimit: t.plan.Config.Bytes("request-memory"), ScratchDir: t.folder, Store: store,
	})
	if err != nil {
		return err
	}
	t.config.Body = t.request
	if t.keys != nil {
		t.config.Key = func(index int) uint64 { return t.keys[index] }
	}
	return nil
}

// load loads samples, and records how much the library holds: after the test it is empty.
func (t *test) load(indices []int) error {
	defer crash.Catch() // it is called by a thread of LoadGen's
	err := t.library.Load(indices)
	t.loaded.Store(max(t.loaded.Load(), t.library.Bytes()))
	return err
}

// request returns the bytes of a sample. C++ orders the load before the issue, which the Go memory model does not see;
// the atomic that load sets at its end shows it.
func (t *test) request(index int) []byte {
	_ = t.loaded.Load()
	return t.library.Request(index)
}

// unload runs after the last completion, which the ledger's counters show in the same way.
func (t *test) unload(indices []int) error {
	defer crash.Catch()
	_ = t.ledger.Counts()
	return t.library.Unload(indices)
}
