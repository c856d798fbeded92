package http1

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// connectOver is the deadline of connecting.
var connectOver = &policy.Deadline{Reason: backends.FailConnect,
	Detail: "no connection was made within the connect timeout (--connect-timeout)"}

// dial sends an exchange over a new connection.
func (l *loop) dial(x *exchange) {
	c := l.pool.create()
	c.state, c.exchange, c.endpoint = connecting, x, int32(x.endpoint)
	c.reused, c.answering = false, false
	c.first, c.tried = l.report.targets[x.endpoint].good, 0
	l.connect(c, errors.New("no address"))
}

// connect tries the remaining addresses of an endpoint, beginning with the address of its last connection. last is the
// error of the address before.
func (l *loop) connect(c *conn, last error) {
	all := l.report.targets[c.endpoint].addresses
	for c.tried < len(all) {
		a := &all[(c.first+c.tried)%len(all)]
		c.tried++
		err := l.pool.connect(c, a)
		if err == nil {
			share := l.config.ConnectTimeout / time.Duration(len(all)-c.tried+1)
			c.deadline, c.phase, c.over = c.exchange.deadline, c.exchange.firstBy, policy.FirstTokenOver
			if by := l.now + int64(share); by < c.phase {
				c.phase, c.over = by, connectOver
			}
			l.pool.watch(c)
			return
		}
		if usedUp(err) {
			if other := l.pool.anyIdle(); other != nil && (err == unix.EMFILE || err == unix.ENFILE) {
				l.pool.shut(other)
				c.tried--
				continue
			}
			if l.putBack(c) {
				return
			}
		}
		last = fmt.Errorf("connect to %s: %w", a.name, err)
	}
	x := c.exchange
	l.pool.release(c)
	l.failed(x, policy.Lost(backends.FailConnect, policy.Explain(backends.FailConnect, last), false, false), nil)
}

// connected sends the request once the connection is made, and reports whether it is.
func (l *loop) connected(c *conn, events uint32) bool {
	if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		return false
	}
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || code != 0 {
		l.unreachable(c, unix.Errno(code))
		return false
	}
	t := &l.report.targets[c.endpoint]
	t.good = (c.first + c.tried - 1) % len(t.addresses)
	if len(t.steps) > 0 {
		l.prepare(c, t.steps)
		return true
	}
	l.pool.dialing--
	l.pool.counters.Connected(int(c.endpoint))
	l.start(c, c.exchange)
	return true
}

// unreachable tries the next address.
func (l *loop) unreachable(c *conn, errno unix.Errno) {
	all := l.report.targets[c.endpoint].addresses
	err := fmt.Errorf("connect to %s: %w", all[(c.first+c.tried-1)%len(all)].name, errno)
	l.pool.remove(c)
	l.connect(c, err)
}

// usedUp reports whether an error means that this machine, not the server, allows no more connections.
func usedUp(err error) bool {
	return err == unix.EMFILE || err == unix.ENFILE || err == unix.EADDRNOTAVAIL || err == unix.ENOBUFS ||
		err == unix.ENOMEM
}

// putBack returns a query to the line if this machine allows no more connections, and lowers the limit to the requests
// that are in flight now. It reports false if waiting would not help.
func (l *loop) putBack(c *conn) bool {
	x := c.exchange
	if l.intake.busy < 2 || x.again > 0 {
		return false
	}
	l.pool.release(c)
	l.intake.release(x.endpoint)
	l.intake.limit = l.intake.busy
	l.intake.line.Unpush(task{query: x.query, dequeuedNS: x.dequeuedNS})
	l.report.exchanges.put(x)
	return true
}
