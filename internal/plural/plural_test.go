package plural

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 queries are", 1: "1 query is", 2: "2 queries are", -1: "-1 queries are"} {
		require.Equal(t, want, Count(n, "query is", "queries are"))
	}
	require.Equal(t, "1 row", Count(int64(1), "row", "rows"))
	require.Equal(t, "18446744073709551615 rows", Count(^uint64(0), "row", "rows"))
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 5: "5", 1.23456: "1.235", 99.996: "100", 999.94: "999.9",
		1234.5: "1234", 1999.9: "2000", 9999.6: "10000", 12345.6: "12346", 0.5: "0.5", -2.5: "-2.5", 38521.19: "38521",
		99167373: "99167373", -123456.7: "-123457", 0.00001234567: "0.00001235"} {
		require.Equal(t, want, Figure(v))
	}
}

func TestArticle(t *testing.T) {
	require.Equal(t, "an experiment", Article("experiment"))
	require.Equal(t, "a run", Article("run"))
}
