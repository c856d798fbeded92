package http1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// target is one endpoint, ready for use.
type target struct {
	policy.Endpoint
	// head of a request, up to the number behind "Content-Length: ", or up to the id behind the name of its header
	head      []byte
	addresses []address
	good      int // index of the address that was connected to last

	stream     backends.StreamMode // see backends.Endpoint
	identified bool                // requests carry an id
	must       bool                // answers have to carry it too
	member     []byte              // of the body, up to the id; nil: the id is in the header
	model      string              // that answers name; empty: none has come
}

// address is an address of an endpoint.
type address struct {
	family   int
	sockaddr unix.Sockaddr
	name     string
}

func newTarget(e backends.Endpoint, protocol wire.Protocol, timeout time.Duration) (target, error) {
	p, err := policy.NewEndpoint(e, protocol.Path)
	if err != nil {
		return target{}, err
	}
	if p.URL.Scheme != "http" {
		return target{}, fmt.Errorf("the endpoint %q is no plain http, which is all that this client speaks", p.URL)
	}
	t := target{Endpoint: p}
	t.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\n", p.URL.RequestURI(), p.Host)
	for _, f := range p.Fields() {
		t.head = fmt.Appendf(t.head, "%s: %s\r\n", f.Name, f.Value)
	}
	field := policy.RequestID(&e, protocol)
	t.must, t.model, t.stream = e.IDs == backends.IDsRequired, e.Model, e.StreamMode
	switch {
	case field.Header != "":
		t.identified = true
		t.head = fmt.Appendf(t.head, "%s: ", field.Header)
	case field.Member != "":
		t.identified = true
		t.member = fmt.Appendf(nil, `{"%s":"`, field.Member)
		fallthrough
	default:
		t.head = append(t.head, "Content-Length: "...)
	}
	if network, path := dial.Target(p.URL); network == "unix" {
		t.addresses = []address{{family: unix.AF_UNIX, sockaddr: &unix.SockaddrUnix{Name: path}, name: path}}
		return t, nil
	}
	if t.addresses, err = lookUp(p.URL.Hostname(), p.URL.Port(), timeout); err != nil {
		return target{}, &backends.EndpointError{
			URL: p.URL.String(), Fault: backends.FaultUnreachable, Err: err,
			Text: fmt.Sprintf("The host of %s cannot be found: %v. Is its name right, and does this machine know it?", p.URL,
				err),
		}
	}
	return t, nil
}

// lookUp resolves a host when the client is opened, so that no query waits for it.
func lookUp(host, port string, timeout time.Duration) ([]address, error) {
	if port == "" {
		port = "80"
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, err
	}
	ips := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = append(ips, ip)
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if ips, err = (&net.Resolver{PreferGo: true}).LookupNetIP(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	all := []address{}
	for _, ip := range ips {
		a := address{family: unix.AF_INET, name: netip.AddrPortFrom(ip.Unmap(), uint16(number)).String()}
		if ip = ip.Unmap(); ip.Is4() {
			a.sockaddr = &unix.SockaddrInet4{Port: number, Addr: ip.As4()}
		} else {
			in6 := &unix.SockaddrInet6{Port: number, Addr: ip.As16()}
			if zone := ip.Zone(); zone != "" {
				i, err := net.InterfaceByName(zone)
				if err != nil {
					return nil, fmt.Errorf("no network interface %q: %w", zone, err)
				}
				in6.ZoneId = uint32(i.Index)
			}
			a.family, a.sockaddr = unix.AF_INET6, in6
		}
		all = append(all, a)
	}
	return all, nil
}

// connectOver is the deadline of connecting.
var connectOver = &policy.Deadline{Reason: backends.FailConnect,
	Detail: "no connection was made within the connect timeout (--connect-timeout)"}

// dial sends an exchange over a new connection.
func (l *loop) dial(x *exchange) {
	c := l.pool.create()
	c.state, c.exchange, c.endpoint = connecting, x, x.endpoint
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
	l.pool.dialing--
	l.pool.counters.Connected(c.endpoint)
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
