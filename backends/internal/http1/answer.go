// HOT PATH: begin, header, piece, feed, end and complete run once a query or a token. They may not lock or block, nor
// allocate but for more queries in flight than ever before, and for the words of a failure.

package http1

import (
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// exchange is one query on its way. It is used again after the completion. It is kept small, as conn is: with a
// thousand of them in flight each one has left the processor's caches by the time its answer comes.
type exchange struct {
	query       loadgen.Query
	dequeuedNS  int64
	sentNS      int64
	firstByteNS int64

	deadline int64 // ns of the loop's clock
	firstBy  int64 // and of the first token of this attempt
	endpoint int
	again    int  // attempts before this one
	fresh    bool // takes no connection that was used before
	large    bool // its request may still be in the socket although it was written
	retries  policy.Retries

	timer  timer  // of the wait before another attempt
	number uint64 // of the present attempt, in its request id; 0: it carries none
	_      [16]byte
}

// begin starts a query at an endpoint that has room for it.
func (l *loop) begin(t task, endpoint int) {
	l.busy++
	x := l.exchange()
	x.query, x.dequeuedNS = t.query, t.dequeuedNS
	x.retries = policy.NewRetries(l.client.config.Retries)
	x.again, x.fresh = 0, false
	x.deadline = l.now + int64(l.client.config.RequestTimeout)
	x.endpoint = endpoint
	l.attempt(x)
}

func (l *loop) exchange() *exchange {
	n := len(l.spare)
	if n == 0 {
		x := &exchange{}
		x.timer.exchange = x
		return x
	}
	x := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return x
}

// attempt sends a request on the connection that was used last, or on a new one.
func (l *loop) attempt(x *exchange) {
	x.sentNS, x.firstByteNS = l.wall, 0
	x.firstBy = never
	if l.client.config.Stream {
		x.firstBy = l.now + int64(l.client.config.FirstTokenTimeout)
	}
	if c := l.idle[x.endpoint]; c != nil && !x.fresh {
		l.unrest(c)
		l.start(c, x)
		return
	}
	l.dial(x)
}

// header begins to read an answer, or to refuse it.
func (l *loop) header(c *conn) {
	l.line.Well(c.endpoint)
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

// piece takes a part of a body.
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

// feed reads the tokens of what came in one read, all at the time of that read.
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
			l.sink.FirstToken(c.exchange.query, r.answer.Tokens(), at)
			if n > 1 {
				l.sink.TokenGap(0, n-1)
			}
		default:
			l.sink.TokenGap(at-r.out.LastTokenNS, n)
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

// settle completes an answer that needs nothing more. After a good one the connection waits for the end of the answer,
// so that it can be used again.
func (l *loop) settle(c *conn) {
	if l.finish(c, backends.OK, ""); c.state == closed {
		return
	}
	c.state, c.drained = draining, 0
	c.deadline, c.phase = never, l.now+int64(policy.DrainTime)
	l.watch(c)
}

// end is the end of an answer; more are bytes that follow, and that nobody asked for.
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
	l.free(c.endpoint)
	l.part(c, usable)
}

// part lets a connection rest that can be used again, and closes any other.
func (l *loop) part(c *conn, usable bool) {
	if usable {
		l.rest(c)
		return
	}
	l.glance(c)
	l.shut(c)
}

// finish ends an answer before its bytes have ended: cut is why, OK where it is settled. Its connection is closed
// unless the answer was good.
func (l *loop) finish(c *conn, cut backends.Reason, why string) {
	l.judge(c, cut, why)
	o := &c.reading.out
	good := o.Reason == backends.OK && cut == backends.OK
	x := c.exchange
	c.exchange = nil
	l.complete(x, o)
	if !good {
		l.free(c.endpoint)
		l.shut(c)
	}
}

// judge asks the protocol for the outcome of an answer, and records it where it is a failure.
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
			l.client.targets[c.endpoint].model = o.Model // the first answer decides
		}
		return
	}
	if detail == "" {
		detail = why
	}
	l.record(c.exchange, &policy.Failure{Reason: o.Reason, Detail: detail}, r.kept, false)
}

// unwritten reports whether the server can not have read the whole request yet. A segment of an answer confirms all
// that the server has received, so that nothing is unconfirmed once an answer to the whole request has come.
func (c *conn) unwritten() bool {
	return c.unsent || c.broken != 0 || c.exchange.large && unconfirmed(c.fd)
}

// complete reports a query's outcome. What it used is free when Complete has returned.
func (l *loop) complete(x *exchange, o *backends.Outcome) {
	o.Endpoint, o.Retries = x.endpoint, x.again
	o.DequeuedNS, o.SentNS, o.FirstByteNS = x.dequeuedNS, x.sentNS, x.firstByteNS
	l.sink.Complete(x.query, o)
	l.left--
	l.spare = append(l.spare, x)
}

// free gives back a place under the limits: a request has left its endpoint.
func (l *loop) free(endpoint int) {
	l.busy--
	l.line.Done(endpoint)
}

// untilDeadline is the time that a request has left.
func (l *loop) untilDeadline(x *exchange) time.Duration { return time.Duration(x.deadline - l.now) }
