package nethttp_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// proxy is an HTTP proxy: it forwards requests that carry a full address, and makes tunnels.
type proxy struct {
	url                string
	forwarded, tunnels atomic.Int32
}

func serveProxy(t *testing.T) *proxy {
	p := &proxy{}
	var tunnelling sync.WaitGroup
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			p.tunnels.Add(1)
			there, err := net.Dial("tcp", r.Host)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			w.WriteHeader(http.StatusOK)
			here, buffered, err := w.(http.Hijacker).Hijack()
			if err != nil {
				_ = there.Close()
				return
			}
			tunnelling.Add(2)
			carry := func(to net.Conn, from io.Reader) {
				defer tunnelling.Done()
				_, _ = io.Copy(to, from) // ends with either side
				_ = here.Close()
				_ = there.Close()
			}
			go carry(there, buffered)
			go carry(here, there)
			return
		}
		p.forwarded.Add(1)
		if !r.URL.IsAbs() {
			http.Error(w, "the address is not whole", http.StatusBadRequest)
			return
		}
		r.RequestURI = ""
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(func() {
		s.Close()
		tunnelling.Wait()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	p.url = s.URL
	return p
}

// With a proxy every request goes through it: plain ones by their address, TLS through a tunnel, in which HTTP/2 is
// spoken as without one.
func TestThroughAProxy(t *testing.T) {
	through := serveProxy(t)
	plain := wiretest.Config(wiretest.Raw(t, wiretest.Answers(wiretest.Streamed)))
	plain.Proxy = through.url
	for _, res := range contract.Ask(t, plain, 5).Results {
		require.Equal(t, backends.OK, res.Reason)
		require.Equal(t, []int32{5, 6}, res.Tokens)
	}
	require.EqualValues(t, 5, through.forwarded.Load())
	require.Zero(t, through.tunnels.Load())

	secure := serveHTTP2(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, wiretest.Good)
	})
	secure.Proxy, secure.Stream = through.url, false
	for _, res := range contract.Ask(t, secure, 5).Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	require.EqualValues(t, 5, through.forwarded.Load())
	require.Positive(t, through.tunnels.Load())
}

// Faults of the proxy, or of the server behind it, are distinguished from answers.
func TestProxyFaults(t *testing.T) {
	nobody, _ := wiretest.Absent(t)
	refuses := wiretest.Raw(t, wiretest.Answers(wiretest.Whole(403, "text/plain", "not from here")))
	for _, c := range []struct {
		name, url, proxy string
		want             backends.Reason
		text             string
	}{
		{"no proxy there", "http://192.0.2.1:1", nobody, backends.FailConnect, "connection refused"},
		{"no proxy there, TLS", "https://192.0.2.1:1", nobody, backends.FailConnect, "connection refused"},
		{"no server behind it", nobody, serveProxy(t).url, "http_502", "connection refused"},
		{"no tunnel", "https://192.0.2.1:1", refuses, backends.FailConnect, "answered CONNECT with HTTP 403"},
		{"an address that it refuses", "http://192.0.2.1:1", refuses, "http_403", "not from here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := wiretest.Config(c.url)
			config.Proxy = c.proxy
			r := contract.Ask(t, config, 2)
			for _, a := range r.Attempts {
				require.Equal(t, c.want, a.Reason)
				require.Contains(t, a.Detail, c.text)
			}
			require.Len(t, r.Attempts, 2)
		})
	}
	_, err := open(&backends.Config{Endpoints: []backends.Endpoint{{URL: "http://h"}},
		Transport: backends.Transport{Proxy: "ftp://p"}})
	require.ErrorContains(t, err, `the proxy "ftp://p" has the unsupported scheme`)
}
