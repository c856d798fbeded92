package prompts

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func random(seed uint64) *profile.Profile {
	p := profile.Defaults()
	p.Seed = seed
	p.Data = profile.Data{Kind: profile.Random, Prefix: 3, Output: profile.FixedAt(7),
		Input: &profile.Distribution{Kind: "normal", Mean: 50, StdDev: 10, Min: 10, Max: 100}}
	return p
}

func all(t *testing.T, p *profile.Profile, n, workers int) []Request {
	t.Helper()
	src, err := Open(p, Options{Vocabulary: 1000})
	require.NoError(t, err)
	list := make([]Request, n)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := n - 1 - w; i >= 0; i -= workers { // in another order each
				require.NoError(t, src.Request(i, 0, &list[i]))
			}
		})
	}
	wg.Wait()
	return list
}

// Prompts depend on seed and number alone.
func TestRandomDependsOnTheSeedAlone(t *testing.T) {
	const n = 500
	one := all(t, random(7), n, 1)
	require.Equal(t, one, all(t, random(7), n, 8))
	require.NotEqual(t, one, all(t, random(8), n, 1))
	sum := 0
	for i, r := range one {
		require.Equal(t, one[0].IDs[:3], r.IDs[:3], "the prefix is common")
		require.Equal(t, len(r.IDs), r.Input)
		require.Equal(t, 7, r.Output)
		require.GreaterOrEqual(t, r.Input, 13)
		require.LessOrEqual(t, r.Input, 103)
		for _, id := range r.IDs {
			require.True(t, id >= firstRandom && id < 1000, "request %d: id %d", i, id)
		}
		sum += r.Input
	}
	require.InDelta(t, 53, float64(sum)/n, 2)
}

// Without a vocabulary's size, token ids are within a usual vocabulary.
func TestDefaultVocabulary(t *testing.T) {
	src, err := Open(random(7), Options{})
	require.NoError(t, err)
	var r Request
	most := int32(0)
	for n := range 50 {
		require.NoError(t, src.Request(n, 0, &r))
		most = max(most, slices.Max(r.IDs))
	}
	require.Less(t, most, int32(DefaultVocabulary))
	require.Greater(t, most, int32(DefaultVocabulary*9/10))
}

func TestRowsRepeat(t *testing.T) {
	p := random(7)
	p.Data.Rows = 10
	list := all(t, p, 20, 1)
	require.Equal(t, list[3], list[13])
	require.NotEqual(t, list[3], list[4])
}

func TestUnsupportedData(t *testing.T) {
	p := random(7)
	p.Data.Kind = "nonsense"
	_, err := Open(p, Options{})
	require.ErrorContains(t, err, "data.kind")
}
