// HOT PATH: Pick, Done and Well run once a query. No lock, no atomic operation while no endpoint is excluded, no
// allocation.

package balance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Nowhere is the endpoint that Pick returns if none can accept the query now.
const Nowhere = -1

// Options are the settings of a balancer.
type Options struct {
	Strategy    string // one of Names; empty: round-robin
	Endpoints   int
	PerEndpoint int    // requests in flight at one endpoint; 0: no limit
	Health      Health // the zero value: no endpoint is ever excluded
}

// Balancer chooses endpoints for one shard.
type Balancer struct {
	choose   func(b *Balancer, key uint64) (endpoint int, room bool)
	inflight []int
	limit    int // of each endpoint
	turn     int // next endpoint for round-robin and for ties
	binds    bool
	health
}

var strategies = map[string]func(b *Balancer, key uint64) (int, bool){
	"round-robin":    (*Balancer).roundRobin,
	"random":         (*Balancer).random,
	"least-inflight": (*Balancer).leastInflight,
	"hash":           (*Balancer).hash,
	"assigned":       (*Balancer).assigned,
}

// Names returns the strategies in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(strategies)) }

// Check returns an error for invalid options.
func (o *Options) Check() error {
	if o.Endpoints < 1 {
		return fmt.Errorf("a balancer needs at least one endpoint, got %d", o.Endpoints)
	}
	if _, ok := strategies[o.Strategy]; !ok && o.Strategy != "" {
		return fmt.Errorf("load balancing %q is not known: choose one of %s", o.Strategy, strings.Join(Names(), ", "))
	}
	return nil
}

// New returns a balancer. The options must pass Check.
func New(o Options) *Balancer {
	b := &Balancer{choose: strategies[o.Strategy], inflight: make([]int, o.Endpoints), limit: o.PerEndpoint}
	if b.choose == nil {
		b.choose = (*Balancer).roundRobin
	}
	b.binds = o.Endpoints > 1 && (o.Strategy == "hash" || o.Strategy == "assigned")
	if b.limit <= 0 {
		b.limit = int(^uint(0) >> 1)
	}
	b.health.init(o.Endpoints, o.Health)
	return b
}

// Binds reports whether the strategy may choose an endpoint without room although another one has room.
func (b *Balancer) Binds() bool { return b.binds }

// Pick returns the endpoint of a query, and counts it as in flight there until Done. Without room nothing is counted,
// and the query has to wait for that endpoint, or for any endpoint if it is Nowhere.
func (b *Balancer) Pick(key uint64) (endpoint int, room bool) {
	if endpoint, room = b.choose(b, key); room {
		b.inflight[endpoint]++
	}
	return endpoint, room
}

// Take is Pick for a given endpoint.
func (b *Balancer) Take(endpoint int) (room bool) {
	if room = b.usable(endpoint); room {
		b.inflight[endpoint]++
	}
	return room
}

// Done ends a request of an endpoint.
func (b *Balancer) Done(endpoint int) { b.inflight[endpoint]-- }

func (b *Balancer) usable(endpoint int) bool {
	return b.inflight[endpoint] < b.limit && !b.out[endpoint]
}

func (b *Balancer) roundRobin(uint64) (int, bool) { return b.from(b.turn) }

func (b *Balancer) random(uint64) (int, bool) {
	n := len(b.inflight)
	if e := rand.IntN(n); b.usable(e) {
		return e, true
	}
	usable := 0
	for e := range n {
		if b.usable(e) {
			usable++
		}
	}
	if usable == 0 {
		return Nowhere, false
	}
	nth := rand.IntN(usable)
	for e := range n {
		if b.usable(e) {
			if nth == 0 {
				return e, true
			}
			nth--
		}
	}
	return Nowhere, false
}

// from returns the first usable endpoint from first on. The next round begins after it.
func (b *Balancer) from(first int) (int, bool) {
	n := len(b.inflight)
	for e, i := first, 0; i < n; i++ {
		if b.usable(e) {
			if b.turn = e + 1; b.turn == n {
				b.turn = 0
			}
			return e, true
		}
		if e++; e == n {
			e = 0
		}
	}
	return Nowhere, false
}

// leastInflight picks the endpoint with the fewest requests in flight, and round-robin among equals.
func (b *Balancer) leastInflight(uint64) (int, bool) {
	n, best := len(b.inflight), Nowhere
	for e, i := b.turn, 0; i < n; i++ {
		if b.usable(e) && (best < 0 || b.inflight[e] < b.inflight[best]) {
			best = e
		}
		if e++; e == n {
			e = 0
		}
	}
	if best < 0 {
		return Nowhere, false
	}
	return b.from(best)
}

// hash sends equal keys to the same endpoint: the one with the highest weight for the key (rendezvous hashing). While
// an endpoint is excluded, only its own keys go to other endpoints.
func (b *Balancer) hash(key uint64) (int, bool) {
	best, highest := Nowhere, uint64(0)
	for e := range b.inflight {
		if w := mix(key, uint64(e)); !b.out[e] && (best < 0 || w > highest) {
			best, highest = e, w
		}
	}
	return best, best >= 0 && b.inflight[best] < b.limit
}

// assigned sends a query to the endpoint whose number is its key. While that is excluded, hash chooses another.
func (b *Balancer) assigned(key uint64) (int, bool) {
	e := int(key % uint64(len(b.inflight)))
	if b.out[e] {
		return b.hash(key)
	}
	return e, b.inflight[e] < b.limit
}

// mix spreads the bits of a pair over 64 (the finalizer of MurmurHash3 over a multiple of 2^64 / the golden ratio).
func mix(key, endpoint uint64) uint64 {
	x := key + (endpoint+1)*0x9E3779B97F4A7C15
	x = (x ^ x>>33) * 0xFF51AFD7ED558CCD
	x = (x ^ x>>33) * 0xC4CEB9FE1A85EC53
	return x ^ x>>33
}
