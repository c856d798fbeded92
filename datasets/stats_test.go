package datasets

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStats(t *testing.T) {
	d := &Dataset{}
	for i := range 200 {
		d.Samples = append(d.Samples, Sample{InputIDs: make([]int32, 200-i), InputLen: 200 - i})
	}
	d.Samples[0].Target, d.Samples[0].Input = "two words", "four"
	require.Equal(t, Statistics{Samples: 200, WithIDs: 200, WithText: 1, WithTarget: 1,
		InputTokens: Summary{Min: 1, Mean: 100.5, Median: 101, P99: 199, Max: 200},
		InputBytes:  Summary{4, 4, 4, 4, 4}, TargetWords: Summary{2, 2, 2, 2, 2}}, Stats(d))
	require.Equal(t, Statistics{}, Stats(&Dataset{}))
}

func TestHistogram(t *testing.T) {
	require.Equal(t, []string{
		"  1..34  2 ####",
		" 35..68  0",
		" 69..100 1 ##",
	}, Histogram([]int{1, 2, 100}, 3, 4))
	require.Equal(t, []string{"7..7 1 #####"}, Histogram([]int{7}, 10, 5))
	require.Nil(t, Histogram(nil, 3, 4))
}
