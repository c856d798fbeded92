// HOT PATH: startSealed, push, emit and decrypt run once a request or a token of a TLS connection. They may not lock or
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
func (s *sender) startSealed(c *conn, head, body []byte) error {
	now := min(len(body), sealAtOnce)
	sealed, err := c.session.seal(head, body[:now])
	if err != nil {
		return err
	}
	c.body = body[now:]
	s.times.stamp()
	c.exchange.writes(s.times.wall)
	return s.push(c, sealed)
}

// push sends records, and then the rest of the request until the socket is full.
func (s *sender) push(c *conn, sealed []byte) error {
	for len(sealed) > 0 {
		n, errno := send(c.fd, sealed)
		if errno != 0 {
			n = 0
		}
		if n < len(sealed) {
			c.head, c.unsent = append([]byte(nil), sealed[n:]...), true
			return c.wrote(errno)
		}
		next := min(len(c.body), sealAtOnce)
		var err error
		if sealed, err = c.session.seal(c.body[:next], nil); err != nil {
			return err
		}
		c.body = c.body[next:]
	}
	c.head, c.body, c.unsent = nil, nil, false
	return nil
}

// emit sends records behind those that the socket has not taken yet.
func (s *sender) emit(c *conn, records []byte) error {
	if len(records) == 0 {
		return nil
	}
	if c.unsent {
		c.head = append(c.head, records...)
		return nil
	}
	return s.push(c, records)
}

// emit sends records that answer nothing, and closes an idle connection that does not take them.
func (e *exchanges) emit(c *conn, records []byte) {
	if e.written(c, e.sender.emit(c, records)); c.unsent && c.state == idle {
		e.pool.shut(c)
	}
}

// decrypt parses the bytes of one read of a TLS connection.
func (e *exchanges) decrypt(c *conn, b []byte) {
	s, generation := c.session, c.generation
	if s.opening != nil {
		s.opening.feed(b)
		return
	}
	s.in = b
	for more := true; more; {
		n, err := s.open(e.pool.plain)
		if n > 0 {
			e.read(c, e.pool.plain[:n])
		}
		if c.generation != generation {
			return
		}
		if err != nil {
			e.ended(c, err)
			return
		}
		more = n == len(e.pool.plain)
	}
	e.emit(c, s.pending())
}

// ended handles the end of a TLS session. The peer announces the end of its bytes with close_notify, io.EOF here.
func (e *exchanges) ended(c *conn, err error) {
	switch {
	case err == io.EOF:
		e.hungUp(c, true)
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.hungUp(c, false)
	default:
		if t := &e.dialer.targets[c.endpoint]; t.URL.Scheme == "http" { // the only TLS is that with the proxy
			err = policy.OfProxy(t.peer, err)
		}
		e.cut(c, backends.FailTLS, policy.Explain(backends.FailTLS, err), false)
	}
}

// attend carries the bytes of openings to their sockets, and begins the requests of the connections that are open.
func (e *exchanges) attend() {
	for _, o := range e.dialer.openings.changes() {
		c := e.pool.find(o.fd, o.generation)
		if c == nil || c.state != preparing {
			continue
		}
		out, finished := o.collect()
		if finished && o.err == nil {
			e.opened(c, o, out)
			continue
		}
		e.emit(c, out)
		if finished {
			e.pool.dialing--
			c.state = busy
			e.cut(c, o.reason, policy.Explain(o.reason, o.err), true)
		}
	}
}

// opened begins the request of a connection that has been opened. Its last records are sent with the request, because
// a send of their own would cost both sides more than 10 µs. Bytes that came before the request answer nothing.
func (e *exchanges) opened(c *conn, o *opening, last []byte) {
	e.pool.dialing--
	c.state = busy
	s := c.session
	over := s.adopt()
	*s.out = append(append(*s.out, c.head...), last...)
	c.head, c.unsent = nil, false
	e.pool.counters.Connected(int(c.endpoint))
	n, err := s.open(e.pool.plain)
	switch {
	case n > 0:
		e.pool.stray(e.pool.plain[:n])
		e.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errEarly), true)
	case err != nil:
		e.ended(c, err)
	case over != nil:
		e.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errClosed), true)
	default:
		e.start(c, c.exchange)
	}
}

var errEarly = errors.New("the server sent bytes before the request")
