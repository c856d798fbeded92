// HOT PATH: startSealed, push and decrypt run once a request or a token of a TLS connection. They may not lock or
// block, and allocate only to keep records that did not fit into the socket. attend, opened and ended run once a
// connection.

package http1

import (
	"errors"
	"io"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// sealAtOnce is how much of a request is encrypted before it is sent, in bytes: a large request neither delays other
// connections nor is kept twice.
const sealAtOnce = 128 << 10

// startSealed is the rest of start on a TLS connection.
func (l *loop) startSealed(c *conn, x *exchange, head, body []byte) {
	now := min(len(body), sealAtOnce)
	sealed, err := c.session.seal(head, body[:now])
	if err != nil {
		l.ended(c, err)
		return
	}
	c.body = body[now:]
	l.stamp()
	x.sentNS = l.wall
	l.push(c, sealed)
}

// push sends records, and then the rest of the request until the socket is full.
func (l *loop) push(c *conn, sealed []byte) {
	for len(sealed) > 0 {
		n, errno := send(c.fd, sealed)
		if errno != 0 {
			n = 0
		}
		if n < len(sealed) {
			c.head, c.unsent = append([]byte(nil), sealed[n:]...), true
			l.sent(c, errno)
			return
		}
		next := min(len(c.body), sealAtOnce)
		var err error
		if sealed, err = c.session.seal(c.body[:next], nil); err != nil {
			l.ended(c, err)
			return
		}
		c.body = c.body[next:]
	}
	c.head, c.body, c.unsent = nil, nil, false
}

// emit sends records behind those that the socket has not taken yet.
func (l *loop) emit(c *conn, records []byte) {
	if len(records) == 0 {
		return
	}
	if c.unsent {
		c.head = append(c.head, records...)
		return
	}
	if l.push(c, records); c.unsent && c.state == idle {
		l.pool.shut(c)
	}
}

// decrypt parses the bytes of one read of a TLS connection.
func (l *loop) decrypt(c *conn, b []byte) {
	s, generation := c.session, c.generation
	if s.opening != nil {
		s.opening.feed(b)
		return
	}
	s.in = b
	for more := true; more; {
		n, err := s.open(l.pool.plain)
		if n > 0 {
			l.read(c, l.pool.plain[:n])
		}
		if c.generation != generation {
			return
		}
		if err != nil {
			l.ended(c, err)
			return
		}
		more = n == len(l.pool.plain)
	}
	l.emit(c, s.pending())
}

// ended handles the end of a TLS session. The peer announces the end of its bytes with close_notify, io.EOF here.
func (l *loop) ended(c *conn, err error) {
	switch {
	case err == io.EOF:
		l.hungUp(c, true)
	case errors.Is(err, io.ErrUnexpectedEOF):
		l.hungUp(c, false)
	default:
		l.cut(c, backends.FailTLS, policy.Explain(backends.FailTLS, err), false)
	}
}

// openingOver is the deadline of an opening.
var openingOver = &policy.Deadline{Reason: backends.FailTLS,
	Detail: "it did not end within the connect timeout (--connect-timeout)"}

// prepare makes the steps before the first request of a connection.
func (l *loop) prepare(c *conn, steps []step) {
	x := c.exchange
	c.state, c.session = preparing, &session{out: &l.pool.sealed}
	c.deadline, c.phase, c.over = x.deadline, x.firstBy, policy.FirstTokenOver
	if by := l.now + int64(l.config.ConnectTimeout); by < c.phase {
		c.phase, c.over = by, openingOver
	}
	l.pool.watch(c)
	l.openings.begin(c.session, c, steps)
}

// attend carries the bytes of openings to their sockets, and begins the requests of the connections that are open.
func (l *loop) attend() {
	for _, o := range l.openings.changes() {
		c := l.pool.find(o.fd, o.generation)
		if c == nil || c.state != preparing {
			continue
		}
		out, finished := o.collect()
		l.emit(c, out)
		if finished {
			l.opened(c, o)
		}
	}
}

// opened begins the request of a connection that has been opened. Bytes that came before it answer nothing.
func (l *loop) opened(c *conn, o *opening) {
	l.pool.dialing--
	c.state = busy
	if o.err != nil {
		l.cut(c, o.reason, policy.Explain(o.reason, o.err), true)
		return
	}
	s := c.session
	over := s.adopt()
	l.pool.counters.Connected(int(c.endpoint))
	n, err := s.open(l.pool.plain)
	switch {
	case n > 0:
		l.pool.stray(l.pool.plain[:n])
		l.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errEarly), true)
	case err != nil:
		l.ended(c, err)
	case over != nil:
		l.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errClosed), true)
	default:
		l.emit(c, s.pending())
		l.start(c, c.exchange)
	}
}

var errEarly = errors.New("the server sent bytes before the request")
