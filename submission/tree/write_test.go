package tree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPublish: a finished tree replaces an old one and leaves no other files, with and without the exchange of names,
// which some file systems lack.
func TestPublish(t *testing.T) {
	for name, publish := range map[string]func(place) error{
		"the first": func(p place) error {
			if err := p.parent.RemoveAll(p.output); err != nil {
				return err
			}
			return p.publish(false)
		},
		"by an exchange": func(p place) error { return p.publish(true) },
		"in two steps":   place.replace,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for folder, text := range map[string]string{"tree": "old", "tree.partial": "new"} {
				require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, folder, "file"), []byte(text), 0o600))
			}
			parent, err := os.OpenRoot(dir)
			require.NoError(t, err)
			defer parent.Close()
			require.NoError(t, publish(place{parent, "tree.partial", "tree"}))
			text, err := os.ReadFile(filepath.Join(dir, "tree", "file"))
			require.NoError(t, err)
			require.Equal(t, "new", string(text))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}

func TestOnlyUnsupportedExchangesAreDoneInTwoSteps(t *testing.T) {
	for _, err := range []error{unix.ENOSYS, unix.EINVAL} {
		require.True(t, cannotExchange(err), err)
	}
	for _, err := range []error{nil, unix.EACCES, unix.ENOENT, unix.EEXIST} {
		require.False(t, cannotExchange(err), err)
	}
}
