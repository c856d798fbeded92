package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
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

// What cannot be read has no hash and no lines.
func TestErrorsOfReadersArePassedOn(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	for _, read := range []func(name string) error{
		func(name string) error { _, err := SHA256(filepath.Join(folder, name)); return err },
		func(name string) error { _, err := SHA256In(root, name); return err },
		func(name string) error { _, err := OpenLines(filepath.Join(folder, name)); return err },
	} {
		require.ErrorIs(t, read("none"), os.ErrNotExist)
	}
	for name, want := range map[string]string{"a.gz": "as gzip: ", "b.zst": ""} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte("no compressed text"), 0o600))
		r, err := OpenLines(path)
		if want != "" {
			require.ErrorContains(t, err, "reading "+path+" "+want)
			continue
		}
		require.NoError(t, err)
		_, err = io.ReadAll(r)
		require.Error(t, err)
		require.NoError(t, r.Close())
	}
	_, err = Shared.Copy(folder, filepath.Join(folder, "to"))
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(folder, "to"))
}

// A file whose last bytes are refused when it is closed is not published, and leaves nothing.
func TestAFailedCloseIsAnError(t *testing.T) {
	real := system
	t.Cleanup(func() { system = real })
	system.sync = func(*os.File) error { return nil }
	folder := t.TempDir()
	err := Write(filepath.Join(folder, "a"), func(w io.Writer) error { return w.(io.Closer).Close() })
	require.ErrorIs(t, err, os.ErrClosed)
	require.Empty(t, names(t, folder))
}

// Some file systems cannot sync a folder, which is no failure of the file.
func TestFoldersThatCannotBeSynced(t *testing.T) {
	real := system
	t.Cleanup(func() { system = real })
	for failure, ok := range map[error]bool{syscall.EINVAL: true, syscall.ENOTSUP: true, syscall.EIO: false} {
		system.sync = func(f *os.File) error {
			if info, err := f.Stat(); err == nil && info.IsDir() {
				return failure
			}
			return nil
		}
		require.Equal(t, ok, WriteBytes(filepath.Join(t.TempDir(), "a"), nil) == nil, failure)
	}
}

// Without free file descriptors each operation returns its error, at whichever step it needs one.
func TestNoFreeDescriptors(t *testing.T) {
	b := newBelow(t)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	lowest, err := os.Open(b.inside)
	require.NoError(t, err)
	free := uint64(lowest.Fd()) // the lowest number that is free
	require.NoError(t, lowest.Close())
	failed := map[string]int{}
	for few := range uint64(6) {
		less := limit
		less.Cur = free + few
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &less))
		for name, do := range operations {
			if err := do(b.root); err != nil {
				require.ErrorIs(t, err, syscall.EMFILE, name)
				failed[name]++
			}
		}
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	for name := range operations {
		require.Positive(t, failed[name], name)
		require.Less(t, failed[name], 6, name)
		require.NoError(t, operations[name](b.root), name)
	}
	left, err := os.ReadDir(filepath.Join(b.inside, "a", "b"))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A reader of lines leaves no file open, whether it could begin or not.
func TestReadersOfLinesAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would close unreferenced files
	folder := t.TempDir()
	for name, create := range lineFiles() {
		path := filepath.Join(folder, name)
		l, err := create(path)
		require.NoError(t, err)
		require.NoError(t, errors.Join(l.Append(1), l.Close()))
		before := openFiles(t)
		r, err := OpenLines(path)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, before, openFiles(t), name)
	}
	broken := filepath.Join(folder, "broken.gz")
	require.NoError(t, os.WriteFile(broken, []byte("text"), 0o600))
	before := openFiles(t)
	_, err := OpenLines(broken)
	require.Error(t, err)
	require.Equal(t, before, openFiles(t))
}

// A line beyond the buffer fails at once on a full disk, and does not count. A failed sync leaves no file.
func TestFailuresOfLines(t *testing.T) {
	for _, create := range lineFiles() {
		l, err := create(filepath.Join(t.TempDir(), "none", "a"))
		require.ErrorIs(t, err, os.ErrNotExist)
		require.Nil(t, l)
	}
	folder := t.TempDir()
	real := system
	t.Cleanup(func() { system = real })
	system.sync = func(*os.File) error { return syscall.EIO }
	require.ErrorIs(t, WriteBytes(filepath.Join(folder, "a"), nil), syscall.EIO)
	require.Empty(t, names(t, folder))
	system = real
	onFullDisk(t)
	l, err := Shared.CreateLines(filepath.Join(folder, "a.jsonl"))
	require.NoError(t, err)
	require.ErrorIs(t, l.AppendRaw(make([]byte, LinesBuffer+1)), syscall.ENOSPC)
	require.Zero(t, l.Count())
	require.ErrorIs(t, l.Close(), syscall.ENOSPC)
	l.Abort()
	require.ErrorIs(t, l.Close(), syscall.ENOSPC, "the first failure stays")
}

// A pipe is not appended to, even where a reader waits for what comes.
func TestPipesDoNotGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	reader, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer reader.Close()
	require.ErrorContains(t, closedFile(Private.Append(path)), "not a regular file of this user")
}

// A file of another user is not appended to.
func TestOnlyOwnFilesGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, closedFile(Private.Append(path)))
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Skipf("only root of the whole machine can give a file away: %v", err)
	}
	require.ErrorContains(t, closedFile(Private.Append(path)), "not a regular file of this user")
}

// After a failure at any step of a write, its file descriptors are closed, its unfinished file is gone, and the file
// has its old content or, where only the folder could not be synced, the new one.
func TestFailuresOfEachStepLeaveNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would close unreferenced files
	real := system
	t.Cleanup(func() { system = real })
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	path := filepath.Join(folder, "a")
	fill := func(w io.Writer) error { _, err := io.WriteString(w, "new\n"); return err }
	writers := map[string]func() error{
		"Write":   func() error { return Write(path, fill) },
		"WriteIn": func() error { return WriteIn(root, "a", fill) },
		"Lines":   func() error { return writeLines(path, "new") },
	}
	broken := errors.New("broken")
	syncFails := func(folder bool) func() {
		return func() {
			system.sync = func(f *os.File) error {
				if info, err := f.Stat(); err == nil && info.IsDir() == folder {
					return broken
				}
				return nil
			}
		}
	}
	for step, c := range map[string]struct {
		breaks func()
		want   string
	}{
		"create": {func() {
			system.create = func(*os.Root, string, os.FileMode) (*os.File, error) { return nil, broken }
		}, "old"},
		"write": {func() {
			system.create = func(dir *os.Root, name string, _ os.FileMode) (*os.File, error) {
				return dir.OpenFile(name, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
			}
		}, "old"},
		"sync": {syncFails(false), "old"},
		"close": {func() {
			system.sync = func(f *os.File) error {
				if info, err := f.Stat(); err == nil && !info.IsDir() {
					return f.Close()
				}
				return nil
			}
		}, "old"},
		"rename":          {func() { system.rename = func(*os.Root, string, string) error { return broken } }, "old"},
		"sync the folder": {syncFails(true), "new\n"},
	} {
		for name, write := range writers {
			require.NoError(t, WriteBytes(path, []byte("old")))
			c.breaks()
			before := openFiles(t)
			err := write()
			require.Equal(t, before, openFiles(t), "%s, %s", step, name)
			system = real
			require.Error(t, err, "%s, %s", step, name)
			require.ErrorContains(t, err, "writing "+path)
			require.Equal(t, []string{"a"}, names(t, folder), "%s, %s", step, name)
			require.Equal(t, c.want, readFile(t, path), "%s, %s", step, name)
		}
	}
}
