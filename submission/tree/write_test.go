package tree

import (
	"context"
	"errors"
	"io/fs"
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

// A finished folder holds exactly what is planned, whatever an earlier build left in it.
func TestTheWriterMakesWhatIsPlanned(t *testing.T) {
	source := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(source, "log"), []byte("copied"), 0o600))
	in, err := os.OpenRoot(source)
	require.NoError(t, err)
	defer in.Close()
	files := &content{}
	files.text("closed/a/text", []byte("five!"))
	files.text("closed/empty", nil)
	files.copy(in, "log", "closed/b/log")
	want := map[string]string{"closed/a/text": "five!", "closed/empty": "", "closed/b/log": "copied"}
	for name, c := range map[string]struct {
		left   map[string]string
		reused int
	}{
		"nothing":        {nil, 0},
		"all":            {want, 3},
		"other contents": {map[string]string{"closed/a/text": "six!!", "closed/b/log": ""}, 0},
		"some":           {map[string]string{"closed/b/log": "copied", "closed/a/text": "five"}, 1},
		"other files":    {map[string]string{"closed/a/x": "", "open/c/d/e": "x", "f": "", "closed/empty": ""}, 1},
	} {
		folder := t.TempDir()
		part, err := os.OpenRoot(folder)
		require.NoError(t, err)
		require.NoError(t, part.MkdirAll("closed/g/h", 0o700))
		for path, text := range c.left {
			require.NoError(t, part.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, part.WriteFile(path, []byte(text), 0o600))
		}
		w := &writer{files: files}
		require.NoError(t, w.fill(t.Context(), part))
		require.NoError(t, w.prune(t.Context(), part))
		require.Equal(t, []int{c.reused, len("five!copied")}, []int{w.reused, int(w.bytes)}, name)
		got := map[string]string{}
		require.NoError(t, fs.WalkDir(part.FS(), ".", func(path string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			if e.IsDir() {
				entries, err := fs.ReadDir(part.FS(), path)
				require.NotEmpty(t, entries, "%s: %s", name, path)
				return err
			}
			text, err := part.ReadFile(path)
			got[path] = string(text)
			return err
		}))
		require.Equal(t, want, got, name)
		why := errors.New("enough")
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		require.ErrorIs(t, w.fill(ended, part), why)
		require.Error(t, w.prune(ended, part))
		require.NoError(t, os.Remove(filepath.Join(source, "log")))
		require.ErrorIs(t, w.fill(t.Context(), part), fs.ErrNotExist, "a file of the run is missing")
		require.NoError(t, os.WriteFile(filepath.Join(source, "log"), []byte("copied"), 0o600))
		require.NoError(t, part.Close())
	}
}

// A new tree replaces only an empty folder, or with force a tree.
func TestFoldersThatAreReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		folders        []string
		plainly, force bool
	}{"empty": {nil, true, true}, "a tree": {[]string{"closed"}, false, true}, "another": {[]string{"x"}, false, false},
		"all divisions":    {[]string{"closed", "network", "open"}, false, true},
		"a tree and other": {[]string{"closed", "x"}, false, false}} {
		output := t.TempDir()
		for _, folder := range c.folders {
			require.NoError(t, os.Mkdir(filepath.Join(output, folder), 0o700))
		}
		for force, accepted := range map[bool]bool{false: c.plainly, true: c.force} {
			replace, err := (&writer{output: output, force: force}).taken()
			require.Equal(t, accepted, err == nil, "%s, force %t: %v", name, force, err)
			require.Equal(t, accepted, replace, "%s, force %t", name, force)
		}
		replace, err := (&writer{output: filepath.Join(output, "none")}).taken()
		require.NoError(t, err)
		require.False(t, replace)
	}
}
