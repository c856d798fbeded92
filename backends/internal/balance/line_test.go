package balance

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The queue behaves like a slice, over several blocks.
func TestQueueIsFirstInFirstOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var want []int
		next := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			n := rapid.IntRange(0, 2*blockLen+1).Draw(t, "elements")
			switch step := rapid.SampledFrom([]string{"push", "pop", "unpush"}).Draw(t, "step"); step {
			case "push":
				for range n {
					q.Push(next)
					want = append(want, next)
					next++
				}
			case "unpush":
				for range n % 5 {
					q.Unpush(next)
					want = slices.Insert(want, 0, next)
					next++
				}
			default:
				for range min(n, q.Len()) {
					require.Equal(t, want[0], q.Pop())
					want = want[1:]
				}
			}
			require.Equal(t, len(want), q.Len())
		}
		for _, w := range want {
			require.Equal(t, w, q.Pop())
		}
	})
}

// A queue that has grown once does not allocate again.
func TestQueueKeepsItsBlocks(t *testing.T) {
	var q Queue[int]
	use := func() {
		for i := range 10 * blockLen {
			q.Push(i)
		}
		for range 10 * blockLen {
			q.Pop()
		}
	}
	use()
	require.Zero(t, testing.AllocsPerRun(10, use))
}

// Every query leaves the line once, for every strategy, limit and order of ends. If the endpoint of a key is full,
// queries of other keys go ahead.
func TestEveryQueryLeavesTheLineOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 2, 3, 7, 31, 64, 65}).Draw(t, "queries")
		endpoints := rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(t, "endpoints")
		b := New(Options{Strategy: rapid.SampledFrom(Names()).Draw(t, "strategy"), Endpoints: endpoints,
			PerEndpoint: rapid.IntRange(0, 2).Draw(t, "limit")})
		l := NewLine(b, func(i int) uint64 { return uint64(i) })
		seen, held := map[int]int{}, []int{}
		for pushed := 0; len(seen) < n || len(held) > 0; {
			if pushed < n && rapid.Bool().Draw(t, "push") {
				l.Push(pushed)
				pushed++
			}
			q, e, ok := l.Next()
			switch {
			case ok && rapid.IntRange(0, 9).Draw(t, "put back") == 0:
				b.Done(e)
				l.Unpush(q)
			case ok:
				seen[q]++
				held = append(held, e)
			case len(held) > 0:
				i := rapid.IntRange(0, len(held)-1).Draw(t, "ends")
				b.Done(held[i])
				held = append(held[:i], held[i+1:]...)
			default:
				require.Zero(t, l.Len(), "nothing is in flight, so everything has room")
			}
		}
		require.Len(t, seen, n)
		for _, times := range seen {
			require.Equal(t, 1, times)
		}
	})
}

func TestABoundQueryDoesNotDelayOthers(t *testing.T) {
	b := New(Options{Strategy: "hash", Endpoints: 2, PerEndpoint: 1})
	keys := map[int]uint64{} // by endpoint
	for key := uint64(0); len(keys) < 2; key++ {
		e, _ := b.hash(key)
		keys[e] = key
	}
	l := NewLine(b, func(key uint64) uint64 { return key })
	for range 3 {
		l.Push(keys[0])
	}
	l.Push(keys[1])
	_, e, ok := l.Next()
	require.True(t, ok)
	require.Equal(t, 0, e)
	_, e, ok = l.Next()
	require.True(t, ok, "the queries for endpoint 0 wait beside the line")
	require.Equal(t, 1, e)
	_, _, ok = l.Next()
	require.False(t, ok)
	require.Equal(t, 2, l.Len())
	b.Done(0)
	_, e, ok = l.Next()
	require.True(t, ok)
	require.Equal(t, 0, e)
	_, ok = l.Give()
	require.True(t, ok, "what is bound is given too")
	_, ok = l.Give()
	require.False(t, ok)
}

// Len counts the queries in the line and the bound ones. A bound query precedes the line once its endpoint has room.
func TestBoundQueriesAreCountedAndGoFirst(t *testing.T) {
	b := New(Options{Strategy: "assigned", Endpoints: 2, PerEndpoint: 1})
	l := NewLine(b, func(key uint64) uint64 { return key % 10 })
	next := func(want uint64, endpoint int) {
		t.Helper()
		q, e, ok := l.Next()
		require.True(t, ok)
		require.Equal(t, want, q)
		require.Equal(t, endpoint, e)
	}
	for _, q := range []uint64{10, 20, 30, 11} {
		l.Push(q)
	}
	require.Equal(t, 4, l.Len())
	next(10, 0)
	next(11, 1)
	require.Equal(t, 2, l.Len())
	l.Push(21)
	b.Done(1)
	next(21, 1)
	require.Equal(t, 2, l.Len(), "bound to the endpoint that has no room")
	l.Push(31)
	b.Done(0)
	b.Done(1)
	next(20, 0)
	next(31, 1)
	require.Equal(t, 1, l.Len())
	_, ok := l.Give()
	require.True(t, ok)
	require.Zero(t, l.Len())
	b.Done(0)
	_, e, ok := l.Next()
	require.False(t, ok)
	require.Equal(t, Nowhere, e)
}

// Bound queries keep their place before the line until their endpoint is excluded.
func TestStrikesKeepTheOrder(t *testing.T) {
	b := New(Options{Strategy: "assigned", Endpoints: 2, PerEndpoint: 1, Health: Health{
		Try: func(context.Context, int) error { return errors.New("refused") }, Patience: long,
	}})
	defer b.Close()
	l := NewLine(b, func(key uint64) uint64 { return key % 10 })
	for _, q := range []uint64{10, 20, 30} {
		l.Push(q)
	}
	_, _, ok := l.Next()
	require.True(t, ok)
	_, _, ok = l.Next()
	require.False(t, ok, "the others are bound to the busy endpoint")
	l.Push(40)
	l.Strike(0)
	l.Strike(0)
	b.Done(0)
	q, _, ok := l.Next()
	require.True(t, ok)
	require.EqualValues(t, 20, q)
}
