package treetest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Secret is in every file that a link out of a tree leads to. No output may contain it.
const Secret = "LEAKED"

// Entries returns the paths of all files and folders below a root, folders first.
func Entries(t testing.TB, root string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, name); rel != "." {
			names = append(names, rel)
		}
		return err
	}))
	return names
}

// Sums returns the SHA-256 of every file below a root by its path, which begins with a slash.
func Sums(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[strings.TrimPrefix(name, root)], err = atomicfile.SHA256(name)
		return err
	}))
	return files
}
