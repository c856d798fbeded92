package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Arrivals and lengths of one file are read once.
func TestATraceIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "azure.csv")
	require.NoError(t, os.WriteFile(path, []byte("2,10,1\n1,20,2\n"), 0o600))
	var of target
	first, err := of.trace(&profile.TraceFile{Path: path, Format: "azure"})
	require.NoError(t, err)
	again, err := of.trace(&profile.TraceFile{Path: path, Format: "azure"})
	require.NoError(t, err)
	require.Same(t, first, again)
	slower, err := of.trace(&profile.TraceFile{Path: path, Format: "azure", Scale: 2})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 2e9}, slower.TimesNS)
	require.Equal(t, []int64{0, 1e9}, again.TimesNS)
	_, err = of.trace(&profile.TraceFile{Path: path + "x", Format: "azure"})
	require.Error(t, err)
	_, err = of.trace(&profile.TraceFile{Path: path + "x", Format: "azure"})
	require.Error(t, err, "a failure is not kept")
}
