package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The hash of "abc" is the first example of FIPS 180-4.
const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestCopyReturnsTheHash(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	require.NoError(t, os.WriteFile(from, []byte("abc"), 0o644))
	sum, err := Shared.Copy(from, to)
	require.NoError(t, err)
	require.Equal(t, abc, sum)
	sum, err = SHA256(to)
	require.NoError(t, err)
	require.Equal(t, abc, sum)

	_, err = Shared.Copy(filepath.Join(dir, "none"), to)
	require.ErrorIs(t, err, os.ErrNotExist)
	sum, err = SHA256(to)
	require.NoError(t, err)
	require.Equal(t, abc, sum, "what could not be read leaves the target as it was")
}
