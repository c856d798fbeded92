package wiretest

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Proxy is an HTTP proxy. It forwards requests with a full address, and makes tunnels.
type Proxy struct {
	URL                string
	Forwarded, Tunnels atomic.Int32
}

// ServeProxy starts a proxy, to which connections use TLS if secure is set.
func ServeProxy(t *testing.T, secure bool) *Proxy {
	p := &Proxy{}
	var tunnelling sync.WaitGroup
	s := (&Contract{Secure: secure}).serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			p.Tunnels.Add(1)
			there, err := net.Dial("tcp", r.Host)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			w.WriteHeader(http.StatusOK)
			tunnelling.Add(2) // while Close still waits for this connection
			here, buffered, err := w.(http.Hijacker).Hijack()
			if err != nil {
				_ = there.Close()
				tunnelling.Add(-2)
				return
			}
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
		p.Forwarded.Add(1)
		if !r.URL.IsAbs() {
			http.Error(w, "the address is not whole", http.StatusBadRequest)
			return
		}
		answer, err := forward(r)
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
	})
	p.URL = s.URL
	return p
}

// forward sends a request to its server on a new connection.
func forward(r *http.Request) (*http.Response, error) {
	c, err := net.Dial("tcp", r.Host)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(r.Context(), func() { c.Close() }) // when the request has been answered
	if err := r.Write(c); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(c), r)
}

// throughAProxy requires that with a proxy every request goes through it: plain ones by their full address, those over
// TLS through a tunnel.
func (k *Contract) throughAProxy(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS to the proxy %t", secure), func(t *testing.T) {
			through := ServeProxy(t, secure)
			c := Config(k.Raw(t, Answers(Streamed)))
			c.Proxy, c.InsecureSkipVerify, c.Concurrency = through.URL, true, 2
			const requests = 30 // net/http may dial although a connection is about to be idle
			for _, res := range k.Ask(t, c, requests).Results {
				require.Equal(t, backends.OK, res.Reason)
				require.Equal(t, []int32{5, 6}, res.Tokens)
			}
			if k.Secure {
				require.Positive(t, through.Tunnels.Load())
				require.Less(t, through.Tunnels.Load(), int32(requests), "they are reused")
				require.Zero(t, through.Forwarded.Load())
			} else {
				require.EqualValues(t, requests, through.Forwarded.Load())
				require.Zero(t, through.Tunnels.Load())
			}
		})
	}
}

// proxyFaults requires that faults of the proxy, or of the server behind it, are distinguished from answers.
func (k *Contract) proxyFaults(t *testing.T) {
	nobody, _ := Absent(t)
	refuses := Raw(t, Answers(Whole(403, "text/plain", "not from here")))
	type row struct {
		name, url, proxy string
		want             backends.Reason
		text             string
	}
	rows := []row{
		{"no proxy there", "http://192.0.2.1:1", nobody, backends.FailConnect, "proxy.*connection refused"},
		{"no server behind it", nobody, ServeProxy(t, false).URL, "http_502", "connection refused"},
		{"an address that it refuses", "http://192.0.2.1:1", refuses, "http_403", "not from here"},
		{"closed by the proxy", "http://192.0.2.1:1", Raw(t, Closes("")), backends.FailReset, ""},
	}
	if k.Secure {
		rows = []row{
			{"no proxy there", "https://192.0.2.1:1", nobody, backends.FailConnect, "proxy.*connection refused"},
			{"no server behind it", k.url(nobody), ServeProxy(t, false).URL, backends.FailConnect,
				"answered CONNECT with HTTP 502"},
			{"no tunnel", "https://192.0.2.1:1", refuses, backends.FailConnect, "answered CONNECT with HTTP 403"},
			{"closed by the proxy", "https://192.0.2.1:1", Raw(t, Closes("")), backends.FailConnect, "EOF"},
			{"no HTTP", "https://192.0.2.1:1", Raw(t, Closes("SSH-2.0-OpenSSH_9.2\r\n\r\n")), backends.FailConnect,
				"malformed HTTP"},
			{"closed in the tunnel", "https://192.0.2.1:1", Raw(t, Closes("HTTP/1.1 200 OK\r\n\r\n")), backends.FailTLS,
				"EOF|connection reset"},
			{"no TLS behind it", k.url(Raw(t, Answers(Streamed))), ServeProxy(t, false).URL, backends.FailTLS, ""},
		}
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			config := Config(c.url)
			config.Proxy = c.proxy
			config.ConnectTimeout = 2 * time.Second
			r := k.Ask(t, config, 2)
			for _, a := range r.Attempts {
				require.Equal(t, c.want, a.Reason, a.Detail)
				require.Regexp(t, c.text, a.Detail)
			}
			require.Len(t, r.Attempts, 2)
		})
	}
	k.proxyTLSFaults(t)
	_, err := k.Open(&backends.Config{Endpoints: []backends.Endpoint{{URL: "http://h"}},
		Transport: backends.Transport{Proxy: "ftp://p"}})
	require.ErrorContains(t, err, `the proxy "ftp://p" has the unsupported scheme`)
}

// proxyTLSFaults requires that a failure of TLS with an https proxy names the proxy and what to do about it, not the
// endpoint.
func (k *Contract) proxyTLSFaults(t *testing.T) {
	trusted, _, err := ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	demanding, err := Demanding(ServerTLS(), trusted)
	require.NoError(t, err)
	old := demanding.Clone()
	old.MaxVersion = tls.VersionTLS12
	serve := func(config *tls.Config) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		return strings.Replace(RawOn(t, tls.NewListener(l, config), Answers(Streamed)), "http:", "https:", 1)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, c := range []struct {
		name, proxy, text string
		verify            bool
	}{
		{"no TLS at the proxy", strings.Replace(plain.URL, "http:", "https:", 1),
			"first record.*write --proxy http://127", false},
		{"a proxy that requires a certificate", serve(demanding), "certificate required.*--client-cert is for the", false},
		{"the same with TLS 1.2", serve(old), "(handshake failure|bad certificate).*--client-cert is for the", false},
		{"a proxy that is not trusted", serve(ServerTLS()), "unknown authority.*trusts its certificate.*--ca-file", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Config(k.url("http://192.0.2.1:1"))
			config.Proxy, config.InsecureSkipVerify = c.proxy, !c.verify
			backend, err := k.Open(config)
			require.NoError(t, err)
			r := NewRecorder()
			require.NoError(t, backend.Serve(t.Context(), NewQueries(2).End(), r))
			for _, a := range r.Attempts {
				require.Equal(t, backends.FailTLS, a.Reason, a.Detail)
				require.Regexp(t, "TLS with the proxy "+c.proxy+": .*"+c.text, a.Detail)
			}
			require.Len(t, r.Attempts, 2)
		})
	}
}

// alertsBehindTheHandshake requires that a server or a proxy that rejects the client in TLS 1.3, and closes the
// connection while the client is writing a long request, is reported with its alert and not as a reset.
func (k *Contract) alertsBehindTheHandshake(t *testing.T) {
	trusted, _, err := ClientFiles(t.TempDir(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	demanding, err := Demanding(ServerTLS(), trusted)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, l, func(c net.Conn, _ int) { _ = tls.Server(c, demanding).Handshake() })
	rejects := "https://" + l.Addr().String()
	for _, proxied := range []bool{false, true} {
		t.Run(fmt.Sprintf("proxy %t", proxied), func(t *testing.T) {
			config := Config(rejects)
			if proxied {
				config.Proxy, config.Endpoints[0].URL = rejects, "http://192.0.2.1:1"
			}
			config.Body = func(int) []byte { return make([]byte, 12<<20) }
			config.InsecureSkipVerify = true
			r := k.Ask(t, config, 5)
			for _, a := range r.Attempts {
				require.Equal(t, backends.FailTLS, a.Reason, a.Detail)
				require.Contains(t, a.Detail, "certificate required")
			}
			require.Len(t, r.Attempts, 5)
		})
	}
}

// answeredTwice requires that answers that come twice are noticed through a proxy and through a tunnel too. With ids no
// answer counts as another's, and without ids they are counted.
func (k *Contract) answeredTwice(t *testing.T) {
	const n = 60
	for _, proxied := range []bool{false, true} {
		for _, use := range []backends.IDUse{backends.IDsRequired, backends.IDsOff} {
			t.Run(fmt.Sprintf("proxy %t, use %d", proxied, use), func(t *testing.T) {
				t.Parallel()
				config := Naming(t, k.Secure, func(asked *Named) string {
					if asked.Number == 20 {
						return ""
					}
					return asked.Answer() + asked.Answer()
				})
				switch {
				case proxied && k.Secure:
					config.Proxy = ServeProxy(t, false).URL
				case proxied: // the server itself, which is asked for the address of another
					config.Proxy, config.Endpoints[0].URL = config.Endpoints[0].URL, "http://192.0.2.1:1"
				}
				config.Endpoints[0].IDs, config.Concurrency = use, 3
				config.Body = func(i int) []byte { return fmt.Appendf(nil, `{"prompt":[%d],"stream":true}`, i) }
				r, answers, _ := k.Unasked(t, config, n)
				require.Positive(t, answers)
				for id, res := range r.Results {
					if use == backends.IDsRequired && res.Reason == backends.OK {
						require.Equal(t, []int32{int32(OwnToken(int(id) - 1)), 6}, res.Tokens, "query %d", id)
					}
				}
			})
		}
	}
}
