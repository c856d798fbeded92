package campaign

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/plan"
)

// A campaign reaches its endpoints in the same ways as its runs: by host and port alone, on a Unix socket, with a
// self-signed certificate, through a proxy. Any answer will do.
func TestACampaignFindsItsEndpoints(t *testing.T) {
	here := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	plain, secure, socket := httptest.NewServer(here), httptest.NewTLSServer(here), httptest.NewUnstartedServer(here)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	require.NoError(t, socket.Listener.Close())
	socket.Listener = l
	socket.Start()
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}})
	defer func() {
		for _, s := range []*httptest.Server{plain, secure, socket, proxy} {
			s.Close()
		}
	}()
	ask := func(settings plan.Settings) error {
		settings["model"] = "llama3.1-8b"
		plan, err := plan.New(settings)
		require.NoError(t, err)
		return answers(context.Background(), plan.Config)
	}
	for _, url := range []string{plain.URL, strings.TrimPrefix(plain.URL, "http://"), secure.URL, "unix://" + path,
		plain.URL + "," + secure.URL} {
		require.NoError(t, ask(plan.Settings{"endpoint": url}), url)
	}
	require.NoError(t, ask(plan.Settings{"endpoint": plain.URL, "proxy": proxy.URL}))
	gone := "unix://" + path + ".gone"
	require.ErrorContains(t, ask(plan.Settings{"endpoint": plain.URL + "," + gone}),
		"an endpoint does not answer: GET "+gone)
	require.ErrorContains(t, ask(plan.Settings{"endpoint": plain.URL, "proxy": "http://127.0.0.1:1"}),
		"connection refused")
}
