package http1

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// response is what of a header decides whether its answer is read.
func response(p *parser) policy.Response {
	return policy.Response{Status: p.status, Encoding: p.encoding, Location: p.location, RetryAfter: p.retryAfter}
}

// record tells of a failed attempt.
func (l *loop) record(x *exchange, f *policy.Failure, retried bool) {
	t := &l.client.targets[x.out.Endpoint]
	l.sink.Failed(t.Record(x.query, x.out.Endpoint, f, x.kept, retried, time.Now().UnixNano()))
}

// failed ends an attempt whose answer was not read, and makes another where that is allowed. Its connection is gone.
func (l *loop) failed(x *exchange, f policy.Failure) {
	if f.Absent() {
		l.line.Strike(x.endpoint)
	}
	wait, retry := x.retries.Next(&f, l.untilDeadline(x))
	l.record(x, &f, retry)
	x.out.Reason = f.Reason
	switch {
	case !retry:
		l.free(x.endpoint)
		l.complete(x)
	case wait == 0:
		x.again()
		l.attempt(x)
	default:
		x.again()
		l.line.Done(x.endpoint)
		l.wheel.set(&x.timer, l.now+int64(wait))
	}
}

func (x *exchange) again() {
	x.out.Reason = backends.OK
	x.out.Retries++
	x.fresh = true
}

// resume makes the attempt for which a request has waited, where there is room for it by now.
func (l *loop) resume(x *exchange) {
	endpoint, room := l.line.Pick(l.client.config.Key(x.query.Index))
	switch {
	case room:
		x.endpoint = endpoint
		l.attempt(x)
	case l.line.Hopeless() || l.now >= x.deadline:
		l.busy--
		x.out.Endpoint, x.out.Reason = balance.Nowhere, backends.FailNoEndpoint
		l.sink.Failed(policy.Homeless(x.query, time.Now().UnixNano()))
		l.complete(x)
	default:
		l.wheel.set(&x.timer, l.now+int64(policy.AskAgain))
	}
}

// cut ends what is on a connection, because of its transport or its time. repeatable tells whether it is of a kind that
// another attempt may heal.
func (l *loop) cut(c *conn, reason backends.Reason, why string, repeatable bool) {
	x := c.exchange
	switch {
	case c.state == idle:
		l.shut(c)
	case c.state == draining:
		l.stopDraining(c)
	case c.state == refusing:
		l.stopDraining(c) // the status has said it: a cut body adds nothing
	case c.answering:
		l.finish(c, reason, why)
	default:
		f := policy.Lost(reason, why, c.began || !repeatable, c.reused)
		c.exchange = nil
		l.shut(c)
		l.failed(x, f)
	}
}

// stopDraining gives up the rest of an answer that is complete or refused.
func (l *loop) stopDraining(c *conn) {
	x := c.exchange
	refused := c.state == refusing
	c.exchange = nil
	l.shut(c)
	if refused {
		l.refused(c, x)
		return
	}
	l.free(c.endpoint)
}

// refused ends an attempt whose answer was refused; the parser of c still knows its header.
func (l *loop) refused(c *conn, x *exchange) {
	r := response(&c.parser)
	l.failed(x, r.Refusal(x.kept, time.Now()))
}

// late ends what has taken too long.
func (l *loop) late(c *conn) {
	switch over := c.over; {
	case c.state == idle || c.state == draining:
		l.cut(c, backends.OK, "", false)
	case l.now >= c.deadline:
		l.cut(c, policy.RequestOver.Reason, policy.RequestOver.Detail, false)
	case over == connectOver:
		l.unreachable(c, unix.ETIMEDOUT)
	default:
		l.cut(c, over.Reason, over.Detail, false)
	}
}

// hungUp is the end of what the server sends on a connection.
func (l *loop) hungUp(c *conn) {
	switch {
	case (c.state == busy || c.state == refusing) && c.answersUntilEOF():
		l.end(c, false)
	case c.began:
		l.cut(c, backends.FailTruncated, policy.Explain(backends.FailTruncated, io.ErrUnexpectedEOF), true)
	default:
		l.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errClosed), true)
	}
}

func (c *conn) answersUntilEOF() bool { return c.began && c.parser.ended() }

var errClosed = errors.New("the server closed it before its answer began")

// unreached are the errors of a network that does not reach the server.
var unreached = map[unix.Errno]bool{
	unix.ECONNREFUSED: true, unix.EHOSTUNREACH: true, unix.ENETUNREACH: true, unix.ETIMEDOUT: true, unix.EADDRNOTAVAIL: true,
}

// broke is an error of a socket.
func (l *loop) broke(c *conn, errno unix.Errno) {
	reason := backends.FailReset
	if unreached[errno] && !c.began {
		reason = backends.FailConnect
	}
	l.cut(c, reason, policy.Explain(reason, errno), true)
}

// malformed is an answer that is no HTTP.
func (l *loop) malformed(c *conn) {
	l.cut(c, backends.FailBadChunk, policy.Explain(backends.FailBadChunk, errors.New(c.parser.bad)), true)
}
