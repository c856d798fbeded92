package profile

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// gate lets the queries below a number pass, and counts those that have ended.
type gate struct {
	limit   atomic.Int64 // Seq of the first query that waits
	ended   atomic.Int64 // number of queries that have ended
	reached chan struct{}

	mu  sync.Mutex
	fds []int // of the shards' sources
}

// open moves the limit, and wakes the clients that sleep.
func (g *gate) open(limit int64) {
	g.limit.Store(limit)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, fd := range g.fds {
		_, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // EAGAIN: the descriptor is readable already
	}
}

// all is the limit that every query passes.
const all = math.MaxInt64

// await waits until every query below the limit has ended. It returns false if ctx ends first.
func (g *gate) await(ctx context.Context) bool {
	for g.ended.Load() < g.limit.Load() {
		select {
		case <-g.reached:
		case <-ctx.Done():
			return g.ended.Load() >= g.limit.Load()
		}
	}
	return true
}

// gated is a backend behind a gate.
type gated struct {
	backends.Backend
	gate *gate
}

// Serve lets the backend serve the queries that pass the gate.
func (b gated) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	s := &source{Source: src, gate: b.gate}
	if p, ok := src.(parker); ok && p.FD() >= 0 {
		s.parker = p
		b.gate.mu.Lock()
		b.gate.fds = append(b.gate.fds, p.FD())
		b.gate.mu.Unlock()
	}
	return b.Backend.Serve(ctx, s, &counter{sink, b.gate})
}

// counter counts the ends of queries.
type counter struct {
	backends.Sink
	gate *gate
}

// Complete passes the end of a query on, and counts it.
func (c *counter) Complete(q loadgen.Query, o *backends.Outcome) {
	c.Sink.Complete(q, o)
	if o.Reason == backends.FailCancelled { // the test has ended
		return
	}
	if c.gate.ended.Add(1) == c.gate.limit.Load() {
		select {
		case c.gate.reached <- struct{}{}:
		default:
		}
	}
}

// parker is a source that an event loop can sleep on.
type parker interface {
	Park() bool
	Unpark()
	FD() int
}

// source holds the queries that do not pass the gate yet.
type source struct {
	loadgen.Source
	gate   *gate
	parker parker // nil: the source has no descriptor
	held   []loadgen.Query
	own    bool // whether the sleep was the gate's and not the source's
}

// Pop returns queries that pass.
func (s *source) Pop(dst []loadgen.Query) int {
	if len(s.held) > 0 {
		return s.release(dst)
	}
	return s.filter(dst, s.Source.Pop(dst))
}

// release returns held queries that pass now.
func (s *source) release(dst []loadgen.Query) int {
	n, limit := 0, s.gate.limit.Load()
	for n < len(dst) && n < len(s.held) && int64(s.held[n].Seq) < limit {
		dst[n] = s.held[n]
		n++
	}
	s.held = s.held[n:]
	return n
}

// filter holds those of n queries that do not pass.
func (s *source) filter(dst []loadgen.Query, n int) int {
	limit := s.gate.limit.Load()
	for i := range n {
		if int64(dst[i].Seq) >= limit {
			s.held = append([]loadgen.Query(nil), dst[i:n]...)
			return i
		}
	}
	return n
}

// lookEvery is how often a client without a descriptor looks at the gate.
const lookEvery = time.Millisecond

// Wait is Pop that blocks. While queries are held the source has not ended.
func (s *source) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	if len(s.held) == 0 {
		n, open := s.Source.Wait(dst, timeout)
		n = s.filter(dst, n)
		return n, open || len(s.held) > 0
	}
	deadline := time.Now().Add(timeout)
	for {
		n := s.release(dst)
		left := time.Until(deadline)
		if n > 0 || left <= 0 {
			return n, true
		}
		time.Sleep(min(left, lookEvery))
	}
}

// Park announces that the client is about to sleep on FD. open wakes a client whose queries are held.
func (s *source) Park() bool {
	if len(s.held) == 0 {
		return s.parker.Park()
	}
	s.own = int64(s.held[0].Seq) >= s.gate.limit.Load()
	return s.own
}

// Unpark withdraws the announcement.
func (s *source) Unpark() {
	if !s.own {
		s.parker.Unpark()
		return
	}
	s.own = false
	var counter [8]byte
	_, _ = unix.Read(s.parker.FD(), counter[:]) // EAGAIN: the client woke for something else
}

// FD returns the source's descriptor; -1: it has none.
func (s *source) FD() int {
	if s.parker == nil {
		return -1
	}
	return s.parker.FD()
}
