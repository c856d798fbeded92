package dial

import (
	"context"
	"net"
	"net/url"
	"time"
)

// New makes a dialer that looks names up without blocking a thread each.
func New(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, Resolver: &net.Resolver{PreferGo: true}}
}

// Target is the network and address of a URL.
func Target(u *url.URL) (network, address string) {
	if u.Port() != "" {
		return "tcp", u.Host
	}
	if u.Scheme == "https" {
		return "tcp", net.JoinHostPort(u.Hostname(), "443")
	}
	return "tcp", net.JoinHostPort(u.Hostname(), "80")
}

// Try makes a connection and gives it up.
func Try(ctx context.Context, u *url.URL, timeout time.Duration) error {
	network, address := Target(u)
	c, err := New(timeout).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return c.Close()
}
