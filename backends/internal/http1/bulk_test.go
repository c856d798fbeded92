package http1_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// bulk is a source of queries that all come at once, and a sink that waits for Flush.
type bulk struct {
	wiretest.Quiet
	fd, issued, taken, held, ended, good int
	ahead, together                      int // most queries that were taken and not ended; most reports in a flush
	refuses                              bool
}

func (b *bulk) Pop(dst []loadgen.Query) int {
	n := min(len(dst), b.issued-b.taken)
	for i := range n {
		dst[i] = query{ID: loadgen.ResponseID(b.taken + 1), Seq: b.taken}
		b.taken++
	}
	b.ahead = max(b.ahead, b.taken-b.ended-b.held)
	return n
}

func (b *bulk) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := b.Pop(dst)
	return n, n > 0
}

func (b *bulk) Park() bool { return false }
func (b *bulk) Unpark()    {}
func (b *bulk) FD() int    { return b.fd }

func (b *bulk) StartBulk() bool { return !b.refuses }

func (b *bulk) Complete(_ query, o *backends.Outcome) {
	if o.Reason == backends.OK {
		b.good++
	}
	if b.held++; b.refuses {
		b.Flush()
	}
}

func (b *bulk) Flush() {
	b.together = max(b.together, b.held)
	b.held, b.ended = 0, b.ended+b.held
}

// TestBulk: a client of a bulk accepts few more queries than it may send, and reports all of them, a few at a time. It
// accepts all queries at once if their times count, or if a strategy binds them to endpoints.
func TestBulk(t *testing.T) {
	const n, limit = 6000, 64
	url := wiretest.Canned(t, 0, wiretest.Whole(200, "application/json", wiretest.Good))
	for name, c := range map[string]struct {
		refuses bool
		balance string
		ahead   int
	}{
		"bulk":  {false, "", limit + 1<<10},
		"times": {true, "", n},
		"bound": {false, "hash", n},
	} {
		t.Run(name, func(t *testing.T) {
			fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
			require.NoError(t, err)
			defer unix.Close(fd)
			config := fixed(url, false, 100)
			config.Endpoints = append(config.Endpoints, config.Endpoints[0])
			config.Concurrency, config.Balance = limit, c.balance
			config.Key = func(int) uint64 { return 0 }
			b, err := open(config)
			require.NoError(t, err)
			s := &bulk{fd: fd, issued: n, refuses: c.refuses}
			require.NoError(t, b.Serve(context.Background(), s, s))
			require.Equal(t, n, s.good)
			require.Equal(t, n, s.ended)
			require.LessOrEqual(t, s.ahead, c.ahead)
			require.Greater(t, s.ahead, min(c.ahead/2, limit+1<<9))
			require.LessOrEqual(t, s.together, 2*8) // loop.go: popBetween
		})
	}
}

// TestBulkEndsEarly: queries that wait in the source after a test was ended are completed too.
func TestBulkEndsEarly(t *testing.T) {
	url := wiretest.Canned(t, 0, wiretest.Whole(200, "application/json", wiretest.Good))
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	config := fixed(url, false, 100)
	config.Concurrency = 4
	b, err := open(config)
	require.NoError(t, err)
	s := &bulk{fd: fd, issued: 20_000}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, b.Serve(ctx, s, s))
	require.Equal(t, s.issued, s.ended)
}
