package http1

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// response returns the fields of a header that decide whether its answer is accepted.
func response(p *parser) policy.Response {
	return policy.Response{Status: p.status, Encoding: p.encoding, Location: p.location, RetryAfter: p.retryAfter}
}

// failed ends an attempt without an accepted answer, and makes another one if that is allowed. The connection is closed
// or idle already.
func (l *loop) failed(x *exchange, f policy.Failure, kept []byte) {
	l.pool.counters.Lost(x.endpoint, f.Reason)
	if f.Absent() {
		l.intake.line.Strike(x.endpoint)
	}
	wait, retry := x.retries.Next(&f, time.Duration(x.deadline-l.now))
	l.report.record(x, &f, kept, retry)
	switch {
	case !retry:
		l.intake.release(x.endpoint)
		l.report.lose(x, f.Reason)
	case wait == 0:
		x.repeat()
		l.attempt(x)
	default:
		x.repeat()
		l.intake.line.Done(x.endpoint)
		l.wheel.set(&x.timer, l.now+int64(wait))
	}
}

func (x *exchange) repeat() {
	x.again++
	x.fresh = true
}

// resume makes the attempt that a request was waiting for, if an endpoint has room for it.
func (l *loop) resume(x *exchange) {
	endpoint, room := l.intake.line.Pick(l.config.Key(x.query.Index))
	switch {
	case room:
		x.endpoint = endpoint
		l.attempt(x)
	case l.intake.line.Hopeless() || l.now >= x.deadline:
		l.intake.busy--
		x.endpoint = balance.Nowhere
		l.report.sink.Failed(policy.Homeless(x.query, time.Now().UnixNano()))
		l.report.lose(x, backends.FailNoEndpoint)
	default:
		l.wheel.set(&x.timer, l.now+int64(policy.AskAgain))
	}
}

// cut ends the request of a connection because of a transport error or a deadline. repeatable is set if another attempt
// may succeed.
func (l *loop) cut(c *conn, reason backends.Reason, why string, repeatable bool) {
	x := c.exchange
	switch {
	case c.state == idle:
		l.pool.shut(c)
	case c.state == draining:
		l.stopDraining(c)
	case c.state == refusing:
		l.stopDraining(c) // the status is known: the rest of the body adds nothing
	case c.answering:
		l.pool.counters.Lost(int(c.endpoint), reason)
		l.finish(c, reason, why)
	default:
		f := policy.Lost(reason, why, c.reading != nil || !repeatable, c.reused)
		c.exchange = nil
		l.pool.shut(c)
		l.failed(x, f, nil)
	}
}

// stopDraining discards the rest of an answer that is complete or refused.
func (l *loop) stopDraining(c *conn) {
	if c.state == draining {
		l.pool.shut(c)
		l.intake.release(int(c.endpoint))
		return
	}
	x, r := c.exchange, c.reading
	c.exchange, c.reading = nil, nil
	l.pool.shut(c)
	l.refused(x, r)
}

// refused ends an attempt whose answer was refused. The connection is closed or idle already.
func (l *loop) refused(x *exchange, r *reading) {
	l.failed(x, r.refusal(), r.kept)
	l.pool.readings.put(r)
}

// late handles a deadline that has passed.
func (l *loop) late(c *conn) {
	switch over := c.over; {
	case c.state == idle:
		l.pool.shut(c)
	case c.state == draining:
		l.stopDraining(c)
	case l.now >= c.deadline:
		l.cut(c, policy.RequestOver.Reason, policy.RequestOver.Detail, false)
	case over == connectOver:
		l.unreachable(c, unix.ETIMEDOUT)
	case over == openingOver:
		c.phase, c.over = c.exchange.firstBy, policy.FirstTokenOver
		l.pool.watch(c)
		c.session.opening.fail(over)
	default:
		l.cut(c, over.Reason, over.Detail, false)
	}
}

// hungUp handles the end of what the server sends on a connection.
// announced is set if that end is certain to be the server's own: over TLS it comes with close_notify.
func (l *loop) hungUp(c *conn, announced bool) {
	switch {
	case c.state == preparing:
		c.session.opening.fail(io.EOF)
	case (c.state == busy || c.state == refusing) && announced && c.answersUntilEOF():
		l.end(c, nil)
	case c.reading != nil:
		l.cut(c, backends.FailTruncated, policy.Explain(backends.FailTruncated, io.ErrUnexpectedEOF), true)
	default:
		l.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errClosed), true)
	}
}

func (c *conn) answersUntilEOF() bool { return c.reading != nil && c.reading.parser.ended() }

var errClosed = errors.New("the server closed it before its answer began")

// unreached are the errors of a network that does not reach the server.
var unreached = map[unix.Errno]bool{
	unix.ECONNREFUSED: true, unix.EHOSTUNREACH: true, unix.ENETUNREACH: true, unix.ETIMEDOUT: true,
	unix.EADDRNOTAVAIL: true,
}

// broke handles an error of a socket.
func (l *loop) broke(c *conn, errno unix.Errno) {
	if c.state == preparing {
		c.session.opening.fail(errno)
		return
	}
	reason := backends.FailReset
	if unreached[errno] && c.reading == nil {
		reason = backends.FailConnect
	}
	l.cut(c, reason, policy.Explain(reason, errno), true)
}

// malformed handles an answer that is not HTTP.
func (l *loop) malformed(c *conn) {
	l.cut(c, backends.FailBadChunk, policy.Explain(backends.FailBadChunk, errors.New(c.reading.parser.bad)), true)
}
