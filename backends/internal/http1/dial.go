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
	// of a request, up to the number behind "Content-Length: ", or up to the id behind the name of its header
	head      []byte
	addresses []address

	identified bool   // requests carry an id
	must       bool   // and answers have to
	member     []byte // of the body, up to the id; nil: the id is in the header
	model      string // that answers name; empty: none has come
}

// address is where a socket can be connected to.
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
	t.must, t.model = e.IDs == backends.IDsRequired, e.Model
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
			Text: fmt.Sprintf("The host of %s can not be found: %v. Is its name right, and does this machine know it?", p.URL,
				err),
		}
	}
	return t, nil
}

// lookUp resolves a host once, so that no query waits for a name.
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

// connectOver ends a connection that is not made in time.
var connectOver = &policy.Deadline{Reason: backends.FailConnect,
	Detail: "no connection was made within the connect timeout (--connect-timeout)"}

// dial sends an exchange over a new connection.
func (l *loop) dial(x *exchange) {
	var c *conn
	if n := len(l.spareConn); n > 0 {
		c, l.spareConn = l.spareConn[n-1], l.spareConn[:n-1]
	} else {
		c = &conn{}
		c.timer.conn = c
	}
	c.state, c.exchange, c.endpoint = connecting, x, x.endpoint
	c.reused, c.answering = false, false
	c.first, c.tried = l.good[x.endpoint], 0
	l.connect(c, errors.New("no address"))
}

// connect tries the addresses of an endpoint that were not tried yet, from the one that was good last.
func (l *loop) connect(c *conn, last error) {
	all := l.client.targets[c.endpoint].addresses
	for c.tried < len(all) {
		a := &all[(c.first+c.tried)%len(all)]
		c.tried++
		err := l.open(c, a)
		if err == nil {
			return
		}
		if usedUp(err) {
			if (err == unix.EMFILE || err == unix.ENFILE) && l.evict() {
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
	l.release(c)
	l.failed(x, policy.Lost(backends.FailConnect, policy.Explain(backends.FailConnect, last), false, false), nil)
}

// open begins to connect a socket. It does not wait.
func (l *loop) open(c *conn, a *address) error {
	fd, err := unix.Socket(a.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// What these options are good for is not worth a failure: a delay less, and a dead peer found.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15)
	if err := unix.Connect(fd, a.sockaddr); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return err
	}
	l.generation++
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(fd),
		Pad: l.generation}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		_ = unix.Close(fd)
		return err
	}
	c.fd, c.generation = fd, l.generation
	for len(l.conns) <= fd {
		l.conns = append(l.conns, make([]*conn, fd+64-len(l.conns))...)
	}
	l.conns[fd] = c
	l.dialing++
	l.did.open++
	l.did.openMax = max(l.did.openMax, l.did.open)
	share := l.client.config.ConnectTimeout / time.Duration(len(l.client.targets[c.endpoint].addresses)-c.tried+1)
	x := c.exchange
	c.deadline, c.phase, c.over = x.deadline, x.firstBy, policy.FirstTokenOver
	if by := l.now + int64(share); by < c.phase {
		c.phase, c.over = by, connectOver
	}
	l.watch(c)
	return nil
}

// connected sends the request over a connection that has come about; false: it has not.
func (l *loop) connected(c *conn, events uint32) bool {
	if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
		return false
	}
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || code != 0 {
		l.unreachable(c, unix.Errno(code))
		return false
	}
	all := len(l.client.targets[c.endpoint].addresses)
	l.good[c.endpoint] = (c.first + c.tried - 1) % all
	l.dialing--
	l.client.Connected(c.endpoint)
	l.start(c, c.exchange)
	return true
}

// unreachable goes on to the next address.
func (l *loop) unreachable(c *conn, errno unix.Errno) {
	all := l.client.targets[c.endpoint].addresses
	err := fmt.Errorf("connect to %s: %w", all[(c.first+c.tried-1)%len(all)].name, errno)
	l.disconnect(c)
	l.connect(c, err)
}

// usedUp tells whether this machine, not the server, is the reason.
func usedUp(err error) bool {
	return err == unix.EMFILE || err == unix.ENFILE || err == unix.EADDRNOTAVAIL || err == unix.ENOBUFS ||
		err == unix.ENOMEM
}

// evict closes an idle connection; false: there is none.
func (l *loop) evict() bool {
	for _, c := range l.idle {
		if c != nil {
			l.shut(c)
			return true
		}
	}
	return false
}

// putBack lets a query wait for a place where this machine has none for more connections, and takes as many as there
// are now for the limit. It is false where waiting would not help.
func (l *loop) putBack(c *conn) bool {
	x := c.exchange
	if l.busy < 2 || x.again > 0 {
		return false
	}
	l.release(c)
	l.free(x.endpoint)
	l.limit = l.busy
	l.did.limit = l.limit
	l.line.Unpush(task{query: x.query, dequeuedNS: x.dequeuedNS})
	l.spare = append(l.spare, x)
	return true
}

// shut closes a connection. Events of it that are still to be handled are void.
func (l *loop) shut(c *conn) {
	if c.state == idle {
		l.unrest(c)
		l.glance(c)
	}
	l.disconnect(c)
	l.release(c)
}

func (l *loop) disconnect(c *conn) {
	if c.state == connecting {
		l.dialing--
	}
	l.did.open--
	c.timer.stop()
	l.conns[c.fd] = nil
	c.generation = 0
	_ = unix.Close(c.fd) // nothing is lost: what was sent is answered or given up
}

// release keeps a connection's memory for the next one.
func (l *loop) release(c *conn) {
	c.state, c.exchange, c.broken = closed, nil, 0
	c.head, c.body, c.unsent = nil, nil, false
	l.closeReading(c)
	l.spareConn = append(l.spareConn, c)
}

// rearm makes epoll tell again what there is to read on a connection that has had its turn.
func (l *loop) rearm(c *conn) {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.fd),
		Pad: c.generation}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &event); err != nil {
		l.broke(c, unix.EIO)
	}
}
