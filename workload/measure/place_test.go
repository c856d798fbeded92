package measure

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every position that a percentile reads has the value of the sorted list, whatever the values look like.
func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func(i, n int) float64{
		"random":     func(int, int) float64 { return r.Float64() },
		"skewed":     func(int, int) float64 { return r.ExpFloat64() * r.ExpFloat64() },
		"equal":      func(int, int) float64 { return 1 },
		"few values": func(int, int) float64 { return float64(r.IntN(3)) },
		"ascending":  func(i, _ int) float64 { return float64(i) },
		"descending": func(i, n int) float64 { return float64(n - i) },
		"organ pipe": func(i, n int) float64 { return float64(min(i, n-i)) },
		"negative":   func(int, int) float64 { return r.NormFloat64() },
	}
	for name, value := range shapes {
		for _, n := range []int{1, 2, 3, 31, 32, 33, 100, 1000, 50_000} {
			list := make([]float64, n)
			for i := range list {
				list[i] = value(i, n)
			}
			sorted := slices.Sorted(slices.Values(list))
			for _, by := range []rule{nearest, linear, cumulative} {
				own := slices.Clone(list)
				place(own, wanted(n, by))
				for _, p := range Percents {
					require.Equal(t, pick(sorted, p/100, by), pick(own, p/100, by), "%s, %d values, p%g", name, n, p)
				}
				slices.Sort(own)
				require.Equal(t, sorted, own, "%s: values were lost", name)
			}
		}
	}
}

// The depth of the divisions is limited, so that no values take long.
func TestPlaceSortsWhatItCannotDivide(t *testing.T) {
	list := rand.New(rand.NewPCG(1, 2)).Perm(1000)
	values := make([]float64, len(list))
	for i, x := range list {
		values[i] = float64(x)
	}
	placeFrom(values, 0, []int{500}, 0)
	require.True(t, slices.IsSorted(values))
}
