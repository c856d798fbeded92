// HOT PATH: unwritten runs once a request. No lock, no allocation.

package http1

import "github.com/mlperf-go/mlperf-go/backends/internal/policy"

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
	conducted  bool   // its exchange has a conduct
	narrow     bool   // its socket has a small buffer: it must not carry an ordinary request
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

// unwritten reports whether the server cannot have read the whole request. Each segment of an answer acknowledges all
// bytes that the server has received, so nothing is unacknowledged once an answer to the whole request has come.
func (c *conn) unwritten() bool {
	return c.unsent || c.broken != 0 || c.exchange.large && unconfirmed(c.fd)
}

// answersUntilEOF reports whether the end of the connection is the end of its answer.
func (c *conn) answersUntilEOF() bool { return c.reading != nil && c.reading.parser.ended() }
