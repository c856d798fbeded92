package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A percentile is the element that LoadGen chooses, even if the percentile has no exact binary fraction.
func TestShareOfAPercentile(t *testing.T) {
	for percent, want := range map[float64]float64{50: .5, 99.9: .999, 99.99: .9999, 99.95: .9995, 90.1: .901, 1e-5: 1e-7,
		99.99999: .9999999} {
		require.Equal(t, want, Share(percent))
	}
	const n = 10_000
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Seq: int32(i), IssuedNS: 1e9, SentNS: 1e9, DoneNS: 1e9 + int64(i)*int64(time.Millisecond),
			OutputTokens: 1}
	}
	test := &Test{Entries: entries, T0NS: 1e9, Names: Names{Reasons: []Reason{""}}}
	require.InDelta(t, 9.999, test.Percentiles([]float64{99.99}).E2E[0], 1e-9, "the element 9999 from 0")
}
