// HOT PATH: run handles one round of events after another. It may not allocate, lock, use a channel or a map, or block
// anywhere but in wait and in the pauses of poll.

package http1

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
)

const (
	readBuffer  = 64 << 10
	popBetween  = 8  // events between two looks at the source
	readsAtOnce = 16 // reads of one connection before the others have their turn
)

// loop carries queries from the source over its connections to the sink. It belongs to one thread; only stop and wake
// are used by other goroutines.
type loop struct {
	poller
	config    *backends.Config
	stop      atomic.Bool // the test is to end early
	cancelled bool
	pool      pool
	openings  openings
	intake    intake
	sender    sender
	report    reporter
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
				l.admit()
			}
		}
		more = l.admit() > 0 || n == len(l.events)
	}
}

// waitForWork blocks until an event or a deadline, and returns the number of events. It also notices the end of the
// source.
func (l *loop) waitForWork() int {
	l.stats.sleeps++
	in := &l.intake
	limit := time.Duration(l.wheel.wait(l.now))
	if in.ended {
		return sleep(l.epoll, l.events[:], limit)
	}
	if in.src.Park() {
		n := sleep(l.epoll, l.events[:], limit)
		in.src.Unpark()
		return n
	}
	n, open := in.src.Wait(in.batch[:], 0)
	l.accept(n)
	in.ended = n == 0 && !open
	return 0
}

// admit takes new queries, starts those that there is room for, and returns the number of new ones.
func (l *loop) admit() int {
	if !l.cancelled && l.stop.Load() {
		l.cancelAll()
	}
	in := &l.intake
	n := in.src.Pop(in.batch[:])
	l.accept(n)
	if in.line.Heard() && in.line.Hopeless() {
		l.refuseAll(backends.FailNoEndpoint)
	}
	for l.hasRoom() {
		t, endpoint, ok := in.next()
		if !ok {
			break
		}
		l.begin(t, endpoint)
	}
	in.queueMax = max(in.queueMax, in.line.Len())
	return n
}

// dialsAtOnce bounds the connections that are being made, so that a burst does not overflow the queue of connections
// that the server has not accepted yet (2048 and more for inference servers): a connection beyond it waits for seconds.
const dialsAtOnce = 256

// hasRoom reports whether one more request may begin. Other queries wait in the order of issue; that time lies between
// their stamps dequeued and sent.
func (l *loop) hasRoom() bool {
	return l.intake.busy < l.intake.limit && (l.pool.resting > 0 || l.pool.dialing < dialsAtOnce)
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
	fd := int(e.Fd)
	if fd == l.intake.fd {
		return // edge-triggered: it has ended the wait
	}
	if fd == l.wake {
		swallow(fd)
		l.attend()
		return
	}
	c := l.pool.find(fd, e.Pad)
	if c == nil {
		return
	}
	if c.state == connecting {
		if !l.connected(c, e.Events) {
			return
		}
	} else if c.unsent && e.Events&unix.EPOLLOUT != 0 {
		l.flush(c)
	}
	const input, over = unix.EPOLLIN, unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if e.Events&(input|over) != 0 && c.generation == e.Pad {
		l.receive(c, e.Events&over != 0)
	}
}

// expire handles the timers that have expired.
func (l *loop) expire() {
	for t := l.wheel.expired(l.now); t != nil; t = l.wheel.expired(l.now) {
		switch c := t.conn; {
		case c == nil:
			l.resume(t.exchange)
		case l.now < min(c.deadline, c.phase):
			l.wheel.set(t, min(c.deadline, c.phase))
		default:
			l.late(c)
		}
	}
}
