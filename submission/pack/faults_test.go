package pack

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// contents maps the names in a folder to the files' contents.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

// Whichever file cannot be opened, an output file is whole or absent, and without an error all are there. Every file is
// closed again.
func TestNoFreeDescriptors(t *testing.T) {
	root, good := tree(t), t.TempDir()
	_, err := Pack(context.Background(), Options{Root: root, Output: good})
	require.NoError(t, err)
	want := contents(t, good)
	require.Len(t, want, 4)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	packWith := func(most uint64, out string) (*Result, error) {
		less := limit
		less.Cur = min(most, limit.Cur)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less))
		defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
		return Pack(context.Background(), Options{Root: root, Output: out})
	}
	lowest, err := os.Open(root)
	require.NoError(t, err)
	free := uint64(lowest.Fd()) // the lowest number that is free
	require.NoError(t, lowest.Close())
	for few := range uint64(100) {
		out := t.TempDir()
		r, err := packWith(free+few, out)
		got := contents(t, out)
		if err == nil {
			require.Equal(t, want, got)
			require.Positive(t, few)
			again, err := packWith(free+few, out)
			require.NoError(t, err, "every file was closed")
			require.Equal(t, r, again)
			return
		}
		require.ErrorIs(t, err, syscall.EMFILE)
		for name, text := range got {
			require.True(t, text == want[name], "%s with %d descriptors", name, few)
		}
	}
	t.Fatal("no number of descriptors is enough")
}
