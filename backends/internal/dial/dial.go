package dial

import (
	"context"
	"encoding/hex"
	"net"
	"net/url"
	"strings"
	"time"
)

// socketHost ends the host that stands for a Unix socket, so that net/http keeps the connections of each socket apart.
// What is before it is the socket's path in hexadecimal digits.
const socketHost = ".socket.invalid"

// Socket is the URL of a path on a server that listens on a Unix socket.
func Socket(socket, path string) *url.URL {
	return &url.URL{Scheme: "http", Host: hex.EncodeToString([]byte(socket)) + socketHost, Path: path}
}

// socketOf is the path of the socket that a host stands for.
func socketOf(host string) (path string, ok bool) {
	digits, ok := strings.CutSuffix(host, socketHost)
	if !ok {
		return "", false
	}
	b, err := hex.DecodeString(digits)
	return string(b), err == nil
}

// Target is the network and address of a URL.
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

// Func makes the function that a transport of net/http dials with.
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

// Try makes a connection and gives it up.
func Try(ctx context.Context, u *url.URL, timeout time.Duration) error {
	network, address := Target(u)
	c, err := newDialer(timeout).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

// newDialer looks names up without blocking a thread each, as the system's resolver does.
func newDialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Resolver: &net.Resolver{PreferGo: true}}
}
