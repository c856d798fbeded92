// HOT PATH: run handles one round of events after another. It may not allocate, lock, use a channel or a map, or block
// anywhere but in wait and in the pauses of poll.

package http1

import (
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
)

const popBetween = 8 // events between two looks at the source

// loop carries queries from the source over its connections to the sink: it waits for events and passes them on. It
// belongs to one thread; only stop and wake are used by other goroutines.
type loop struct {
	poller
	config    *backends.Config
	stop      atomic.Bool // the test is to end early
	cancelled bool
	intake    intake
	report    reporter
	pool      pool
	exchanges exchanges
}

// run works until the source has ended and all its queries are completed.
func (l *loop) run() {
	more := false // there is something to do without an event
	for !l.intake.ended || l.report.outstanding > 0 {
		n := l.poll(more)
		l.expire()
		for i := range n {
			l.handle(&l.events[i])
			if i%popBetween == popBetween-1 {
				l.report.flush()
				l.admit()
			}
		}
		more = l.admit() > 0 || n == len(l.events)
		l.report.flush()
	}
}

// waitForWork blocks until an event or a deadline, and returns the number of events. It also notices the end of the
// source.
func (l *loop) waitForWork() int {
	l.stats.sleeps++
	in := &l.intake
	limit := time.Duration(l.wheel.wait(l.now))
	space := l.space()
	if in.ended || space == 0 {
		return l.rest(limit)
	}
	if in.src.Park() {
		n := l.rest(limit)
		in.src.Unpark()
		return n
	}
	n, open := in.src.Wait(in.batch[:space], 0)
	l.accept(n)
	in.ended = n == 0 && !open
	return 0
}

// space returns how many queries may be taken from the source.
func (l *loop) space() int {
	in := &l.intake
	room := in.limit - in.busy - in.line.Len()
	if room >= len(in.batch) || in.ahead == math.MaxInt || l.cancelled || l.stop.Load() {
		return len(in.batch)
	}
	return max(0, min(len(in.batch), room+in.ahead))
}

// admit accepts new queries, starts those that there is room for, and returns the number of new ones.
func (l *loop) admit() int {
	if !l.cancelled && l.stop.Load() {
		l.cancelAll()
	}
	in := &l.intake
	n := in.src.Pop(in.batch[:l.space()])
	l.accept(n)
	if in.line.Heard() && in.line.Hopeless() {
		l.refuseAll(backends.FailNoEndpoint)
	}
	for in.hasRoom() && l.pool.hasRoom() {
		t, endpoint, ok := in.next()
		if !ok {
			break
		}
		l.exchanges.begin(t, endpoint)
	}
	in.queueMax = max(in.queueMax, in.line.Len())
	return n
}

// accept puts the first n queries of the batch into the line.
func (l *loop) accept(n int) {
	if n == 0 {
		return
	}
	l.stamp()
	l.report.outstanding += n
	dequeued := l.wall
	for i := range n {
		t := task{query: l.intake.batch[i], dequeuedNS: dequeued}
		switch {
		case l.cancelled || l.stop.Load():
			l.report.refuse(t, backends.FailCancelled)
		case l.intake.line.Hopeless():
			l.report.refuse(t, backends.FailNoEndpoint)
		default:
			l.intake.line.Push(t)
		}
	}
}

// handle handles one event.
func (l *loop) handle(e *unix.EpollEvent) {
	switch fd := int(e.Fd); fd {
	case l.intake.fd: // edge-triggered: it has ended the wait
	case l.wake:
		swallow(fd)
		l.exchanges.attend()
	default:
		if c := l.pool.find(fd, e.Pad); c != nil {
			l.exchanges.handle(c, e.Events)
		}
	}
}

// expire handles the timers that have expired.
func (l *loop) expire() {
	for t := l.wheel.expired(l.now); t != nil; t = l.wheel.expired(l.now) {
		switch c := t.conn; {
		case c == nil:
			l.exchanges.resume(t.exchange)
		case l.now < min(c.deadline, c.phase):
			l.wheel.set(t, min(c.deadline, c.phase))
		default:
			l.exchanges.late(c)
		}
	}
}
