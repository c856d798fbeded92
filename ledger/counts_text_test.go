package ledger

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCountsAsText sends values through a text: no percentile changes, and those of two texts add up.
func TestCountsAsText(t *testing.T) {
	var first, second Batch
	var want Histogram
	for i := range int64(50_000) {
		v := i * i % 7_919_000
		want.Record(v)
		if i%3 == 0 {
			first.Record(v)
		} else {
			second.Record(v)
		}
	}
	second.Record(math.MaxInt64)
	want.Record(math.MaxInt64)
	text, err := json.Marshal([]*Batch{&first, &second})
	require.NoError(t, err)
	require.Less(t, len(text), 16<<10)
	var read []*Batch
	require.NoError(t, json.Unmarshal(text, &read))
	var got Histogram
	read[0].Merge(read[1])
	read[0].MoveTo(&got)
	require.Equal(t, want.Count(), got.Count())
	require.Equal(t, want.Max(), got.Max())
	for _, p := range []float64{0, .1, .5, .9, .99, 1} {
		require.Equal(t, want.Quantile(p), got.Quantile(p), p)
	}
}

func FuzzCounts(f *testing.F) {
	var b Batch
	b.Record(5)
	b.Record(1 << 40)
	text, _ := b.MarshalText()
	for _, s := range []string{string(text), "", "AA", "AA==", "AAAA", "/////////////w8=", "BYIdAQ==", "not base64"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b, again Batch
		if b.UnmarshalText([]byte(text)) != nil {
			return
		}
		written, err := b.MarshalText()
		require.NoError(t, err)
		require.NoError(t, again.UnmarshalText(written))
		require.Equal(t, b, again)
		var h Histogram
		b.MoveTo(&h)
		require.LessOrEqual(t, h.Quantile(.99), h.Max())
	})
}
