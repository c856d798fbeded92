package run

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// LoadGen's logs are written to the folder that was checked, even if another folder has its name when LoadGen opens
// them.
func TestLogFolderIsHeld(t *testing.T) {
	o := &output{folder: t.TempDir()}
	logs := filepath.Join(o.folder, record.LogFolder)
	elsewhere := t.TempDir()
	require.NoError(t, makeOwnFolder(logs, atomicfile.Private))
	path, err := o.openLogFolder()
	require.NoError(t, err)
	defer o.logFolder.Close()
	require.NoError(t, os.Rename(logs, logs+".old"))
	require.NoError(t, os.Symlink(elsewhere, logs))
	require.NoError(t, os.WriteFile(filepath.Join(path, "log"), []byte("x"), 0o600))
	require.FileExists(t, filepath.Join(logs+".old", "log"))
	require.NoFileExists(t, filepath.Join(elsewhere, "log"))

	_, err = o.openLogFolder()
	require.ErrorContains(t, err, "the output folder cannot be created", "a link is refused")
	require.NoError(t, os.Remove(logs))
	require.NoError(t, os.Mkdir(logs, 0o700))
	for mode, want := range map[os.FileMode]string{0o755: "", 0o775: "chmod go-w", 0o707: "chmod go-w"} {
		require.NoError(t, os.Chmod(logs, mode))
		again := makeOwnFolder(logs, atomicfile.Private)
		if want == "" {
			require.NoError(t, again)
			continue
		}
		require.ErrorContains(t, again, want, "%o", mode)
		require.Equal(t, ExitEnvironment, Classify(again).Exit)
	}
}

// After the last answer each of LoadGen's logs is read twice: once for its content and once for its hash, which must be
// that of the final bytes.
func TestLogsAreReadTwice(t *testing.T) {
	folder := t.TempDir()
	logs := filepath.Join(folder, record.LogFolder)
	require.NoError(t, os.Mkdir(logs, 0o700))
	const lines = 40_000
	total := int64(0)
	for name, text := range map[string]string{
		mllog.DetailName: strings.Repeat(`:::MLLOG {"key": "x", "value": 1, "time_ms": 1.0, "namespace": "mlperf::logging", `+
			`"event_type": "POINT_IN_TIME", "metadata": {"is_error": false, "is_warning": false, "file": "a.cc", `+
			`"line_no": 1, "pid": 1, "tid": 1}}`+"\n", lines),
		mllog.AccuracyName: "[\n" + strings.Repeat(`{ "seq_id" : 1, "qsl_idx" : 1, "data" : "00", "token_count" : 1 },`+"\n",
			lines) + "]\n",
		mllog.SummaryName: "No errors encountered during test.\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(logs, name), []byte(text), 0o600))
		total += int64(len(text))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadRead(t)
	result, err := mllog.Summarize(logs)
	require.NoError(t, err)
	sums, err := hashFiles(folder)
	require.NoError(t, err)
	read := threadRead(t) - before
	require.Equal(t, lines, result.Detail.Lines)
	require.Len(t, sums, 3)
	const slack = 64 << 10 // for /proc and the ends of the accuracy log
	require.GreaterOrEqual(t, read, 2*total, "the count works")
	require.LessOrEqual(t, read, 2*total+slack)
}

// threadRead returns the number of bytes that this thread has read.
func threadRead(t *testing.T) (n int64) {
	text, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		t.Skip("the kernel does not count what threads read: ", err)
	}
	_, err = fmt.Sscanf(string(text), "rchar: %d", &n)
	require.NoError(t, err)
	return n
}
