package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// cloggedVariable contains the settings of a run whose log thread gets stuck, in a process of its own.
const cloggedVariable = "MLPERF_GO_RUN_TEST_CLOGGED"

// clogged runs a test and blocks LoadGen's log thread in its next write, once samples are issued. The effect is that of
// lost log entries: every sample is answered, and StartTest waits.
type clogged struct {
	silent
	*test
	done bool
	err  error
}

func runClogged(settings string) error {
	var s Settings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return err
	}
	p, err := New(s)
	if err != nil {
		return err
	}
	stop, err := p.Rehearse(context.Background(), "") // writes a data set
	if err != nil {
		return err
	}
	defer stop()
	c := &clogged{}
	c.test = newTest(p.inner(), c, p.Folder())
	c.returnBound, c.earlyFrom = 2*time.Second, 1
	if err := c.prepare(context.Background()); err != nil {
		return err
	}
	r, err := c.run(context.Background())
	if err != nil || c.err != nil {
		return fmt.Errorf("%w; %w", err, c.err)
	}
	if early := c.early != nil; early != (c.plan.Mode == models.Performance) {
		return fmt.Errorf("the request log was started while LoadGen was stuck: %t", early)
	}
	os.Exit(r.ExitCode())
	return nil
}

func (c *clogged) Progress(p Progress) {
	if c.done || p.Issued == 0 {
		return
	}
	c.done = true
	c.err = c.logs.clog()
}

// clog replaces the descriptors that write LoadGen's logs by a pipe that is full and that nothing reads.
func (w *logWatch) clog() error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	size, err := unix.FcntlInt(uintptr(pipe[1]), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		return err
	}
	if _, err := unix.Write(pipe[1], make([]byte, size)); err != nil {
		return err
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, e := range open {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || !w.writes(fd) {
			continue
		}
		if err := unix.Dup3(pipe[1], fd, unix.O_CLOEXEC); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("no descriptor of %d writes a log", len(open))
	}
	return nil
}

// LoadGen does not end a test whose samples have all ended. The test ends by itself, with the exit code of the
// environment, a reason and all measurements, and is never VALID.
func TestLoadGenThatDoesNotReturn(t *testing.T) {
	server := simulate(t, "--model", "llama3.1-8b")
	self, err := os.Executable()
	require.NoError(t, err)
	for name, s := range map[string]Settings{
		"performance": {"mode": "performance", "target-qps": "200", "min-queries": "256", "min-duration": "0"},
		"accuracy":    {"mode": "accuracy", "target-qps": "10", "no-score": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s["model"], s["scenario"], s["endpoint"], s["backend"] = "llama3.1-8b", "Server", server.url, "sim"
			s["served-model"] = "llama3.1-8b"
			s["samples"], s["max-tokens"], s["output-dir"] = "16", "4", filepath.Join(t.TempDir(), "out")
			text, err := json.Marshal(s)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, self)
			cmd.Env, cmd.Dir = append(os.Environ(), cloggedVariable+"="+string(text)), t.TempDir()
			out, _ := cmd.CombinedOutput() // the exit status is in the state
			require.Equal(t, ExitEnvironment, cmd.ProcessState.ExitCode(), "%s", out)
			schematest.Records(t, s["output-dir"])
			r, err := record.Read(s["output-dir"])
			require.NoError(t, err)
			require.Equal(t, record.Invalid, r.Verdict)
			require.Equal(t, record.CodeLogIncomplete, r.Reasons[0].Code)
			require.Contains(t, r.Reasons[0].Text, fmt.Sprintf("LoadGen did not end the test: all %d samples were issued",
				r.Samples.Issued))
			require.Contains(t, r.Reasons[0].Text, "Run again")
			require.Positive(t, r.Samples.Issued)
			require.Equal(t, r.Samples.Issued, r.Samples.Completed)
			require.Zero(t, r.Samples.Failed)
			require.NotEmpty(t, r.LatencyS.E2E)
			hashed(t, s["output-dir"], r)
			requests, err := os.ReadFile(filepath.Join(s["output-dir"], record.RequestsName))
			require.NoError(t, err)
			require.NotEmpty(t, requests)
		})
	}
}

func TestReturnWatch(t *testing.T) {
	type look struct {
		expected bool
		activity string
		times    int
	}
	for name, c := range map[string]struct {
		looks []look
		want  bool
	}{
		"a look less than the bound":   {[]look{{true, "a", 5}}, false},
		"quiet for the bound":          {[]look{{true, "a", 6}}, true},
		"LoadGen issues":               {[]look{{false, "a", 100}}, false},
		"issues after a quiet time":    {[]look{{true, "a", 5}, {false, "a", 1}, {true, "a", 4}}, false},
		"a log grows":                  {[]look{{true, "a", 5}, {true, "b", 5}, {true, "c", 5}}, false},
		"quiet after a log grew":       {[]look{{true, "a", 5}, {true, "b", 6}}, true},
		"a log grows at the last look": {[]look{{true, "a", 5}, {true, "b", 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := returnWatch{bound: 4 * returnEvery}
			overdue := false
			for _, l := range c.looks {
				for range l.times {
					require.False(t, overdue, "it was reported before the last look")
					overdue = w.look(l.expected, l.activity)
				}
			}
			require.Equal(t, c.want, overdue)
		})
	}
	require.Greater(t, returnBound, time.Minute, "a slow disk needs it")
}
