package compliance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLengths(t *testing.T) {
	l := lengths{}
	for _, n := range []int{5, 9, 2, 7} {
		l.take(n)
	}
	require.EqualValues(t, 2, l.low)
	require.EqualValues(t, 9, l.high)
	require.InDelta(t, 5.75, l.mean(), 1e-12)
}

// Long sums are split in halves of whole lanes, until a part is short.
func TestPairwiseOfManyValues(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 1000, 1003, 5000} {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1
		}
		require.InDelta(t, float64(n), float64(pairwise(v)), 0, "%d values", n)
	}
}
