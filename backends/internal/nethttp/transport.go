package nethttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// newTransport returns a transport that counts unexpected bytes. A fresh transport opens a connection for each request.
func newTransport(c *backends.Config, counters *policy.Counters, fresh bool) (*http.Transport, error) {
	secure, err := c.TLS()
	if err != nil {
		return nil, err
	}
	proxy, err := backends.ParseProxy(c.Proxy)
	if err != nil {
		return nil, err
	}
	d := &dialer{
		connect: counted(dial.Func(c.ConnectTimeout), counters), config: secure, timeout: c.ConnectTimeout,
		http2: c.HTTP2, proxy: proxy, counters: counters,
	}
	t := &http.Transport{
		Proxy:                  nil, // no environment
		DialContext:            d.plain,
		DialTLSContext:         d.secure,
		DisableCompression:     true,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    1 << 20,
		IdleConnTimeout:        policy.IdleTimeout,
		MaxResponseHeaderBytes: policy.MaxHead,
		WriteBufferSize:        32 << 10,
		ReadBufferSize:         8 << 10,
		ForceAttemptHTTP2:      true, // by ALPN, so over TLS only
	}
	if proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme == "https" {
				return nil, nil // the dialer makes the tunnel
			}
			return proxy, nil
		}
	}
	if fresh {
		t.MaxIdleConnsPerHost = -1
	}
	return t, nil
}

// counted counts the connections for which this machine had no local port or no file.
func counted(connect dialFunc, counters *policy.Counters) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := connect(ctx, network, address)
		if err != nil {
			counters.Exhausted(err, func() bool { return hasSource(err) })
		}
		return c, err
	}
}

// hasSource reports whether this machine has an address to connect from to that of a failed connection: it has none for
// ::1 if IPv6 is disabled. Connecting a datagram socket sends nothing, and its ports are others than those of streams.
func hasSource(failed error) bool {
	var op *net.OpError
	if !errors.As(failed, &op) || op.Addr == nil {
		return true
	}
	c, err := net.Dial("udp", op.Addr.String())
	if err == nil {
		_ = c.Close()
	}
	return !errors.Is(err, syscall.EADDRNOTAVAIL)
}

// byProxy is the operation in errors of connections through a proxy, as net/http names it.
const byProxy = "proxyconnect"
