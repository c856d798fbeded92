package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRemoveDerived deletes what was noted and is unchanged, and nothing else.
func TestRemoveDerived(t *testing.T) {
	made := func(t *testing.T) (run string, file func(name, text string) string) {
		run = t.TempDir()
		return run, func(name, text string) string {
			path := filepath.Join(run, Derived, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			return path
		}
	}
	t.Run("all", func(t *testing.T) {
		run, file := made(t)
		require.NoError(t, NoteDerived(run, []string{file("vllm/a.json", "a"), file("vllm/b.json", "b")}))
		require.NoError(t, NoteDerived(run, []string{file("guidellm/c.json", "c")}))
		left, err := RemoveDerived(run)
		require.NoError(t, err)
		require.False(t, left)
		require.NoDirExists(t, filepath.Join(run, Derived))
		left, err = RemoveDerived(run)
		require.NoError(t, err)
		require.False(t, left)
	})
	t.Run("changed and foreign files", func(t *testing.T) {
		run, file := made(t)
		outside := filepath.Join(run, "bench.json")
		require.NoError(t, os.WriteFile(outside, []byte("x"), 0o600))
		require.NoError(t, NoteDerived(run, []string{file("vllm/a.json", "a"), file("vllm/b.json", "b")}))
		mine, changed := file("vllm/notes.txt", "mine"), file("vllm/b.json", "changed")
		left, err := RemoveDerived(run)
		require.NoError(t, err)
		require.True(t, left)
		require.NoFileExists(t, filepath.Join(run, Derived, "vllm/a.json"))
		require.FileExists(t, mine)
		require.FileExists(t, changed)
	})
	t.Run("without a list", func(t *testing.T) {
		run, file := made(t)
		old := file("vllm/a.json", "a")
		left, err := RemoveDerived(run)
		require.NoError(t, err)
		require.True(t, left)
		require.FileExists(t, old)
	})
	t.Run("a list that names other folders", func(t *testing.T) {
		run, file := made(t)
		outside := filepath.Join(run, "bench.json")
		require.NoError(t, os.WriteFile(outside, []byte("x"), 0o600))
		file(derivedList, `{"../bench.json": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}`)
		left, err := RemoveDerived(run)
		require.NoError(t, err)
		require.False(t, left)
		require.FileExists(t, outside)
	})
	t.Run("a link", func(t *testing.T) {
		run, _ := made(t)
		other := t.TempDir()
		require.NoError(t, os.Symlink(other, filepath.Join(run, Derived)))
		left, err := RemoveDerived(run)
		require.NoError(t, err)
		require.True(t, left)
		require.DirExists(t, other)
	})
}
