package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSortSeconds compares both ways of sorting, for lists of any length, sign and spread.
func TestSortSeconds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.Float64().Filter(func(v float64) bool { return !math.IsNaN(v) })
		few := rapid.SliceOfN(number, 1, 50).Draw(rt, "values")
		few = append(few, 0, 1e-9, -1e-9, math.Inf(1), math.Inf(-1))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		got := make([]float64, rapid.SampledFrom([]int{0, 1, 2, radixFrom - 1, radixFrom, 3 * radixFrom}).Draw(rt, "length"))
		for i := range got {
			got[i] = few[r.IntN(len(few))]
			if r.IntN(2) == 0 {
				got[i] = r.NormFloat64()
			}
		}
		want := slices.Clone(got)
		slices.Sort(want)
		sortSeconds(got)
		require.True(rt, slices.Equal(want, got))
	})
	same := slices.Repeat([]float64{0.25}, 2*radixFrom)
	sortSeconds(same)
	require.Equal(t, slices.Repeat([]float64{0.25}, 2*radixFrom), same)
}

// BenchmarkSort compares both ways at the length from which digits are used, and at a million.
func BenchmarkSort(b *testing.B) {
	for _, n := range []int{radixFrom, 1 << 20} {
		values := make([]float64, n)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range values {
			values[i] = seconds(int64(r.ExpFloat64() * 1e9))
		}
		for name, sort := range map[string]func([]float64){"digits": sortSeconds, "compared": slices.Sort[[]float64]} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				list := make([]float64, n)
				for b.Loop() {
					copy(list, values)
					sort(list)
				}
			})
		}
	}
}
