package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/results"
)

func TestHolds(t *testing.T) {
	for file, want := range map[string]string{"run.json": "run", "campaign.json": "campaign", "tune.json": "tune",
		"sweep.json": "sweep", "experiment.json": "experiment", "probe.json": "probe", "find-peak.json": "search by LoadGen",
		"bench.json": "workload", "notes.txt": ""} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), nil, 0o600))
		require.Equal(t, want, results.Holds(folder, ""), file)
		require.Empty(t, results.Holds(folder, want), "its own kind")
	}
	require.Empty(t, results.Holds(filepath.Join(t.TempDir(), "absent"), ""))
}
