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
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// warmupQueries opens enough connections and grows enough buffers for the first seconds of a test, in one wave.
const warmupQueries = 32

// warmUp sends untimed requests through the test's own backends, each with its own connections, which stay open for the
// test. They come before LoadGen starts and stand in no count of it or of the ledger; a failure is told and ends
// nothing, because the test itself will meet it.
func (t *test) warmUp(ctx context.Context) error {
	if !t.plan.Config.Bool("warmup") {
		return nil
	}
	indices := make([]int, min(warmupQueries, len(t.dataset.Samples)))
	for i := range indices {
		indices[i] = i
	}
	if err := t.library.Load(indices); err != nil {
		return err
	}
	waves, errs := make([]wave, len(t.backends)), make([]error, len(t.backends))
	var all sync.WaitGroup
	for i, b := range t.backends {
		serve := b.Serve
		if warmUp := b.Features().WarmUp; warmUp != nil {
			serve = warmUp
		}
		for j, index := range indices {
			waves[i].queries = append(waves[i].queries,
				loadgen.Query{ID: loadgen.ResponseID(j + 1), Index: index, Seq: j, IssuedNS: time.Now().UnixNano()})
		}
		all.Go(func() {
			defer crash.Catch()
			errs[i] = serve(ctx, &waves[i], &waves[i])
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the warm-up failed: %w", err)
	}
	failed := 0
	for i := range waves {
		failed += waves[i].failed
	}
	note := fmt.Sprintf("warm-up: %d requests", len(indices)*len(t.backends))
	if failed > 0 {
		note = fmt.Sprintf("warm-up: %d of %d requests failed", failed, len(indices)*len(t.backends))
	}
	t.notes = append(t.notes, note)
	return t.library.Unload(indices)
}

// wave is a source of a few queries and a sink that only counts failures. The backend calls Complete from one thread.
type wave struct {
	queries []loadgen.Query
	failed  int
}

func (w *wave) Pop(dst []loadgen.Query) int {
	n := copy(dst, w.queries)
	w.queries = slices.Delete(w.queries, 0, n)
	return n
}

func (w *wave) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := w.Pop(dst)
	return n, n > 0
}

func (w *wave) FirstToken(loadgen.Query, []int32, int64) {}
func (w *wave) TokenGap(int64, int)                      {}
func (w *wave) Failed(backends.Attempt)                  {}

func (w *wave) Complete(_ loadgen.Query, o *backends.Outcome) {
	if o.Reason != backends.OK {
		w.failed++
	}
}
