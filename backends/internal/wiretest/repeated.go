package wiretest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
)

// aRepeatCountsFromTheFirstSending has a server that ends the first connection 300 ms after its request. The wait is
// part of the latency, and no delay of the client.
func (k *Contract) aRepeatCountsFromTheFirstSending(t *testing.T) {
	const wait = 300 * time.Millisecond
	var seen atomic.Int64
	url := k.Raw(t, func(c net.Conn, _, _ int) bool {
		if seen.CompareAndSwap(0, time.Now().UnixNano()) {
			time.Sleep(wait)
			return false
		}
		c.Write([]byte(Streamed))
		return true
	})
	c := Config(url)
	c.Retries = 1
	res := k.Ask(t, c, 1).Results[1]
	require.Equal(t, backends.OK, res.Reason)
	require.Equal(t, 1, res.Retries)
	require.Equal(t, res.SentNS, res.TriedNS)
	require.GreaterOrEqual(t, res.SentNS, res.DequeuedNS)
	require.LessOrEqual(t, res.SentNS, seen.Load(), "the first attempt")
	require.GreaterOrEqual(t, res.FirstByteNS-res.SentNS, int64(wait))
	require.GreaterOrEqual(t, res.FirstTokenNS-res.SentNS, int64(wait))
}

// aRefusedConnectionSendsNothing has a server that listens only after the first attempt, so latencies begin with a
// later one. The client's delay ends with the first.
func (k *Contract) aRefusedConnectionSendsNothing(t *testing.T) {
	url, listen := k.absent(t)
	c := Config(url)
	c.Retries, c.EndpointTimeout = 1000, Patience
	r, served := NewRecorder(), make(chan error, 1)
	go func() { served <- k.open(t, c).Serve(context.Background(), NewQueries(1).End(), r) }()
	require.Eventually(t, func() bool { return r.Failures() > 0 }, Patience, time.Millisecond)
	listening := time.Now().UnixNano()
	k.RawOn(t, listen(), Answers(Streamed))
	require.NoError(t, <-served)
	r.ExactlyOnce(t, 1)
	res := r.Results[1]
	require.Equal(t, backends.OK, res.Reason)
	require.Positive(t, res.Retries)
	require.GreaterOrEqual(t, res.TriedNS, res.DequeuedNS)
	require.Less(t, res.TriedNS, listening)
	require.Greater(t, res.SentNS, listening)
	require.GreaterOrEqual(t, res.FirstByteNS, res.SentNS)
}
