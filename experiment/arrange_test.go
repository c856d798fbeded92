package experiment

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var everyWay = append(Batching([]int{1, 3, 64}, []int{1, 3, 64}), Partitions(2)...)

// Every arrangement sends every sample exactly once, for any number of samples and replicas and any order of the
// answers. No replica has more requests in flight than its window.
func TestEverySampleOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(everyWay).Draw(t, "arrangement")
		if a.Size > 0 {
			a.Size = rapid.IntRange(1, 9).Draw(t, "size")
		}
		replicas := rapid.IntRange(1, 7).Draw(t, "replicas")
		items := make([]item, rapid.SampledFrom([]int{0, 1, 2, a.Size + 1, replicas + 1, 13, 97, 128}).Draw(t, "samples"))
		for i := range items {
			items[i] = item{i, rapid.IntRange(0, 50).Draw(t, "length")}
		}
		placed := map[int]int{}
		f := a.feed(items, replicas, func(index, replica int) { placed[index] = replica })
		var sent, running []int // queries
		indices := []int{}
		for f.Left() > 0 || len(running) > 0 {
			if f.Left() > 0 && f.Ready() && (len(running) == 0 || rapid.Bool().Draw(t, "send")) {
				running = append(running, len(sent))
				index := f.Next()
				sent, indices = append(sent, index), append(indices, index)
				atReplica := map[int]int{}
				for _, seq := range running {
					atReplica[placed[sent[seq]]]++
				}
				if a.Size > 0 {
					require.LessOrEqual(t, atReplica[placed[index]], a.Size)
				}
				continue
			}
			require.NotEmpty(t, running, "neither ready nor waiting for an answer")
			at := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			f.Ended(running[at])
			running = slices.Delete(running, at, at+1)
		}
		slices.Sort(indices)
		want := make([]int, len(items))
		for i := range want {
			want[i] = i
		}
		require.Equal(t, want, indices)
		if slices.Contains(Partitions(a.Size), a) {
			require.Len(t, placed, len(items))
		}
	})
}

func TestDivide(t *testing.T) {
	items := []item{{0, 5}, {1, 1}, {2, 9}, {3, 1}, {4, 1}}
	indices := func(how How) (list [][]int) {
		for _, share := range divide(how, items, 2) {
			var one []int
			for _, it := range share {
				one = append(one, it.index)
			}
			list = append(list, one)
		}
		return list
	}
	require.Equal(t, [][]int{{0, 1}, {2, 3, 4}}, indices(Contiguous))
	require.Equal(t, [][]int{{0, 2, 4}, {1, 3}}, indices(Strided))
	require.Equal(t, [][]int{{2}, {0, 1, 3, 4}}, indices(LongestFirst))
	require.Equal(t, indices(Contiguous), indices(Stealing))
	for _, how := range []How{Contiguous, Strided, LongestFirst, Stealing} {
		require.Equal(t, indices(how), indices(how))
	}
}

// A batch waits for its slowest answer; a window does not.
func TestBatchesWait(t *testing.T) {
	items := []item{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}
	b := Arrangement{Batch, 2}.feed(items, 1, nil)
	require.True(t, b.Ready())
	b.Next()
	require.True(t, b.Ready())
	b.Next()
	b.Ended(1)
	require.False(t, b.Ready(), "the first of the batch has not ended")
	b.Ended(0)
	require.True(t, b.Ready())
	w := Arrangement{Window, 2}.feed(items, 1, nil)
	w.Next()
	w.Next()
	require.False(t, w.Ready())
	w.Ended(1)
	require.True(t, w.Ready())
}

// A replica that is done takes items from the one with the most left.
func TestStealing(t *testing.T) {
	items := make([]item, 9)
	for i := range items {
		items[i].index = i
	}
	var at []int
	f := Arrangement{Stealing, 1}.feed(items, 3, func(_, replica int) { at = append(at, replica) })
	var order []int
	next := func() {
		require.True(t, f.Ready())
		order = append(order, f.Next())
	}
	next()
	next()
	next()
	for seq := 2; len(order) < 6; seq++ { // only replica 2 answers: queries 2, 3, 4
		f.Ended(seq)
		next()
	}
	require.Equal(t, []int{0, 3, 6, 7, 8, 2}, order)
	require.Equal(t, []int{0, 1, 2, 2, 2, 2}, at)
}
