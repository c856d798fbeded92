package wiretest

import (
	"sync"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Queries is a loadgen.Source in memory. It is safe for concurrent use.
type Queries struct {
	mu     sync.Mutex
	wake   *sync.Cond
	ready  []loadgen.Query
	issued int
	ended  bool
}

// NewQueries returns a source with n queries.
func NewQueries(n int) *Queries {
	s := &Queries{}
	s.wake = sync.NewCond(&s.mu)
	s.Issue(n)
	return s
}

// Issue adds n queries, whose indices and sequence numbers follow the previous ones.
func (s *Queries) Issue(n int) *Queries {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.ready = append(s.ready, loadgen.Query{ID: loadgen.ResponseID(s.issued + 1), Index: s.issued, Seq: s.issued,
			IssuedNS: time.Now().UnixNano()})
		s.issued++
	}
	s.wake.Broadcast()
	return s
}

// End ends the source after the queries that it has.
func (s *Queries) End() *Queries {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake.Broadcast()
	return s
}

func (s *Queries) take(dst []loadgen.Query) int {
	n := copy(dst, s.ready)
	s.ready = s.ready[n:]
	return n
}

// Pop implements loadgen.Source.
func (s *Queries) Pop(dst []loadgen.Query) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(dst)
}

// Wait implements loadgen.Source, but ignores the timeout.
func (s *Queries) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) == 0 && !s.ended {
		s.wake.Wait()
	}
	n := s.take(dst)
	return n, n > 0 || !s.ended
}
