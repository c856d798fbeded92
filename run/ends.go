package run

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// looksShare is the part of the time that looks may take: after one, the next waits 200 times as long. It matters for
// Offline tests, where a million samples are open at once.
const looksShare = 200

// ends finds the samples that ended since the last look. It reads the ledger, so the hot path does nothing for it.
type ends struct {
	open []int // samples that were issued and had not ended
	next int   // every sample before it was issued
	list []ledger.Entry
	tpot ledger.Histogram // of all ended samples, ns
	rest time.Time        // no look before
	till time.Time        // of the last look
}

// look returns the samples that ended since the last look, in no order. The list is valid until the next look.
func (f *ends) look(l *ledger.Ledger, now time.Time) []ledger.Entry {
	f.list = f.list[:0]
	if now.Before(f.rest) {
		return nil
	}
	still := f.open[:0]
	for _, seq := range f.open {
		if !f.take(l, seq) {
			still = append(still, seq)
		}
	}
	for ; l.Issued(f.next); f.next++ {
		if !f.take(l, f.next) {
			still = append(still, f.next)
		}
	}
	f.open = still
	f.till = now
	f.rest = now.Add(looksShare * time.Since(now))
	return f.list
}

// take adds a sample to the list if it has ended.
func (f *ends) take(l *ledger.Ledger, seq int) bool {
	if !l.Ended(seq) {
		return false
	}
	e, _ := l.Entry(seq)
	f.list = append(f.list, e)
	if tpot := ledger.TimesOf(&e, e.IssuedNS).TPOT; !math.IsNaN(tpot) {
		f.tpot.Record(int64(tpot * 1e9))
	}
	return true
}
