package nethttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

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

// usedUpError is the error of a connection that failed because this machine, not the server, allows no more.
type usedUpError struct{ error }

func (e usedUpError) Unwrap() error { return e.error }

// counted counts the connections that this machine did not allow, and marks their errors.
func counted(connect dialFunc, counters *policy.Counters) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := connect(ctx, network, address)
		var op *net.OpError
		if errors.As(err, &op) && op.Addr != nil {
			address = op.Addr.String() // the address of a name that was tried
		}
		if err != nil && counters.Exhausted(err, address) {
			err = usedUpError{err}
		}
		return c, err
	}
}

// byProxy is the operation in errors of connections through a proxy, as net/http names it.
const byProxy = "proxyconnect"
