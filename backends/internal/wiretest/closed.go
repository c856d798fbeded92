package wiretest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

// Closed is a source of n queries of which at most window are outstanding, and the sink that completes them, all on one
// thread. It can be slept on as LoadGen's rings can, and allocates nothing.
type Closed struct {
	N, Window           int
	Issued, Done        int
	Failures, FirstSeen int
	Gaps                int
	fd                  int
}

// NewClosed makes one.
func NewClosed(t testing.TB, n, window int) *Closed {
	s, stop, err := OpenClosed(n, window)
	require.NoError(t, err)
	t.Cleanup(stop)
	return s
}

// OpenClosed makes one outside a test.
func OpenClosed(n, window int) (s *Closed, stop func(), err error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &Closed{N: n, Window: window, fd: fd}, func() { _ = unix.Close(fd) }, err
}

// Pop is loadgen.Source's.
func (s *Closed) Pop(dst []loadgen.Query) int {
	n := min(len(dst), s.Window-(s.Issued-s.Done), s.N-s.Issued)
	for i := range n {
		dst[i] = loadgen.Query{ID: loadgen.ResponseID(s.Issued + 1), Index: s.Issued, Seq: s.Issued}
		s.Issued++
	}
	return n
}

// Wait is loadgen.Source's.
func (s *Closed) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	n := s.Pop(dst)
	return n, n > 0 || s.Issued < s.N
}

// Park is true while all that may be outstanding is.
func (s *Closed) Park() bool { return s.Issued < s.N && s.Issued-s.Done == s.Window }

// Unpark has nothing to take back.
func (s *Closed) Unpark() {}

// FD never becomes readable: the loop that completes queries is the one that sleeps.
func (s *Closed) FD() int { return s.fd }

// FirstToken is backends.Sink's.
func (s *Closed) FirstToken(loadgen.Query, []int32, int64) { s.FirstSeen++ }

// TokenGap is backends.Sink's.
func (s *Closed) TokenGap(int64, int) { s.Gaps++ }

// Failed is backends.Sink's.
func (s *Closed) Failed(backends.Attempt) {}

// Complete is backends.Sink's.
func (s *Closed) Complete(_ loadgen.Query, o *backends.Outcome) {
	s.Done++
	if o.Reason != backends.OK {
		s.Failures++
	}
}
