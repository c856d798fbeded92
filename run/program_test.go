package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/race"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// built is the program, built once for all tests that start it and the simulator as processes.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// program returns the path of the program. Tests that need it take seconds, and the race detector does not reach other
// processes.
func program(t *testing.T) string {
	t.Helper()
	switch {
	case !loadgen.Built:
		t.Skip("built without LoadGen")
	case race.Enabled:
		t.Skip("the program runs in processes of its own, which the race detector does not see")
	case testing.Short():
		t.Skip("runs the program for seconds")
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "mlperf-go-test-"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "mlperf-go")
		var out []byte
		if out, built.err = exec.Command("go", "build", "-o", built.path,
			"../cmd/mlperf-go").CombinedOutput(); built.err != nil {
			built.err = errors.Join(built.err, errors.New(string(out)))
		}
	})
	require.NoError(t, built.err)
	return built.path
}

// simulator is a simulated server in its own process.
type simulator struct {
	url string
	pid int
}

// simulate starts a simulator for the length of the test.
func simulate(t *testing.T, args ...string) simulator {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command(program(t), append([]string{"--quiet", "sim", "--ready-file", ready}, args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // only its end matters
		_ = cmd.Wait()
	})
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if text, err := os.ReadFile(ready); err == nil {
			return simulator{strings.TrimSpace(string(text)), cmd.Process.Pid}
		}
		require.True(t, time.Now().Before(deadline), "the simulator does not serve: %s", log.String())
		time.Sleep(5 * time.Millisecond)
	}
}

// ran is a run of the program.
type ran struct {
	*record.Record
	Folder string
	Exit   int
	Took   time.Duration
}

// start runs the program to its end.
func start(t *testing.T, args ...string) *ran { return startIn(t, nil, args...) }

// startIn is start with a command that prepares the environment, such as a namespace.
func startIn(t *testing.T, within []string, args ...string) *ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	folder := filepath.Join(t.TempDir(), "run")
	line := append(slices.Concat(within, []string{program(t), "run", "--no-progress", "--json", "--output-dir", folder}),
		args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Dir = t.TempDir()
	begun := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	r := &ran{Record: &record.Record{}, Folder: folder, Exit: cmd.ProcessState.ExitCode(), Took: time.Since(begun)}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), r.Record), "%s%s", stdout.String(), stderr.String())
	require.Equal(t, record.Schema, r.Schema, stderr.String())
	schematest.Records(t, folder)
	return r
}

// sound requires that the run has no fault except the lag of a client on a busy machine and, with limits, the missed
// limits.
func (r *ran) sound(t *testing.T, allowed ...record.Code) {
	t.Helper()
	for _, c := range r.Reasons {
		require.Contains(t, append(allowed, record.CodeClientLag), c.Code, c.Text)
	}
	require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
	require.Equal(t, r.Samples.Issued, r.Samples.Completed)
	require.Zero(t, r.LoadGen.Errors, "order errors and all others")
	require.True(t, r.LoadGen.Complete, r.LoadGen.Missing)
}
