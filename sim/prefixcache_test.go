package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// upTo returns the ids from one number up to another.
func upTo(from, to int32) (ids []int32) {
	for id := from; id < to; id++ {
		ids = append(ids, id)
	}
	return ids
}

func TestPrefixCache(t *testing.T) {
	c := newPrefixCache(1 << 20)
	take := func(want int, prompt []int32, why string) {
		t.Helper()
		require.Equal(t, want, c.take(prompt), why)
	}
	take(0, upTo(0, 40), "the first prompt")
	take(32, upTo(0, 40), "whole blocks only")
	take(32, upTo(0, 33), "both blocks")
	take(16, upTo(0, 32), "never the last token")
	take(0, upTo(0, 16), "never the last token")
	take(32, append(upTo(0, 32), 7, 8, 9), "another end")
	take(16, append(upTo(0, 31), upTo(99, 150)...), "the second block differs")
	take(0, upTo(16, 40), "a block counts only behind the same tokens")
	take(0, append([]int32{5}, upTo(0, 40)...), "nor moved by one")
	take(0, nil, "nothing")
	c.empty()
	take(0, upTo(0, 40), "emptied")
	small := newPrefixCache(4 * prefixBlock)
	require.Equal(t, []int{0, 32, 0, 0}, []int{small.take(upTo(0, 40)), small.take(upTo(0, 33)),
		small.take(upTo(100, 140)), small.take(upTo(0, 40))}, "a full cache is emptied")
	var none *prefixCache
	require.Equal(t, -1, none.take(upTo(0, 40)))
	none.empty()
}
