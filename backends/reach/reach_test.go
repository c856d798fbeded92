package reach_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/reach"
)

// A server without /health can be reached: any HTTP answer counts.
func TestEveryAnswerCounts(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is not trusted
	defer secure.Close()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	local := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.NotFoundHandler()}}
	local.Start()
	defer local.Close()
	for _, url := range []string{plain.URL, secure.URL, "unix://" + socket} {
		require.NoError(t, reach.Try(t.Context(), url, backends.Transport{}, 10*time.Second), url)
	}
	require.NoError(t, reach.Try(t.Context(), "http://server.example", backends.Transport{Proxy: plain.URL},
		10*time.Second), "through a proxy")
}

func TestAClosedPortIsAnEndpointError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	err := reach.Try(t.Context(), server.URL, backends.Transport{}, 10*time.Second)
	var fault *backends.EndpointError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, server.URL+"/health", fault.URL)
}
