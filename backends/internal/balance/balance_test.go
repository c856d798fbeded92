package balance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newBalancer(t require.TestingT, o Options) *Balancer {
	require.NoError(t, o.Check())
	return New(o)
}

func TestStrategiesSpread(t *testing.T) {
	for _, name := range append(Names(), "") {
		for _, n := range []int{1, 2, 7} {
			b := newBalancer(t, Options{Strategy: name, Endpoints: n})
			count := make([]int, n)
			for i := range 7000 {
				e, room := b.Pick(uint64(i))
				require.True(t, room)
				count[e]++
				b.Done(e)
			}
			for _, c := range count {
				require.InDelta(t, 7000/n, c, 7000/float64(n)*0.2, "%s over %d: %v", name, n, count)
			}
		}
	}
}

func TestLeastInflightAvoidsTheBusy(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "least-inflight", Endpoints: 3})
	var first []int
	for range 3 {
		e, _ := b.Pick(0)
		first = append(first, e)
	}
	require.ElementsMatch(t, []int{0, 1, 2}, first)
	b.Done(1)
	e, _ := b.Pick(0)
	require.Equal(t, 1, e, "the only idle one")
}

// While an endpoint is out only its own keys move, and they come back with it.
func TestHashMovesOnlyWhatItMust(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "hash", Endpoints: 5})
	where := func() (all [1000]int) {
		for key := range all {
			e, room := b.Pick(uint64(key))
			require.True(t, room)
			all[key] = e
		}
		return all
	}
	before := where()
	require.Equal(t, before, where())
	b.out[2] = true
	moved := where()
	for key, e := range before {
		if e == 2 {
			require.NotEqual(t, 2, moved[key])
		} else {
			require.Equal(t, e, moved[key])
		}
	}
	b.out[2] = false
	require.Equal(t, before, where())
}

// A query whose endpoint was chosen for it waits for that one, and goes to another only while it is excluded.
func TestAssigned(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "assigned", Endpoints: 3, PerEndpoint: 1})
	for _, want := range []struct {
		endpoint int
		room     bool
	}{{2, true}, {2, false}} {
		e, room := b.Pick(2)
		require.Equal(t, want.endpoint, e)
		require.Equal(t, want.room, room)
	}
	b.out[0] = true
	e, _ := b.Pick(0)
	require.NotZero(t, e)
}

// A limited endpoint never has more in flight, nothing is placed where room is not, and room is found where it is.
func TestNeverMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(1, 5).Draw(t, "endpoints"), rapid.IntRange(1, 3).Draw(t, "limit")
		name := rapid.SampledFrom(Names()).Draw(t, "strategy")
		b := newBalancer(t, Options{Strategy: name, Endpoints: n, PerEndpoint: limit})
		for e := range n {
			b.out[e] = rapid.IntRange(0, 3).Draw(t, "out") == 0
		}
		var held []int
		for step := range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "end one") {
				b.Done(held[0])
				held = held[1:]
				continue
			}
			free := 0
			for e := range n {
				if b.usable(e) {
					free++
				}
			}
			e, room := b.Pick(uint64(step))
			if room {
				require.False(t, b.out[e])
				held = append(held, e)
			} else if name != "hash" && name != "assigned" {
				require.Zero(t, free)
			}
			for e := range n {
				require.LessOrEqual(t, b.inflight[e], limit)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	require.EqualError(t, (&Options{Strategy: "fastest", Endpoints: 2}).Check(),
		`load balancing "fastest" is not known: choose one of assigned, hash, least-inflight, random, round-robin`)
	require.EqualError(t, (&Options{Strategy: "random"}).Check(), "a balancer needs at least one endpoint, got 0")
}

func BenchmarkPick(b *testing.B) {
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			x := New(Options{Strategy: name, Endpoints: 8})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e, _ := x.Pick(uint64(i))
				x.Done(e)
			}
		})
	}
}
