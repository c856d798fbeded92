// HOT PATH: read, header, piece, settle and end run once a query or a token. They may not lock or block, and allocate
// only for the message of a failure.

package http1

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// receiver reads answers, reports them, and decides whether their connections can be used again.
type receiver struct {
	times   *poller
	intake  *intake
	report  *reporter
	pool    *pool
	ids     *policy.RequestIDs
	timeout time.Duration // between tokens
}

// refusal is an attempt whose answer was refused, and has no connection any more.
type refusal struct {
	exchange *exchange // nil: none
	reading  *reading
}

// read parses the bytes of one read. It returns an attempt that these bytes refuse; ok is false if they are not HTTP,
// and the connection then is as before.
func (v *receiver) read(c *conn, b []byte) (refused refusal, ok bool) {
	if c.state == idle {
		v.pool.stray(b)
		v.pool.shut(c)
		return refusal{}, true
	}
	if c.reading == nil {
		c.reading = v.pool.readings.open()
		c.exchange.firstByteNS = max(v.times.came, c.exchange.sentNS)
	}
	generation := c.generation
	for {
		ev, body, rest := c.reading.parser.next(b)
		switch ev {
		case evMore:
			return refusal{}, true
		case evHead:
			v.header(c)
		case evBody:
			refused = v.piece(c, body)
		case evEnd:
			return v.end(c, rest), true
		case evBad:
			return refusal{}, false
		}
		if c.generation != generation {
			return refused, true
		}
		b = rest
	}
}

// header accepts or refuses an answer.
func (v *receiver) header(c *conn) {
	v.intake.line.Well(int(c.endpoint))
	r := c.reading
	if r.parser.status != 200 || r.parser.encoding != "" {
		if seen := response(&r.parser); seen.Refused() {
			c.state = refusing
			return
		}
	}
	c.answering = true
	r.answer.Begin(r.parser.kind())
	r.expect(&v.report.targets[c.endpoint], v.report.asked(c.exchange), v.ids, c.exchange.number)
}

// piece handles a part of a body.
func (v *receiver) piece(c *conn, b []byte) refusal {
	r := c.reading
	switch c.state {
	case busy:
		r.kept = policy.Keep(r.kept, b)
		n := v.report.tokens(c.exchange, r, b)
		if n > 0 {
			c.phase, c.over = v.times.now+int64(v.timeout), policy.TokenOver
			v.pool.watch(c)
		}
		if r.answer.Settled() {
			v.settle(c)
		} else if c.conducted {
			v.conducted(c, n)
		}
	default:
		if c.drained += len(b); c.state == refusing {
			r.kept = policy.Keep(r.kept, b)
		}
		if c.drained > policy.DrainBytes {
			return v.stopDraining(c)
		}
	}
	return refusal{}
}

// settle completes an answer before its last byte. After a good answer the connection waits for that byte, so that it
// can be used again.
func (v *receiver) settle(c *conn) {
	if v.finish(c, backends.OK, ""); c.state == closed {
		return
	}
	c.state, c.drained = draining, 0
	c.deadline, c.phase = never, v.times.now+int64(policy.DrainTime)
	v.pool.watch(c)
}

// end handles the end of an answer. more are unrequested bytes behind it.
func (v *receiver) end(c *conn, more []byte) refusal {
	usable := c.reading.parser.keepAlive && len(more) == 0 && !c.unsent && c.broken == 0 && !c.narrow
	if len(more) > 0 {
		v.pool.stray(more)
	}
	x := c.exchange
	switch c.state {
	case busy:
		v.report.judge(c, backends.OK, "")
		v.report.complete(x, &c.reading.out)
	case refusing:
		r := c.reading
		c.reading = nil
		v.part(c, usable)
		return refusal{x, r}
	}
	v.intake.release(int(c.endpoint))
	v.part(c, usable)
	return refusal{}
}

// part keeps a usable connection and closes any other.
func (v *receiver) part(c *conn, usable bool) {
	if usable {
		v.pool.rest(c)
		return
	}
	v.pool.glance(c)
	v.pool.shut(c)
}

// finish ends an answer before its last byte. cut is the reason, OK if the answer is settled. The connection is closed
// unless the answer is good.
func (v *receiver) finish(c *conn, cut backends.Reason, why string) {
	v.report.judge(c, cut, why)
	o := &c.reading.out
	good := o.Reason == backends.OK && cut == backends.OK
	x := c.exchange
	c.exchange = nil
	v.report.complete(x, o)
	if !good {
		v.intake.release(int(c.endpoint))
		v.pool.shut(c)
	}
}

// stopDraining discards the rest of an answer that is complete or refused, and closes the connection.
func (v *receiver) stopDraining(c *conn) refusal {
	if c.state == draining {
		v.pool.shut(c)
		v.intake.release(int(c.endpoint))
		return refusal{}
	}
	r := refusal{c.exchange, c.reading}
	c.exchange, c.reading = nil, nil
	v.pool.shut(c)
	return r
}
