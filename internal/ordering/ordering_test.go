package ordering

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortEqualsSlices compares lists with many equal keys with the stable sort of package slices.
func TestSortEqualsSlices(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	random := rand.New(rand.NewPCG(1, 2))
	for length := range 200 {
		list := make([]pair, length)
		for i := range list {
			list[i] = pair{random.IntN(1 + length/3), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		Sort(list, byKey)
		if !slices.Equal(list, want) {
			t.Fatalf("%d entries: %v, want %v", length, list, want)
		}
	}
}
