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

// While an endpoint is excluded only its own keys move, and they return with it.
func TestHashMovesOnlyKeysOfTheExcluded(t *testing.T) {
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

// A query with an assigned endpoint waits for it, and goes to another one only while that is excluded.
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

// A limited endpoint never has more in flight than its limit. Queries go only to endpoints with room, and find any
// room.
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

// A pick without room is not counted, and Take is as strict as Pick.
func TestPickCountsOnlyPicksWithRoom(t *testing.T) {
	for _, limit := range []int{-1, 0} {
		b := newBalancer(t, Options{Endpoints: 1, PerEndpoint: limit})
		for range 1000 {
			_, room := b.Pick(0)
			require.True(t, room, "%d is no limit", limit)
		}
	}
	b := newBalancer(t, Options{Strategy: "hash", Endpoints: 1, PerEndpoint: 2})
	require.True(t, b.Take(0))
	_, room := b.Pick(0)
	require.True(t, room)
	for range 3 {
		_, room = b.Pick(0)
		require.False(t, room)
		require.False(t, b.Take(0))
	}
	b.Done(0)
	require.True(t, b.Take(0), "what had no room was not counted")
	b.Done(0)
	b.out[0] = true
	require.False(t, b.Take(0), "excluded")
}

// Round-robin continues after the chosen endpoint, and skips full and excluded ones.
func TestRoundRobinSkipsFullEndpoints(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "round-robin", Endpoints: 4, PerEndpoint: 2})
	b.out[1] = true
	var order []int
	for range 7 {
		e, _ := b.Pick(0)
		order = append(order, e)
	}
	require.Equal(t, []int{0, 2, 3, 0, 2, 3, Nowhere}, order)
	b.Done(2)
	e, room := b.Pick(0)
	require.True(t, room)
	require.Equal(t, 2, e)
}

// Among equals, the least busy endpoints take turns.
func TestLeastInflightTakesTurns(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "least-inflight", Endpoints: 3, PerEndpoint: 2})
	var order []int
	for range 7 {
		e, _ := b.Pick(0)
		order = append(order, e)
	}
	require.Equal(t, []int{0, 1, 2, 0, 1, 2, Nowhere}, order)
	b.Done(2)
	b.Done(1)
	b.Done(1)
	e, _ := b.Pick(0)
	require.Equal(t, 1, e, "none in flight is fewer than one")
	b.out[1] = true
	e, _ = b.Pick(0)
	require.Equal(t, 2, e, "an excluded endpoint is not picked, however idle")
}

// Random picks are spread evenly over the usable endpoints, even if most are excluded or full.
func TestRandomSpreadsOverTheUsable(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "random", Endpoints: 6, PerEndpoint: 1})
	b.out[0], b.out[3] = true, true
	require.True(t, b.Take(5))
	count := make([]int, 6)
	for range 6000 {
		e, room := b.Pick(0)
		require.True(t, room)
		count[e]++
		b.Done(e)
	}
	for _, e := range []int{1, 2, 4} {
		require.InDelta(t, 2000, count[e], 300, "%v", count)
	}
	require.Equal(t, 6000, count[1]+count[2]+count[4])
	for range 3 {
		_, room := b.Pick(0)
		require.True(t, room)
	}
	e, room := b.Pick(0)
	require.False(t, room)
	require.Equal(t, Nowhere, e)
}

// A key has the same endpoint in every version, so that runs can be compared.
func TestHashIsFixed(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "hash", Endpoints: 8})
	var where []int
	for key := range uint64(16) {
		e, _ := b.Pick(key)
		where = append(where, e)
	}
	require.Equal(t, []int{2, 1, 0, 5, 0, 3, 5, 4, 6, 4, 2, 6, 0, 2, 3, 5}, where)
}

// An assigned key beyond the endpoints counts from the first again.
func TestAssignedWraps(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "assigned", Endpoints: 3})
	for key := range uint64(9) {
		e, room := b.Pick(key)
		require.True(t, room)
		require.EqualValues(t, key%3, e)
	}
}

// Random picks reach every usable endpoint, however many are not.
func TestRandomReachesEveryUsable(t *testing.T) {
	for outs := range 6 {
		b := newBalancer(t, Options{Strategy: "random", Endpoints: 6})
		for e := range outs {
			b.out[e] = true
		}
		seen := map[int]bool{}
		for range 600 {
			e, room := b.Pick(0)
			require.True(t, room)
			require.GreaterOrEqual(t, e, outs)
			seen[e] = true
		}
		require.Len(t, seen, 6-outs)
	}
}

// Only strategies by key bind a query to an endpoint, and only where there are several.
func TestBinds(t *testing.T) {
	for _, name := range append(Names(), "") {
		for n := 1; n <= 3; n++ {
			b := newBalancer(t, Options{Strategy: name, Endpoints: n})
			require.Equal(t, n > 1 && (name == "hash" || name == "assigned"), b.Binds(), "%s %d", name, n)
		}
	}
}

// An excluded endpoint is idle, and yet the least busy of the others is picked, not the next one.
func TestLeastInflightBesideAnExcludedOne(t *testing.T) {
	b := newBalancer(t, Options{Strategy: "least-inflight", Endpoints: 4})
	for _, e := range []int{1, 1, 2, 3, 3} {
		require.True(t, b.Take(e))
	}
	b.out[0] = true
	e, room := b.Pick(0)
	require.True(t, room)
	require.Equal(t, 2, e)
}
