// HOT PATH: start, flush and receive run once a request or a token. They may not lock or block, nor allocate but to
// keep what a full socket did not take of a request; what is rare (dialing, failures) is in dial.go and fail.go.

package http1

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// state is what a connection is doing.
type state uint8

const (
	closed state = iota
	connecting
	idle
	busy     // it carries a request
	refusing // the answer is a refusal: the beginning of its body is read for the record
	draining // the request is completed, and the end of its answer has not come
)

// conn is one connection. It is used again for another socket after it was closed. What an ordinary request touches of
// it stands in its first 128 bytes, two cache lines: TestConnectionsAreSmall.
type conn struct {
	fd         int
	generation int32 // changes with the socket: events of the one before are void
	state      state
	reused     bool // has carried an answer
	answering  bool // the present answer is being read
	unsent     bool // head and body are not empty
	endpoint   int
	exchange   *exchange // nil: none is on its way
	reading    *reading  // of the present answer; nil: its first byte has not come
	deadline   int64     // of the request; ns of the loop's clock
	phase      int64     // of what it is waiting for
	over       *policy.Deadline

	timer  timer
	next   *conn // in the list of idle ones
	prev   *conn
	broken unix.Errno

	head, body []byte // of the request, still to be sent
	first      int    // index of the address that was tried first, while connecting
	tried      int    // addresses tried
	drained    int    // bytes read while refusing or draining
	_          [56]byte
}

// gatherFrom is the length of a body, in bytes, up to which copying it behind the header is 3 to 5 % cheaper than a
// gathered write (measured with 1.2 KB).
const gatherFrom = 2 << 10

// largeFrom is the length of a body, in bytes, from which a socket may hold a part that the server does not take: it is
// below the smallest buffer that a server can be expected to have (Linux: 128 KiB).
const largeFrom = 32 << 10

// watch sees to it that the connection is looked at when its time is over.
func (l *loop) watch(c *conn) { l.wheel.by(&c.timer, min(c.deadline, c.phase)) }

// start puts an exchange on a connection that is ready, and sends its request.
func (l *loop) start(c *conn, x *exchange) {
	c.state, c.exchange = busy, x
	c.answering, c.drained = false, 0
	c.deadline, c.phase, c.over = x.deadline, x.firstBy, policy.FirstTokenOver
	l.watch(c)
	head, body := l.request(x, &l.client.targets[c.endpoint])
	x.large = len(body) > largeFrom
	if len(body) <= gatherFrom {
		head, body = append(head, body...), nil
	}
	l.head = head
	l.stamp()
	x.sentNS = l.wall
	n, errno := l.writer.send(c.fd, head, body)
	if errno == 0 && n == len(head)+len(body) {
		return
	}
	if errno != 0 {
		n = 0
	}
	c.head, c.body, c.unsent = append([]byte(nil), head[min(n, len(head)):]...), body[max(0, n-len(head)):], true
	l.sent(c, errno)
}

// request returns the bytes of a request in two parts. The first is the loop's own: the header, with the request's id
// in it or behind it. The second is the prepared body, which requests share, or all but its first byte.
func (l *loop) request(x *exchange, t *target) (head, body []byte) {
	body = l.client.config.Body(x.query.Index)
	head = append(l.head[:0], t.head...)
	if x.number = 0; !t.identified {
		return append(strconv.AppendInt(head, int64(len(body)), 10), "\r\n\r\n"...), body
	}
	l.requests++
	x.number = l.requests
	if t.member == nil {
		head = append(l.ids.Append(head, x.number), "\r\nContent-Length: "...)
		return append(strconv.AppendInt(head, int64(len(body)), 10), "\r\n\r\n"...), body
	}
	head = append(strconv.AppendInt(head, int64(len(t.member)+policy.IDLength+len(behindMember)+len(body)-1), 10),
		"\r\n\r\n"...)
	head = l.ids.Append(append(head, t.member...), x.number)
	return append(head, behindMember...), body[1:]
}

// behindMember ends the member of a body that holds the request's id. The other members follow: no request has none.
const behindMember = `",`

// flush sends what is left of a request.
func (l *loop) flush(c *conn) {
	n, errno := l.writer.send(c.fd, c.head, c.body)
	if errno == 0 {
		k := min(n, len(c.head))
		c.head, c.body = c.head[k:], c.body[n-k:]
		c.unsent = len(c.head)+len(c.body) > 0
	}
	l.sent(c, errno)
}

// sent deals with a request that did not go out whole. An error here may hide an answer that the server gave before it
// closed: what there is to read decides.
func (l *loop) sent(c *conn, errno unix.Errno) {
	if errno == 0 || errno == unix.EAGAIN || errno == unix.EINTR {
		return
	}
	c.head, c.body, c.unsent, c.broken = nil, nil, false, errno
	l.receive(c, true)
}

// receive reads what has come. The events are edge-triggered, so it reads until a short read says that nothing is left;
// over says that the end of the connection is to be read too.
func (l *loop) receive(c *conn, over bool) {
	generation := c.generation
	for range readsAtOnce {
		n, errno := recv(c.fd, l.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN && c.broken == 0:
			return
		case errno == unix.EAGAIN:
			l.broke(c, c.broken)
			return
		case errno != 0:
			l.broke(c, errno)
			return
		case n == 0:
			l.hungUp(c)
			return
		}
		l.stamp()
		l.read(c, l.buf[:n])
		if c.generation != generation || (n < len(l.buf) && !over && c.broken == 0) {
			return
		}
	}
	l.rearm(c)
}

// read takes the bytes of one read through the parser.
func (l *loop) read(c *conn, b []byte) {
	if c.state == idle {
		l.stray(b)
		l.shut(c)
		return
	}
	if c.reading == nil {
		c.reading = l.openReading()
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

// rest makes a connection wait for the next request.
func (l *loop) rest(c *conn) {
	c.state, c.exchange, c.reused = idle, nil, true
	l.closeReading(c)
	c.deadline, c.phase = never, l.now+int64(policy.IdleTimeout)
	l.watch(c)
	c.prev, c.next = nil, l.idle[c.endpoint]
	if c.next != nil {
		c.next.prev = c
	}
	l.idle[c.endpoint] = c
	l.resting++
}

// unrest takes a connection out of the list of idle ones.
func (l *loop) unrest(c *conn) {
	l.resting--
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.idle[c.endpoint] = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
}
