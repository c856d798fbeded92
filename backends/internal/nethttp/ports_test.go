package nethttp_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestFewPorts runs in a network with eight local ports and without IPv6. The client counts connections without a port
// or a file; an address that this machine cannot connect from uses no port up.
func TestFewPorts(t *testing.T) {
	if !wiretest.FewPorts(t) {
		return
	}
	ask := func(url string, concurrency, n int) (*wiretest.Recorder, backends.Exhausted) {
		c := wiretest.Config(url)
		c.Concurrency, c.EndpointTimeout = concurrency, time.Millisecond
		b, err := open(c)
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(n).End(), r))
		r.ExactlyOnce(t, n)
		return r, b.Features().Traffic().Exhausted
	}
	url, _ := wiretest.Absent(t)
	_, none := ask(strings.Replace(url, "127.0.0.1", "localhost", 1), 3, 3)
	require.Zero(t, none)

	slow := wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
		time.Sleep(50 * time.Millisecond) // so that all connections are wanted at once
		_, err := c.Write([]byte(wiretest.Streamed))
		return err == nil
	})
	_, ports := ask(slow, 0, 100)
	require.Positive(t, ports.Ports)
	require.Zero(t, ports.Files)

	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}))
	r, files := ask(url, 0, 3)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	require.Positive(t, files.Files)
	require.Zero(t, files.Ports)
	for _, res := range r.Results {
		require.NotEqual(t, backends.OK, res.Reason)
	}
}
