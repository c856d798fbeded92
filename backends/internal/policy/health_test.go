package policy

import (
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// An excluded endpoint is tried by a connection to its own peer, which is counted.
func TestHealthOfEndpoints(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	peers := []*url.URL{{Scheme: "http", Host: l.Addr().String()}, {Scheme: "http", Host: gone.Addr().String()}}
	config := &backends.Config{Endpoints: make([]backends.Endpoint, 2)}
	config.ConnectTimeout, config.EndpointTimeout = 5*time.Second, 7*time.Second
	c := NewCounters(config)
	woken := 0
	h := c.Health(config, func(endpoint int) *url.URL { return peers[endpoint] }, func() { woken++ })
	require.NoError(t, h.Try(t.Context(), 0))
	require.Error(t, h.Try(t.Context(), 1))
	h.Out(1)
	h.Out(1)
	require.EqualValues(t, 2, c.Out[1].Load())
	require.Zero(t, c.Out[0].Load())
	h.Wake()
	require.Equal(t, 1, woken)
	require.Equal(t, 7*time.Second, h.Patience)
}
