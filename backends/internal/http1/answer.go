// HOT PATH: begin, header, piece, feed, end and complete run once a query or a token. They may not lock or block, and
// allocate only for more queries in flight than ever before and for the message of a failure.

package http1

import (
	"time"

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
	x := l.exchanges.get()
	if x == nil {
		x = &exchange{}
		x.timer.exchange = x
	}
	x.query, x.dequeuedNS = t.query, t.dequeuedNS
	x.retries = policy.NewRetries(l.client.config.Retries)
	x.again, x.fresh = 0, false
	x.deadline = l.now + int64(l.client.config.RequestTimeout)
	x.endpoint = endpoint
	l.attempt(x)
}

// attempt sends a request on the connection that was used last, or else on a new one.
func (l *loop) attempt(x *exchange) {
	x.sentNS, x.firstByteNS = l.wall, 0
	x.firstBy = never
	if l.client.config.Stream {
		x.firstBy = l.now + int64(l.client.config.FirstTokenTimeout)
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
	l.intake.line.Well(c.endpoint)
	r := c.reading
	if r.parser.status != 200 || r.parser.encoding != "" {
		if seen := response(&r.parser); seen.Refused() {
			c.state = refusing
			return
		}
	}
	c.answering = true
	r.answer.Begin(r.parser.kind())
	l.expect(c)
}

// piece handles a part of a body.
func (l *loop) piece(c *conn, b []byte) {
	r := c.reading
	switch c.state {
	case busy:
		r.kept = policy.Keep(r.kept, b)
		l.feed(c, b)
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

// feed reports the tokens in the bytes of one read, all of them at the time of that read.
func (l *loop) feed(c *conn, b []byte) {
	r, at := c.reading, l.wall
	n, rest := r.answer.Feed(b)
	if n == 0 {
		return
	}
	for n > 0 {
		switch first := r.out.FirstTokenNS == 0; {
		case l.client.protocol.Streamed != nil:
			r.out.FirstTokenNS = at
			l.client.protocol.Streamed(c.exchange.query, r.answer.News(), at)
		case first:
			r.out.FirstTokenNS = at
			l.report.sink.FirstToken(c.exchange.query, r.answer.Tokens(), at)
			if n > 1 {
				l.report.sink.TokenGap(0, n-1)
			}
		default:
			l.report.sink.TokenGap(at-r.out.LastTokenNS, n)
		}
		r.out.LastTokenNS = at
		r.out.ReadableNS = l.since
		if len(rest) == 0 {
			break
		}
		n, rest = r.answer.Feed(rest)
	}
	c.phase, c.over = l.now+int64(l.client.config.TokenTimeout), policy.TokenOver
	l.watch(c)
}

// settle completes an answer before its last byte. After a good answer the connection waits for that byte, so that it
// can be used again.
func (l *loop) settle(c *conn) {
	if l.finish(c, backends.OK, ""); c.state == closed {
		return
	}
	c.state, c.drained = draining, 0
	c.deadline, c.phase = never, l.now+int64(policy.DrainTime)
	l.watch(c)
}

// end handles the end of an answer. more are unrequested bytes behind it.
func (l *loop) end(c *conn, more []byte) {
	usable := c.reading.parser.keepAlive && len(more) == 0 && !c.unsent && c.broken == 0
	if len(more) > 0 {
		l.stray(more)
	}
	x := c.exchange
	switch c.state {
	case busy:
		l.judge(c, backends.OK, "")
		l.complete(x, &c.reading.out)
	case refusing:
		r := c.reading
		c.reading = nil
		l.part(c, usable)
		l.refused(x, r)
		return
	}
	l.intake.release(c.endpoint)
	l.part(c, usable)
}

// part keeps a usable connection and closes any other.
func (l *loop) part(c *conn, usable bool) {
	if usable {
		l.rest(c)
		return
	}
	l.glance(c)
	l.shut(c)
}

// finish ends an answer before its last byte. cut is the reason, OK if the answer is settled. The connection is closed
// unless the answer is good.
func (l *loop) finish(c *conn, cut backends.Reason, why string) {
	l.judge(c, cut, why)
	o := &c.reading.out
	good := o.Reason == backends.OK && cut == backends.OK
	x := c.exchange
	c.exchange = nil
	l.complete(x, o)
	if !good {
		l.intake.release(c.endpoint)
		l.shut(c)
	}
}

// judge gets the outcome of an answer from the protocol, and records a failure.
func (l *loop) judge(c *conn, cut backends.Reason, why string) {
	r := c.reading
	o := &r.out
	detail := r.answer.Finish(o, cut)
	if o.Reason == backends.OK && c.unwritten() {
		o.Reason, detail = backends.FailUnsent, policy.Unsent
	}
	if o.NTokens > 0 && o.LastTokenNS == 0 {
		o.LastTokenNS, o.ReadableNS = l.wall, l.since // the tokens of a whole answer come with its last byte
	}
	if o.Reason == backends.OK {
		if o.Model != "" {
			l.report.targets[c.endpoint].model = o.Model // the first answer decides
		}
		return
	}
	if detail == "" {
		detail = why
	}
	l.report.record(c.exchange, &policy.Failure{Reason: o.Reason, Detail: detail}, r.kept, false)
}

// unwritten reports whether the server can not have read the whole request. Each segment of an answer acknowledges all
// bytes that the server has received, so nothing is unacknowledged once an answer to the whole request has come.
func (c *conn) unwritten() bool {
	return c.unsent || c.broken != 0 || c.exchange.large && unconfirmed(c.fd)
}

// complete reports the outcome of an exchange, whose memory may be used again when it returns.
func (l *loop) complete(x *exchange, o *backends.Outcome) {
	l.report.complete(x, o)
	l.exchanges.put(x)
}

// lose completes an exchange that has no answer to judge.
func (l *loop) lose(x *exchange, reason backends.Reason) {
	l.report.lose(x, reason)
	l.exchanges.put(x)
}

// untilDeadline returns the time until the deadline of a request.
func (l *loop) untilDeadline(x *exchange) time.Duration { return time.Duration(x.deadline - l.now) }
