// HOT PATH: run goes round once for what is ready. It may not allocate, lock, use a channel or a map, or block anywhere
// but in sleep and pause.

package http1

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

const (
	readBuffer  = 64 << 10
	popBetween  = 8  // events that are handled before the source is looked at again
	readsAtOnce = 16 // of one connection before the others have their turn
)

// loop carries queries from sockets to the sink. Everything in it is its thread's own, but for stop and wake.
type loop struct {
	client   *Client
	sink     backends.Sink
	src      source
	stop     atomic.Bool // the test is to end early
	srcFD    int
	wake     int // eventfd that says so
	epoll    int
	events   [64]unix.EpollEvent
	batch    [256]loadgen.Query
	buf      []byte // of all connections: what has to outlive a read is copied
	head     []byte // a request's header under way
	ids      policy.RequestIDs
	requests uint64 // with an id, so far
	writer   writer
	wheel    wheel
	pace     pace
	did      deeds

	base     time.Time
	baseWall int64 // of base, ns since 1970
	now      int64 // ns since base, as of the last stamp: deadlines
	wall     int64 // ns since 1970, of the same moment: reports
	looked   int64 // wall, when what is ready was last asked for
	since    int64 // wall: what is being handled was not ready before

	conns   []*conn // by file descriptor; nil where it is none of ours
	good    []int   // by endpoint, the address that was connected to last
	idle    []*conn // by endpoint, the most recently used first
	resting int     // connections in idle
	dialing int     // connections on their way
	line    *balance.Line[task]
	busy    int // requests that hold a place under limit
	limit   int
	left    int // queries taken and not yet completed

	spare      []*exchange
	spareConn  []*conn
	unread     []*reading       // the most recently used last
	lost       backends.Outcome // of a query without an answer
	generation int32            // of the newest connection
	ended      bool             // the source has
	cancelled  bool
}

// stamp reads the clock, once: the wall clock is followed from base on, and a step of it is found by other means.
func (l *loop) stamp() {
	l.now = int64(time.Since(l.base))
	l.wall = l.baseWall + l.now
}

// run works until the source has ended and all its queries are completed.
func (l *loop) run() {
	more := false // there is surely something to do
	for !l.ended || l.left > 0 {
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

// asleep is how long a wait has to take, in ns, to show that nothing was ready when it began.
const asleep = 20_000

// poll ends one round and gives the events of the next.
func (l *loop) poll(more bool) int {
	l.stamp()
	l.did.round(l.now)
	asked, paused, n := l.wall, false, 0
	switch {
	case more:
		n = ready(l.epoll, l.events[:])
	case l.pace.on:
		paused = true
		pause(l.pace.length)
		l.did.pauses++
		if n = ready(l.epoll, l.events[:]); n == 0 {
			n = l.sleep()
		}
	default:
		n = l.sleep()
	}
	l.stamp()
	l.since = l.looked
	if !more && !paused && l.wall-asked > asleep {
		l.since, asked = l.wall, l.wall
	}
	l.looked = asked
	if !more {
		l.pace.look(l.now, n)
	}
	l.did.begin(l.now, n)
	return n
}

// sleep waits until there is something to do. It also finds out that the source has ended.
func (l *loop) sleep() int {
	l.did.sleeps++
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
	for l.room() {
		t, endpoint, ok := l.line.Next()
		if !ok {
			break
		}
		l.begin(t, endpoint)
	}
	l.did.queueMax = max(l.did.queueMax, l.line.Len())
	return n
}

// dialsAtOnce bounds the connections on their way, so that a burst does not overflow the queue in which the server has
// them wait to be accepted (2048 and more in the servers of this field): what does not fit there waits for seconds.
const dialsAtOnce = 256

// room says whether one more request can be begun: what has no place waits here, in the order of issue, and its wait
// stands between its stamps dequeued and sent.
func (l *loop) room() bool { return l.busy < l.limit && (l.resting > 0 || l.dialing < dialsAtOnce) }

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
		return // edge-triggered: it has done its work
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
	} else if c.unsent && e.Events&unix.EPOLLOUT != 0 {
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
