package bench

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Limits of a Progress. Further requests are only in the event log, and further failures only in failures.jsonl.
const (
	mostEnded  = 1 << 18 // about 30 MB
	mostFailed = 20
	mostDetail = 300 // bytes of a text of a server
)

// recent collects the events since the last Progress, for an observer that shows single requests.
type recent struct {
	mu           sync.Mutex
	ended, shown []endedRequest // shown belongs to the observer until the next take
	failures     []Failure
	ttft, tpot   ledger.Histogram // ns
}

type endedRequest struct {
	entry ledger.Entry
	due   int64
}

// add keeps a request that ended.
func (r *recent) add(entry *ledger.Entry, due int64) {
	t := ledger.TimesOf(entry, due)
	keep(&r.ttft, t.TTFT)
	keep(&r.tpot, t.TPOT)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ended) < mostEnded {
		r.ended = append(r.ended, endedRequest{*entry, due})
	}
}

func keep(h *ledger.Histogram, seconds float64) {
	if !math.IsNaN(seconds) {
		h.Record(int64(seconds * 1e9))
	}
}

// fail keeps a failed attempt. It does nothing for nil.
func (r *recent) fail(f *Failure) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) < mostFailed {
		r.failures = append(r.failures, *f)
	}
}

// take moves the collected events into p. For nil it leaves p unchanged.
func (r *recent) take(p *Progress) {
	if r == nil {
		return
	}
	p.TTFTp99, p.TPOTp99 = time.Duration(r.ttft.Quantile(.99)), time.Duration(r.tpot.Quantile(.99))
	p.LatestUntil = time.Now().Add(-settled)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended, r.shown = r.shown[:0], r.ended
	p.Failures, r.failures = slices.Clone(r.failures), r.failures[:0]
	list := r.shown
	p.Latest = func(yield func(*ledger.Entry, int64) bool) {
		for i := range list {
			if !yield(&list[i].entry, list[i].due) {
				return
			}
		}
	}
}

// settled is the least time after which a request that has ended is certainly here. The engine looks every 50 ms.
const settled = 200 * time.Millisecond
