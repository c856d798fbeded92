package truncate

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// scored is a tree of one log that can be truncated.
func scored(t testing.TB, test string) tree {
	t.Helper()
	at := newTree(t, test)
	at.write(t, logName, pattern(30000))
	at.write(t, txtName, "scores\n")
	return at
}

// content is every file below a folder, by name.
func content(t testing.TB, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		if e.Type().IsRegular() {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			files[strings.TrimPrefix(name, folder)] = string(b)
		}
		return nil
	}))
	return files
}

// prefixes are the path and all its parent folders.
func prefixes(name string) []string {
	var all []string
	for ; name != "."; name = filepath.Dir(name) {
		all = append(all, name)
	}
	return all
}

// If a component of a log's path in the tree is a link, its target is neither changed nor copied, and the error names
// the link.
func TestNoLinkInTheTreeIsFollowed(t *testing.T) {
	for _, test := range []string{"", "TEST07"} {
		dir := newTree(t, test).dir
		for _, link := range append(prefixes(filepath.Join(dir, logName)), filepath.Join(dir, txtName)) {
			for _, place := range []string{"outside", "inside"} {
				t.Run(place+" "+link, func(t *testing.T) {
					at := scored(t, test)
					moved := filepath.Join(t.TempDir(), "moved")
					if place == "inside" {
						moved = filepath.Join(at.root, "moved")
					}
					linked := filepath.Join(at.root, link)
					require.NoError(t, os.Rename(linked, moved))
					require.NoError(t, os.Symlink(moved, linked))
					before, beforeTree := content(t, filepath.Dir(moved)), content(t, at.root)
					targets, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
					require.ErrorContains(t, err, "a symbolic link")
					require.NotEmpty(t, targets)
					for _, one := range targets {
						require.True(t, one.State == Refused || !strings.HasPrefix(filepath.FromSlash(one.Path), link), "%+v", one)
					}
					require.Equal(t, before, content(t, filepath.Dir(moved)))
					require.Equal(t, beforeTree, content(t, at.root))
					require.NoFileExists(t, filepath.Join(at.backup, dir, logName))
				})
			}
		}
	}
}

// A link in the backup is not followed either.
func TestNoLinkInTheBackupIsFollowed(t *testing.T) {
	dir := newTree(t, "").dir
	for _, link := range append(prefixes(filepath.Join(dir, logName)), filepath.Join(dir, txtName)) {
		t.Run(link, func(t *testing.T) {
			at, outside := scored(t, ""), t.TempDir()
			linked := filepath.Join(at.backup, link)
			require.NoError(t, os.MkdirAll(filepath.Dir(linked), 0o755))
			target := outside
			if filepath.Dir(link) == dir {
				target = filepath.Join(outside, "victim")
				require.NoError(t, os.WriteFile(target, []byte("keep"), 0o644))
			}
			require.NoError(t, os.Symlink(target, linked))
			before, beforeTree := content(t, outside), content(t, at.root)
			got, err := at.run(t)
			require.ErrorContains(t, err, "a symbolic link")
			require.Equal(t, Refused, got.State)
			require.Equal(t, before, content(t, outside))
			require.Equal(t, beforeTree, content(t, at.root), "nothing is cut without its copy")
		})
	}
}

// A link at the name of an unfinished file is not followed.
func TestLinksForUnfinishedFiles(t *testing.T) {
	at := scored(t, "")
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("keep"), 0o644))
	for _, folder := range []string{filepath.Join(at.root, at.dir), filepath.Join(at.backup, at.dir)} {
		require.NoError(t, os.MkdirAll(folder, 0o755))
		for _, name := range []string{logName, txtName} {
			require.NoError(t, os.Symlink(victim, filepath.Join(folder, name+".tmp")))
		}
	}
	_, err := at.run(t)
	require.NoError(t, err)
	kept, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "keep", string(kept))
}

// The backup is read again, so that a disk fault cannot lose a log.
func TestTheBackupIsReadBack(t *testing.T) {
	for _, name := range []string{logName, txtName} {
		t.Run(name, func(t *testing.T) {
			at := scored(t, "")
			before := content(t, at.root)
			copyIn = func(dir *os.Root, to string, from io.Reader) (string, error) {
				sum, err := atomicfile.CopyIn(dir, to, from)
				if err == nil && to == name {
					f, openErr := dir.OpenFile(to, os.O_WRONLY, 0)
					require.NoError(t, openErr)
					_, err = f.WriteAt([]byte("\x00"), 3)
					require.NoError(t, f.Close())
				}
				return sum, err
			}
			t.Cleanup(func() { copyIn = atomicfile.CopyIn })
			got, err := at.run(t)
			require.ErrorContains(t, err, "differs from what was written")
			require.Equal(t, Refused, got.State)
			require.Equal(t, before, content(t, at.root))
			require.Empty(t, layout.TruncationHash([]byte(at.read(t, txtName))))
		})
	}
}

// A tree has more logs than a process may open files, so all files and the backup are closed.
func TestFilesAreClosed(t *testing.T) {
	at := scored(t, "")
	for _, test := range []string{"TEST07", "TEST09"} {
		more := tree{at.root, at.backup, filepath.Join(filepath.Dir(at.dir), test, "accuracy")}
		require.NoError(t, os.MkdirAll(filepath.Join(at.root, more.dir), 0o755))
		more.write(t, logName, pattern(30000))
	}
	openFiles := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector would close unreferenced files
	before := openFiles()
	for range 2 {
		targets, err := Tree(context.Background(), at.root, Options{Submitter: submitter, Backup: at.backup})
		require.NoError(t, err)
		require.Len(t, targets, 3)
		require.Equal(t, before, openFiles())
	}
}

// A log that shrinks while it is read causes an error.
func TestALogThatShrinks(t *testing.T) {
	for _, size := range []int{100, endSize, 20000} {
		_, err := shorten(strings.NewReader(pattern(size)), 30000)
		require.ErrorIs(t, err, io.EOF, "%d bytes are left", size)
	}
}
