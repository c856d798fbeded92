package check

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/submission/treetest"
)

// poisoned copies a file or folder. Each file of the copy contains the secret, and each folder a result with that name.
func poisoned(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, err := filepath.Rel(from, name)
		require.NoError(t, err)
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel, treetest.Secret), 0o755)
		}
		return os.WriteFile(filepath.Join(to, rel), []byte(treetest.Secret+` {"status": "`+treetest.Secret+`"}`), 0o644)
	}))
}

// If a component of a path is a link out of the tree, its target is not read, and the strict rules report it.
func TestNoLinkLeadsOutOfTheTree(t *testing.T) {
	for _, name := range treetest.Entries(t, baseTree(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, outside := baseTree(t), filepath.Join(t.TempDir(), "outside")
			at := filepath.Join(root, name)
			poisoned(t, at, outside)
			require.NoError(t, os.RemoveAll(at))
			relative, err := filepath.Rel(filepath.Dir(at), outside)
			require.NoError(t, err)
			for _, target := range []string{outside, relative} {
				require.NoError(t, os.RemoveAll(at))
				require.NoError(t, os.Symlink(target, at))
				for _, mode := range []Mode{Strict, Compat} {
					r, err := Check(context.Background(), root, Options{Mode: mode})
					require.NoError(t, err)
					var all bytes.Buffer
					require.NoError(t, r.JSON(&all))
					require.NotContains(t, all.String(), treetest.Secret)
					require.False(t, r.Valid && mode == Strict)
					// Results in a folder that replaces another are ignored.
					if depth := strings.Count(name, "/"); depth < 2 || strings.HasPrefix(name, home+"results") && depth < 5 {
						require.Contains(t, ruleIDs(r), "link-outside", "%s", mode)
					}
				}
			}
		})
	}
}

// Links inside of the tree are followed, as the official checker follows them.
func TestLinksInsideOfTheTreeAreFollowed(t *testing.T) {
	for _, name := range treetest.Entries(t, baseTree(t)) {
		if strings.Count(name, "/") < 2 {
			continue // a link to a folder below itself
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := baseTree(t)
			at, moved := filepath.Join(root, name), filepath.Join(root, home, "documentation", "moved")
			if strings.HasPrefix(name, home+"documentation") {
				t.Skip("it is where the others are moved to")
			}
			require.NoError(t, os.Rename(at, moved))
			relative, err := filepath.Rel(filepath.Dir(at), moved)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(relative, at))
			for _, mode := range []Mode{Strict, Compat} {
				r, err := Check(context.Background(), root, Options{Mode: mode})
				require.NoError(t, err)
				require.True(t, r.Valid, "%s: %v", mode, r.Findings)
				require.Len(t, r.Results, 2)
			}
		})
	}
}
