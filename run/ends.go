package run

import (
	"iter"
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// looksShare is the part of the time that looks may take: after one, the next waits 200 times as long. Offline tests
// need the bound, because they have a million samples in flight at once.
const looksShare = 200

// ends finds the samples that ended since the last look. It reads the ledger, so the hot path does nothing for it.
type ends struct {
	open  []int32          // numbers of samples that were issued and had not ended
	next  int              // every sample before it was issued
	list  []int32          // numbers only: copies of a second's entries would be tens of megabytes
	tpot  ledger.Histogram // TPOT of all ended samples, in ns
	batch ledger.Batch     // TPOT of the samples of a look, ns
	rest  time.Time        // earliest time of the next look
	till  time.Time        // time of the last look
}

// look returns the samples that ended since the last look, in no order, with the times of their issue. They are valid
// until the next look.
func (f *ends) look(l *ledger.Ledger, now time.Time) iter.Seq2[*ledger.Entry, int64] {
	f.list = f.list[:0]
	if now.Before(f.rest) {
		return f.entries(l)
	}
	still := f.open[:0]
	for _, seq := range f.open {
		if !f.take(l, int(seq)) {
			still = append(still, seq)
		}
	}
	for ; l.Issued(f.next); f.next++ {
		if !f.take(l, f.next) {
			still = append(still, int32(f.next))
		}
	}
	f.open = still
	f.batch.MoveTo(&f.tpot)
	f.till = now
	f.rest = now.Add(looksShare * time.Since(now))
	return f.entries(l)
}

func (f *ends) entries(l *ledger.Ledger) iter.Seq2[*ledger.Entry, int64] {
	return func(yield func(*ledger.Entry, int64) bool) {
		for _, seq := range f.list {
			if e := l.Ended(int(seq)); !yield(e, e.IssuedNS) {
				return
			}
		}
	}
}

// take adds a sample to the list if it has ended.
func (f *ends) take(l *ledger.Ledger, seq int) bool {
	e := l.Ended(seq)
	if e == nil {
		return false
	}
	f.list = append(f.list, int32(seq))
	if tpot := ledger.TimesOf(e, e.IssuedNS).TPOT; !math.IsNaN(tpot) {
		f.batch.Record(int64(tpot * 1e9))
	}
	return true
}
