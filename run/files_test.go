package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// LoadGen's logs get into the folder that was checked, whatever has its name when LoadGen opens them.
func TestLogFolderIsHeld(t *testing.T) {
	o := &output{folder: t.TempDir()}
	logs := filepath.Join(o.folder, record.LogFolder)
	elsewhere := t.TempDir()
	require.NoError(t, makeOwnFolder(logs, atomicfile.Private))
	path, err := o.openLogFolder()
	require.NoError(t, err)
	defer o.logFolder.Close()
	require.NoError(t, os.Rename(logs, logs+".old"))
	require.NoError(t, os.Symlink(elsewhere, logs))
	require.NoError(t, os.WriteFile(filepath.Join(path, "log"), []byte("x"), 0o600))
	require.FileExists(t, filepath.Join(logs+".old", "log"))
	require.NoFileExists(t, filepath.Join(elsewhere, "log"))

	_, err = o.openLogFolder()
	require.ErrorContains(t, err, "the output folder cannot be made", "a link is refused")
	require.NoError(t, os.Remove(logs))
	require.NoError(t, os.Mkdir(logs, 0o700))
	for mode, want := range map[os.FileMode]string{0o755: "", 0o775: "chmod go-w", 0o707: "chmod go-w"} {
		require.NoError(t, os.Chmod(logs, mode))
		again := makeOwnFolder(logs, atomicfile.Private)
		if want == "" {
			require.NoError(t, again)
			continue
		}
		require.ErrorContains(t, again, want, "%o", mode)
		require.Equal(t, ExitEnvironment, Classify(again).Exit)
	}
}
