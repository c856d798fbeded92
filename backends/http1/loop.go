// HOT PATH: run goes round once for what is ready. It may not allocate, lock, use a channel or a map, or block anywhere but
// in sleep.

package http1

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/balance"
)

const (
	readBuffer  = 64 << 10
	popBetween  = 8  // events that are handled before the source is looked at again
	readsAtOnce = 16 // of one connection before the others have their turn
)

// loop is one run of Serve. Everything in it is its thread's own, but for stop and wake.
type loop struct {
	client *Client
	sink   backends.Sink
	src    source
	stop   atomic.Bool // the test is to end early
	srcFD  int
	wake   int // eventfd that says so
	epoll  int
	events [64]unix.EpollEvent
	batch  [256]loadgen.Query
	buf    []byte // of all connections: what has to outlive a read is copied
	head   []byte // a request's header under way
	writer writer
	wheel  wheel

	base time.Time
	now  int64 // ns since base, as of the last stamp: deadlines
	wall int64 // ns since 1970, of the same moment: reports

	conns []*conn // by file descriptor; nil where it is none of ours
	good  []int   // by endpoint, the address that was connected to last
	idle  []*conn // by endpoint, the most recently used first
	line  *balance.Line[task]
	busy  int // requests that hold a place under limit
	limit int
	left  int // queries taken and not yet completed

	spare      []*exchange
	spareConn  []*conn
	generation int32 // of the newest connection
	ended      bool  // the source has
	cancelled  bool
}

// stamp reads the clocks.
func (l *loop) stamp() {
	t := time.Now()
	l.now, l.wall = int64(t.Sub(l.base)), t.UnixNano()
}

// run works until the source has ended and all its queries are completed.
func (l *loop) run() {
	for !l.ended || l.left > 0 {
		n := ready(l.epoll, l.events[:])
		if n == 0 && l.admit() == 0 {
			n = l.sleep()
		}
		l.stamp()
		l.expire()
		for i := range n {
			l.handle(&l.events[i])
			if i%popBetween == popBetween-1 {
				l.admit()
			}
		}
		l.admit()
	}
}

// sleep waits until there is something to do. It also finds out that the source has ended.
func (l *loop) sleep() int {
	l.stamp()
	limit := time.Duration(l.wheel.wait(l.now))
	if l.ended {
		return sleep(l.epoll, l.events[:], limit)
	}
	if l.src.Park() {
		n := sleep(l.epoll, l.events[:], limit)
		l.src.Unpark()
		return n
	}
	n, open := l.src.Wait(l.batch[:], 0)
	l.take(n)
	l.ended = n == 0 && !open
	return 0
}

// admit moves new queries in, starts what there is room for, and gives the number of new ones.
func (l *loop) admit() int {
	if !l.cancelled && l.stop.Load() {
		l.cancelAll()
	}
	n := l.src.Pop(l.batch[:])
	l.take(n)
	if l.line.Heard() && l.line.Hopeless() {
		l.refuseAll(backends.FailNoEndpoint)
	}
	for l.busy < l.limit {
		t, endpoint, ok := l.line.Next()
		if !ok {
			break
		}
		l.begin(t, endpoint)
	}
	return n
}

// take lets n queries of the batch wait for their turn.
func (l *loop) take(n int) {
	if n == 0 {
		return
	}
	l.stamp()
	l.left += n
	dequeued := l.wall
	for i := range n {
		q := task{query: l.batch[i], dequeuedNS: dequeued}
		switch {
		case l.cancelled || l.stop.Load():
			l.refuse(q, backends.FailCancelled)
		case l.line.Hopeless():
			l.refuse(q, backends.FailNoEndpoint)
		default:
			l.line.Push(q)
		}
	}
}

// handle deals with one event.
func (l *loop) handle(e *unix.EpollEvent) {
	fd := int(e.Fd)
	if fd == l.srcFD {
		l.src.Unpark()
		return
	}
	if fd == l.wake {
		swallow(fd)
		return
	}
	c := l.conns[fd]
	if c == nil || c.generation != e.Pad {
		return // closed by an event before this one
	}
	if c.state == connecting {
		if !l.connected(c, e.Events) {
			return
		}
	} else if e.Events&unix.EPOLLOUT != 0 && len(c.head)+len(c.body) > 0 {
		l.flush(c)
	}
	const input, over = unix.EPOLLIN, unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if e.Events&(input|over) != 0 && c.generation == e.Pad {
		l.receive(c, e.Events&over != 0)
	}
}

// expire lets everything happen whose time has come.
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

// task is a query that has not begun.
type task struct {
	query      loadgen.Query
	dequeuedNS int64
}
