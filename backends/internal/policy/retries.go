package policy

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
)

const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// maxUnseen bounds the repeats of a request that no connection of a server processes.
const maxUnseen = 10

// Retries decides about further attempts of one request. Before the first byte of an answer, a dead reused connection
// allows one repeat, each statement of the server that it did not process the request another one, and the user may
// allow more. After that byte nothing is repeated.
type Retries struct {
	repeated bool
	unseen   uint8 // at most maxUnseen
	left     int
	pause    time.Duration
}

// NewRetries allows n attempts besides the first one and the repeat on a dead connection.
func NewRetries(n int) Retries { return Retries{left: n, pause: firstPause} }

// Next reports whether another attempt follows f, and after which pause. It uses a new connection. left is the time
// until the deadline of the request, by which the attempt must have begun.
func (r *Retries) Next(f *Failure, left time.Duration) (wait time.Duration, retry bool) {
	switch {
	case f.Unseen && r.unseen < maxUnseen:
		r.unseen++
		return 0, true
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

// Lost returns the failure of an attempt whose transport failed. began is set if the first byte of the answer had come,
// reused if the connection had carried an answer before.
func Lost(reason backends.Reason, detail string, began, reused bool) Failure {
	f := Failure{Reason: reason, Detail: detail}
	if !began {
		f.Stale = reason == backends.FailReset && reused
		f.Again = reason == backends.FailReset || reason == backends.FailConnect
	}
	return f
}
