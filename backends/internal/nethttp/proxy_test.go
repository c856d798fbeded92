package nethttp_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// HTTP/2 is also used in the tunnel of a proxy.
func TestHTTP2ThroughAProxy(t *testing.T) {
	through := wiretest.ServeProxy(t, false)
	secure := serveHTTP2(t, 0, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, wiretest.Good)
	})
	secure.Proxy, secure.Stream = through.URL, false
	for _, res := range contract.Ask(t, secure, 5).Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	require.Zero(t, through.Forwarded.Load())
	require.Positive(t, through.Tunnels.Load())
}
