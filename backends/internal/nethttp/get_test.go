package nethttp_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestRemedies: what a probe advises suits the cause of its failure, with --ca-file given.
func TestRemedies(t *testing.T) {
	serve := func(host string, end time.Duration) (url, file string) {
		pair, authority, err := wiretest.Certificate(time.Now().Add(end))
		require.NoError(t, err)
		l, err := net.Listen("tcp", host+":0")
		require.NoError(t, err)
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler(),
			ErrorLog: log.New(io.Discard, "", 0)}}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		s.StartTLS()
		t.Cleanup(s.Close)
		file = filepath.Join(t.TempDir(), "ca.pem")
		require.NoError(t, os.WriteFile(file, authority, 0o600))
		return s.URL, file
	}
	good, authority := serve("127.0.0.1", time.Hour)
	other, itself := serve("127.0.0.2", time.Hour)
	expired, old := serve("127.0.0.1", -time.Hour)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, c := range []struct {
		name, url, file, proxy string
		want, not              string
	}{
		{"expired", expired, old, "", "has expired.*Renew the server's certificate", "--ca-file"},
		{"another host", other, itself, "",
			"127.0.0.2.*Use a host name that the certificate contains", "--ca-file"},
		{"not trusted", good, old, "", "unknown authority.*--ca-file", "Renew"},
		{"no proxy, a server with TLS", good, authority, "http://127.0.0.1:1", "refused.*Check --proxy", "host and port"},
		{"no proxy", "http://127.0.0.1:2", "", "http://127.0.0.1:1", "refused.*Check --proxy", "host and port"},
		{"a proxy that is not trusted", "http://127.0.0.1:2", "", good,
			"TLS with the proxy " + good + ": .*unknown authority.*the proxy uses TLS.*--ca-file", "the server"},
		{"the same, before a server with TLS", other, old, good,
			"TLS with the proxy " + good + ": .*unknown authority.*the proxy uses TLS.*--ca-file", "the server"},
		{"a proxy with another name", "http://127.0.0.1:2", itself, other, "127.0.0.2.*in --proxy", "the server"},
		{"a proxy with an old certificate", "http://127.0.0.1:2", old, expired, "Renew the proxy's", "the server"},
		{"a proxy without TLS", "http://127.0.0.1:2", "", "https" + plain.URL[4:],
			"TLS with the proxy https.*write --proxy " + plain.URL, "the server"},
		{"no server", "http://127.0.0.1:1", "", "", "refused.*Check host and port", "--proxy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := wiretest.Config(c.url)
			config.CAFile, config.Proxy = c.file, c.proxy
			_, err := nethttp.Get(context.Background(), config, backends.Endpoint{URL: c.url}, "/", 10*time.Second)
			require.Regexp(t, c.want, err.Error())
			require.NotContains(t, err.Error(), c.not)
		})
	}
}
