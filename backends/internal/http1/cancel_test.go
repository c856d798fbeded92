package http1_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/internal/race"
)

// raceFactor is how much more processor time the race detector needs.
var raceFactor = time.Duration(map[bool]int{false: 1, true: 10}[race.Enabled])

// ending is a Closed that ends the test by itself when so many first tokens have come.
type ending struct {
	*wiretest.Closed
	after     int
	cancel    func()
	cancelled time.Duration // processor time of the process
	last      time.Duration
	reasons   map[backends.Reason]int
}

func (s *ending) FirstToken(q query, ids []int32, at int64) {
	if s.Closed.FirstToken(q, ids, at); s.FirstSeen == s.after {
		s.cancelled = wiretest.ProcessorTime()
		s.cancel()
	}
}

func (s *ending) Complete(q query, o *backends.Outcome) {
	s.Closed.Complete(q, o)
	s.reasons[o.Reason]++
	if s.Done == s.N {
		s.last = wiretest.ProcessorTime()
	}
}

// TestCancelManyStreams ends a test with thousands of streams in flight.
func TestCancelManyStreams(t *testing.T) {
	const streams = 4000
	if n, err := wiretest.FDLimit(); err == nil && n < streams+1000 {
		t.Skipf("%d file descriptors are allowed, %d are needed", n, streams+1000)
	}
	b, err := open(fixed(wiretest.CannedHeld(t, -1, streams+1, streamOf(3, 1)...), true, 1200))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &ending{Closed: wiretest.NewClosed(t, streams, streams), after: streams, cancel: cancel,
		reasons: map[backends.Reason]int{}}
	require.NoError(t, b.Serve(ctx, s, s))
	require.Equal(t, map[backends.Reason]int{backends.FailCancelled: streams}, s.reasons)
	// LoadGen gets a second to end. On a busy machine this process gets less time in that second.
	require.Less(t, s.last-s.cancelled, 300*time.Millisecond*raceFactor, "each is completed without a look at the others")
}

// TestCancelWhileConnecting ends a test in which no connection comes about, with queries that wait for their turn and
// for their next attempt.
func TestCancelWhileConnecting(t *testing.T) {
	c := wiretest.Config(fullQueue(t), "http://127.0.0.1:1")
	c.Concurrency, c.Retries = 20, 10
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	b, err := open(c)
	require.NoError(t, err)
	r := wiretest.NewRecorder()
	start := time.Now()
	require.NoError(t, b.Serve(ctx, wiretest.NewQueries(100).End(), r))
	require.Less(t, time.Since(start), wiretest.Patience/2, "before any other limit ends them")
	r.ExactlyOnce(t, 100)
	for _, res := range r.Results {
		require.Equal(t, backends.FailCancelled, res.Reason)
	}
}
