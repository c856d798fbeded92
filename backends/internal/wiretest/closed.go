package wiretest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Closed is a source of N queries, of which at most Window are outstanding, and the sink that completes them, all on
// one thread. A client can wait for it as it waits for LoadGen's rings. It allocates nothing.
type Closed struct {
	N, Window           int
	Issued, Done        int
	Failures, FirstSeen int
	Gaps                int
	fd                  int
}

// NewClosed returns a source for a test.
func NewClosed(t testing.TB, n, window int) *Closed {
	s, stop, err := OpenClosed(n, window)
	require.NoError(t, err)
	t.Cleanup(stop)
	return s
}

// OpenClosed returns a source outside of a test, and a function that closes it.
func OpenClosed(n, window int) (s *Closed, stop func(), err error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &Closed{N: n, Window: window, fd: fd}, func() { _ = unix.Close(fd) }, err
}

// Pop implements loadgen.Source.
func (s *Closed) Pop(dst []loadgen.Query) int {
	n := min(len(dst), s.Window-(s.Issued-s.Done), s.N-s.Issued)
	for i := range n {
		dst[i] = loadgen.Query{ID: loadgen.ResponseID(s.Issued + 1), Index: s.Issued, Seq: s.Issued}
		s.Issued++
	}
	return n
}

// Wait implements loadgen.Source.
func (s *Closed) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := s.Pop(dst)
	return n, n > 0 || s.Issued < s.N
}

// Park reports whether the client may sleep, because Window queries are outstanding.
func (s *Closed) Park() bool { return s.Issued < s.N && s.Issued-s.Done == s.Window }

// Unpark does nothing.
func (s *Closed) Unpark() {}

// FD returns a descriptor that never becomes readable, because only the client's own completions issue queries.
func (s *Closed) FD() int { return s.fd }

// FirstToken implements backends.Sink.
func (s *Closed) FirstToken(loadgen.Query, []int32, int64) { s.FirstSeen++ }

// Tokens implements backends.Sink.
func (s *Closed) Tokens(loadgen.Query, int, int64, int64) { s.Gaps++ }

// Failed implements backends.Sink.
func (s *Closed) Failed(backends.Attempt) {}

// Complete implements backends.Sink.
func (s *Closed) Complete(_ loadgen.Query, o *backends.Outcome) {
	s.Done++
	if o.Reason != backends.OK {
		s.Failures++
	}
}
