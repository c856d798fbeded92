// HOT PATH: begin, header, piece, feed, end and complete run once a query or a token. They may not allocate, lock or block.

package http1

import (
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// exchange is one query on its way, and what its answer needs. It is used again after the completion.
type exchange struct {
	query    loadgen.Query
	answer   backends.Answer
	out      backends.Outcome
	kept     []byte // first KiB of what the server sent in this attempt
	retries  policy.Retries
	deadline int64 // ns of the loop's clock
	firstBy  int64 // and of the first token of this attempt
	endpoint int
	fresh    bool // takes no connection that was used before
	timer    timer
}

// begin starts a query at an endpoint that has room for it.
func (l *loop) begin(t task, endpoint int) {
	l.busy++
	x := l.exchange()
	x.query = t.query
	x.out = backends.Outcome{UsageTokens: -1, InputTokens: -1, DequeuedNS: t.dequeuedNS}
	x.retries = policy.NewRetries(l.client.config.Retries)
	x.fresh = false
	x.deadline = l.now + int64(l.client.config.RequestTimeout)
	x.endpoint = endpoint
	l.attempt(x)
}

func (l *loop) exchange() *exchange {
	n := len(l.spare)
	if n == 0 {
		x := &exchange{answer: l.client.protocol.NewAnswer()}
		x.timer.exchange = x
		return x
	}
	x := l.spare[n-1]
	l.spare = l.spare[:n-1]
	return x
}

// attempt sends a request on the connection that was used last, or on a new one.
func (l *loop) attempt(x *exchange) {
	x.kept = x.kept[:0]
	x.out.Endpoint, x.out.SentNS, x.out.FirstByteNS = x.endpoint, l.wall, 0
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
	if c.parser.status != 200 || c.parser.encoding != "" {
		if r := response(&c.parser); r.Refused() {
			c.state = refusing
			return
		}
	}
	c.answering = true
	c.exchange.answer.Begin(c.parser.kind())
}

// piece takes a part of a body.
func (l *loop) piece(c *conn, b []byte) {
	switch c.state {
	case busy:
		c.exchange.kept = policy.Keep(c.exchange.kept, b)
		l.feed(c, b)
		if c.exchange.answer.Settled() {
			l.settle(c)
		}
	default:
		if c.drained += len(b); c.state == refusing {
			c.exchange.kept = policy.Keep(c.exchange.kept, b)
		}
		if c.drained > policy.DrainBytes {
			l.stopDraining(c)
		}
	}
}

// feed reads the tokens of what came in one read, all at the time of that read.
func (l *loop) feed(c *conn, b []byte) {
	x, at := c.exchange, l.wall
	n, rest := x.answer.Feed(b)
	if n == 0 {
		return
	}
	for n > 0 {
		switch first := x.out.FirstTokenNS == 0; {
		case l.parts != nil:
			x.out.FirstTokenNS = at
			l.parts.Streamed(x.query, x.answer.(backends.Batched).News(), at)
		case first:
			x.out.FirstTokenNS = at
			l.sink.FirstToken(x.query, x.answer.Tokens(), at)
			if n > 1 {
				l.sink.TokenGap(0, n-1)
			}
		default:
			l.sink.TokenGap(at-x.out.LastTokenNS, n)
		}
		x.out.LastTokenNS = at
		x.out.ReadableNS = l.since
		if len(rest) == 0 {
			break
		}
		n, rest = x.answer.Feed(rest)
	}
	c.phase, c.over = l.now+int64(l.client.config.TokenTimeout), policy.TokenOver
	l.watch(c)
}

// settle completes an answer that needs nothing more. After a good one the connection waits for the end of the answer, so
// that it can be used again.
func (l *loop) settle(c *conn) {
	if l.finish(c, backends.OK, ""); c.state == closed {
		return
	}
	c.state, c.drained = draining, 0
	c.deadline, c.phase = never, l.now+int64(policy.DrainTime)
	l.watch(c)
}

// end is the end of an answer; more tells whether bytes follow that nobody asked for.
func (l *loop) end(c *conn, more bool) {
	usable := c.parser.keepAlive && !more && len(c.head)+len(c.body) == 0 && c.broken == 0
	x := c.exchange
	switch c.state {
	case busy:
		x.judge(l, backends.OK, "")
		l.complete(x)
	case refusing:
		r := response(&c.parser)
		f := r.Refusal(x.kept, time.Now())
		l.part(c, usable)
		l.failed(x, f)
		return
	}
	l.free(c.endpoint)
	l.part(c, usable)
}

// part lets a connection rest that can be used again, and closes any other.
func (l *loop) part(c *conn, usable bool) {
	if usable {
		l.rest(c)
	} else {
		l.shut(c)
	}
}

// finish ends an answer before its bytes have ended: cut is why, OK where it is settled. Its connection is closed unless
// the answer was good.
func (l *loop) finish(c *conn, cut backends.Reason, why string) {
	x := c.exchange
	c.exchange = nil
	x.judge(l, cut, why)
	good := x.out.Reason == backends.OK && cut == backends.OK
	l.complete(x)
	if !good {
		l.free(c.endpoint)
		l.shut(c)
	}
}

// judge asks the protocol for the outcome, and records it where it is a failure.
func (x *exchange) judge(l *loop, cut backends.Reason, why string) {
	detail := x.answer.Finish(&x.out, cut)
	if x.out.NTokens > 0 && x.out.LastTokenNS == 0 {
		x.out.LastTokenNS, x.out.ReadableNS = l.wall, l.since // the tokens of a whole answer come with its last byte
	}
	if x.out.Reason == backends.OK {
		return
	}
	if detail == "" {
		detail = why
	}
	l.record(x, &policy.Failure{Reason: x.out.Reason, Detail: detail}, false)
}

// complete reports a query's outcome. What it used is free when Complete has returned.
func (l *loop) complete(x *exchange) {
	l.sink.Complete(x.query, &x.out)
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
