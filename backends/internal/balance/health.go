package balance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// strikesOut is the number of consecutive failed attempts that excludes an endpoint.
const strikesOut = 3

// Pauses between attempts to connect to an excluded endpoint. Each is twice the one before.
const (
	firstTry = 100 * time.Millisecond
	lastTry  = 2 * time.Second
)

// Health is how failing endpoints are excluded and included again.
type Health struct {
	// Try connects to an endpoint and closes the connection; nil: no endpoint is ever excluded.
	Try func(ctx context.Context, endpoint int) error
	// Wake is called by another goroutine when Heard may report news.
	Wake func()
	// Out is called when an endpoint is excluded; nil: not called.
	Out func(endpoint int)
	// Patience is how long queries wait while all endpoints are excluded.
	Patience time.Duration
}

// health is the part of a balancer that excludes endpoints.
type health struct {
	Health
	out     []bool
	strikes []int // failed attempts in a row
	missing int   // excluded endpoints
	row     []int // how often each was excluded since its last answer

	hopeless bool
	returns  context.CancelFunc // stops expire when an endpoint returns
	ctx      context.Context
	cancel   context.CancelFunc
	trying   sync.WaitGroup
	news     atomic.Bool
	returned []atomic.Bool
	expired  atomic.Bool
}

func (h *health) init(n int, o Health) {
	h.Health = o
	h.out, h.returned = make([]bool, n), make([]atomic.Bool, n)
	h.strikes, h.row = make([]int, n), make([]int, n)
	h.ctx, h.cancel = context.WithCancel(context.Background())
}

// Well notes that an endpoint has answered an attempt.
func (h *health) Well(endpoint int) {
	if h.strikes[endpoint] != 0 {
		h.strikes[endpoint], h.row[endpoint] = 0, 0
	}
}

// Strike counts an attempt that could not reach the endpoint, and reports whether that has excluded it.
func (h *health) Strike(endpoint int) bool {
	if h.strikes[endpoint]++; h.Try == nil || h.strikes[endpoint] < strikesOut || h.out[endpoint] {
		return false
	}
	h.out[endpoint] = true
	if h.Health.Out != nil {
		h.Health.Out(endpoint)
	}
	if h.missing++; h.missing == len(h.out) {
		h.expired.Store(false)
		var ctx context.Context
		ctx, h.returns = context.WithCancel(h.ctx)
		h.trying.Add(1)
		go h.expire(ctx)
	}
	first := min(firstTry<<min(h.row[endpoint], 10), lastTry)
	h.row[endpoint]++
	h.trying.Add(1)
	go h.bringBack(endpoint, first)
	return true
}

// expire ends the patience while all endpoints are excluded, unless one returns first.
func (h *health) expire(ctx context.Context) {
	defer crash.Catch()
	defer h.trying.Done()
	select {
	case <-ctx.Done():
	case <-time.After(h.Patience):
		h.expired.Store(true)
		h.tell()
	}
}

// bringBack tries to connect until it succeeds.
func (h *health) bringBack(endpoint int, first time.Duration) {
	defer crash.Catch()
	defer h.trying.Done()
	for pause := first; ; pause = min(2*pause, lastTry) {
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(pause):
		}
		if h.Try(h.ctx, endpoint) == nil {
			h.returned[endpoint].Store(true)
			h.tell()
			return
		}
	}
}

func (h *health) tell() {
	h.news.Store(true)
	if h.Wake != nil {
		h.Wake()
	}
}

// Heard includes endpoints that have returned, notes the end of the patience, and reports whether anything has changed.
func (h *health) Heard() bool {
	if h.missing == 0 || !h.news.Swap(false) {
		return false
	}
	for e := range h.returned {
		if h.returned[e].Swap(false) {
			h.out[e], h.strikes[e] = false, strikesOut-1 // its next attempt decides
			h.missing--
		}
	}
	if h.missing < len(h.out) {
		h.hopeless = false
		if h.returns != nil {
			h.returns()
		}
	} else {
		h.hopeless = h.expired.Load()
	}
	return true
}

// Hopeless reports whether all endpoints have been excluded for longer than queries wait.
func (h *health) Hopeless() bool { return h.hopeless }

// Close stops the attempts to connect and waits for their goroutines.
func (h *health) Close() {
	h.cancel()
	h.trying.Wait()
}
