package qsl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/spill"
)

// dataset returns n samples whose prompts differ in length and content.
func dataset(t require.TestingT, n int) *datasets.Dataset {
	samples := make([]datasets.Sample, n)
	for i := range samples {
		samples[i].InputIDs = []int32{int32(i), int32(i)}
	}
	d, err := datasets.New(samples, datasets.Options{Schema: "test"})
	require.NoError(t, err)
	return d
}

// encodeSized returns an encoder of requests of about size bytes that identify their sample.
func encodeSized(size int) func([]byte, *datasets.Sample) ([]byte, error) {
	return func(dst []byte, s *datasets.Sample) ([]byte, error) {
		dst = fmt.Appendf(dst, "sample %d:", s.InputIDs[0])
		return append(dst, bytes.Repeat([]byte{byte('a' + s.Index%26)}, size)...), nil
	}
}

func want(size, index int) []byte {
	b, _ := encodeSized(size)(nil, &datasets.Sample{Index: index, InputIDs: []int32{int32(index)}})
	return b
}

func library(t require.TestingT, o Options) *Library {
	l, err := New(o)
	require.NoError(t, err)
	return l
}

func sequence(from, to int) []int {
	var s []int
	for ; from < to; from++ {
		s = append(s, from)
	}
	return s
}

func TestLibraryHoldsOneSetAtATime(t *testing.T) {
	const size, total, performance = 20_000, 1000, 250
	l := library(t, Options{Dataset: dataset(t, total), Performance: performance, Encode: encodeSized(size)})
	require.Equal(t, "test", l.Name())
	require.Equal(t, total, l.TotalSampleCount())
	require.Equal(t, performance, l.PerformanceSampleCount())
	before := heap()
	for from := 0; from < total; from += performance {
		set := sequence(from, from+performance)
		require.NoError(t, l.Load(set))
		require.Equal(t, performance, l.Loaded())
		require.InDelta(t, performance*size, l.Bytes(), performance*20)
		require.Nil(t, l.Request((from+performance)%total))
		for _, i := range set {
			require.Equal(t, want(size, i), l.Request(i))
		}
		require.InDelta(t, performance*size, heap()-before, 6<<20, "one set is in memory, not more")
		require.NoError(t, l.Unload(set))
		require.Zero(t, l.Loaded())
		require.Zero(t, l.Bytes())
		require.Nil(t, l.Request(from))
		require.InDelta(t, 0, heap()-before, 1<<20, "the set's bytes are freed")
	}
	require.False(t, l.Spilled())
	require.NoError(t, l.Close())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestLoadCountsDuplicates(t *testing.T) {
	encoded := 0
	l := library(t, Options{Dataset: dataset(t, 4), Encode: func(dst []byte, s *datasets.Sample) ([]byte, error) {
		encoded++
		return encodeSized(10)(dst, s)
	}})
	require.NoError(t, l.Load([]int{1, 2, 1, 1}))
	require.Equal(t, 2, l.Loaded())
	require.Equal(t, 2, encoded, "a request is built once")
	require.NoError(t, l.Unload([]int{1, 1}))
	require.Equal(t, want(10, 1), l.Request(1))
	require.ErrorContains(t, l.Unload([]int{2, 1, 1}), "cannot unload sample 1: it is not loaded")
	require.Equal(t, 2, l.Loaded(), "a refused unload changes nothing")
	require.NoError(t, l.Unload([]int{1, 2}))
	require.Zero(t, l.Loaded())
	require.ErrorContains(t, l.Unload([]int{-1}), "cannot unload sample -1")
	require.ErrorContains(t, l.Unload([]int{4}), "cannot unload sample 4")
}

func TestLoadRefuses(t *testing.T) {
	broken := errors.New("no such field")
	l := library(t, Options{Dataset: dataset(t, 10), Total: 8,
		Encode: func(dst []byte, s *datasets.Sample) ([]byte, error) {
			switch s.Index {
			case 5:
				return nil, broken
			case 6:
				return dst, nil
			}
			return encodeSized(10)(dst, s)
		}})
	err := l.Load([]int{1, 5})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "cannot build the request of sample 5 (record 6 of data set test): no such field; "+
		"check that record")
	require.Zero(t, l.Loaded(), "after an error nothing of the call is loaded")
	require.ErrorContains(t, l.Load([]int{6}), "no bytes came out")
	require.ErrorContains(t, l.Load([]int{8}), "cannot load sample 8: the sample library has the samples 0 to 7")
	require.ErrorContains(t, l.Load([]int{-1}), "cannot load sample -1")
	require.Nil(t, l.Request(-1))
	require.Nil(t, l.Request(8))
	require.NoError(t, l.Close())
	require.ErrorContains(t, l.Load([]int{1}), "the sample library is closed")
	require.NoError(t, l.Close(), "closing twice does nothing")
}

func TestNewRefuses(t *testing.T) {
	d, encode := dataset(t, 3), encodeSized(1)
	for says, o := range map[string]Options{
		"a data set with 0 samples":     {Encode: encode},
		"of a data set with 0 samples":  {Encode: encode, Dataset: &datasets.Dataset{}},
		"without Encode":                {Dataset: d},
		"request memory of -1 bytes":    {Dataset: d, Encode: encode, MemoryLimit: -1},
		"library of 4 samples from":     {Dataset: d, Encode: encode, Total: 4},
		"a performance set of 3 sample": {Dataset: d, Encode: encode, Total: 2, Performance: 3},
	} {
		_, err := New(o)
		require.ErrorContains(t, err, says)
	}
}

func TestSpillToScratch(t *testing.T) {
	const size, n = 50_000, 200
	dir := t.TempDir()
	l := library(t, Options{Dataset: dataset(t, n), Encode: encodeSized(size), MemoryLimit: 1 << 20, ScratchDir: dir})
	for range 2 {
		require.NoError(t, l.Load(sequence(0, n)))
		require.True(t, l.Spilled())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "the scratch file is unlinked at once")
		for i := range n {
			require.Equal(t, want(size, i), l.Request(i))
		}
		require.Greater(t, sizes(t, l).Disk, int64((n-30)*size))
		late := l.Request(n - 1)
		require.NoError(t, l.Unload(sequence(0, n)))
		require.Zero(t, l.Bytes())
		require.Less(t, sizes(t, l).Disk, int64(4<<20), "the disk space is given back")
		require.Zero(t, late[100], "a late reader gets zeros, not a fault")
	}
	require.LessOrEqual(t, sizes(t, l).File, int64(32<<20), "the second load uses the blocks of the first")
	require.NoError(t, l.Close())
}

func sizes(t require.TestingT, l *Library) spill.Sizes {
	s, err := l.store.Sizes()
	require.NoError(t, err)
	return s
}

func TestSpillErrors(t *testing.T) {
	o := Options{Dataset: dataset(t, 3), Encode: encodeSized(1000), MemoryLimit: 100}
	l := library(t, o)
	require.ErrorContains(t, l.Load([]int{2}), "cannot keep the request of sample 2: the requests are larger than the "+
		"request memory of 100 bytes, and no folder for a scratch file was given")
	o.ScratchDir = t.TempDir() + "/none"
	l = library(t, o)
	require.ErrorContains(t, l.Load([]int{2}), "no scratch file could be made in "+o.ScratchDir)
}

func TestRequestAllocatesNothingAndIsReadByMany(t *testing.T) {
	l := library(t, Options{Dataset: dataset(t, 100), Encode: encodeSized(10)})
	require.NoError(t, l.Load(sequence(0, 100)))
	require.Zero(t, testing.AllocsPerRun(1000, func() { l.Request(7) }))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				if !bytes.Equal(want(10, i), l.Request(i)) {
					t.Error("wrong bytes of sample " + strconv.Itoa(i))
				}
			}
		})
	}
	wg.Wait()
}

func TestRequestCannotGrowIntoItsNeighbour(t *testing.T) {
	l := library(t, Options{Dataset: dataset(t, 2), Encode: encodeSized(10)})
	require.NoError(t, l.Load([]int{0, 1}))
	_ = append(l.Request(0), "overrun"...)
	require.Equal(t, want(10, 1), l.Request(1))
}

// TestLibraryProperty compares random loads and unloads with a plain count per sample.
func TestLibraryProperty(t *testing.T) {
	const n = 12
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 3000).Draw(t, "size")
		limit := rapid.Int64Range(1, 40_000).Draw(t, "limit")
		l := library(t, Options{Dataset: dataset(t, n), Encode: encodeSized(size), MemoryLimit: limit, ScratchDir: dir})
		defer l.Close()
		var refs [n]int
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			indices := rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 8).Draw(t, "indices")
			if rapid.Bool().Draw(t, "load") {
				require.NoError(t, l.Load(indices))
				for _, i := range indices {
					refs[i]++
				}
			} else {
				after := refs
				possible := true
				for _, i := range indices {
					after[i]--
					possible = possible && after[i] >= 0
				}
				err := l.Unload(indices)
				require.Equal(t, possible, err == nil)
				if possible {
					refs = after
				}
			}
			loaded, held := 0, int64(0)
			for i, r := range refs {
				if r == 0 {
					require.Nil(t, l.Request(i))
					continue
				}
				loaded++
				held += int64(len(want(size, i)))
				require.Equal(t, want(size, i), l.Request(i))
			}
			require.Equal(t, loaded, l.Loaded())
			require.Equal(t, held, l.Bytes())
			require.LessOrEqual(t, sizes(t, l).Memory, limit)
			if loaded == 0 {
				require.Zero(t, sizes(t, l).Memory)
			}
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	l := library(b, Options{Dataset: dataset(b, 1024), Encode: encodeSized(1000)})
	require.NoError(b, l.Load(sequence(0, 1024)))
	b.ReportAllocs()
	n := 0
	for i := 0; b.Loop(); i++ {
		n += len(l.Request(i & 1023))
	}
	require.Positive(b, n)
}

func BenchmarkLoad(b *testing.B) {
	l := library(b, Options{Dataset: dataset(b, 13368), Encode: encodeSized(5000)})
	all := sequence(0, 13368)
	b.SetBytes(13368 * 5000)
	for b.Loop() {
		require.NoError(b, l.Load(all))
		require.NoError(b, l.Unload(all))
	}
}
