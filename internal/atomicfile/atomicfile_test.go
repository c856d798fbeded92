package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	require.NoFileExists(t, path+tmpSuffix)
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
	require.NoFileExists(t, path+tmpSuffix)
	require.ErrorContains(t, WriteJSON(path, func() {}), "encoding "+path+" as JSON")
}

func TestWriteSaysWhatToTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "run.json")
	err := WriteBytes(path, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "writing "+path)
	require.ErrorContains(t, err, "make the folder first")
}

// A rename would put a file in the place of /dev/stdout.
func TestWriteLeavesDevicesAlone(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.ErrorContains(t, WriteBytes(pipe, nil), "writing "+pipe+": found a pipe, a socket or a device, expected a regular file or none")
	require.ErrorContains(t, WriteBytes(dir, nil), "found a folder")
	info, err := os.Lstat(pipe)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe)
}

// fullDisk makes path's unfinished file one that never has room.
func fullDisk(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink("/dev/full", path+tmpSuffix))
	return path
}

func TestFullDisk(t *testing.T) {
	path := fullDisk(t, "run.json")
	err := WriteBytes(path, []byte("data"))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "writing "+path+": ")
	require.NoFileExists(t, path)

	for _, name := range []string{"a.jsonl", "a.jsonl.zst", "a.jsonl.gz"} {
		path := fullDisk(t, name)
		l, err := CreateLines(path)
		require.NoError(t, err)
		require.NoError(t, l.Append(1), "one line fits the buffer")
		require.ErrorIs(t, l.Flush(), syscall.ENOSPC, name)
		require.ErrorIs(t, l.Append(2), syscall.ENOSPC, "the first failure stays")
		require.ErrorIs(t, l.Close(), syscall.ENOSPC)
		require.ErrorIs(t, l.Close(), syscall.ENOSPC)
		require.NoFileExists(t, path)
		require.NoFileExists(t, path+tmpSuffix)
	}
}

func TestLines(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.jsonl.zst", "a.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			l, err := CreateLines(path)
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
			require.NoError(t, l.Close())
			require.NoError(t, l.Close())
			l.Abort()
			require.NoFileExists(t, path+tmpSuffix)
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
	l, err := CreateLines(path)
	require.NoError(t, err)
	require.NoError(t, l.Append("kept"))
	require.NoError(t, l.Flush())
	crashed := filepath.Join(t.TempDir(), "crashed.zst")
	data, err := os.ReadFile(path + tmpSuffix)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(crashed, data, 0o644))
	l.Abort()
	require.NoFileExists(t, path+tmpSuffix)
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
