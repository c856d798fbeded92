package http1_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// The connections of a warm-up serve the test behind it, and only they.
func TestWarmUpKeepsItsConnections(t *testing.T) {
	var most atomic.Int64
	url := wiretest.Raw(t, func(c net.Conn, conn, _ int) bool {
		most.Store(max(most.Load(), int64(conn)+1))
		_, err := c.Write([]byte(wiretest.Streamed))
		return err == nil
	})
	config := wiretest.Config(url)
	config.Concurrency = 8
	b, err := open(config)
	require.NoError(t, err)
	client := b.(*http1.Client)
	warm, test := wiretest.NewRecorder(), wiretest.NewRecorder()
	require.NoError(t, client.WarmUp(context.Background(), wiretest.NewQueries(20).End(), warm))
	warm.ExactlyOnce(t, 20)
	opened := client.Traffic().Connections[0]
	require.LessOrEqual(t, opened, int64(8))
	require.NoError(t, client.Serve(context.Background(), wiretest.NewQueries(200).End(), test))
	test.ExactlyOnce(t, 200)
	for _, res := range test.Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	require.Equal(t, opened, client.Traffic().Connections[0], "as many as the warm-up had")
	require.Equal(t, opened, most.Load())
	did := client.Features().Loop()
	require.LessOrEqual(t, did.ConnectionsMax, 8)
	// A third one begins with nothing: the second has closed what it had.
	again := wiretest.NewRecorder()
	require.NoError(t, client.Serve(context.Background(), wiretest.NewQueries(5).End(), again))
	again.ExactlyOnce(t, 5)
	require.Greater(t, client.Traffic().Connections[0], opened)
}

// A tune or a sweep sends many loads, each as a WarmUp: they share their connections.
func TestWarmUpsShareTheirConnections(t *testing.T) {
	config := wiretest.Config(wiretest.Canned(t, -1, streamOf(2, 2)...))
	config.Concurrency = 8
	b, err := open(config)
	require.NoError(t, err)
	client := b.(*http1.Client)
	for range 5 {
		r := wiretest.NewRecorder()
		require.NoError(t, client.WarmUp(context.Background(), wiretest.NewQueries(40).End(), r))
		r.ExactlyOnce(t, 40)
	}
	require.LessOrEqual(t, client.Traffic().Connections[0], int64(8))
	require.NoError(t, client.Serve(context.Background(), wiretest.NewQueries(1).End(), wiretest.NewRecorder()))
}

// A connection that the server closes between warm-up and test costs no sample.
func TestWarmUpConnectionsMayDie(t *testing.T) {
	url := wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
		c.Write([]byte(wiretest.Streamed))
		return false
	})
	b, err := open(wiretest.Config(url))
	require.NoError(t, err)
	client := b.(*http1.Client)
	warm, test := wiretest.NewRecorder(), wiretest.NewRecorder()
	require.NoError(t, client.WarmUp(context.Background(), wiretest.NewQueries(10).End(), warm))
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, client.Serve(context.Background(), wiretest.NewQueries(30).End(), test))
	test.ExactlyOnce(t, 30)
	for _, res := range test.Results {
		require.Equal(t, backends.OK, res.Reason)
	}
}

// The figures of the loop contain how many queries waited for a place.
func TestAQueueIsShown(t *testing.T) {
	const burst = 1000
	c := wiretest.Config(wiretest.Canned(t, -1, streamOf(2, 2)...))
	c.Concurrency = 10
	b, err := open(c)
	require.NoError(t, err)
	r := wiretest.NewRecorder()
	require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(burst).End(), r))
	r.ExactlyOnce(t, burst)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	loop := b.Features().Loop()
	require.GreaterOrEqual(t, loop.QueueMax, 200)
	require.Equal(t, 10, loop.LimitMax)
	require.LessOrEqual(t, loop.ConnectionsMax, 10)
}

// A burst is not dialled at once: the queue in which a server has connections wait is not endless.
func TestABurstIsDialledInParts(t *testing.T) {
	c := wiretest.Config(fullQueue(t))
	c.ConnectTimeout, c.EndpointTimeout = 100*time.Millisecond, 200*time.Millisecond
	b, err := open(c)
	require.NoError(t, err)
	r := wiretest.NewRecorder()
	require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(600).End(), r))
	r.ExactlyOnce(t, 600)
	for _, res := range r.Results {
		require.Contains(t, []backends.Reason{backends.FailConnect, backends.FailNoEndpoint}, res.Reason)
		require.Equal(t, []int{-1, -1}, []int{res.UsageTokens, res.InputTokens}, "no answer counted anything")
		require.Equal(t, res.Reason == backends.FailNoEndpoint, res.Endpoint == balance.Nowhere)
		require.Positive(t, res.DequeuedNS)
	}
	loop := b.Features().Loop()
	require.LessOrEqual(t, loop.ConnectionsMax, 256)
	require.GreaterOrEqual(t, loop.QueueMax, 600-2*256)
}
