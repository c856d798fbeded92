// HOT PATH: begin, attempt, start, handle, receive and read run once a request or a token. They may not lock or block,
// and allocate only for more queries in flight than ever before. What is rare is in dial.go and fail.go.

package http1

import (
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/internal/nvtx"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// exchange is one query in flight. Its memory is used again after the completion. It is small, as conn is: with a
// thousand exchanges in flight, each has left the processor's caches before its answer comes.
type exchange struct {
	query       loadgen.Query
	dequeuedNS  int64
	sentNS      int64 // first write of the request; 0: no attempt had a connection yet
	firstByteNS int64 // of this attempt's answer

	deadline int64 // ns of the loop's clock
	firstBy  int64 // deadline of this attempt's first token
	endpoint int
	again    int  // attempts before this one
	fresh    bool // must not use a connection that was used before
	large    bool // its request may still be in the socket although it was written
	retries  policy.Retries

	timer   timer    // of the pause before another attempt, and of its conduct
	number  uint64   // of this attempt, in its request id; 0: the request has none
	conduct *conduct // nil: it reads at once until the end
	triedNS int64    // the first attempt wrote the request, or began if it had no connection
}

// exchanges carry out the queries that the loop begins: each is attempted on a connection, again if that is allowed,
// and reported once. Nothing in it waits.
type exchanges struct {
	times    *poller
	config   *backends.Config
	intake   *intake
	report   *reporter
	pool     *pool
	dialer   dialer
	sender   sender
	receiver receiver
	inbox    inbox
}

// begin starts a query at an endpoint that has room for it.
func (e *exchanges) begin(t task, endpoint int) {
	x := e.report.exchange()
	x.query, x.dequeuedNS = t.query, t.dequeuedNS
	x.retries = policy.NewRetries(e.config.Retries)
	x.again, x.fresh = 0, false
	x.sentNS, x.triedNS = 0, e.times.wall
	x.deadline = e.times.now + int64(e.config.RequestTimeout)
	x.endpoint = endpoint
	if e.config.Conduct != nil {
		e.behave(x)
	}
	e.attempt(x)
}

// attempt sends a request on the connection that was used last, or else on a new one.
func (e *exchanges) attempt(x *exchange) {
	x.firstByteNS, x.firstBy = 0, never
	if e.config.Stream {
		x.firstBy = e.times.now + int64(e.config.FirstTokenTimeout)
	}
	if !x.fresh {
		if c := e.pool.take(x.endpoint); c != nil {
			e.start(c, x)
			return
		}
	}
	e.dial(x)
}

// start sends the request of an exchange on a ready connection.
func (e *exchanges) start(c *conn, x *exchange) {
	c.state, c.exchange = busy, x
	if c.conducted = x.conduct != nil; c.conducted {
		x.conduct.conn = c
	}
	c.answering, c.drained = false, 0
	c.deadline, c.phase, c.over = x.deadline, x.firstBy, policy.FirstTokenOver
	e.pool.watch(c)
	err := e.sender.start(c, &e.report.targets[c.endpoint])
	if nvtx.On {
		backends.MarkSent(e.report.sink, x.query, e.config.Stream)
	}
	e.written(c, err)
}

// writes records that an attempt writes the request now. The latencies of a repeated request begin with the first
// write, and the client's delay ends with the first attempt.
func (x *exchange) writes(now int64) {
	if x.sentNS != 0 {
		return
	}
	if x.sentNS = now; x.again == 0 {
		x.triedNS = now
	}
}

// written handles the error of a write, if there is one. There may still be an answer that the server sent before it
// closed, so what can be read decides.
func (e *exchanges) written(c *conn, err error) {
	switch {
	case err == nil:
	case c.broken != 0:
		e.receive(c, true)
	default:
		e.ended(c, err)
	}
}

// handle handles the events of a connection.
func (e *exchanges) handle(c *conn, events uint32) {
	generation := c.generation
	if c.state == connecting {
		if !e.connected(c, events) {
			return
		}
	} else if c.unsent && events&unix.EPOLLOUT != 0 {
		e.written(c, e.sender.flush(c))
	}
	const input, over = unix.EPOLLIN, unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&(input|over) != 0 && c.generation == generation {
		e.receive(c, events&over != 0)
	}
}

// readsAtOnce bounds the reads of one connection before the others have their turn.
const readsAtOnce = 16

// receive reads the bytes that have come. Events are edge-triggered, so it reads until a short read shows that nothing
// is left. over is set if the end of the connection is to be read too.
func (e *exchanges) receive(c *conn, over bool) {
	generation, buf := c.generation, e.pool.buf
	if c.conducted {
		buf = buf[:e.portion(c)]
	}
	for range readsAtOnce {
		n, at, errno := e.recv(c, buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN && c.broken == 0:
			return
		case errno == unix.EAGAIN:
			e.broke(c, unix.Errno(c.broken))
			return
		case errno != 0:
			e.broke(c, errno)
			return
		case n == 0:
			e.times.stamp()
			e.hungUp(c, c.session == nil)
			return
		}
		e.times.arrived(at)
		if c.session == nil {
			e.read(c, buf[:n])
		} else {
			e.decrypt(c, buf[:n])
		}
		if c.generation != generation || (n < len(buf) && !over && c.broken == 0) {
			return
		}
		if c.conducted && c.exchange != nil && c.exchange.conduct.readAt != 0 {
			return
		}
	}
	if err := e.times.control(unix.EPOLL_CTL_MOD, c.fd, connEvents, c.generation); err != nil { // report the rest again
		e.broke(c, unix.EIO)
	}
}

// recv reads from a connection. at is when the last of the bytes came; 0: unknown. A slow client's times are those of
// its reading.
func (e *exchanges) recv(c *conn, buf []byte) (n int, at int64, errno unix.Errno) {
	if e.config.KernelTimes && !c.narrow {
		return e.inbox.recv(c.fd, buf)
	}
	n, errno = recv(c.fd, buf)
	return n, 0, errno
}

// read parses the bytes of one read.
func (e *exchanges) read(c *conn, b []byte) {
	refused, ok := e.receiver.read(c, b)
	if !ok {
		e.malformed(c)
	}
	e.refused(refused)
}
