package dial

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// socketHost is the suffix of host names that represent Unix sockets, so that net/http keeps the connections of each
// socket apart. Before it is the socket's path in hexadecimal digits.
const socketHost = ".socket.invalid"

// Socket returns the URL of a path on a server that listens on a Unix socket.
func Socket(socket, path string) *url.URL {
	return &url.URL{Scheme: "http", Host: hex.EncodeToString([]byte(socket)) + socketHost, Path: path}
}

// socketOf returns the path of the socket that a host name represents.
func socketOf(host string) (path string, ok bool) {
	digits, ok := strings.CutSuffix(host, socketHost)
	if !ok {
		return "", false
	}
	b, err := hex.DecodeString(digits)
	return string(b), err == nil
}

// Target returns the network and the address of a URL.
func Target(u *url.URL) (network, address string) {
	host, port := u.Hostname(), u.Port()
	if path, ok := socketOf(host); ok {
		return "unix", path
	}
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return "tcp", net.JoinHostPort(host, port)
}

// Unresolved returns the sentences about a host name that could not be looked up: what failed and what to do. They are
// empty for every other error.
func Unresolved(err error) (what, try string) {
	var dns *net.DNSError
	if !errors.As(err, &dns) {
		return "", ""
	}
	if dns.IsNotFound {
		return fmt.Sprintf("the host name %.200q did not resolve (%s)", dns.Name, dns.Err),
			"Check its spelling, and that this machine can look it up: `getent hosts " + dns.Name + "`"
	}
	return fmt.Sprintf("the host name %.200q could not be looked up (%s)", dns.Name, dns.Err),
		"Check the name servers in /etc/resolv.conf, or give the server's IP address"
}

// Func returns the dial function of a transport of net/http.
func Func(timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := newDialer(timeout)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err == nil {
			if path, ok := socketOf(host); ok {
				network, address = "unix", path
			}
		}
		return d.DialContext(ctx, network, address)
	}
}

// Try makes a connection and closes it.
func Try(ctx context.Context, u *url.URL, timeout time.Duration) error {
	network, address := Target(u)
	c, err := newDialer(timeout).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

// HasSource reports whether this machine has an address to connect from to another one (host:port): it has none for ::1
// if IPv6 is disabled. Connecting a datagram socket sends nothing, and its ports are others than those of streams.
func HasSource(address string) bool {
	c, err := net.Dial("udp", address)
	if err == nil {
		_ = c.Close()
	}
	return !errors.Is(err, syscall.EADDRNOTAVAIL)
}

// newDialer uses the resolver of Go: each lookup of the system's resolver would block a thread.
func newDialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Resolver: &net.Resolver{PreferGo: true}}
}
