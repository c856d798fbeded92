package nethttp

import (
	"errors"
	"io"
	"net"
	"sync"

	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// guard is a connection of HTTP/1.1 above its encryption. net/http reads bytes that came before a request as the
// beginning of its answer. The guard counts such bytes and hides them: the connection ends with the previous answer.
type guard struct {
	net.Conn
	counters *policy.Counters

	mu       sync.Mutex // Read and Write are called by different goroutines
	follower http1.Follower
	asked    bool // whether a request has begun and its answer has not ended
	over     bool // whether no more bytes are read
	blind    bool // whether the server does not send HTTP/1.1, so that the end of the answer is unknown
}

func newGuard(c net.Conn, counters *policy.Counters) *guard {
	return &guard{Conn: c, counters: counters}
}

var errNotUsable = errors.New("the connection is not used again: the server sent bytes on it without a request")

// Write begins a request unless one is in flight.
func (g *guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	if g.over || g.blind {
		g.mu.Unlock()
		return 0, errNotUsable
	}
	if !g.asked {
		g.asked = true
		g.follower.Begin()
	}
	g.mu.Unlock()
	return g.Conn.Write(p)
}

// Read returns only bytes that belong to answers.
func (g *guard) Read(p []byte) (int, error) {
	if g.ended() {
		return 0, io.EOF
	}
	n, err := g.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	own := 0
	switch {
	case g.blind:
		own = n
	case g.asked:
		var ended, ok bool
		own, ended, ok = g.follower.Next(p[:n])
		g.asked, g.blind = !ended, !ok
	}
	if own == n {
		return n, err
	}
	g.over = true
	g.counters.Unexpected(p[own:n])
	if own == 0 {
		return 0, io.EOF
	}
	return own, nil
}

func (g *guard) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}
