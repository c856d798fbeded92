package http1

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// dialer makes connections to the addresses of endpoints, and opens them: TLS handshakes and tunnels.
type dialer struct {
	pool     *pool
	targets  []target
	timeout  time.Duration // to connect
	openings openings
}

// connectOver is the deadline of connecting, openingOver that of an opening.
var (
	connectOver = &policy.Deadline{Reason: backends.FailConnect,
		Detail: "no connection was made within the connect timeout (--connect-timeout)"}
	openingOver = &policy.Deadline{Reason: backends.FailTLS,
		Detail: "it did not end within the connect timeout (--connect-timeout)"}
)

// create returns a connection for an exchange. Its first address is that of the endpoint's last connection.
func (d *dialer) create(x *exchange) *conn {
	c := d.pool.create()
	c.state, c.exchange, c.endpoint = connecting, x, int32(x.endpoint)
	c.reused, c.answering, c.conducted, c.narrow = false, false, false, false
	if x.conduct != nil {
		x.conduct.conn, c.narrow = c, x.conduct.IsSlow()
	}
	c.first, c.tried = d.targets[x.endpoint].good, 0
	return c
}

// left reports whether a connection has addresses that were not tried.
func (d *dialer) left(c *conn) bool { return c.tried < len(d.targets[c.endpoint].addresses) }

// address returns the address of a connection that was tried last, and its index.
func (d *dialer) address(c *conn) (*address, int) {
	all := d.targets[c.endpoint].addresses
	i := (c.first + c.tried - 1) % len(all)
	return &all[i], i
}

// try begins to connect to the next address.
func (d *dialer) try(c *conn) error {
	c.tried++
	a, _ := d.address(c)
	err := d.pool.connect(c, a)
	for err == unix.EMFILE || err == unix.ENFILE {
		other := d.pool.anyIdle()
		if other == nil {
			break
		}
		d.pool.shut(other)
		err = d.pool.connect(c, a)
	}
	if err != nil {
		return d.unconnected(c, err)
	}
	share := d.timeout / time.Duration(len(d.targets[c.endpoint].addresses)-c.tried+1)
	d.limit(c, share, connectOver)
	return nil
}

// unconnected adds the address that was tried last to an error, and whether it is that of the proxy.
func (d *dialer) unconnected(c *conn, err error) error {
	a, _ := d.address(c)
	if t := &d.targets[c.endpoint]; t.peer != t.URL {
		return fmt.Errorf("connect to the proxy %s: %w", a.name, err)
	}
	return fmt.Errorf("connect to %s: %w", a.name, err)
}

// limit sets the deadlines of a connection that has no request yet.
func (d *dialer) limit(c *conn, step time.Duration, over *policy.Deadline) {
	c.deadline, c.phase, c.over = c.exchange.deadline, c.exchange.firstBy, policy.FirstTokenOver
	if by := d.pool.poller.now + int64(step); by < c.phase {
		c.phase, c.over = by, over
	}
	d.pool.watch(c)
}

// connected ends the connecting of a socket whose events have come. It reports whether the connection is made, and
// begins to open it if that needs steps: its state then is preparing, and otherwise busy.
func (d *dialer) connected(c *conn, events uint32) (bool, error) {
	if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		return false, nil
	}
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || code != 0 {
		return false, unix.Errno(code)
	}
	t := &d.targets[c.endpoint]
	_, t.good = d.address(c)
	if len(t.steps) > 0 {
		c.state, c.session = preparing, &session{out: &d.pool.sealed}
		d.limit(c, d.timeout, openingOver)
		d.openings.begin(c.session, c, t.steps)
		return true, nil
	}
	c.state = busy
	d.pool.dialing--
	d.pool.counters.Connected(int(c.endpoint))
	return true, nil
}

// usedUp reports whether an error means that this machine, not the server, allows no more connections.
func (d *dialer) usedUp(c *conn, err error) bool {
	a, _ := d.address(c)
	return d.pool.counters.Exhausted(err, a.name)
}

// dial sends an exchange over a new connection.
func (e *exchanges) dial(x *exchange) { e.connect(e.dialer.create(x), errors.New("no address")) }

// connect tries the remaining addresses of an endpoint. last is the error of the address before.
func (e *exchanges) connect(c *conn, last error) {
	for e.dialer.left(c) {
		if last = e.dialer.try(c); last == nil || e.dialer.usedUp(c, last) && e.putBack(c) {
			return
		}
	}
	x := c.exchange
	e.pool.release(c)
	e.failed(x, policy.Lost(backends.FailConnect, policy.Explain(backends.FailConnect, last), false, false), nil)
}

// connected sends the request once the connection is made, and reports whether it is.
func (e *exchanges) connected(c *conn, events uint32) bool {
	made, err := e.dialer.connected(c, events)
	switch {
	case err != nil:
		e.unreachable(c, err)
	case made && c.state == busy:
		e.start(c, c.exchange)
	}
	return made
}

// unreachable tries the next address.
func (e *exchanges) unreachable(c *conn, err error) {
	err = e.dialer.unconnected(c, err)
	e.pool.remove(c)
	e.connect(c, err)
}

// putBack returns a query to the line if this machine allows no more connections, and lowers the limit to the requests
// that are in flight now. It reports false if waiting would not help.
func (e *exchanges) putBack(c *conn) bool {
	x := c.exchange
	if e.intake.busy < 2 || x.again > 0 {
		return false
	}
	e.pool.release(c)
	if x.conduct != nil {
		e.report.ended(x)
	}
	e.intake.release(x.endpoint)
	e.intake.limit = e.intake.busy
	e.intake.line.Unpush(task{query: x.query, dequeuedNS: x.dequeuedNS})
	e.report.exchanges.put(x)
	return true
}
