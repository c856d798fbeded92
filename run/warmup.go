package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// warmupQueries opens enough connections and grows enough buffers for the first seconds of a test, in one wave.
const warmupQueries = 32

// warmUp sends untimed requests through the test's own backend. They come before LoadGen starts and stand in no count of it or of
// the ledger; a failure is told and ends nothing, because the test itself will meet it.
func (t *test) warmUp(ctx context.Context, backend backends.Backend) error {
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
	wave := &wave{}
	for i, index := range indices {
		wave.queries = append(wave.queries, loadgen.Query{ID: loadgen.ResponseID(i + 1), Index: index, Seq: i, IssuedNS: time.Now().UnixNano()})
	}
	if err := backend.Serve(ctx, wave, wave); err != nil {
		return fmt.Errorf("the warm-up failed: %w", err)
	}
	if wave.failed > 0 {
		t.notes = append(t.notes, fmt.Sprintf("warm-up: %d of %d requests failed", wave.failed, len(indices)))
	} else {
		t.notes = append(t.notes, fmt.Sprintf("warm-up: %d requests", len(indices)))
	}
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
