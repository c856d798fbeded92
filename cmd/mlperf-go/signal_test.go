package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/interrupt"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// endWithin is how long an interrupted test may take to end. A quiet machine needs little more than a second
// (docs/reference/loadgen.md#traps), and a busy one may need many. Without a signal the tests run for minutes.
const endWithin = 30 * time.Second

// patience is how long a test waits for an event that takes a second or two on a quiet machine.
const patience = 2 * time.Minute

// long are the flags of runs that would take minutes.
var long = map[string][]string{
	"Server":       {"--scenario", "Server", "--target-qps", "50", "--min-duration", "10m", "--min-queries", "100"},
	"Offline":      {"--scenario", "Offline", "--min-queries", "20000", "--concurrency", "64"},
	"SingleStream": {"--model", "llama3.1-8b-edge", "--scenario", "SingleStream", "--min-queries", "100000"},
}

// process is a run in its own process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	folder string
	stdout bytes.Buffer
	stderr bytes.Buffer
	ended  chan struct{}
}

func startRun(t *testing.T, args ...string) *process {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "out")
	return start(t, folder, append([]string{"run", "--model", "llama3.1-8b", "--samples", "64", "--output-dir", folder,
		"--no-progress"}, args...)...)
}

// start runs the program for a test that goes into a folder.
func start(t *testing.T, folder string, args ...string) *process {
	t.Helper()
	return startProgram(t, folder, append([]string{"mlperf-go"}, args...)...)
}

// startProgram runs a program like start.
func startProgram(t *testing.T, folder string, args ...string) *process {
	t.Helper()
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	p := &process{t: t, cmd: exec.Command(args[0], args[1:]...), folder: folder, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = &p.stdout, &p.stderr, t.TempDir()
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // the exit status is in the state
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		schematest.Records(t, folder)
	})
	return p
}

// issuing waits until LoadGen issues queries and answers have arrived.
func (p *process) issuing() {
	p.t.Helper()
	p.until("the test to start", patience, func() bool {
		info, err := os.Stat(filepath.Join(p.folder, record.LogFolder, "mlperf_log_detail.txt"))
		return err == nil && info.Size() > 0
	})
	before := cpuBelow(p.cmd.Process.Pid)
	time.Sleep(700 * time.Millisecond)
	p.until("answers", patience, func() bool { return cpuBelow(p.cmd.Process.Pid)-before > 6 })
}

// cpuBelow returns the processor time of a process and its descendants in the kernel's ticks of 10 ms.
func cpuBelow(pid int) (ticks int) {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, after, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(after); len(fields) > 12 {
			for _, f := range fields[11:13] {
				n, _ := strconv.Atoi(f) // 0 for an unreadable field
				ticks += n
			}
		}
	}
	for _, child := range childrenOf(pid) {
		ticks += cpuBelow(child)
	}
	return ticks
}

// started waits until the test issues queries, and returns the simulator's process.
func (p *process) started() (simulator int) {
	p.t.Helper()
	p.issuing()
	children := childrenOf(p.cmd.Process.Pid)
	require.Len(p.t, children, 1, "the simulator is the only child")
	return children[0]
}

func (p *process) until(what string, limit time.Duration, ok func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited %v for %s; stderr:\n%s", limit, what, p.lastWords())
		}
	}
}

// lastWords kills a process that is stuck, and returns its output.
func (p *process) lastWords() string {
	_ = p.cmd.Process.Kill() // only its end matters
	<-p.ended
	return p.stderr.String()
}

// end waits for the process and returns its exit code; -1 if a signal ended it.
func (p *process) end(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("the run did not end within %v; stderr:\n%s", limit, p.lastWords())
		return 0
	}
}

func (p *process) record() *record.Record {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, record.FileName))
	require.NoError(p.t, err, "the record; stderr:\n%s", p.stderr.String())
	r := &record.Record{}
	require.NoError(p.t, json.Unmarshal(text, r))
	return r
}

func childrenOf(pid int) []int {
	var children []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range stats {
		if parent, _, ok := procStat(path); ok && parent == pid {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// procStat returns a process's parent and state.
func procStat(path string) (parent int, state string, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, "", false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[0], err == nil
}

func alive(pid int) bool {
	_, state, ok := procStat(fmt.Sprintf("/proc/%d/stat", pid))
	return ok && state != "Z" && state != "X" // a zombie waits until a parent reads its exit status
}

func TestFirstSignalKeepsWhatWasMeasured(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for scenario, args := range long {
			t.Run(scenario+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				p := startRun(t, args...)
				simulator := p.started()
				require.NoError(t, p.cmd.Process.Signal(sig))
				require.Equal(t, 128+int(sig), p.end(endWithin), "exit code; stderr:\n%s", p.stderr.String())

				r := p.record()
				require.Equal(t, record.Interrupted, r.Verdict)
				require.Equal(t, record.CodeInterrupted, r.Reasons[0].Code)
				require.Len(t, r.Reasons, 1, "what the signal cancelled, and LoadGen's errors about it, are no causes")
				require.NotContains(t, p.stdout.String(), record.CodeLoadGenErrors)
				if r.Cancelled() > 0 {
					require.Contains(t, p.stdout.String(), "no result: the test was interrupted\n")
					require.Regexp(t, `\nfailures +0 of the [0-9]+ that had ended\ninterrupted +[1-9][0-9]* of [0-9]+ requests `+
						`were cancelled; `, p.stdout.String())
				}
				require.Contains(t, p.stdout.String(), "\n  mlperf-go run --model llama3.1-8b ")
				require.Contains(t, p.stdout.String(), " --resume\n")
				require.Positive(t, r.Samples.Completed)
				require.InDelta(t, r.Samples.Issued, r.Samples.Completed, 2,
					"what was issued was completed, failed if need be; LoadGen goes on issuing")
				if scenario != "Offline" { // in Offline every sample was issued at the start
					require.Less(t, r.Samples.Failed, int64(164), "outstanding ones, and those of the last second")
				}
				require.Positive(t, r.Tokens.Output, "what was answered before is counted")
				require.Equal(t, r.LoadGen.Complete, hasEnd(t, p.folder), "loadgen.complete tells the truth about LoadGen's logs")
				require.FileExists(t, filepath.Join(p.folder, record.RequestsName))
				p.until("the simulator to end", patience, func() bool { return !alive(simulator) })
			})
		}
	}
}

// hasEnd reports whether LoadGen closed its accuracy log, which it writes last.
func hasEnd(t *testing.T, folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, record.LogFolder, "mlperf_log_summary.txt"))
	require.NoError(t, err)
	return len(text) > 0
}

// A signal that follows within two seconds counts as the same one. It may be the second Ctrl-C of a user who has seen
// no effect yet, or come from timeout(1), which signals its child and then the child's group.
func TestARepeatedSignalKeepsWhatWasMeasured(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	args := append([]string{"--model", "llama3.1-8b", "--samples", "64", "--no-progress"}, long["Server"]...)
	for name, c := range map[string]struct {
		folder  string
		command []string
		says    string // printed once
	}{
		"run": {out + "-run", []string{"mlperf-go", "run"}, interrupt.Notice},
		"timeout": {out + "-timeout", []string{"timeout", "10m", "mlperf-go", "--quiet", "run"},
			"error: INTERRUPTED: the test ended early: interrupted by SIGTERM\n"},
		"campaign": {out + "-c/simulated/llama3.1-8b/Server/performance", []string{"mlperf-go", "submission", "run"},
			interrupt.Notice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, _, _ := strings.Cut(c.folder, "/simulated")
			p := startProgram(t, c.folder, slices.Concat(c.command, args, []string{"--output-dir", to})...)
			p.issuing()
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			if name != "timeout" {
				time.Sleep(50 * time.Millisecond)
				require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
			}
			require.Equal(t, 128+int(syscall.SIGTERM), p.end(endWithin), "exit code; stderr:\n%s", p.stderr.String())
			require.Equal(t, record.Interrupted, p.record().Verdict)
			require.Positive(t, p.record().Samples.Completed)
			require.FileExists(t, filepath.Join(c.folder, record.RequestsName))
			require.Equal(t, 1, strings.Count(p.stderr.String(), c.says), "stderr:\n%s", p.stderr.String())
		})
	}
}

// After Ctrl-C a study prints its results so far, its folder, and the command that continues it.
func TestAnInterruptedStudyPrintsHowToContinue(t *testing.T) {
	set := synthetic(t, "generic", 64)
	for what, c := range map[string]struct {
		args    []string
		file    string
		measure string // text in the file after the first measurement
		shows   string
	}{
		"sweep": {[]string{"sweep", "--concurrencies", "1,2", "--point-duration", "1s", "--point-longest", "10m",
			"--point-warmup", "0", "--point-queries", "300"}, "sweep.json", `"load": 1,`, `(?m)^ +1 +[0-9.]+ .*\n`},
		"experiment": {[]string{"experiment", "offline-batching", "--repeats", "500"}, "experiment.json", `"samples_per_s"`,
			`^The experiment has not ended: [1-9][0-9]* of `},
		"tune": {[]string{"tune", "--scenario", "Server", "--ttft-limit", "800ms"}, "tune.json", `"kind": "idle"`,
			`(?m)^idle +1 in flight .*\n`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "out")
			p := start(t, folder, append(c.args, "--model", "generic", "--dataset", set, "--output-dir", folder)...)
			p.until("a measurement", patience, func() bool {
				text, err := os.ReadFile(filepath.Join(folder, c.file))
				return err == nil && bytes.Contains(text, []byte(c.measure))
			})
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
			require.Equal(t, run.ExitInterrupt, p.end(endWithin), "exit code; stderr:\n%s", p.stderr.String())
			require.Regexp(t, c.shows, p.stdout.String())
			require.Regexp(t, `(?m)^folder +`+folder+`$`, p.stdout.String())
			require.Regexp(t, `To continue .*\n  mlperf-go `+c.args[0]+` .* --resume\n$`, p.stdout.String())
			require.Contains(t, p.stderr.String(), interrupt.Notice)
		})
	}
}

// A closed terminal or connection often ends a long test. Its measurements are kept then too.
func TestAHangupKeepsWhatWasMeasured(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("started with nohup, where a hangup means nothing")
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := startRun(t, long["Server"]...)
			p.issuing()
			require.NoError(t, p.cmd.Process.Signal(sig))
			require.Equal(t, 128+int(sig), p.end(2*endWithin), "exit code; stderr:\n%s", p.stderr.String())
			require.Equal(t, record.Interrupted, p.record().Verdict)
			require.NotContains(t, p.stderr.String(), "goroutine ")
		})
	}
}

func TestSignalBeforeTheTestLeavesNothing(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ask()
		<-r.Context().Done()
	}))
	defer server.Close()
	p := startRun(t, "--endpoint", server.URL)
	<-asked
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, run.ExitInterrupt, p.end(endWithin))
	require.Contains(t, p.stderr.String(), "interrupt")
	require.NoDirExists(t, p.folder)
}

// deferring lets a test use the helpers of scripts.
type deferring struct{ *testing.T }

func (d deferring) Defer(f func()) { d.Cleanup(f) }

func TestTheSimulatorEndsWithAKilledRun(t *testing.T) {
	t.Parallel()
	p := startRun(t, long["Server"]...)
	simulator := p.started()
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.end(endWithin))
	p.until("the simulator to end", patience, func() bool { return !alive(simulator) })
	require.NoFileExists(t, filepath.Join(p.folder, record.FileName), "a folder without a record is a crashed run")
	require.FileExists(t, filepath.Join(p.folder, record.UserConfName))

	// The run does not count as a result: the next run is rejected, and --resume repeats it.
	args := []string{"run", "--model", "llama3.1-8b", "--samples", "16", "--min-queries", "16", "--output-dir", p.folder,
		"--quiet"}
	var exit *exec.ExitError
	require.ErrorAs(t, exec.Command("mlperf-go", args...).Run(), &exit)
	require.Equal(t, run.ExitUsage, exit.ExitCode())
	require.NoError(t, exec.Command("mlperf-go", append(args, "--resume")...).Run())
	require.Equal(t, record.Valid, p.record().Verdict)
}
