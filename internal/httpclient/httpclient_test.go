package httpclient

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seen is a server that records the requests that it receives.
type seen struct {
	*httptest.Server
	authorizations []string
}

func newSeen(t *testing.T, secure bool, answer http.HandlerFunc) *seen {
	t.Helper()
	s := &seen{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.authorizations = append(s.authorizations, r.Header.Get("Authorization"))
		answer(w, r)
	})
	if secure {
		s.Server = httptest.NewTLSServer(handler)
	} else {
		s.Server = httptest.NewServer(handler)
	}
	t.Cleanup(s.Close)
	return s
}

func fine(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

// get sends a request with a key.
func get(t *testing.T, client *http.Client, address string) (int, error) {
	t.Helper()
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer k")
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

func TestNoRedirectIsFollowed(t *testing.T) {
	other := newSeen(t, false, fine)
	for _, to := range []string{other.URL, "/elsewhere"} {
		first := newSeen(t, false, func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		})
		status, err := get(t, New(Options{}), first.URL)
		require.NoError(t, err)
		require.Equal(t, http.StatusTemporaryRedirect, status)
		require.Equal(t, []string{"Bearer k"}, first.authorizations)
	}
	require.Empty(t, other.authorizations)
}

func TestRedirectsThatAreAllowed(t *testing.T) {
	other := newSeen(t, true, fine)
	to := other.URL
	first := newSeen(t, true, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	authorities := x509.NewCertPool()
	authorities.AddCert(first.Certificate())
	client := New(Options{Authorities: authorities, Redirects: 2})
	status, err := get(t, client, first.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, []string{""}, other.authorizations, "another port is another host")

	to = "http://hub.example/"
	_, err = get(t, client, first.URL)
	require.ErrorContains(t, err, "not https")
	to = first.URL
	_, err = get(t, client, first.URL)
	require.ErrorContains(t, err, "more than 2 times")
	_, err = get(t, New(Options{Redirects: 2}), first.URL)
	require.ErrorContains(t, err, "certificate")
}

func TestProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	require.Nil(t, New(Options{}).Transport.(*http.Transport).Proxy,
		"the environment's is not asked for: net/http spares this machine's addresses, so that no request shows it")
	proxy := newSeen(t, false, fine)
	address, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	status, err := get(t, New(Options{Proxy: address}), "http://server.example/")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, proxy.authorizations, 1)
}

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(fine)}
	go func() { _ = s.Serve(l) }() // returns when the server is closed
	t.Cleanup(func() { _ = s.Close() })
	status, err := get(t, New(Options{Socket: path, Proxy: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}),
		"http://localhost/")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

func TestBodiesAreBounded(t *testing.T) {
	for size, bad := range map[int]bool{0: false, 10: false, 11: true, 1 << 20: true} {
		body, err := ReadBody(&http.Response{Body: io.NopCloser(strings.NewReader(strings.Repeat("x", size)))}, 10)
		if bad {
			require.ErrorContains(t, err, "more than 10 bytes")
			require.Nil(t, body)
			continue
		}
		require.NoError(t, err)
		require.Len(t, body, size)
	}
}
