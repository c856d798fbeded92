package nethttp

import (
	"crypto/tls"
	"net/http"

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
	if fresh {
		t.MaxIdleConnsPerHost = -1
	}
	return t, nil
}
