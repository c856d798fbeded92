// HOT PATH: start, request and flush run once a request. They may not lock or block, and allocate only to keep the rest
// of a request that did not fit into the socket.

package http1

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// sender builds requests and writes them to connections. What a socket does not take yet, the connection keeps for
// flush. Its errors are those of TLS, or of a socket that accepts nothing more: the connection is broken then.
type sender struct {
	times  *poller
	socket writer
	bodyOf func(index int) []byte
	headOf func(index int) []byte // further header fields; nil: none
	head   []byte                 // of the request that is being written
	ids    policy.RequestIDs
	number uint64 // of requests so far
	traced bool   // requests carry a traceparent
}

// gatherFrom is the length of a body, in bytes, up to which a copy behind the header is 3 to 5 % cheaper than a
// gathered write (measured with 1.2 KB).
const gatherFrom = 2 << 10

// largeFrom is the length of a body, in bytes, from which a part of it may stay in the socket unread by the server. It
// is below the smallest receive buffer that a server may have (Linux: 128 KiB).
const largeFrom = 32 << 10

// start sends the request of a connection's exchange.
func (s *sender) start(c *conn, t *target) error {
	x := c.exchange
	head, body := s.request(x, t)
	x.large = len(body) > largeFrom
	if len(body) <= gatherFrom {
		head, body = append(head, body...), nil
	}
	s.head = head
	if c.session != nil {
		return s.startSealed(c, head, body)
	}
	s.times.stamp()
	x.writes(s.times.wall)
	n, errno := s.socket.send(c.fd, head, body)
	if errno == 0 && n == len(head)+len(body) {
		return nil
	}
	if errno != 0 {
		n = 0
	}
	c.head, c.body, c.unsent = append([]byte(nil), head[min(n, len(head)):]...), body[max(0, n-len(head)):], true
	return c.wrote(errno)
}

// flush sends the rest of a request.
func (s *sender) flush(c *conn) error {
	if c.session != nil {
		return s.push(c, c.head)
	}
	n, errno := s.socket.send(c.fd, c.head, c.body)
	if errno == 0 {
		k := min(n, len(c.head))
		c.head, c.body = c.head[k:], c.body[n-k:]
		c.unsent = len(c.head)+len(c.body) > 0
	}
	return c.wrote(errno)
}

// wrote returns the error of a write that did not send the whole request; nil if the socket is only full.
func (c *conn) wrote(errno unix.Errno) error {
	if errno == 0 || errno == unix.EAGAIN || errno == unix.EINTR {
		return nil
	}
	c.head, c.body, c.unsent, c.broken = nil, nil, false, uint16(errno)
	return errno
}

// request returns the bytes of a request in two parts. The first belongs to the sender: the header, with the request's
// id in it or behind it. The second is the prepared body, which requests share, or all of it but its first byte.
func (s *sender) request(x *exchange, t *target) (head, body []byte) {
	body = s.bodyOf(x.query.Index)
	head = append(s.head[:0], t.head...)
	s.number++
	if x.number = 0; !t.identified {
		return s.end(head, len(body), x), body
	}
	x.number = s.number
	if t.member == nil {
		head = append(s.ids.Append(head, x.number), "\r\nContent-Length: "...)
		return s.end(head, len(body), x), body
	}
	head = s.end(head, len(t.member)+policy.IDLength+len(behindMember)+len(body)-1, x)
	head = s.ids.Append(append(head, t.member...), x.number)
	return append(head, behindMember...), body[1:]
}

// end appends the length of the body, the request's own fields and the end of the header.
func (s *sender) end(head []byte, length int, x *exchange) []byte {
	head = append(strconv.AppendInt(head, int64(length), 10), "\r\n"...)
	if s.headOf != nil {
		head = append(head, s.headOf(x.query.Index)...)
	}
	if s.traced {
		head = append(s.ids.AppendTrace(append(head, policy.TraceHeader+": "...), s.number, x.query.Seq), "\r\n"...)
	}
	return append(head, "\r\n"...)
}

// behindMember ends the member of a body that contains the request's id. Other members follow in every request.
const behindMember = `",`
