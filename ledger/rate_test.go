package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRateOfTheLastSeconds(t *testing.T) {
	r, at := &Rate{}, time.Unix(0, 0)
	require.Zero(t, r.PerSecond(at, 0))
	for i := 1; i <= 20; i++ {
		require.InDelta(t, 100, r.PerSecond(at.Add(time.Duration(i)*time.Second), int64(100*i)), 1e-9)
	}
	for i := 21; i <= 28; i++ { // no further sample ends, so the rate falls to zero
		r.PerSecond(at.Add(time.Duration(i)*time.Second), 2000)
	}
	require.Zero(t, r.PerSecond(at.Add(29*time.Second), 2000))
	require.InDelta(t, 5, NewRate(at).PerSecond(at.Add(2*time.Second), 10), 1e-9)
}
