package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// warmupQueries opens enough connections and grows enough buffers for the first seconds of a test.
const warmupQueries = 32

// warmUp sends untimed requests through the test's own backends, whose connections stay open for the test. It runs
// before LoadGen starts, and no figure counts its requests. A failure is noted only, because the test itself will meet
// it.
func (e *evidence) warmUp(ctx context.Context) error {
	if !e.plan.Config.Bool("warmup") {
		return nil
	}
	indices := make([]int, min(warmupQueries, len(e.dataset.Samples)))
	for i := range indices {
		indices[i] = i
	}
	if err := e.requests.library.Load(indices); err != nil {
		return err
	}
	loads, errs := make([]warmupLoad, len(e.backends)), make([]error, len(e.backends))
	var all sync.WaitGroup
	for i, b := range e.backends {
		serve := b.Serve
		if warmUp := b.Features().WarmUp; warmUp != nil {
			serve = warmUp
		}
		for j, index := range indices { // use numbers of no real sample, since a traceparent contains them
			loads[i].queries = append(loads[i].queries,
				loadgen.Query{ID: loadgen.ResponseID(j + 1), Index: index, Seq: -1 - j, IssuedNS: time.Now().UnixNano()})
		}
		all.Go(func() {
			defer crash.Catch()
			errs[i] = serve(ctx, &loads[i], &loads[i])
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the warm-up failed: %w", err)
	}
	failed := 0
	for i := range loads {
		failed += loads[i].failed
	}
	note := "warm-up: " + plural.Count(len(indices)*len(e.backends), "request", "requests")
	if failed > 0 {
		note = fmt.Sprintf("warm-up: %d of %d requests failed", failed, len(indices)*len(e.backends))
	}
	e.notes = append(e.notes, note)
	return e.requests.library.Unload(indices)
}

// warmupLoad is a source of a few queries and a sink that counts failures. The backend calls Complete from one thread.
type warmupLoad struct {
	queries []loadgen.Query
	failed  int
}

func (w *warmupLoad) Pop(dst []loadgen.Query) int {
	n := copy(dst, w.queries)
	w.queries = slices.Delete(w.queries, 0, n)
	return n
}

func (w *warmupLoad) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := w.Pop(dst)
	return n, n > 0
}

func (w *warmupLoad) FirstToken(loadgen.Query, []int32, int64) {}
func (w *warmupLoad) Tokens(loadgen.Query, int, int64, int64)  {}
func (w *warmupLoad) Failed(backends.Attempt)                  {}

func (w *warmupLoad) Complete(_ loadgen.Query, o *backends.Outcome) {
	if o.Reason != backends.OK {
		w.failed++
	}
}
