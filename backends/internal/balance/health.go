package balance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// An endpoint is left out after so many failed attempts in a row.
const strikesOut = 3

// Pauses between two tries of a connection to an endpoint that is out; each is twice the one before.
const (
	firstTry = 100 * time.Millisecond
	lastTry  = 2 * time.Second
)

// Health says how endpoints that fail are left out and come back.
type Health struct {
	// Try connects to an endpoint and gives the connection up again; nil: no endpoint is ever left out.
	Try func(ctx context.Context, endpoint int) error
	// Wake is called from another goroutine when Heard may have something new to say.
	Wake func()
	// Out is called when an endpoint is left out; nil: nobody.
	Out func(endpoint int)
	// Patience is how long queries wait once every endpoint is out.
	Patience time.Duration
}

// health is the part of a balancer that knows who is out.
type health struct {
	Health
	out     []bool
	strikes []int // failed attempts in a row
	missing int   // endpoints that are out
	row     []int // how often each was left out since its last answer

	hopeless bool
	returns  context.CancelFunc // ends the wait for the first one to return
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

// Well says that an endpoint has answered an attempt.
func (h *health) Well(endpoint int) {
	if h.strikes[endpoint] != 0 {
		h.strikes[endpoint], h.row[endpoint] = 0, 0
	}
}

// Strike counts an attempt that brought no answer because the endpoint was not there; true: it is out now.
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

// expire ends the patience with endpoints that are all out, unless one returns before.
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

// bringBack tries connections until one comes about.
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

// Heard takes note of endpoints that are back and of patience at its end; false: nothing is new.
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
			h.returns = nil
		}
	} else {
		h.hopeless = h.expired.Load()
	}
	return true
}

// Hopeless says that every endpoint has been out for longer than queries wait.
func (h *health) Hopeless() bool { return h.hopeless }

// Close ends the tries and waits for them.
func (h *health) Close() {
	h.cancel()
	h.trying.Wait()
}
