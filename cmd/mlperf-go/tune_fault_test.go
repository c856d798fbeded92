package main

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/interrupt"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/tune"
)

// tuned is a server that a tune of a few seconds can saturate, and the tune's folder.
type tuned struct {
	t                    *testing.T
	url, dataset, folder string
}

func newTuned(t *testing.T) *tuned {
	t.Helper()
	d := newUnserved(t)
	d.url, _ = d.serve()
	return d
}

// newUnserved is newTuned without the server.
func newUnserved(t *testing.T) *tuned {
	t.Helper()
	d := &tuned{t: t, dataset: synthetic(t, "generic", 256), folder: filepath.Join(t.TempDir(), "out")}
	t.Cleanup(func() { schematest.Records(t, d.folder) })
	return d
}

// synthetic returns the path of a new synthetic data set.
func synthetic(t *testing.T, model string, samples int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.json")
	out, err := exec.Command("mlperf-go", "--quiet", "dataset", "synth", "--model", model, "--samples",
		strconv.Itoa(samples), "--output", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

func (d *tuned) serve(more ...string) (url string, server *exec.Cmd) {
	d.t.Helper()
	return startSim(deferring{d.t}, filepath.Join(d.t.TempDir(), "ready"), append([]string{"--benchmark", "generic",
		"--dataset", d.dataset, "--model", "m", "--max-num-seqs", "16", "--ttft", "20ms", "--tpot", "1ms"}, more...)...)
}

// tune starts the tune or continues it.
func (d *tuned) tune(more ...string) *process {
	d.t.Helper()
	return d.limited(append([]string{"--ttft-limit", "800ms", "--min-duration", "2s"}, more...)...)
}

// limited is tune with other limits.
func (d *tuned) limited(flags ...string) *process {
	d.t.Helper()
	return start(d.t, d.folder, append([]string{"tune", "--model", "generic", "--scenario", "Server", "--served-model",
		"m", "--dataset", d.dataset, "--endpoint", d.url, "--min-queries", "460", "--output-dir", d.folder, "--no-progress",
		"--log-format", "json"}, flags...)...)
}

// steps waits until the tune has measured a number of steps, or has ended.
func (d *tuned) steps(p *process, n int) {
	d.t.Helper()
	p.until("the tune to measure", faultWait, func() bool {
		s, err := tune.ReadState(d.folder)
		return err == nil && len(s.Probes) >= n || p.isOver()
	})
}

func (p *process) isOver() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// probes returns the finished steps in the folder.
func (d *tuned) probes() []tune.Probe {
	d.t.Helper()
	s, err := tune.ReadState(d.folder)
	require.NoError(d.t, err)
	return s.Probes
}

// A tune is killed after random steps and continued each time. Its measurements stay, and it ends with a confirmed
// rate.
func TestATuneIsKilledAndResumed(t *testing.T) {
	t.Parallel()
	d := newTuned(t)
	_, random := points(t)
	var more []string
	for at := 1; at < 6; at += 1 + random.IntN(3) {
		p := d.tune(more...)
		d.steps(p, at)
		_ = p.cmd.Process.Kill() // the process may have just ended
		<-p.ended
		before := d.probes()
		t.Logf("killed after %d steps", len(before))
		more = []string{"--resume"}
		second := d.tune("--resume", "--budget", "1ms") // it reads the folder but has no time to measure
		require.Contains(t, []int{0, run.ExitInvalid}, second.end(faultWait), "%s", second.stderr.String())
		require.Equal(t, before, d.probes()[:len(before)])
	}

	p := d.tune(more...)
	child := 0
	p.until("the confirming run", faultWait, func() bool {
		for _, pid := range p.childrenThat(func(line string) bool { return strings.Contains(line, "\x00run\x00") }) {
			child = pid
		}
		return child != 0 || p.isOver()
	})
	if child != 0 {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	require.Contains(t, []int{0, run.ExitInvalid}, p.end(faultWait), "%s", p.stderr.String())
	s, err := tune.ReadState(d.folder)
	require.NoError(t, err)
	require.NotNil(t, s.Result)
	spoiled := 0
	for _, probe := range s.Probes {
		if strings.Contains(probe.Spoiled, "killed") {
			spoiled++
		}
	}
	if child != 0 {
		require.Positive(t, spoiled, "the killed run counts for nothing")
	}
	require.Equal(t, s.Result.Confirmed, s.Result.Run != "")
}

func TestTwoTunesInOneFolder(t *testing.T) {
	t.Parallel()
	d := newTuned(t)
	first := d.tune()
	d.steps(first, 1)
	_ = first.cmd.Process.Signal(syscall.SIGSTOP) // keeps the lock
	second := d.tune("--resume", "--json")
	require.Equal(t, run.ExitUsage, second.end(faultWait))
	require.Contains(t, second.stdout.String(), `"tune_running"`)
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, run.ExitTerminate, first.end(faultWait), "%s", first.stderr.String())
}

// findPeak starts a search by LoadGen, and waits for a number of its tests. It also returns the processes of the
// search.
func (d *tuned) findPeak(tests int) (p *process, children []int) {
	d.t.Helper()
	p = d.tune("--mode", "find-peak", "--target-qps", "100", "--budget", "2m")
	p.until("LoadGen to search", faultWait, func() bool {
		found, err := mllog.ReadPeak(filepath.Join(d.folder, record.LogFolder))
		return err == nil && len(found.Tests) >= tests || p.isOver()
	})
	children = p.childrenThat(func(line string) bool { return strings.Contains(line, "--peak-process") })
	require.Len(d.t, children, 1, "%s", p.stderr.String())
	return p, children
}

// ended returns the state of a search that did not reach its end.
func (d *tuned) ended() *tune.Peak {
	d.t.Helper()
	s, err := tune.ReadPeak(d.folder)
	require.NoError(d.t, err)
	require.NotNil(d.t, s.Result)
	require.Zero(d.t, s.Result.FoundQPS)
	return s
}

func TestASearchByLoadGenIsInterrupted(t *testing.T) {
	t.Parallel()
	d := newTuned(t)
	p, children := d.findPeak(2)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, run.ExitInterrupt, p.end(faultWait), "%s", p.stderr.String())
	require.ErrorIs(t, syscall.Kill(children[0], 0), syscall.ESRCH)
	s := d.ended()
	require.EqualValues(t, 100, s.Result.Low)
	require.Contains(t, s.Result.Why, "interrupt")
	require.Contains(t, p.stderr.String(), interrupt.Notice)
	require.Contains(t, p.stdout.String(), "LoadGen found nothing: interrupted by SIGINT (Ctrl-C); 100 met the limits")
}

// An error in the process of a search is reported once.
func TestASearchByLoadGenIsRefusedOnce(t *testing.T) {
	t.Parallel()
	d := newUnserved(t)
	d.url = "http://127.0.0.1:1"
	p := d.tune("--mode", "find-peak", "--target-qps", "100", "--budget", "2m")
	require.Equal(t, run.ExitEnvironment, p.end(faultWait))
	require.Equal(t, 1, strings.Count(p.stderr.String(), "connection refused"), "%s", p.stderr.String())
}

// A calibration that is ended by a signal has no result.
func TestACalibrationIsInterrupted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "c.json")
	p := start(t, t.TempDir(), "calibrate", "--calibration", file)
	p.until("the calibration to measure", faultWait, func() bool {
		return len(p.childrenThat(func(line string) bool { return strings.Contains(line, "--no-op") })) > 0 || p.isOver()
	})
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, run.ExitInterrupt, p.end(faultWait), "%s", p.stderr.String())
	require.Contains(t, p.stderr.String(), "stopping: a calibration that was ended is not kept")
	require.NoFileExists(t, file)
}

// LoadGen would mistake the empty answers of a dead server for fast ones, and double its rate for ever.
func TestASearchByLoadGenEndsWithItsServer(t *testing.T) {
	t.Parallel()
	d := newUnserved(t)
	url, server := d.serve()
	d.url = url
	p, _ := d.findPeak(2)
	require.NoError(t, server.Process.Kill())
	require.Equal(t, run.ExitEnvironment, p.end(faultWait), "%s", p.stderr.String())
	require.Contains(t, p.stderr.String(), "the search was spoiled: more samples failed than the run allows")
	require.Contains(t, d.ended().Result.Why, "the first failure")
}
