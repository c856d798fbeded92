package earlystop

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

func TestGoldenNeed(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(golden.Dir(t, "loadgen"), "table_early_stopping.json"))
	require.NoError(t, err)
	var table struct{ Rows [][5]float64 }
	require.NoError(t, json.Unmarshal(data, &table))
	seen := 0
	for _, row := range table.Rows {
		if row[1] != 0 || row[2] != confidence {
			continue // the recorded LoadGen runs use these two values
		}
		seen++
		require.Equal(t, int(row[4]), Need(row[0], int(row[3])), "p %v, %v late", row[0], row[3])
	}
	require.Greater(t, seen, 100)
}

// The totals are those of docs/reference/loadgen.md#early-stopping, including a test of more than an hour.
func TestTotals(t *testing.T) {
	for late, total := range map[int]int{0: 459, 1: 662, 10: 2010, 100: 12571, 1000: 107569} {
		require.Equal(t, total, Need(.99, late)+late)
		require.Equal(t, late, Bearable(.99, total))
		require.Equal(t, late-1, Bearable(.99, total-1))
	}
	for n, late := range map[int]int{662: 1, 8313: 62, 24576: 209, 270336: 2583} {
		require.Equal(t, late, Bearable(.99, n))
	}
}

func TestBearableIsWhatNeedAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]float64{.5, .9, .97, .99, .999}).Draw(t, "percentile")
		n := rapid.IntRange(0, 30000).Draw(t, "queries")
		late := Bearable(p, n)
		if late < 0 {
			require.Less(t, n, Need(p, 0))
			return
		}
		require.LessOrEqual(t, Need(p, late)+late, n)
		require.Greater(t, Need(p, late+1)+late+1, n)
	})
}

func TestNoPercentile(t *testing.T) {
	for _, p := range []float64{0, 1, -1, 2} {
		require.Zero(t, Need(p, 1))
		require.Equal(t, -1, Bearable(p, 1000))
	}
}

// cumulative equals the plain sum of the binomial distribution, on both sides of its mode.
func TestCumulative(t *testing.T) {
	for _, q := range []float64{.5, .1, .03, .9} {
		for _, n := range []int{1, 10, 40} {
			sum, term := 0.0, math.Pow(1-q, float64(n))
			for k := range n {
				sum += term
				require.InDelta(t, sum, cumulative(n, k, q), 1e-12, "at most %d of %d by %v", k, n, q)
				term *= float64(n-k) * q / (float64(k+1) * (1 - q))
			}
			require.Equal(t, 1.0, cumulative(n, n, q))
		}
	}
}
