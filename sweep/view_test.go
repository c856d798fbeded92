package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// A cell has four digits and no exponent, in the unit of its column; what was not measured is empty.
func TestFiguresOfATable(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.000012345: "0.00001234", 0.5: "0.5", 12.3456: "12.35",
		999.96: "1000", 1000: "1000", 123456.7: "123457"} {
		require.Equal(t, want, short(v))
	}
	s := &ledger.Stats{P50: 0.0125, P99: 2}
	require.Equal(t, "12.5", of(s, median, 1e3))
	require.Equal(t, "2000", of(s, tail, 1e3))
	require.Equal(t, "2", of(s, tail, 1))
	require.Empty(t, of(nil, tail, 1))
}
