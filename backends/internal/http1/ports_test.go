package http1_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestFewPorts runs in a network with eight local ports and without IPv6. Queries wait for a connection instead of
// failing, and the client counts that. An address that this machine cannot connect from uses no port up.
func TestFewPorts(t *testing.T) {
	if !wiretest.FewPorts(t) {
		return
	}
	ask := func(url string, concurrency, n int, want backends.Reason) backends.Features {
		c := wiretest.Config(url)
		c.Concurrency, c.EndpointTimeout = concurrency, time.Millisecond
		b, err := open(c)
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(n).End(), r))
		r.ExactlyOnce(t, n)
		for _, res := range r.Results {
			require.Equal(t, want, res.Reason)
		}
		return b.Features()
	}
	url, _ := wiretest.Absent(t)
	did := ask(strings.Replace(url, "127.0.0.1", "localhost", 1), 3, 3, backends.FailConnect)
	require.Zero(t, did.Traffic().Exhausted.Ports)
	require.Equal(t, 3, did.Loop().LimitMax)
	did = ask(wiretest.Raw(t, wiretest.Answers(wiretest.Streamed)), 0, 100, backends.OK)
	require.Positive(t, did.Traffic().Exhausted.Ports)
	require.LessOrEqual(t, did.Loop().ConnectionsMax, 8)
}
