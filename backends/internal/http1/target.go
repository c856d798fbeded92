package http1

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
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
	peer      *url.URL // what connections are made to: the server or a proxy
	steps     []step   // before the first request of a connection; nil: none
	good      int      // index of the address that was connected to last

	stream     backends.StreamMode // see backends.Endpoint
	identified bool                // requests carry an id
	must       bool                // answers have to carry it too
	member     []byte              // of the body, up to the id; nil: the id is in the header
	models     wire.Models         // that answers name
}

// address is an address of an endpoint.
type address struct {
	family   int
	sockaddr unix.Sockaddr
	name     string
}

// network is how connections are made to all endpoints of a client.
type network struct {
	proxy   *url.URL    // nil: direct connections
	tls     *tls.Config // without what differs between servers
	timeout time.Duration
}

func newNetwork(c *backends.Config) (n network, err error) {
	n.timeout = c.ConnectTimeout
	if n.proxy, err = backends.ParseProxy(c.Proxy); err != nil {
		return n, err
	}
	if n.tls, err = c.TLS(); err != nil {
		return n, err
	}
	n.tls.DynamicRecordSizingDisabled = true // a request is written at once, so small first records would only cost
	return n, nil
}

// handshake returns the step of a TLS handshake with a server, or with a proxy, which is not shown the client's
// certificate. The connections resume each other's sessions.
func (n *network) handshake(server *url.URL, protocols ...string) step {
	config := n.tls.Clone()
	var proxy *url.URL
	if server == n.proxy {
		proxy, config.Certificates = n.proxy, nil
	}
	config.ServerName, config.NextProtos = server.Hostname(), protocols
	config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	return handshake(config, proxy)
}

// route returns what connections for a URL are made to, and the steps before their first request.
func (n *network) route(u *url.URL) (peer *url.URL, steps []step) {
	peer = u
	if n.proxy != nil {
		if peer = n.proxy; peer.Scheme == "https" {
			steps = append(steps, n.handshake(peer))
		}
		if u.Scheme == "https" {
			_, address := dial.Target(u)
			steps = append(steps, tunnel(peer, address))
		}
	}
	if u.Scheme == "https" {
		steps = append(steps, n.handshake(u, "http/1.1"))
	}
	return peer, steps
}

func newTarget(e backends.Endpoint, protocol wire.Protocol, n *network) (target, error) {
	p, err := policy.NewEndpoint(e, protocol.Path)
	if err != nil {
		return target{}, err
	}
	t := target{Endpoint: p, peer: p.URL, must: e.IDs == backends.IDsRequired, stream: e.StreamMode,
		models: wire.Models{Served: e.Model}}
	network, path := dial.Target(p.URL)
	if network == "unix" {
		t.writeHead(p.URL.RequestURI(), policy.RequestID(&e, protocol))
		t.addresses = []address{{family: unix.AF_UNIX, sockaddr: &unix.SockaddrUnix{Name: path}, name: path}}
		return t, nil
	}
	t.peer, t.steps = n.route(p.URL)
	uri := p.URL.RequestURI()
	if t.peer != p.URL && p.URL.Scheme == "http" {
		uri = p.URL.String() // a proxy forwards the request
	}
	t.writeHead(uri, policy.RequestID(&e, protocol))
	_, where := dial.Target(t.peer)
	host, port, err := net.SplitHostPort(where)
	if err != nil {
		return target{}, err
	}
	if t.addresses, err = lookUp(host, port, n.timeout); err != nil {
		what, try := dial.Unresolved(err)
		if what == "" {
			what, try = err.Error(), "Check its host and port"
		}
		return target{}, &backends.EndpointError{
			URL: t.peer.String(), Fault: backends.FaultUnreachable, Err: err,
			Text: fmt.Sprintf("%s cannot be reached: %s. %s", t.peer, what, try),
		}
	}
	return t, nil
}

// writeHead sets what the headers of all requests have in common.
func (t *target) writeHead(uri string, id wire.RequestIDField) {
	t.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\n", uri, t.Host)
	for _, f := range t.Fields() {
		t.head = fmt.Appendf(t.head, "%s: %s\r\n", f.Name, f.Value)
	}
	t.identified = id != wire.RequestIDField{}
	if id.Header != "" {
		t.head = fmt.Appendf(t.head, "%s: ", id.Header)
		return
	}
	if id.Member != "" {
		t.member = fmt.Appendf(nil, `{"%s":"`, id.Member)
	}
	t.head = append(t.head, "Content-Length: "...)
}

// lookUp resolves a host when the client is opened, so that no query waits for it.
func lookUp(host, port string, timeout time.Duration) ([]address, error) {
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
