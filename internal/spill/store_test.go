package spill

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func body(i, size int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), size/8+1)[:size]
}

// TestStoreKeepsWhatIsPut puts and drops byte strings at random and compares the store with a map of copies.
func TestStoreKeepsWhatIsPut(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 20_000).Draw(t, "limit")
		s := New(limit, dir)
		defer func() { require.NoError(t, s.Close()) }()
		type kept struct {
			i, size int
			b       []byte
			block   *Block
		}
		var live []kept
		total := 0
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(live) > 0 && rapid.Bool().Draw(t, "drop") {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				s.Drop(live[at].block)
				live = append(live[:at], live[at+1:]...)
				continue
			}
			size := rapid.IntRange(1, 5000).Draw(t, "size")
			b, block, err := s.Put(body(i, size))
			require.NoError(t, err)
			live = append(live, kept{i, size, b, block})
			total += size
		}
		s.Settle()
		for _, k := range live {
			require.Equal(t, body(k.i, k.size), k.b)
		}
		sizes, err := s.Sizes()
		require.NoError(t, err)
		require.LessOrEqual(t, sizes.Memory, limit)
		require.Equal(t, s.Spilled(), sizes.File > 0)
		require.True(t, s.Spilled() || int64(total) <= 40*limit)
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "the scratch file has no name")
}

func TestStoreWithoutAFolder(t *testing.T) {
	s := New(10, "")
	_, _, err := s.Put(body(1, 100))
	require.ErrorContains(t, err, "no folder for a scratch file was given")
	s = New(10, t.TempDir()+"/none")
	_, _, err = s.Put(body(1, 100))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "name a writable folder, or allow more request memory")
	require.NoError(t, s.Close())
}

// The store's memory is outside Go's heap, is freed when all its byte strings are dropped, and is used again.
func TestMemoryIsNotHeap(t *testing.T) {
	const size, count = 1 << 20, 64
	s := New(size*count, "")
	defer func() { require.NoError(t, s.Close()) }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	one := body(1, size)
	for range 3 {
		var blocks []*Block
		var all [][]byte
		for range count {
			b, block, err := s.Put(one)
			require.NoError(t, err)
			blocks, all = append(blocks, block), append(all, b)
		}
		sizes, err := s.Sizes()
		require.NoError(t, err)
		require.EqualValues(t, size*count, sizes.Memory)
		for _, b := range blocks {
			s.Drop(b)
		}
		sizes, err = s.Sizes()
		require.NoError(t, err)
		require.Zero(t, sizes.Memory)
		require.LessOrEqual(t, len(s.maps), count, "freed blocks of the same size are used again")
		require.NotPanics(t, func() { _ = all[0][0] }, "a late reader")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*size))
	require.False(t, s.Spilled())
}

func TestKeepAndTheSizeOfTheFile(t *testing.T) {
	s := New(0, t.TempDir())
	defer func() { require.NoError(t, s.Close()) }()
	require.False(t, s.Spilled())
	require.Zero(t, s.ScratchBytes())
	one := body(1, 3<<20)
	kept, free, err := s.Keep(one)
	require.NoError(t, err)
	require.Equal(t, one, kept)
	require.True(t, s.Spilled())
	sizes, err := s.Sizes()
	require.NoError(t, err)
	require.Equal(t, sizes.File, s.ScratchBytes())
	require.GreaterOrEqual(t, sizes.Disk, int64(len(one)))
	require.LessOrEqual(t, sizes.Disk, 2*sizes.File)
	free()
	require.Equal(t, sizes.File, s.ScratchBytes(), "the most that it had")
}
