package http1

import (
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
)

// conduct is how the client of an exchange behaves, and how far it got. Only workloads have it
// (backends.Config.Conduct). The timer of the exchange is that of the conduct while an attempt is being made.
type conduct struct {
	backends.Conduct
	conn    *conn // of this attempt; nil: it has none
	leaveAt int64 // ns of the loop's clock; never: it does not leave by time
	readAt  int64 // when the pause ends; 0: it reads
	paced   int64 // when the pauses so far should have ended
	tokens  int   // of this attempt
}

const (
	// narrowBuffer is the receive buffer of a slow client in bytes, so that its server notices. The kernel doubles it
	// (socket(7), SO_RCVBUF).
	narrowBuffer = 4 << 10
	// slowRead is the most that a slow client reads at once, in bytes: a few tokens.
	slowRead = 512
	// paceSlack is how late the loop may end a pause, in ns, before the next one is cut short for it: two ticks.
	paceSlack = 2 << tickShift
)

// behave sets the conduct of a new exchange. A slow client needs a connection of its own.
func (e *exchanges) behave(x *exchange) {
	wanted := e.config.Conduct(x.query.Index)
	if !wanted.Leaves() && !wanted.IsSlow() {
		return
	}
	t := e.report.conducts.get()
	if t == nil {
		t = &conduct{}
	}
	*t = conduct{Conduct: wanted, leaveAt: never}
	if wanted.LeaveAfter > 0 {
		t.leaveAt = e.times.now + int64(wanted.LeaveAfter)
		e.wakeAt(x, t.leaveAt)
	}
	x.conduct, x.fresh = t, wanted.IsSlow()
}

// ended ends the conduct of an exchange that is over.
func (r *reporter) ended(x *exchange) {
	x.timer.stop()
	x.conduct.conn = nil
	r.conducts.put(x.conduct)
	x.conduct = nil
}

// restart prepares for another attempt.
func (t *conduct) restart() { t.conn, t.readAt, t.paced, t.tokens = nil, 0, 0, 0 }

// portion returns how many bytes a client reads at once.
func (e *exchanges) portion(c *conn) int {
	if c.narrow {
		return slowRead
	}
	return len(e.pool.buf)
}

// conducted counts the n tokens of a read. The client leaves, or pauses, if it is time for that.
func (v *receiver) conducted(c *conn, n int) {
	x := c.exchange
	t := x.conduct
	t.tokens += n
	if t.LeaveTokens > 0 && t.tokens >= t.LeaveTokens {
		v.abandon(c)
		return
	}
	if n == 0 || !t.IsSlow() {
		return
	}
	now := v.times.now
	t.paced = max(t.paced, now-paceSlack) + int64(t.PerRead) + int64(n)*int64(t.PerToken)
	if t.paced <= now {
		return
	}
	if err := v.times.control(unix.EPOLL_CTL_MOD, c.fd, pausedEvents, c.generation); err != nil {
		return // it goes on reading
	}
	t.readAt = t.paced
	c.phase += t.readAt - now
	v.times.wheel.set(&x.timer, min(t.readAt, t.leaveAt))
}

// wakeAt sets the timer of an exchange; never: it needs none.
func (e *exchanges) wakeAt(x *exchange, at int64) {
	if x.timer.stop(); at != never {
		e.times.wheel.set(&x.timer, at)
	}
}

// pausedEvents are the events of a connection whose client does not read: its errors, and room for the request.
const pausedEvents = unix.EPOLLOUT | unix.EPOLLET

// act handles the timer of a conduct. It reports false if the timer was that of a pause before another attempt.
func (e *exchanges) act(x *exchange) bool {
	t, now := x.conduct, e.times.now
	switch c := t.conn; {
	case now >= t.leaveAt:
		e.leave(x)
	case c == nil:
		return false
	case t.readAt == 0:
		e.wakeAt(x, t.leaveAt)
	case now < t.readAt:
		e.wakeAt(x, min(t.readAt, t.leaveAt))
	default:
		e.readOn(x, c)
	}
	return true
}

// readOn ends a pause. epoll reports the bytes that have come meanwhile.
func (e *exchanges) readOn(x *exchange, c *conn) {
	x.conduct.readAt = 0
	e.wakeAt(x, x.conduct.leaveAt)
	if err := e.times.control(unix.EPOLL_CTL_MOD, c.fd, connEvents, c.generation); err != nil {
		e.broke(c, unix.EIO)
	}
}

// leave ends an exchange whose client has waited long enough. An answer that the server has refused remains a failure.
func (e *exchanges) leave(x *exchange) {
	switch c := x.conduct.conn; {
	case c == nil: // it waits for another attempt
		e.intake.busy--
		e.report.lose(x, backends.Abandoned)
	case c.state == refusing:
		e.refused(e.receiver.stopDraining(c))
	case c.answering:
		e.receiver.abandon(c)
	default:
		c.exchange = nil
		e.pool.shut(c)
		e.intake.release(x.endpoint)
		e.report.lose(x, backends.Abandoned)
	}
}

// abandon closes the connection of an answer that is not complete. An answer that was wrong so far remains a failure.
func (v *receiver) abandon(c *conn) { v.finish(c, backends.Abandoned, "the client left on purpose") }
