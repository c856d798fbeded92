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
func (e *exchanges) failed(x *exchange, f policy.Failure, kept []byte) {
	e.pool.counters.Lost(x.endpoint, f.Reason)
	if f.Absent() {
		e.intake.line.Strike(x.endpoint)
	}
	wait, retry := x.retries.Next(&f, time.Duration(x.deadline-e.times.now))
	e.report.record(x, &f, kept, retry)
	switch {
	case !retry:
		e.intake.release(x.endpoint)
		e.report.lose(x, f.Reason)
	case wait == 0:
		x.repeat()
		e.attempt(x)
	default:
		x.repeat()
		e.intake.line.Done(x.endpoint)
		e.times.wheel.set(&x.timer, e.times.now+int64(wait))
	}
}

func (x *exchange) repeat() {
	x.again++
	x.fresh = true
	if x.conduct != nil {
		x.conduct.restart()
	}
}

// resume makes the attempt that a request was waiting for, if an endpoint has room for it.
func (e *exchanges) resume(x *exchange) {
	if x.conduct != nil && e.act(x) {
		return
	}
	endpoint, room := e.intake.line.Pick(e.config.Key(x.query.Index))
	switch {
	case room:
		x.endpoint = endpoint
		if x.conduct != nil {
			e.wakeAt(x, x.conduct.leaveAt)
		}
		e.attempt(x)
	case e.intake.line.Hopeless() || e.times.now >= x.deadline:
		e.intake.busy--
		x.endpoint = balance.Nowhere
		e.report.sink.Failed(policy.Homeless(x.query, time.Now().UnixNano()))
		e.report.lose(x, backends.FailNoEndpoint)
	default:
		e.times.wheel.set(&x.timer, e.times.now+int64(policy.AskAgain))
	}
}

// cut ends the request of a connection because of a transport error or a deadline. repeatable is set if another attempt
// may succeed.
func (e *exchanges) cut(c *conn, reason backends.Reason, why string, repeatable bool) {
	x := c.exchange
	switch {
	case c.state == idle:
		e.pool.shut(c)
	case c.state == draining:
		e.refused(e.receiver.stopDraining(c))
	case c.state == refusing:
		e.refused(e.receiver.stopDraining(c)) // the status is known: the rest of the body adds nothing
	case c.answering:
		e.pool.counters.Lost(int(c.endpoint), reason)
		e.receiver.finish(c, reason, why)
	default:
		f := policy.Lost(reason, why, c.reading != nil || !repeatable, c.reused)
		c.exchange = nil
		e.pool.shut(c)
		e.failed(x, f, nil)
	}
}

// refused ends an attempt whose answer was refused, and does nothing without one. The connection is closed or idle
// already.
func (e *exchanges) refused(r refusal) {
	if r.exchange != nil {
		e.failed(r.exchange, r.reading.refusal(), r.reading.kept)
		e.pool.readings.put(r.reading)
	}
}

// late handles a deadline that has passed.
func (e *exchanges) late(c *conn) {
	switch over := c.over; {
	case c.state == idle:
		e.pool.shut(c)
	case c.state == draining:
		e.refused(e.receiver.stopDraining(c))
	case e.times.now >= c.deadline:
		e.cut(c, policy.RequestOver.Reason, policy.RequestOver.Detail, false)
	case over == connectOver:
		e.unreachable(c, unix.ETIMEDOUT)
	case over == openingOver:
		c.phase, c.over = c.exchange.firstBy, policy.FirstTokenOver
		e.pool.watch(c)
		c.session.opening.fail(over)
	default:
		e.cut(c, over.Reason, over.Detail, false)
	}
}

// hungUp handles the end of what the server sends on a connection.
// announced is set if that end is certain to be the server's own: over TLS it comes with close_notify.
func (e *exchanges) hungUp(c *conn, announced bool) {
	switch {
	case c.state == preparing:
		c.session.opening.fail(io.EOF)
	case (c.state == busy || c.state == refusing) && announced && c.answersUntilEOF():
		e.refused(e.receiver.end(c, nil))
	case c.reading != nil:
		e.cut(c, backends.FailTruncated, policy.Explain(backends.FailTruncated, io.ErrUnexpectedEOF), true)
	default:
		e.cut(c, backends.FailReset, policy.Explain(backends.FailReset, errClosed), true)
	}
}

var errClosed = errors.New("the server closed it before its answer began")

// unreached are the errors of a network that does not reach the server.
var unreached = map[unix.Errno]bool{
	unix.ECONNREFUSED: true, unix.EHOSTUNREACH: true, unix.ENETUNREACH: true, unix.ETIMEDOUT: true,
	unix.EADDRNOTAVAIL: true,
}

// broke handles an error of a socket.
func (e *exchanges) broke(c *conn, errno unix.Errno) {
	if c.state == preparing {
		c.session.opening.fail(errno)
		return
	}
	reason := backends.FailReset
	if unreached[errno] && c.reading == nil {
		reason = backends.FailConnect
	}
	e.cut(c, reason, policy.Explain(reason, errno), true)
}

// malformed handles an answer that is not HTTP.
func (e *exchanges) malformed(c *conn) {
	e.cut(c, backends.FailBadChunk, policy.Explain(backends.FailBadChunk, errors.New(c.reading.parser.bad)), true)
}
