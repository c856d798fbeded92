package treefs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// small is a/b/file, a link to it, and an empty folder.
func small(t *testing.T) (string, *os.Root) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a/b"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "c"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a/b/file"), []byte("x"), 0o644))
	require.NoError(t, os.Symlink("b", filepath.Join(root, "a/link")))
	dir, err := os.OpenRoot(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	return root, dir
}

func TestWalk(t *testing.T) {
	_, dir := small(t)
	var seen []string
	visit := func(e Entry) error {
		seen = append(seen, e.Path)
		if e.Name() == "b" {
			return fs.SkipDir
		}
		return nil
	}
	require.NoError(t, Walk(context.Background(), dir, ".", visit))
	require.Equal(t, []string{"a", "a/b", "a/link", "c"}, seen)
	seen = nil
	require.NoError(t, Walk(context.Background(), dir, "a/b", visit))
	require.Equal(t, []string{"a/b/file"}, seen)

	enough := errors.New("enough")
	require.ErrorIs(t, Walk(context.Background(), dir, ".", func(Entry) error { return enough }), enough)
	ctx, end := context.WithCancelCause(context.Background())
	end(enough)
	require.ErrorIs(t, Walk(ctx, dir, ".", visit), enough)
	require.ErrorIs(t, Walk(context.Background(), dir, "none", visit), fs.ErrNotExist)
	require.True(t, atomicfile.IsLink(Walk(context.Background(), dir, "a/link", visit)))
	_, err := Entries(dir, "a/link")
	require.True(t, atomicfile.IsLink(err))
	entries, err := Entries(dir, "a")
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestWalkDepthIsLimited(t *testing.T) {
	root, dir := small(t)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "c", strings.Repeat("d/", maxDepth)), 0o755))
	require.ErrorContains(t, Walk(context.Background(), dir, ".", func(Entry) error { return nil }), "folders deep")
}

func TestWithin(t *testing.T) {
	root, _ := small(t)
	other := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(root, "a"), filepath.Join(other, "in")))
	require.NoError(t, os.Symlink(other, filepath.Join(root, "out")))
	for place, want := range map[string]bool{
		root: true, filepath.Join(root, "new/er"): true, filepath.Join(other, "in/x"): true, other: false,
		filepath.Join(root, "out/x"): false,
		filepath.Dir(root):           false, root + "x": false, filepath.Join(root, "..x"): true,
	} {
		got, err := Within(root, place)
		require.NoError(t, err)
		require.Equal(t, want, got, place)
	}
}
