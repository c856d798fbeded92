package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWriteReplacesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, WriteBytes(path, []byte("old")))
	require.NoError(t, WriteJSON(path, map[string]int{"a": 1}))
	require.Equal(t, "{\n  \"a\": 1\n}\n", readFile(t, path))
	require.Equal(t, []string{"run.json"}, names(t, filepath.Dir(path)))
}

func TestWriteKeepsTheOldFileOnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, WriteBytes(path, []byte("old")))
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.Equal(t, "old", readFile(t, path))
	require.Equal(t, []string{"run.json"}, names(t, filepath.Dir(path)))
	require.ErrorContains(t, WriteJSON(path, func() {}), "encoding "+path+" as JSON")
}

func TestErrorsOfWriteContainAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "run.json")
	err := WriteBytes(path, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "writing "+path)
	require.ErrorContains(t, err, "make the folder first")
}

// A rename would replace /dev/stdout by a file.
func TestWriteLeavesDevicesAlone(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.ErrorContains(t, WriteBytes(pipe, nil),
		"writing "+pipe+": it is a pipe, a socket or a device, expected a regular file or a new name")
	require.ErrorContains(t, WriteBytes(dir, nil), "it is a folder")
	open := filepath.Join(dir, "stdout")
	require.NoError(t, os.Symlink("/proc/self/exe", open))
	require.ErrorContains(t, WriteBytes(open, nil), "it is a link to an open file")
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)
}

// onFullDisk replaces every unfinished file of the test by /dev/full, which never has space.
func onFullDisk(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	real := system
	t.Cleanup(func() { system = real })
	system.create = func(*os.Root, string, fs.FileMode) (*os.File,
		error) {
		return os.OpenFile("/dev/full", os.O_WRONLY, 0)
	}
}

func TestFullDisk(t *testing.T) {
	onFullDisk(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	err := WriteBytes(path, []byte("data"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "writing "+path+": ")

	for name, create := range lineFiles() {
		l, err := create(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, l.Append(1), "one line fits the buffer")
		require.ErrorIs(t, l.Flush(), syscall.ENOSPC, name)
		require.ErrorIs(t, l.Append(2), syscall.ENOSPC, "the first failure stays")
		require.ErrorIs(t, l.Close(), syscall.ENOSPC)
		require.ErrorIs(t, l.Close(), syscall.ENOSPC)
	}
	require.Empty(t, names(t, dir))
}

// A compressor writes its last bytes when it is closed, so a full disk may become apparent only then.
func TestFullDiskAtTheEndOfCompression(t *testing.T) {
	onFullDisk(t)
	system.sync = func(*os.File) error { return nil } // syncing /dev/full would fail for another reason
	for name, create := range lineFiles() {
		path := filepath.Join(t.TempDir(), name)
		l, err := create(path)
		require.NoError(t, err)
		require.NoError(t, l.Append(1))
		require.ErrorIs(t, l.Close(), syscall.ENOSPC, name)
		require.ErrorIs(t, l.Append(2), syscall.ENOSPC)
		require.ErrorIs(t, l.Flush(), syscall.ENOSPC, name)
		require.NoFileExists(t, path)
	}
}

// record records the calls that make a file durable, and executes them.
func record(t *testing.T) *[]string {
	t.Helper()
	calls := &[]string{}
	real := system
	t.Cleanup(func() { system = real })
	system.sync = func(f *os.File) error {
		info, err := f.Stat()
		require.NoError(t, err)
		if info.IsDir() {
			*calls = append(*calls, "sync folder")
		} else {
			*calls = append(*calls, fmt.Sprintf("sync %d bytes", info.Size()))
		}
		return real.sync(f)
	}
	system.rename = func(dir *os.Root, from, to string) error {
		*calls = append(*calls, "rename to "+to)
		return real.rename(dir, from, to)
	}
	return calls
}

// Bytes, name and folder must reach the disk in this order; otherwise a power failure could leave a name without its
// bytes.
func TestFilesAreDurable(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for name, write := range map[string]func() error{
		"a.json":  func() error { return WriteBytes(filepath.Join(dir, "a.json"), []byte("1234")) },
		"b.json":  func() error { return WriteBytesIn(root, "b.json", []byte("1234")) },
		"c.jsonl": func() error { return writeLines(filepath.Join(dir, "c.jsonl"), "1234") },
	} {
		calls := record(t)
		require.NoError(t, write())
		size := 4
		if name == "c.jsonl" {
			size++ // plus the newline
		}
		require.Equal(t, []string{fmt.Sprintf("sync %d bytes", size), "rename to " + name, "sync folder"}, *calls, name)
	}
}

func writeLines(path, line string) error {
	l, err := Shared.CreateLines(path)
	if err != nil {
		return err
	}
	return errors.Join(l.AppendRaw([]byte(line)), l.Close())
}

func TestAFailedSyncIsAnError(t *testing.T) {
	broken := errors.New("broken")
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	for _, write := range []func() error{
		func() error { return WriteBytes(path, []byte("new")) },
		func() error { return writeLines(path, "new") },
	} {
		require.NoError(t, WriteBytes(path, []byte("old")))
		real := system
		system.sync = func(*os.File) error { return broken }
		err := write()
		system = real
		require.ErrorIs(t, err, broken)
		require.Equal(t, "old", readFile(t, path))

		system.rename = func(*os.Root, string, string) error { return broken }
		err = write()
		system = real
		require.ErrorIs(t, err, broken)
		require.Equal(t, "old", readFile(t, path))

		system.sync = func(f *os.File) error {
			if info, err := f.Stat(); err == nil && info.IsDir() {
				return broken
			}
			return nil
		}
		err = write()
		system = real
		require.ErrorIs(t, err, broken, "the folder")
		require.Equal(t, []string{"run.json"}, names(t, dir))
	}
}

// lineFiles returns a name for each form of a file of lines, and how it is created.
func lineFiles() map[string]func(path string) (*Lines, error) {
	return map[string]func(path string) (*Lines, error){
		"a.jsonl": Shared.CreateLines, "a.jsonl.zst": Shared.CreateLines, "a.jsonl.gz": Shared.CreateLines,
		"bulk.jsonl": Shared.CreateBulk, "bulk.jsonl.zst": Shared.CreateBulk, "bulk.jsonl.gz": Shared.CreateBulk,
	}
}

// A bulk file of many windows is one zstd frame, which every reader reads to its end. On a full disk the file is
// discarded.
func TestBulk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl.zst")
	const lines = 200_000
	write := func() error {
		l, err := Shared.CreateBulk(path)
		require.NoError(t, err)
		for i := 0; i < lines; i += 2 {
			if err := l.AppendRaw(fmt.Appendf(nil, `{"seq":%d,"issued":%d}`, i, i*i%7919)); err != nil {
				l.Abort()
				return err
			}
			j := i + 1
			if err := l.AppendLines(fmt.Appendf(nil, "{\"seq\":%d,\"issued\":%d}\n", j, j*j%7919), 1); err != nil {
				l.Abort()
				return err
			}
		}
		require.Equal(t, lines, l.Count())
		return l.Close()
	}
	require.NoError(t, write())
	packed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(packed), "\x28\xb5\x2f\xfd"), "frames")
	r, err := OpenLines(path)
	require.NoError(t, err)
	defer r.Close()
	in, n := bufio.NewScanner(r), 0
	for ; in.Scan(); n++ {
		if in.Text() != fmt.Sprintf(`{"seq":%d,"issued":%d}`, n, n*n%7919) {
			t.Fatalf("line %d is %s", n, in.Text())
		}
	}
	require.NoError(t, in.Err())
	require.Equal(t, lines, n)
	require.NoError(t, os.Remove(path))
	onFullDisk(t)
	require.ErrorIs(t, write(), syscall.ENOSPC)
	require.NoFileExists(t, path)
}

func TestLines(t *testing.T) {
	for name, create := range lineFiles() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			l, err := create(path)
			require.NoError(t, err)
			var group sync.WaitGroup
			for i := range 4 {
				group.Go(func() {
					for j := range 1000 {
						if err := l.Append(i*1000 + j); err != nil {
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			require.NoError(t, l.Flush())
			require.NoFileExists(t, path, "not complete yet")
			require.NoError(t, l.AppendRaw([]byte("4000")))
			require.Equal(t, 4001, l.Count())
			require.NoError(t, l.Close())
			require.NoError(t, l.Close())
			l.Abort()
			require.Equal(t, []string{name}, names(t, filepath.Dir(path)))
			require.ErrorIs(t, l.Append(1), errEnded)

			r, err := OpenLines(path)
			require.NoError(t, err)
			defer r.Close()
			seen := map[string]bool{}
			in := bufio.NewScanner(r)
			for in.Scan() {
				seen[in.Text()] = true
			}
			require.NoError(t, in.Err())
			require.Len(t, seen, 4001)
			for i := range 4001 {
				require.True(t, seen[fmt.Sprint(i)], i)
			}
		})
	}
}

func TestFlushedLinesSurviveACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl.zst")
	l, err := Shared.CreateLines(path)
	require.NoError(t, err)
	require.NoError(t, l.Append("kept"))
	require.NoError(t, l.Flush())
	crashed := filepath.Join(t.TempDir(), "crashed.zst")
	left := names(t, filepath.Dir(path))
	require.Len(t, left, 1)
	require.Regexp(t, `^a\.jsonl\.zst\.[A-Z2-7]{26}\.tmp$`, left[0])
	data := readFile(t, filepath.Join(filepath.Dir(path), left[0]))
	require.NoError(t, os.WriteFile(crashed, []byte(data), 0o644))
	l.Abort()
	require.Empty(t, names(t, filepath.Dir(path)))
	require.ErrorIs(t, l.Close(), errAborted)

	r, err := OpenLines(crashed)
	require.NoError(t, err)
	defer r.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "\"kept\"\n", line)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// names returns the names of a folder's entries.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A writer that crashes leaves its unfinished file. The next writer of the same name removes that file and no other.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	random := strings.Repeat("A", 26)
	others := []string{"run.json.mine.tmp", "run.json." + random[1:] + tmpSuffix, "run.json.A" + random + tmpSuffix,
		"run.json." + random, "run.json." + strings.ToLower(random) + tmpSuffix,
		"other." + random + tmpSuffix, random + tmpSuffix}
	for _, name := range append(others, "run.json."+random+tmpSuffix) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, WriteBytes(filepath.Join(dir, "run.json"), nil))
	require.ElementsMatch(t, append(others, "run.json"), names(t, dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.json."+random+tmpSuffix), nil, 0o600))
	RemoveUnfinished(filepath.Join(dir, "run.json"))
	require.ElementsMatch(t, append(others, "run.json"), names(t, dir))
	RemoveUnfinished(filepath.Join(dir, "none", "run.json"))
}

func closedFile(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

// Files that grow in place are never opened through a planted link or file.
func TestPlantedFilesDoNotGrow(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	for name, plant := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(victim, path) },
		"hard link": func(path string) error { return os.Link(victim, path) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
		require.NoError(t, os.Chmod(victim, 0o644)) // set explicitly, since the umask may differ
		path := filepath.Join(t.TempDir(), "log")
		require.NoError(t, plant(path))
		require.Error(t, closedFile(Private.Append(path)), name)
		info, err := os.Stat(victim)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o644), info.Mode(), name)
		f, err := Private.Create(path)
		require.NoError(t, err, name)
		_, err = f.WriteString("new")
		require.NoError(t, errors.Join(err, f.Close()))
		require.Equal(t, "precious", readFile(t, victim), name)
		require.Equal(t, "new", readFile(t, path), name)

		f, err = Private.Append(path)
		require.NoError(t, err, name)
		_, err = f.WriteString("er")
		require.NoError(t, errors.Join(err, f.Close()))
		require.Equal(t, "newer", readFile(t, path), name)
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	require.NoError(t, os.WriteFile(in, nil, 0o600))
	require.NoError(t, closedFile(Shared.Append(in)))
	info, err := os.Stat(in)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode(), "a file that only its owner reads stays so")
	require.Error(t, closedFile(Private.Create(dir)), "a folder with something in it")
	require.ErrorIs(t, closedFile(Private.Append(filepath.Join(dir, "none", "log"))), fs.ErrNotExist)
	require.ErrorIs(t, closedFile(Private.Create(filepath.Join(dir, "none", "log"))), fs.ErrNotExist)
}

func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("a", longestName), "short"} {
		require.NoError(t, WriteBytes(filepath.Join(dir, name), nil))
	}
	require.Len(t, names(t, dir), 2)
}

func TestAccess(t *testing.T) {
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	dir := t.TempDir()
	for access, want := range map[Access][2]fs.FileMode{Private: {0o600, 0o700}, Shared: {0o644, 0o755}} {
		require.Equal(t, want, [2]fs.FileMode{access.File(), access.Folder()})
		for i, write := range []func(path string) error{
			func(path string) error { return access.WriteBytes(path, nil) },
			func(path string) error { return access.WriteJSON(path, 1) },
			func(path string) error { return closedFile(access.Append(path)) },
			func(path string) error { return closedFile(access.Create(path)) },
			func(path string) error { _, err := access.Copy("/dev/null", path); return err },
			func(path string) error {
				l, err := access.CreateLines(path)
				if err != nil {
					return err
				}
				return l.Close()
			},
		} {
			path := filepath.Join(dir, fmt.Sprint(access, i))
			require.NoError(t, os.WriteFile(path, nil, 0o666), "an earlier file's mode does not stay")
			require.NoError(t, write(path))
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, want[0], info.Mode(), "%d", i)
		}
	}
}
