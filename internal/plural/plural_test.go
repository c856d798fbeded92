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

func TestArticle(t *testing.T) {
	require.Equal(t, "an experiment", Article("experiment"))
	require.Equal(t, "a run", Article("run"))
}
