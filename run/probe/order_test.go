package probe

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every sample is used once before one is used again, and a later probe continues where an earlier one ended.
func TestOrderBeginsAgainAtItsEnd(t *testing.T) {
	const samples = 10
	o := NewOrder(7, samples, 0)
	first := append(o.Next(4), o.Next(6)...)
	sorted := slices.Sorted(slices.Values(first))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, sorted)
	require.NotEqual(t, sorted, first, "the order is random")
	require.Equal(t, first, o.Next(samples), "it begins again")
	require.Equal(t, first[4:], NewOrder(7, samples, 14).Next(6), "a position may be beyond the end")
	require.NotEqual(t, first, NewOrder(8, samples, 0).Next(samples), "another seed")
}
