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

// TestSortKeys compares sorting by digits with sorting by comparison, for lists of any length, sign and range.
func TestSortKeys(t *testing.T) {
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
		require.True(rt, slices.Equal(want, sortedBy(got, keyOf, valueOf)))
	})
	same := slices.Repeat([]float64{0.25}, 2*radixFrom)
	require.Equal(t, same, sortedBy(same, keyOf, valueOf))
}

// TestSortDurations does the same for durations in ns of every magnitude.
func TestSortDurations(t *testing.T) {
	for bits := range 64 {
		r := rand.New(rand.NewPCG(uint64(bits), 1))
		values := make([]int64, radixFrom)
		for i := range values {
			values[i] = int64(r.Uint64() >> bits)
			if bits > 0 && r.IntN(4) == 0 {
				values[i] = -values[i]
			}
		}
		want := make([]float64, len(values))
		for i, v := range values {
			want[i] = float64(v) / 1e9
		}
		slices.Sort(want)
		require.Equal(t, want, sortedBy(values, keyOfNS, secondsOfNS), "values of %d bits", 64-bits)
	}
}

// TestRanked compares the keys at some indices with those of the sorted list, for lists that are wide, narrow, equal,
// or equal except for one key.
func TestRanked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := make([]uint64, rapid.SampledFrom([]int{1, 2, radixFrom - 1, radixFrom, 3 * radixFrom}).Draw(rt, "length"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		bits, base := rapid.IntRange(0, 64).Draw(rt, "bits"), r.Uint64()
		for i := range keys {
			keys[i] = base ^ r.Uint64()>>bits
		}
		if rapid.Bool().Draw(rt, "outlier") {
			keys[r.IntN(len(keys))] = r.Uint64()
		}
		want := slices.Sorted(slices.Values(keys))
		indices := rapid.SliceOf(rapid.IntRange(0, len(keys)-1)).Draw(rt, "indices")
		counts := make([]int32, 1<<rankBits)
		for i, key := range ranked(keys, make([]uint64, len(keys)), counts, indices) {
			require.Equal(rt, want[indices[i]], key, "at index %d", indices[i])
		}
	})
}

func sortedBy[T any](values []T, keyOf func(T) uint64, valueOf func(uint64) float64) []float64 {
	keys, out := make([]uint64, len(values)), make([]float64, len(values))
	for i, v := range values {
		keys[i] = keyOf(v)
	}
	keys, _ = sortKeys(keys, make([]uint64, len(keys)))
	for i, k := range keys {
		out[i] = valueOf(k)
	}
	return out
}

// BenchmarkSort compares both ways of sorting for radixFrom keys and for a million keys: durations in ns and quotients
// of durations.
func BenchmarkSort(b *testing.B) {
	for _, n := range []int{radixFrom, 1 << 20} {
		ns, quotients := make([]uint64, n), make([]uint64, n)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range ns {
			ns[i] = keyOfNS(int64(r.ExpFloat64() * 1e9))
			quotients[i] = keyOf(r.ExpFloat64())
		}
		compared := func(keys, other []uint64) ([]uint64, []uint64) { slices.Sort(keys); return keys, other }
		for name, with := range map[string]struct {
			keys []uint64
			sort func(keys, other []uint64) ([]uint64, []uint64)
		}{
			"ns": {ns, sortKeys}, "quotients": {quotients, sortKeys}, "compared": {ns, compared},
		} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				list, other := make([]uint64, n), make([]uint64, n)
				for b.Loop() {
					copy(list, with.keys)
					list, other = with.sort(list, other)
				}
			})
		}
	}
}
