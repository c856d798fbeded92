package results

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// plantRun makes the folder of a finished run, older than noon by the given minutes.
func plantRun(t *testing.T, folder string, minutes int) string {
	return plantFile(t, folder, "run.json", minutes)
}

func plantFile(t *testing.T, folder, name string, minutes int) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o755))
	file := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	at := noon.Add(-time.Duration(minutes) * time.Minute)
	require.NoError(t, os.Chtimes(file, at, at))
	return folder
}

func TestFindRuns(t *testing.T) {
	root := t.TempDir()
	require.Empty(t, FindRuns(root, 5))
	require.Empty(t, FindRuns(filepath.Join(root, "absent"), 5))
	old := plantRun(t, filepath.Join(root, "a", "one"), 60)
	step := plantRun(t, filepath.Join(root, "m", "20261123T100000.007Z", "Server", "performance"), 10)
	young := plantRun(t, filepath.Join(root, "b"), 1)
	plantRun(t, filepath.Join(old, "below"), 0)
	plantRun(t, filepath.Join(root, "1", "2", "3", "4", "5", "6"), 0)
	require.NoError(t, os.Symlink(old, filepath.Join(root, "latest")))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "c", "run.json"), 0o755))
	require.Equal(t, []string{young, step, old}, FindRuns(root, 5), "no link, nothing in a run, nothing too deep")
	require.Equal(t, []string{young}, FindRuns(root, 1))
	require.Equal(t, []string{young}, FindRuns(young, 5), "the folder itself")

	require.Equal(t, []string{young}, findRuns(root, 5, 9), "a large tree is left")

	workload := plantFile(t, filepath.Join(root, "w"), "bench.json", 0)
	require.Equal(t, []string{workload, young}, FindRuns(root, 2))
}
