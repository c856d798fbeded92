// HOT PATH: start, flush and receive run once a request or a token. They may not lock or block, and allocate only to
// keep the rest of a request that did not fit into the socket. What is rare is in dial.go and fail.go.

package http1

import (
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// state is what a connection is doing.
type state uint8

const (
	closed state = iota
	connecting
	preparing // TLS handshakes and tunnels, before the first request
	idle
	busy     // a request is in flight
	refusing // the answer is a refusal: the beginning of its body is read for the record
	draining // the request is completed, but the end of its answer has not come
)

// conn is one connection. After it was closed, its memory is used for another socket. An ordinary request touches only
// its first 128 bytes, two cache lines (TestConnectionsAreSmall).
type conn struct {
	fd         int
	generation int32 // of the socket: events of an earlier one are void
	state      state
	reused     bool   // has carried an answer
	answering  bool   // the answer is accepted and is being read
	unsent     bool   // head and body are not empty
	broken     uint16 // errno of a write; 0: none
	endpoint   int32
	exchange   *exchange // nil: no request is in flight
	reading    *reading  // of the answer; nil: its first byte has not come
	deadline   int64     // of the request; ns of the loop's clock
	phase      int64     // deadline of what the connection is waiting for
	over       *policy.Deadline

	timer   timer
	next    *conn // in the list of idle connections
	prev    *conn
	session *session // TLS; nil: plain

	head, body []byte // rest of the request, still to be sent
	first      int    // index of the address that was tried first
	tried      int    // number of addresses tried
	drained    int    // bytes read while refusing or draining
	_          [56]byte
}

// gatherFrom is the length of a body, in bytes, up to which a copy behind the header is 3 to 5 % cheaper than a
// gathered write (measured with 1.2 KB).
const gatherFrom = 2 << 10

// largeFrom is the length of a body, in bytes, from which a part of it may stay in the socket unread by the server. It
// is below the smallest receive buffer that a server may have (Linux: 128 KiB).
const largeFrom = 32 << 10

// start sends the request of an exchange on a ready connection.
func (l *loop) start(c *conn, x *exchange) {
	c.state, c.exchange = busy, x
	c.answering, c.drained = false, 0
	c.deadline, c.phase, c.over = x.deadline, x.firstBy, policy.FirstTokenOver
	l.pool.watch(c)
	head, body := l.sender.request(x, &l.report.targets[c.endpoint])
	x.large = len(body) > largeFrom
	if len(body) <= gatherFrom {
		head, body = append(head, body...), nil
	}
	l.sender.head = head
	if c.session != nil {
		l.startSealed(c, x, head, body)
		return
	}
	l.stamp()
	x.sentNS = l.wall
	n, errno := l.sender.send(c.fd, head, body)
	if errno == 0 && n == len(head)+len(body) {
		return
	}
	if errno != 0 {
		n = 0
	}
	c.head, c.body, c.unsent = append([]byte(nil), head[min(n, len(head)):]...), body[max(0, n-len(head)):], true
	l.sent(c, errno)
}

// flush sends the rest of a request.
func (l *loop) flush(c *conn) {
	if c.session != nil {
		l.push(c, c.head)
		return
	}
	n, errno := l.sender.send(c.fd, c.head, c.body)
	if errno == 0 {
		k := min(n, len(c.head))
		c.head, c.body = c.head[k:], c.body[n-k:]
		c.unsent = len(c.head)+len(c.body) > 0
	}
	l.sent(c, errno)
}

// sent handles a write that did not send the whole request. After an error there may still be an answer that the server
// sent before it closed, so what can be read decides.
func (l *loop) sent(c *conn, errno unix.Errno) {
	if errno == 0 || errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	c.head, c.body, c.unsent, c.broken = nil, nil, false, uint16(errno)
	l.receive(c, true)
}

// receive reads the bytes that have come. Events are edge-triggered, so it reads until a short read shows that nothing
// is left. over is set if the end of the connection is to be read too.
func (l *loop) receive(c *conn, over bool) {
	generation := c.generation
	for range readsAtOnce {
		n, errno := recv(c.fd, l.pool.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN && c.broken == 0:
			return
		case errno == unix.EAGAIN:
			l.broke(c, unix.Errno(c.broken))
			return
		case errno != 0:
			l.broke(c, errno)
			return
		case n == 0:
			l.hungUp(c, c.session == nil)
			return
		}
		l.stamp()
		if c.session == nil {
			l.read(c, l.pool.buf[:n])
		} else {
			l.decrypt(c, l.pool.buf[:n])
		}
		if c.generation != generation || (n < len(l.pool.buf) && !over && c.broken == 0) {
			return
		}
	}
	if err := l.control(unix.EPOLL_CTL_MOD, c.fd, connEvents, c.generation); err != nil { // report the rest again
		l.broke(c, unix.EIO)
	}
}

// read parses the bytes of one read.
func (l *loop) read(c *conn, b []byte) {
	if c.state == idle {
		l.pool.stray(b)
		l.pool.shut(c)
		return
	}
	if c.reading == nil {
		c.reading = l.pool.readings.open()
		c.exchange.firstByteNS = l.wall
	}
	generation := c.generation
	for {
		ev, body, rest := c.reading.parser.next(b)
		switch ev {
		case evMore:
			return
		case evHead:
			l.header(c)
		case evBody:
			l.piece(c, body)
		case evEnd:
			l.end(c, rest)
			return
		case evBad:
			l.malformed(c)
			return
		}
		if c.generation != generation {
			return
		}
		b = rest
	}
}
