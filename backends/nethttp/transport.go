package nethttp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// newTransport makes a transport for c. A fresh one opens a connection for each request and keeps none.
func newTransport(c *backends.Config, fresh bool) (*http.Transport, error) {
	authorities, err := backends.Authorities(c.CAFile)
	if err != nil {
		return nil, err
	}
	proxy, err := backends.ParseProxy(c.Proxy)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{
		Proxy:                  nil, // no environment
		DialContext:            dial.Func(c.ConnectTimeout),
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: c.InsecureSkipVerify, RootCAs: authorities},
		TLSHandshakeTimeout:    c.ConnectTimeout,
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
		t.Proxy, t.OnProxyConnectResponse = http.ProxyURL(proxy), tunnelled
	}
	if fresh {
		t.MaxIdleConnsPerHost = -1
	}
	return t, nil
}

// byProxy is the operation of net/http's errors of the way to and through a proxy.
const byProxy = "proxyconnect"

// tunnelled refuses a tunnel that the proxy has refused, in words that say who did.
func tunnelled(_ context.Context, proxy *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	return &net.OpError{Op: byProxy, Net: "tcp", Err: fmt.Errorf("the proxy %s answered CONNECT with HTTP %s", proxy, r.Status)}
}
