package peers

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The percentiles of a distribution have the shares in their keys.
func TestPercentilesOfADistribution(t *testing.T) {
	list := make([]weighted, 1000)
	for i := range list {
		list[i] = weighted{float64(i + 1), 1}
	}
	d := fromValues(list, -1)
	for key, want := range map[string]float64{"p001": 1, "p01": 10, "p05": 50, "p10": 100, "p25": 250, "p50": 500,
		"p75": 750, "p90": 900, "p95": 950, "p99": 990, "p999": 999} {
		found := false
		for _, p := range guidePercentiles {
			if p.key == key {
				found = true
				require.InDelta(t, want, d.at(p.share), 1, fmt.Sprint(key, " of the numbers 1 to 1000"))
			}
		}
		require.True(t, found, key)
	}
	require.Len(t, guidePercentiles, 11)
}
