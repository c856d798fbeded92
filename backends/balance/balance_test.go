package balance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBalancers(t *testing.T) {
	for _, name := range append(Names(), "") {
		for _, n := range []int{1, 2, 7} {
			b, err := New(name, n)
			require.NoError(t, err)
			count := make([]int, n)
			for i := range 7000 {
				e := b.Pick(i)
				require.Less(t, e, n)
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
	b, err := New("least-inflight", 3)
	require.NoError(t, err)
	first := []int{b.Pick(0), b.Pick(0), b.Pick(0)}
	require.ElementsMatch(t, []int{0, 1, 2}, first)
	b.Done(1)
	require.Equal(t, 1, b.Pick(0), "the only idle one")
}

func TestHashKeepsASampleAtItsEndpoint(t *testing.T) {
	b, err := New("hash", 5)
	require.NoError(t, err)
	for i := range 100 {
		require.Equal(t, b.Pick(i), b.Pick(i))
	}
}

func TestRefusals(t *testing.T) {
	_, err := New("fastest", 2)
	require.EqualError(t, err, `load balancing "fastest" is not known: choose one of hash, least-inflight, random, round-robin`)
	_, err = New("random", 0)
	require.EqualError(t, err, "a balancer needs at least one endpoint, got 0")
}
