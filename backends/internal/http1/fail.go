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

// response is what of a header decides whether its answer is read.
func response(p *parser) policy.Response {
	return policy.Response{Status: p.status, Encoding: p.encoding, Location: p.location, RetryAfter: p.retryAfter}
}

// record tells of a failed attempt; kept is the first KiB of what came as its answer.
func (l *loop) record(x *exchange, f *policy.Failure, kept []byte, retried bool) {
	t := &l.client.targets[x.endpoint]
	l.sink.Failed(t.Record(x.query, x.endpoint, f, kept, retried, time.Now().UnixNano()))
}

// stray counts bytes that nothing asked for.
func (l *loop) stray(b []byte) {
	if l.client.Unexpected(b) {
		l.did.unasked++
	}
}

// glance counts what is left to read on a connection that carries no request and is about to be closed.
func (l *loop) glance(c *conn) {
	if n, errno := recv(c.fd, l.buf); errno == 0 && n > 0 {
		l.stray(l.buf[:n])
	}
}

// lose completes a query without an answer to judge.
func (l *loop) lose(x *exchange, reason backends.Reason) {
	l.lost = backends.Outcome{UsageTokens: -1, InputTokens: -1, Reason: reason}
	l.complete(x, &l.lost)
}

// failed ends an attempt whose answer was not read, and makes another where that is allowed. Its connection is gone.
func (l *loop) failed(x *exchange, f policy.Failure, kept []byte) {
	l.client.Lost(x.endpoint, f.Reason)
	if f.Absent() {
		l.line.Strike(x.endpoint)
	}
	wait, retry := x.retries.Next(&f, l.untilDeadline(x))
	l.record(x, &f, kept, retry)
	switch {
	case !retry:
		l.free(x.endpoint)
		l.lose(x, f.Reason)
	case wait == 0:
		x.repeat()
		l.attempt(x)
	default:
		x.repeat()
		l.line.Done(x.endpoint)
		l.wheel.set(&x.timer, l.now+int64(wait))
	}
}

func (x *exchange) repeat() {
	x.again++
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
		x.endpoint = balance.Nowhere
		l.sink.Failed(policy.Homeless(x.query, time.Now().UnixNano()))
		l.lose(x, backends.FailNoEndpoint)
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
		l.client.Lost(c.endpoint, reason)
		l.finish(c, reason, why)
	default:
		f := policy.Lost(reason, why, c.reading != nil || !repeatable, c.reused)
		c.exchange = nil
		l.shut(c)
		l.failed(x, f, nil)
	}
}

// stopDraining gives up the rest of an answer that is complete or refused.
func (l *loop) stopDraining(c *conn) {
	if c.state == draining {
		l.shut(c)
		l.free(c.endpoint)
		return
	}
	x, r := c.exchange, c.reading
	c.exchange, c.reading = nil, nil
	l.shut(c)
	l.refused(x, r)
}

// refused ends an attempt whose answer was refused; its connection is gone, or rests.
func (l *loop) refused(x *exchange, r *reading) {
	l.failed(x, r.refusal(), r.kept)
	l.unread = append(l.unread, r)
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

// broke is an error of a socket.
func (l *loop) broke(c *conn, errno unix.Errno) {
	reason := backends.FailReset
	if unreached[errno] && c.reading == nil {
		reason = backends.FailConnect
	}
	l.cut(c, reason, policy.Explain(reason, errno), true)
}

// malformed is an answer that is no HTTP.
func (l *loop) malformed(c *conn) {
	l.cut(c, backends.FailBadChunk, policy.Explain(backends.FailBadChunk, errors.New(c.reading.parser.bad)), true)
}
