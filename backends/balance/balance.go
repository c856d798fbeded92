package balance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Balancer chooses endpoints.
type Balancer interface {
	// Pick gives the endpoint for a sample; each Pick is followed by one Done.
	Pick(sample int) int
	Done(endpoint int)
}

var makers = map[string]func(n int) Balancer{
	"round-robin":    func(n int) Balancer { return &roundRobin{n: uint64(n)} },
	"random":         func(n int) Balancer { return random(n) },
	"least-inflight": func(n int) Balancer { return &leastInflight{inflight: make([]int, n)} },
	"hash":           func(n int) Balancer { return hash(n) },
}

// Names lists the balancers in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(makers))
	for name := range makers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New makes the balancer of that name for n endpoints; the empty name is round-robin.
func New(name string, n int) (Balancer, error) {
	if n < 1 {
		return nil, fmt.Errorf("a balancer needs at least one endpoint, got %d", n)
	}
	if name == "" {
		name = "round-robin"
	}
	maker, ok := makers[name]
	if !ok {
		return nil, fmt.Errorf("load balancing %q is not known: choose one of %s", name, strings.Join(Names(), ", "))
	}
	return maker(n), nil
}

type roundRobin struct {
	n    uint64
	next atomic.Uint64
}

func (b *roundRobin) Pick(int) int { return int((b.next.Add(1) - 1) % b.n) }
func (b *roundRobin) Done(int)     {}

type random int

func (b random) Pick(int) int { return rand.IntN(int(b)) }
func (b random) Done(int)     {}

// hash sends the same sample to the same endpoint always. The multiplier spreads neighbouring indices
// (2^64 divided by the golden ratio).
type hash int

func (b hash) Pick(sample int) int {
	return int((uint64(sample) * 0x9E3779B97F4A7C15 >> 32) % uint64(b))
}
func (b hash) Done(int) {}

// leastInflight picks the endpoint with the fewest requests in flight; ties go round.
type leastInflight struct {
	mu       sync.Mutex
	inflight []int
	turn     int
}

func (b *leastInflight) Pick(int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.inflight)
	best := b.turn
	for i := 1; i < n; i++ {
		if k := (b.turn + i) % n; b.inflight[k] < b.inflight[best] {
			best = k
		}
	}
	b.inflight[best]++
	b.turn = (best + 1) % n
	return best
}

func (b *leastInflight) Done(endpoint int) {
	b.mu.Lock()
	b.inflight[endpoint]--
	b.mu.Unlock()
}
