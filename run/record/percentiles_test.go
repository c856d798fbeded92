package record

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
)

func TestParsePercentiles(t *testing.T) {
	list, err := ParsePercentiles("50, p90,99.99")
	require.NoError(t, err)
	require.Equal(t, []float64{50, 90, 99.99}, list)
	list, err = ParsePercentiles("")
	require.NoError(t, err)
	require.Nil(t, list)
	for text, want := range map[string]string{"fifty": `"fifty" is not a percentile`, "0": "not a percentile",
		"100": "not a percentile", "nan": "not a percentile", "50,": `"" is not a percentile`,
		"1,2,3,4,5,6,7,8,9,10,11": "more than 10"} {
		_, err := ParsePercentiles(text)
		require.ErrorContains(t, err, want)
	}
}

func TestLatencyTable(t *testing.T) {
	stats := &ledger.Stats{Mean: 1, P50: 2, P90: 3, P95: 4, P99: 5, P999: 6, Max: 7}
	r := &Record{LatencyS: Latencies{TTFT: stats, ITL: stats}}
	heads, rows := r.LatencyTable(50, 99.9)
	require.Equal(t, []string{"mean", "p50", "p99.9", "max"}, heads)
	require.Equal(t, []float64{1000, 2000, 6000, 7000}, rows[0].Values)
	require.Nil(t, rows[1].Values, "TPOT was not measured")
	require.Equal(t, "time per request", rows[3].Name)

	r.Percentiles = &Percentiles{Percents: []float64{99.99, 95}, Percentiles: ledger.Percentiles{TTFT: []float64{8, 9}}}
	heads, rows = r.LatencyTable(50)
	require.Equal(t, []string{"mean", "p99.99", "p95", "max"}, heads)
	require.Equal(t, []float64{1000, 8000, 9000, 7000}, rows[0].Values)
	require.True(t, math.IsNaN(rows[2].Values[1]), "the request log has no ITL")
	require.InDelta(t, 4000, rows[2].Values[2], 1e-9)
}
