package nethttp

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// newTransport makes a transport for c. A fresh one opens a connection for each request and keeps none.
func newTransport(c *backends.Config, fresh bool) (*http.Transport, error) {
	authorities, err := trusted(c.CAFile)
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

// trusted gives the system's authorities with those of a PEM file; nil: the system's alone.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the file of trusted authorities can not be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----): give the file of the authority that signed the server's certificate", file)
	}
	return pool, nil
}
