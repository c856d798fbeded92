package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// writing is a folder of logs that are being written, and their watch.
func writing(t *testing.T) (*logWatch, map[string]*os.File) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]*os.File{}
	for _, name := range logNames {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		_, err = f.WriteString("first line\n")
		require.NoError(t, err)
		files[name] = f
	}
	w := watchLogs(dir)
	t.Cleanup(w.close)
	require.Eventually(t, func() bool { return w.look() == len(logNames) }, 5*time.Second, time.Millisecond)
	return w, files
}

// The watch reports changes of a log by another program, and none by LoadGen.
func TestChangesFromOutsideAreSeen(t *testing.T) {
	for _, name := range logNames {
		for what, change := range map[string]func(path string) error{
			"":          func(string) error { return nil },
			"truncated": func(path string) error { return os.Truncate(path, 3) },
			"removed":   os.Remove,
			"replaced": func(path string) error {
				text, err := os.ReadFile(path)
				if err == nil {
					err = os.Rename(path, path+".old")
				}
				if err == nil {
					err = os.WriteFile(path, text, 0o600)
				}
				return err
			},
		} {
			w, files := writing(t)
			require.NoError(t, change(filepath.Join(w.folder, name)))
			for _, f := range files {
				_, err := f.WriteString("a")
				require.NoError(t, err)
			}
			faults := w.stop()
			if what == "" {
				require.Empty(t, faults)
				continue
			}
			if what == "truncated" { // LoadGen wrote before the next look, which sees a hole
				text, err := os.ReadFile(filepath.Join(w.folder, name))
				require.NoError(t, err)
				require.Contains(t, string(text), "\x00")
				continue
			}
			require.Len(t, faults, 1)
			if what == "replaced" { // a look between the two steps sees a removed log
				require.Regexp(t, name+" was (replaced|removed)", faults[0])
				continue
			}
			require.Contains(t, faults[0], name+" was "+what)
		}
	}
	w, _ := writing(t)
	require.NoError(t, os.Truncate(filepath.Join(w.folder, mllog.DetailName), 3))
	require.Equal(t, []string{"mlperf_log_detail.txt was truncated from 11 to 3 bytes while LoadGen wrote it"}, w.stop())
}

// Only removed logs are written again.
func TestRemovedLogsAreRestored(t *testing.T) {
	w, files := writing(t)
	_, err := files[mllog.DetailName].WriteString("second line\n")
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(w.folder, mllog.DetailName)))
	require.NoError(t, os.WriteFile(filepath.Join(w.folder, mllog.SummaryName), []byte("kept"), 0o600))
	require.NotEmpty(t, w.stop())
	require.NoError(t, w.restore(atomicfile.Private, w.folder))
	text, err := os.ReadFile(filepath.Join(w.folder, mllog.DetailName))
	require.NoError(t, err)
	require.Equal(t, "first line\nsecond line\n", string(text))
	text, err = os.ReadFile(filepath.Join(w.folder, mllog.SummaryName))
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
}

// After freeze, writes reach no log, and other files of the process stay unchanged.
func TestFrozenLogsDoNotChange(t *testing.T) {
	w, files := writing(t)
	other, err := os.Create(filepath.Join(t.TempDir(), "other"))
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, w.freeze())
	before := w.states()
	for _, f := range files {
		_, err := f.WriteString("late\n")
		require.NoError(t, err)
	}
	_, err = other.WriteString("kept")
	require.NoError(t, err)
	require.Equal(t, before, w.states())
	require.Empty(t, w.stop())
	text, err := os.ReadFile(other.Name())
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
	require.NoError(t, os.WriteFile(filepath.Join(w.folder, mllog.DetailName), []byte("changed"), 0o600))
	require.NotEqual(t, before, w.states())
}

// running is a Server test in its own process.
type running struct {
	*exec.Cmd
	folder    string
	temporary string // the system's folder for temporary files
	stderr    strings.Builder
}

// runLong starts a Server test of some seconds and returns when LoadGen issues.
func runLong(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{folder: filepath.Join(t.TempDir(), "out"), temporary: t.TempDir()}
	r.Cmd = exec.Command(program(t), append([]string{"run", "--quiet", "--model", "llama3.1-8b", "--scenario", "Server",
		"--samples", "16", "--target-qps", "200",
		"--min-queries", "512", "--min-duration", "0", "--max-tokens", "4", "--output-dir", r.folder}, args...)...)
	r.Stderr = &r.stderr
	r.Dir, r.Env = t.TempDir(), append(os.Environ(), "TMPDIR="+r.temporary)
	require.NoError(t, r.Start())
	t.Cleanup(func() {
		_ = r.Process.Kill()
		schematest.Records(t, filepath.Dir(r.folder))
		schematest.Records(t, r.temporary)
	})
	detail := filepath.Join(r.folder, record.LogFolder, mllog.DetailName)
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(detail)
		return err == nil && strings.Contains(string(text), "generated_query_duration")
	}, time.Minute, 5*time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	return r
}

func (r *running) end() int {
	_ = r.Wait() // the exit status is in the state
	return r.ProcessState.ExitCode()
}

// A test whose log another program changes is not valid, even if all else succeeds; its exit code is the environment's.
func TestALogThatIsChangedInATest(t *testing.T) {
	program(t)
	for name, c := range map[string]struct {
		change func(logs string) error
		text   string
	}{
		"truncated": {func(logs string) error { return os.Truncate(filepath.Join(logs, mllog.DetailName), 0) },
			"mlperf_log_detail.txt"},
		"replaced": {func(logs string) error {
			path := filepath.Join(logs, mllog.AccuracyName)
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("[\n]\n"), 0o600)
		}, "mlperf_log_accuracy.json was replaced"},
		"removed": {os.RemoveAll, "was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runLong(t)
			require.NoError(t, c.change(filepath.Join(r.folder, record.LogFolder)))
			require.Equal(t, ExitEnvironment, r.end(), r.stderr.String())
			saved, err := record.Read(r.folder)
			require.NoError(t, err)
			require.Equal(t, record.Invalid, saved.Verdict)
			require.False(t, saved.LoadGen.Complete)
			i := slices.IndexFunc(saved.Reasons, func(c record.Cause) bool { return c.Code == record.CodeLogIncomplete })
			require.GreaterOrEqual(t, i, 0, "%v", saved.Reasons) // a busy machine adds reasons
			require.Contains(t, fmt.Sprint(saved.Reasons[i].Value), c.text)
			hashed(t, r.folder, saved)
		})
	}
}

// hashed requires that the record has the hash of every file of a run except its own, as the files are now.
func hashed(t *testing.T, folder string, r *record.Record) {
	t.Helper()
	now := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == record.FileName || e.Name() == record.SummaryName {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err == nil {
			now[name], err = atomicfile.SHA256(path)
		}
		return err
	}))
	require.Equal(t, now, r.Files)
	for _, name := range logNames {
		require.Contains(t, r.Files, record.LogFolder+"/"+name)
	}
	for _, name := range []string{record.UserConfName, record.ConfigName, record.PreflightName, record.RequestsName} {
		require.Contains(t, r.Files, name)
	}
}

// LoadGen continues to issue after a signal: the hashes in the record are those of the final logs.
func TestHashesAfterASignal(t *testing.T) {
	program(t)
	r := runLong(t, "--target-qps", "2000", "--min-duration", "10m", "--max-tokens", "2")
	require.NoError(t, r.Process.Signal(syscall.SIGINT))
	require.Equal(t, ExitInterrupt, r.end(), r.stderr.String())
	saved, err := record.Read(r.folder)
	require.NoError(t, err)
	require.Equal(t, record.Interrupted, saved.Verdict)
	hashed(t, r.folder, saved)
}

// If the output folder is renamed or deleted during a test, the run is saved elsewhere with all measurements.
func TestALostOutputFolder(t *testing.T) {
	program(t)
	for name, lose := range map[string]func(folder string) error{
		"renamed":         func(folder string) error { return os.Rename(folder, folder+".moved") },
		"deleted":         os.RemoveAll,
		"parent deleted":  func(folder string) error { return os.RemoveAll(filepath.Dir(folder)) },
		"another instead": func(folder string) error { return os.Rename(folder, folder+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runLong(t)
			require.NoError(t, lose(r.folder))
			if name == "another instead" {
				require.NoError(t, os.Mkdir(r.folder, 0o755))
			}
			require.Equal(t, ExitEnvironment, r.end(), r.stderr.String())
			beside := r.folder
			if name == "parent deleted" {
				beside = filepath.Join(r.temporary, filepath.Base(r.folder))
			}
			found, err := filepath.Glob(beside + rescuedInfix + "*")
			require.NoError(t, err)
			require.Len(t, found, 1, r.stderr.String())
			require.Contains(t, r.stderr.String(), "the output folder "+r.folder+" was ")
			require.Contains(t, r.stderr.String(), "saved in "+found[0])
			require.Equal(t, 1, strings.Count(r.stderr.String(), "the output folder "), "one sentence")
			saved, err := record.Read(found[0])
			require.NoError(t, err)
			require.Equal(t, record.Invalid, saved.Verdict)
			require.Equal(t, record.CodeLogIncomplete, saved.Reasons[0].Code)
			require.Contains(t, saved.Reasons[0].Text, r.folder)
			require.EqualValues(t, 512, saved.Samples.Completed)
			hashed(t, found[0], saved)
			logs, err := mllog.Summarize(filepath.Join(found[0], record.LogFolder))
			require.NoError(t, err)
			require.True(t, logs.Complete, logs.Missing)
			if name == "renamed" || name == "another instead" {
				require.Contains(t, r.stderr.String(), r.folder+".moved")
				require.NoFileExists(t, filepath.Join(r.folder+".moved", record.FileName))
			}
		})
	}
}

// An error after a test is the environment's fault or a bug. It is never wrong usage, which would mean that no test was
// started.
func TestErrorsAfterATestAreNotUsage(t *testing.T) {
	out := &output{folder: "out"}
	require.NoError(t, out.afterTest(nil))
	err := Classify(out.afterTest(errors.New("odd")))
	require.Equal(t, ExitEnvironment, err.Exit)
	require.ErrorContains(t, err, "What was measured is in out")
	full := exit.Environment("disk_full", "", "full")
	require.Equal(t, error(full), out.afterTest(full))

	run := ended(t, Settings{"scenario": "Offline"})
	run.complete(0, 0, ledger.Completion{OutputTokens: 5})
	// a folder in the record's place
	require.NoError(t, os.MkdirAll(filepath.Join(run.folder, record.FileName, "x"), 0o755))
	_, failed := run.finish(context.Background())
	require.Equal(t, ExitEnvironment, Classify(run.afterTest(failed)).Exit)
}
