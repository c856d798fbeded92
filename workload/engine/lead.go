// HOT PATH: all methods run once a request. No allocation, no lock.

package engine

// lead is how long before a due time a loop is woken, because a thread wakes up late: by 30 us at the median of a
// machine with two cores. The loop spends the rest of the lead spinning. The lead follows the observed lateness, so
// that a machine that wakes its threads quickly spins little.
type lead struct {
	ns    int64
	began int64 // wall ns of the first request
	spun  int64 // ns so far
}

const (
	firstLead = 50_000
	mostLead  = 100_000
	// leadStep is by how much the lead changes with a wake-up, in ns. It grows with each that is later than it and shrinks
	// with each other, a twentieth as much: one of twenty wake-ups is too late.
	leadStep, leadShare = 1000, 20
	// spinShare bounds the spinning to a twentieth of the time, so that the client stays small beside a server on the same
	// machine.
	spinShare = 20
)

// woke records that the loop looked late ns after the intended wake-up.
func (l *lead) woke(late int64) {
	if late > l.ns {
		l.ns += leadStep
	} else {
		l.ns -= leadStep / leadShare
	}
	l.ns = max(0, min(l.ns, mostLead))
}

// allowed returns the lead at a time; 0 if the loop has spun too much.
func (l *lead) allowed(now int64) int64 {
	if l.began == 0 {
		l.began = now
	}
	if l.spun*spinShare > now-l.began {
		return 0
	}
	return l.ns
}
