package nethttp

import (
	"context"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// watchdog cancels an attempt when its request or its phase takes too long. A worker has one watchdog and one timer for
// all its attempts. The timer is reset only for an earlier deadline; if it fires before a later one, it is set again.
type watchdog struct {
	mu      sync.Mutex
	timer   *time.Timer
	due     time.Time
	cancel  context.CancelCauseFunc // nil: no attempt
	request time.Time
	phase   time.Time // zero: none
	over    *policy.Deadline
}

// arm watches an attempt until disarm.
func (w *watchdog) arm(cancel context.CancelCauseFunc, request time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel, w.request, w.phase = cancel, request, time.Time{}
	w.set(request)
}

// expect begins a phase that must end before the given time.
func (w *watchdog) expect(before time.Time, over *policy.Deadline) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil {
		return
	}
	w.phase, w.over = before, over
	if before.Before(w.due) {
		w.set(before)
	}
}

func (w *watchdog) disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancel = nil
	w.timer.Stop()
}

func (w *watchdog) set(due time.Time) {
	w.due = due
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(due), w.fire)
		return
	}
	w.timer.Reset(time.Until(due))
}

func (w *watchdog) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil {
		return
	}
	now := time.Now()
	switch {
	case !now.Before(w.request):
		w.cancel(policy.RequestOver)
	case !w.phase.IsZero() && !now.Before(w.phase):
		w.cancel(w.over)
	case !w.phase.IsZero() && w.phase.Before(w.request):
		w.set(w.phase)
	default:
		w.set(w.request)
	}
}

// errDrain is the deadline for the last byte of a complete answer.
var errDrain = &policy.Deadline{Reason: backends.OK, Detail: "the connection was not given back in time"}
