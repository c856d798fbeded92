//go:build cgo && !noloadgen

package cppsut

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// LoadGen runs only one test per process, so this package has only one test.
func TestRunWritesACompleteLog(t *testing.T) {
	dir := t.TempDir()
	audit := filepath.Join(dir, "no-audit.config")
	require.ErrorIs(t, Run(filepath.Join(dir, "missing"), audit, 1000, 100, 8, false), os.ErrNotExist)
	const queries = 100
	require.NoError(t, Run(dir, audit, 1000, queries, 8, false))
	detail, err := os.ReadFile(filepath.Join(dir, "mlperf_log_detail.txt"))
	require.NoError(t, err)
	require.Contains(t, string(detail), `{"key": "result_query_count", "value": 100,`)
	require.NotContains(t, string(detail), `"is_error": true`)
	summary, err := os.ReadFile(filepath.Join(dir, "mlperf_log_summary.txt"))
	require.NoError(t, err)
	require.Contains(t, string(summary), "Mode     : PerformanceOnly")
}
