package http1

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// cancel ends the test early. It may be called by any goroutine.
func (l *loop) cancel() {
	l.stop.Store(true)
	signal(l.wake)
}

// cancelAll completes all outstanding queries and then closes the connections: LoadGen waits only for the completions.
func (l *loop) cancelAll() {
	l.cancelled = true
	l.stamp()
	l.exchanges.cancel()
	l.refuseAll(backends.FailCancelled)
	l.pool.shutAll()
	l.intake.busy = 0
}

// refuseAll completes every query in the line without sending it.
func (l *loop) refuseAll(reason backends.Reason) {
	for {
		t, ok := l.intake.line.Give()
		if !ok {
			return
		}
		l.report.refuse(t, reason)
	}
}

// cancel completes all exchanges. Their connections are of no use then.
func (e *exchanges) cancel() {
	for _, c := range e.pool.byFD {
		if c != nil && c.exchange != nil {
			e.cancelOne(c)
		}
	}
	e.times.wheel.each(func(t *timer) {
		if x := t.exchange; x != nil {
			t.stop()
			e.report.lose(x, backends.FailCancelled)
		}
	})
}

func (e *exchanges) cancelOne(c *conn) {
	x, r := c.exchange, c.reading
	why := policy.Explain(backends.FailCancelled, nil)
	switch {
	case c.state == refusing:
		f := r.refusal()
		e.report.record(x, &f, r.kept, false)
		e.report.lose(x, f.Reason)
	case c.answering:
		e.report.judge(c, backends.FailCancelled, why)
		e.report.complete(x, &r.out)
	default:
		e.report.record(x, &policy.Failure{Reason: backends.FailCancelled, Detail: why}, nil, false)
		e.report.lose(x, backends.FailCancelled)
	}
	c.exchange = nil
}
