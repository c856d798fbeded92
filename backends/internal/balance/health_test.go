package balance

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const long = 30 * time.Second // a deadline of tests that poll

// failing returns a line whose endpoints accept connections once up is set.
func failing(t *testing.T, n int, patience time.Duration, up *atomic.Bool, wakes *atomic.Int32,
	outs ...int) *Line[int] {
	b := New(Options{Endpoints: n, Health: Health{
		Try: func(context.Context, int) error {
			if up.Load() {
				return nil
			}
			return errors.New("refused")
		},
		Wake: func() { wakes.Add(1) }, Patience: patience,
		Out: func(e int) { outs[e]++ },
	}})
	t.Cleanup(b.Close)
	return NewLine(b, func(i int) uint64 { return uint64(i) })
}

func TestExclusionAndReturn(t *testing.T) {
	var up atomic.Bool
	var wakes atomic.Int32
	outs := make([]int, 2)
	l := failing(t, 2, long, &up, &wakes, outs...)
	l.Balancer.Strike(0)
	l.Balancer.Strike(0)
	l.Well(0)
	require.False(t, l.Balancer.Strike(0), "an answer between failures forgives them")
	require.False(t, l.Balancer.Strike(0))
	require.True(t, l.Balancer.Strike(0))
	require.False(t, l.Balancer.Strike(0), "it is out already")
	for i := range 10 {
		e, room := l.Pick(uint64(i))
		require.True(t, room)
		require.Equal(t, 1, e)
	}
	require.False(t, l.Heard())
	up.Store(true)
	require.Eventually(t, l.Heard, long, time.Millisecond)
	require.Positive(t, wakes.Load())
	seen := map[int]bool{}
	for i := range 4 {
		e, _ := l.Pick(uint64(i))
		seen[e] = true
	}
	require.Len(t, seen, 2)
	up.Store(false)
	require.True(t, l.Balancer.Strike(0), "the first attempt after its return decides")
	require.Equal(t, []int{2, 0}, outs)
}

func TestAllOutThenBack(t *testing.T) {
	var up atomic.Bool
	var wakes atomic.Int32
	l := failing(t, 2, 50*time.Millisecond, &up, &wakes, 0, 0)
	l.Push(7)
	for range 3 {
		l.Strike(0)
		l.Strike(1)
	}
	_, _, ok := l.Next()
	require.False(t, ok)
	require.Equal(t, 1, l.Len(), "it waits")
	require.Eventually(t, func() bool { l.Heard(); return l.Hopeless() }, long, time.Millisecond)
	up.Store(true)
	require.Eventually(t, func() bool { l.Heard(); return !l.Hopeless() }, long, time.Millisecond)
	q, _, ok := l.Next()
	require.True(t, ok)
	require.Equal(t, 7, q)
}

// Queries that are bound to an endpoint go elsewhere when it is excluded.
func TestBoundQueriesLeaveAnAbsentEndpoint(t *testing.T) {
	b := New(Options{Strategy: "hash", Endpoints: 2, PerEndpoint: 1, Health: Health{
		Try: func(context.Context, int) error { return errors.New("refused") }, Patience: long,
	}})
	defer b.Close()
	l := NewLine(b, func(key uint64) uint64 { return key })
	key := uint64(0)
	home, _ := b.hash(key)
	l.Push(key)
	l.Push(key)
	_, e, ok := l.Next()
	require.True(t, ok)
	require.Equal(t, home, e)
	_, _, ok = l.Next()
	require.False(t, ok)
	for range 3 {
		l.Strike(home)
	}
	b.Done(home)
	_, e, ok = l.Next()
	require.True(t, ok)
	require.Equal(t, 1-home, e)
}

// Patience that ended as an endpoint returned does not count the next time that all are excluded.
func TestLateEndOfPatience(t *testing.T) {
	var up atomic.Bool
	var wakes atomic.Int32
	l := failing(t, 2, long, &up, &wakes, 0, 0)
	l.expired.Store(true)
	l.news.Store(true)
	require.False(t, l.Heard(), "no endpoint is excluded")
	for range 3 {
		l.Strike(0)
		l.Strike(1)
	}
	require.True(t, l.Heard())
	require.False(t, l.Hopeless())
	require.False(t, l.Heard(), "no news")
}
