package ledger

import "time"

// Rate is the rate of a running count over its last few readings.
type Rate struct {
	at   [8]time.Time
	done [8]int64
	n    int
}

// NewRate returns a rate whose first reading is a count of 0 at start.
func NewRate(start time.Time) *Rate {
	r := &Rate{n: 1}
	r.at[0] = start
	return r
}

// PerSecond adds a reading and returns the rate since the oldest kept reading; 0 after the first reading.
func (r *Rate) PerSecond(now time.Time, done int64) float64 {
	last := (r.n + len(r.at) - min(r.n, len(r.at)-1)) % len(r.at)
	slot := r.n % len(r.at)
	r.at[slot], r.done[slot] = now, done
	r.n++
	if s := now.Sub(r.at[last]).Seconds(); r.n > 1 && s > 0 {
		return float64(done-r.done[last]) / s
	}
	return 0
}
