// HOT PATH: begin, header, piece, settle and end run once a query or a token. They may not lock or block, and
// allocate only for more queries in flight than ever before and for the message of a failure.

package http1

import (
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// exchange is one query in flight. Its memory is used again after the completion. It is small, as conn is: with a
// thousand exchanges in flight, each has left the processor's caches before its answer comes.
type exchange struct {
	query       loadgen.Query
	dequeuedNS  int64
	sentNS      int64
	firstByteNS int64

	deadline int64 // ns of the loop's clock
	firstBy  int64 // deadline of this attempt's first token
	endpoint int
	again    int  // attempts before this one
	fresh    bool // must not use a connection that was used before
	large    bool // its request may still be in the socket although it was written
	retries  policy.Retries

	timer  timer  // of the pause before another attempt
	number uint64 // of this attempt, in its request id; 0: the request has none
	_      [16]byte
}

// begin starts a query at an endpoint that has room for it.
func (l *loop) begin(t task, endpoint int) {
	x := l.report.exchange()
	x.query, x.dequeuedNS = t.query, t.dequeuedNS
	x.retries = policy.NewRetries(l.config.Retries)
	x.again, x.fresh = 0, false
	x.deadline = l.now + int64(l.config.RequestTimeout)
	x.endpoint = endpoint
	l.attempt(x)
}

// attempt sends a request on the connection that was used last, or else on a new one.
func (l *loop) attempt(x *exchange) {
	x.sentNS, x.firstByteNS = l.wall, 0
	x.firstBy = never
	if l.config.Stream {
		x.firstBy = l.now + int64(l.config.FirstTokenTimeout)
	}
	if !x.fresh {
		if c := l.pool.take(x.endpoint); c != nil {
			l.start(c, x)
			return
		}
	}
	l.dial(x)
}

// header accepts or refuses an answer.
func (l *loop) header(c *conn) {
	l.intake.line.Well(int(c.endpoint))
	r := c.reading
	if r.parser.status != 200 || r.parser.encoding != "" {
		if seen := response(&r.parser); seen.Refused() {
			c.state = refusing
			return
		}
	}
	c.answering = true
	r.answer.Begin(r.parser.kind())
	r.expect(&l.report.targets[c.endpoint], &l.sender.ids, c.exchange.number)
}

// piece handles a part of a body.
func (l *loop) piece(c *conn, b []byte) {
	r := c.reading
	switch c.state {
	case busy:
		r.kept = policy.Keep(r.kept, b)
		if l.report.tokens(c.exchange, r, b) {
			c.phase, c.over = l.now+int64(l.config.TokenTimeout), policy.TokenOver
			l.pool.watch(c)
		}
		if r.answer.Settled() {
			l.settle(c)
		}
	default:
		if c.drained += len(b); c.state == refusing {
			r.kept = policy.Keep(r.kept, b)
		}
		if c.drained > policy.DrainBytes {
			l.stopDraining(c)
		}
	}
}

// settle completes an answer before its last byte. After a good answer the connection waits for that byte, so that it
// can be used again.
func (l *loop) settle(c *conn) {
	if l.finish(c, backends.OK, ""); c.state == closed {
		return
	}
	c.state, c.drained = draining, 0
	c.deadline, c.phase = never, l.now+int64(policy.DrainTime)
	l.pool.watch(c)
}

// end handles the end of an answer. more are unrequested bytes behind it.
func (l *loop) end(c *conn, more []byte) {
	usable := c.reading.parser.keepAlive && len(more) == 0 && !c.unsent && c.broken == 0
	if len(more) > 0 {
		l.pool.stray(more)
	}
	x := c.exchange
	switch c.state {
	case busy:
		l.report.judge(c, backends.OK, "")
		l.report.complete(x, &c.reading.out)
	case refusing:
		r := c.reading
		c.reading = nil
		l.part(c, usable)
		l.refused(x, r)
		return
	}
	l.intake.release(int(c.endpoint))
	l.part(c, usable)
}

// part keeps a usable connection and closes any other.
func (l *loop) part(c *conn, usable bool) {
	if usable {
		l.pool.rest(c)
		return
	}
	l.pool.glance(c)
	l.pool.shut(c)
}

// finish ends an answer before its last byte. cut is the reason, OK if the answer is settled. The connection is closed
// unless the answer is good.
func (l *loop) finish(c *conn, cut backends.Reason, why string) {
	l.report.judge(c, cut, why)
	o := &c.reading.out
	good := o.Reason == backends.OK && cut == backends.OK
	x := c.exchange
	c.exchange = nil
	l.report.complete(x, o)
	if !good {
		l.intake.release(int(c.endpoint))
		l.pool.shut(c)
	}
}

// unwritten reports whether the server cannot have read the whole request. Each segment of an answer acknowledges all
// bytes that the server has received, so nothing is unacknowledged once an answer to the whole request has come.
func (c *conn) unwritten() bool {
	return c.unsent || c.broken != 0 || c.exchange.large && unconfirmed(c.fd)
}
