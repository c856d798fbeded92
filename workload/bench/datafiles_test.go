package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func TestDataFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("abc"), 0o600))
		return path
	}
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // FIPS 180-2, appendix B.1
	trace, a, b := write("t.csv"), write("s/a.json"), write("s/b/c.json")
	require.NoError(t, os.Symlink(trace, filepath.Join(dir, "s/link.json")))
	p := profile.Defaults()
	files, err := dataFiles(p)
	require.NoError(t, err)
	require.Empty(t, files, "the data are synthetic")

	p.Data.Path, p.Data.Trace = filepath.Join(dir, "s"), &profile.TraceFile{Path: trace}
	p.Load.Trace = p.Data.Trace
	files, err = dataFiles(p)
	require.NoError(t, err)
	require.Equal(t, []DataFile{{a, abc}, {b, abc}, {trace, abc}}, files)

	p.Data.Path = filepath.Join(dir, "none")
	_, err = dataFiles(p)
	require.ErrorIs(t, err, os.ErrNotExist)
}
