package policy

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
)

const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Retries decides about further attempts of one request. Before the first byte of an answer a dead reused connection is
// worth one repeat, and further attempts are the user's to allow; after it there is none.
type Retries struct {
	repeated bool
	left     int
	pause    time.Duration
}

// NewRetries allows n attempts beside the first one and the repeat.
func NewRetries(n int) Retries { return Retries{left: n, pause: firstPause} }

// Next tells whether another attempt is made after f, always on a fresh connection, and after which wait. An attempt
// that would begin after the deadline, which is left away, is none.
func (r *Retries) Next(f *Failure, left time.Duration) (wait time.Duration, retry bool) {
	switch {
	case f.Stale && !r.repeated:
		r.repeated = true
		return 0, true
	case f.Again && r.left > 0:
		if wait = max(r.pause, f.Wait); wait >= left {
			return 0, false
		}
		r.left, r.pause = r.left-1, min(2*r.pause, lastPause)
		return wait, true
	}
	return 0, false
}

// Lost says what a transport that failed means: began tells whether the first byte of the answer had come, reused
// whether its connection had carried an answer before.
func Lost(reason backends.Reason, detail string, began, reused bool) Failure {
	f := Failure{Reason: reason, Detail: detail}
	if !began {
		f.Stale = reason == backends.FailReset && reused
		f.Again = reason == backends.FailReset || reason == backends.FailConnect
	}
	return f
}
