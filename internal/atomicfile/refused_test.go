package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder of one's own is one that only this user may write to, whoever made it.
func TestOwnFolders(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "own")
	require.NoError(t, Private.MakeOwnFolder(path))
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o744: true, 0o720: false, 0o702: false,
		0o777: false} {
		require.NoError(t, os.Chmod(path, mode))
		require.Equal(t, ok, Private.MakeOwnFolder(path) == nil, "%o", mode)
	}
	file := filepath.Join(parent, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, Private.MakeOwnFolder(file), "is not a folder of this user")
	link := filepath.Join(parent, "link")
	require.NoError(t, os.Symlink(path, link))
	require.ErrorContains(t, Private.MakeOwnFolder(link), "is not a folder of this user")
	require.ErrorIs(t, Private.MakeOwnFolder(filepath.Join(parent, "missing", "own")), os.ErrNotExist)
}

// Only a regular file in a folder that exists is replaced, or one that does not exist yet.
func TestReplaceable(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	require.NoError(t, Replaceable(file), "it will be made")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, Replaceable(file))
	require.Error(t, Replaceable(folder))
	require.Error(t, Replaceable(filepath.Join(folder, "missing", "file")))
	require.Error(t, Replaceable(filepath.Join(file, "below")))
	pipe := filepath.Join(folder, "link")
	require.NoError(t, os.Symlink("/dev/null", pipe))
	require.Error(t, Replaceable(pipe))
}

// An error of any part of a path is the caller's, and leaves no file behind.
func TestErrorsArePassedOn(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.NoError(t, os.Symlink("file", filepath.Join(folder, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "dir"), 0o700))
	for _, name := range []string{"missing", "missing/file", "file/below", "link", "dir", ".", ".."} {
		f, err := OpenIn(root, name)
		require.Error(t, err, name)
		require.Nil(t, f, name)
	}
	broken := errors.New("broken")
	fill := func(io.Writer) error { return broken }
	for _, name := range []string{"missing/file", "file/below", "link", "dir", "..", "file", "new"} {
		require.Error(t, WriteIn(root, name, fill), name)
	}
	_, err = Private.Copy(file, filepath.Join(folder, "missing", "to"))
	require.Error(t, err)
	_, err = Private.Copy(filepath.Join(folder, "missing"), file)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Private.Copy(filepath.Join(folder, "dir"), file)
	require.Error(t, err, "a folder has no bytes")
	_, err = CopyIn(root, "missing/to", nil)
	require.Error(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 3)
}
