package nethttp

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
)

// idleTimeout is below the 5 s after which the servers of this field close an idle connection
// (spec/real-servers.md §2): a request must not race with that.
const idleTimeout = 4 * time.Second

// newTransport makes a transport for c. A fresh one opens a connection for each request and keeps none.
func newTransport(c *backends.Config, fresh bool) *http.Transport {
	dialer := &net.Dialer{
		Timeout: c.ConnectTimeout,
		// The system's resolver blocks an OS thread per look-up.
		Resolver: &net.Resolver{PreferGo: true},
	}
	t := &http.Transport{
		Proxy:                  nil, // no environment
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: c.InsecureSkipVerify},
		TLSHandshakeTimeout:    c.ConnectTimeout,
		DisableCompression:     true,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    1 << 20,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: 256 << 10,
		WriteBufferSize:        32 << 10,
		ReadBufferSize:         8 << 10,
		ForceAttemptHTTP2:      true, // by ALPN, so over TLS only
	}
	if fresh {
		t.MaxIdleConnsPerHost = -1
	}
	return t
}
