package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// below is a folder that somebody else may write to. Next to it is a folder with a victim file that no write may
// change.
type below struct {
	root           *os.Root
	inside, victim string
}

const precious = "precious"

func newBelow(t *testing.T) below {
	t.Helper()
	dir := t.TempDir()
	b := below{inside: filepath.Join(dir, "tree"), victim: filepath.Join(dir, "home")}
	for _, folder := range []string{b.inside, b.victim} {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "a", "b"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a", "b", "c.txt"), []byte(precious), 0o644))
	}
	var err error
	b.root, err = os.OpenRoot(b.inside)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.root.Close()) })
	return b
}

// files returns the paths below a folder, with the contents of the regular files.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all[path] = readFile(t, path)
		} else {
			all[path] = d.Type().String()
		}
		return err
	}))
	return all
}

// operations contains all functions that work below a folder, applied to the file a/b/c.txt.
var operations = map[string]func(root *os.Root) error{
	"WriteBytesIn": func(root *os.Root) error { return WriteBytesIn(root, "a/b/c.txt", []byte("new")) },
	"CopyIn": func(root *os.Root) error {
		_, err := CopyIn(root, "a/b/c.txt", strings.NewReader("new"))
		return err
	},
	"SHA256In": func(root *os.Root) error { _, err := SHA256In(root, "a/b/c.txt"); return err },
	"OpenIn": func(root *os.Root) error {
		f, err := OpenIn(root, "a/b/c.txt")
		if err == nil {
			err = f.Close()
		}
		return err
	},
	"FolderIn":     func(root *os.Root) error { return closed(FolderIn(root, "a/b")) },
	"MakeFolderIn": func(root *os.Root) error { return closed(MakeFolderIn(root, "a/b")) },
}

func closed(root *os.Root, err error) error {
	if err != nil {
		return err
	}
	return root.Close()
}

// A link at any component is rejected, whether its target is outside the folder, inside it, or missing.
func TestLinksAreRefusedAtEveryComponent(t *testing.T) {
	for operation, do := range operations {
		for _, component := range []string{"a", "a/b", "a/b/c.txt"} {
			if component == "a/b/c.txt" && strings.Contains(operation, "Folder") {
				continue
			}
			for _, target := range []string{"outside", "inside", "nothing", "itself"} {
				b := newBelow(t)
				at := filepath.Join(b.inside, component)
				moved := filepath.Join(b.inside, "moved")
				require.NoError(t, os.Rename(at, moved))
				require.NoError(t, os.Symlink(map[string]string{
					"outside": filepath.Join(b.victim, component), "inside": relative(t, at, moved), "nothing": "none",
					"itself": filepath.Base(at),
				}[target], at))
				before := files(t, filepath.Dir(b.inside))
				err := do(b.root)
				require.True(t, IsLink(err), "%s, %s leads to %s: %v", operation, component, target, err)
				require.ErrorContains(t, err, b.inside)
				require.Equal(t, before, files(t, filepath.Dir(b.inside)))
			}
		}
	}
}

func relative(t *testing.T, from, to string) string {
	t.Helper()
	rel, err := filepath.Rel(filepath.Dir(from), to)
	require.NoError(t, err)
	return rel
}

func TestBelowAFolder(t *testing.T) {
	b := newBelow(t)
	for name, do := range operations {
		require.NoError(t, do(b.root), name)
	}
	require.Equal(t, "new", readFile(t, filepath.Join(b.inside, "a/b/c.txt")))
	sum, err := CopyIn(b.root, "abc", bytes.NewReader([]byte("abc")))
	require.NoError(t, err)
	require.Equal(t, abc, sum)
	sum, err = SHA256In(b.root, "abc")
	require.NoError(t, err)
	require.Equal(t, abc, sum)
	require.NoError(t, closed(MakeFolderIn(b.root, "x/y")))
	require.NoError(t, WriteBytesIn(b.root, "x/y/z", nil))
	require.ErrorIs(t, WriteBytesIn(b.root, "none/z", nil), fs.ErrNotExist)
	require.Equal(t, []string{"a", "abc", "x"}, names(t, b.inside))
}

// A tree may have more files and folders than a process may open, so no operation may leave one open, even after an
// error.
func TestFilesAreClosed(t *testing.T) {
	b := newBelow(t)
	require.NoError(t, os.Symlink("a", filepath.Join(b.inside, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.inside, "a", "pipe"), 0o600))
	require.NoError(t, os.Link(filepath.Join(b.inside, "a", "b", "c.txt"), filepath.Join(b.inside, "a", "second name")))
	ways := maps.Clone(operations)
	for _, name := range []string{"link/b/c.txt", "a/link", "a/pipe", "a/none", "none/c.txt", "a/b", ".",
		"a/second name"} {
		ways["write "+name] = func(root *os.Root) error { return WriteBytesIn(root, name, nil) }
		ways["read "+name] = func(root *os.Root) error { _, err := SHA256In(root, name); return err }
		ways["append "+name] = func(*os.Root) error { return closedFile(Private.Append(filepath.Join(b.inside, name))) }
	}
	ways["no content"] = func(root *os.Root) error {
		return WriteIn(root, "a/b/c.txt", func(io.Writer) error { return io.ErrUnexpectedEOF })
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would close unreferenced files
	for name, do := range ways {
		before := openFiles(t)
		_ = do(b.root) // it may succeed or fail
		require.Equal(t, before, openFiles(t), name)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func TestNamesStayBelow(t *testing.T) {
	b := newBelow(t)
	before := files(t, filepath.Dir(b.inside))
	for _, name := range []string{"../home/a/b/c.txt", "a/../../home/a/b/c.txt", filepath.Join(b.victim, "a/b/c.txt"), "",
		".", "..", "a"} {
		require.Error(t, WriteBytesIn(b.root, name, []byte("new")), name)
		_, err := OpenIn(b.root, name)
		require.Error(t, err, name)
	}
	for _, name := range []string{"..", "../home", b.victim, "a/b/c.txt"} {
		require.Error(t, closed(FolderIn(b.root, name)), name)
		require.Error(t, closed(MakeFolderIn(b.root, name)), name)
	}
	require.Equal(t, before, files(t, filepath.Dir(b.inside)))
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	b := newBelow(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.inside, "pipe"), 0o600))
	_, err := OpenIn(b.root, "pipe")
	require.ErrorContains(t, err, "found a pipe, a socket or a device, expected a regular file")
	require.ErrorContains(t, WriteBytesIn(b.root, "pipe", nil), "found a pipe")
	require.ErrorIs(t, closed(FolderIn(b.root, "pipe")), syscall.ENOTDIR)
}

// The user chooses the path of Write. Folders in it may be links, and a link at the file's name is replaced, never
// followed. A link planted under a temporary name that the package used or may use is not followed either.
func TestWriteDoesNotFollowPlantedFiles(t *testing.T) {
	for _, planted := range []string{"run.json", "run.json.tmp", "run.json." + strings.Repeat("A", 26) + ".tmp"} {
		dir := t.TempDir()
		victim := filepath.Join(t.TempDir(), "victim")
		require.NoError(t, os.WriteFile(victim, []byte(precious), 0o644))
		require.NoError(t, os.Symlink(victim, filepath.Join(dir, planted)))
		require.NoError(t, WriteBytes(filepath.Join(dir, "run.json"), []byte("new")))
		require.Equal(t, precious, readFile(t, victim), planted)
		info, err := os.Lstat(filepath.Join(dir, "run.json"))
		require.NoError(t, err)
		require.True(t, info.Mode().IsRegular())
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "linked")))
	require.NoError(t, WriteBytes(filepath.Join(dir, "linked", "run.json"), []byte("new")))
	require.Equal(t, "new", readFile(t, filepath.Join(dir, "real", "run.json")))
}

// An attacker who guesses a temporary name gains nothing, because the file is created exclusively and never opened.
func TestTemporaryFileIsCreated(t *testing.T) {
	b := newBelow(t)
	require.NoError(t, os.Symlink(filepath.Join(b.victim, "a/b/c.txt"), filepath.Join(b.inside, "guessed")))
	_, err := system.create(b.root, "guessed", 0o600)
	require.True(t, errors.Is(err, fs.ErrExist), err)
	require.NoError(t, os.WriteFile(filepath.Join(b.inside, "there"), []byte(precious), 0o600))
	_, err = system.create(b.root, "there", 0o600)
	require.ErrorIs(t, err, fs.ErrExist)
	require.Equal(t, precious, readFile(t, filepath.Join(b.inside, "there")))
}

func TestOpenBelow(t *testing.T) {
	folder, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "log"), []byte("x"), 0o644))
	require.NoError(t, os.Symlink("log", filepath.Join(folder, "other")))
	require.NoError(t, os.Symlink(folder, link))
	for _, path := range []string{folder, link} {
		f, err := OpenBelow(path, "log")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	var system *fs.PathError
	for _, name := range []string{"other", "none", "."} {
		_, err := OpenBelow(folder, name)
		require.ErrorAs(t, err, &system, name)
		require.Equal(t, name == "other", IsLink(err))
		require.Equal(t, name == "none", errors.Is(err, fs.ErrNotExist))
	}
	_, err := OpenBelow(filepath.Join(folder, "none"), "log")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestReadWhole(t *testing.T) {
	folder := t.TempDir()
	path, link, pipe := filepath.Join(folder, "f"), filepath.Join(folder, "link"), filepath.Join(folder, "pipe")
	require.NoError(t, os.WriteFile(path, []byte("four"), 0o600))
	require.NoError(t, os.Symlink("f", link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, c := range []struct {
		path string
		most int64
		want string
	}{
		{path, 4, ""},
		{link, 4, ""},
		{path, 3, "f has more than 3 bytes"},
		{pipe, 4, "pipe is a pipe, a socket or a device; give a regular file"},
		{folder, 4, "is a folder; give a regular file"},
		{"/dev/zero", 4, "give a regular file"},
		{filepath.Join(folder, "none"), 4, "no such file"},
	} {
		text, err := ReadWhole(c.path, c.most)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, "four", string(text))
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.Nil(t, text)
	}
}

func TestReadBelowIsBounded(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a"), []byte("1234"), 0o600))
	data, err := ReadBelow(folder, "a", 4)
	require.NoError(t, err)
	require.Equal(t, "1234", string(data))
	_, err = ReadBelow(folder, "a", 3)
	require.ErrorContains(t, err, "has more than 3 bytes")
	_, err = ReadBelow(folder, "b", 3)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadBelow(filepath.Join(folder, "none"), "a", 3)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.Symlink(filepath.Join(folder, "a"), filepath.Join(folder, "link")))
	_, err = ReadBelow(folder, "link", 4)
	require.Error(t, err)
	require.True(t, IsLink(err), err)
}
