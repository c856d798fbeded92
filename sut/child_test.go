//go:build cgo && !noloadgen

package sut_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/sut"
)

// LoadGen runs one test per process, so the test binary starts itself again for each job. This variable contains the
// job.
const jobVariable = "MLPERF_GO_SUT_TEST_JOB"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		// After a test that ended early, LoadGen's thread still runs and must not see C++ clean up. Under the race
		// detector, os.Exit would run C++'s exit handlers.
		syscall.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// job is what one child process does.
type job struct {
	Dir       string
	Backend   string // key of scripts
	Scenario  loadgen.TestScenario
	Mode      loadgen.TestMode
	Queries   int
	QPS       float64
	Shards    int
	Bulk      bool // Options.Bulk
	MaxErrors int  // failed samples after which the test ends; negative: never
	Drain     time.Duration
	CancelAt  time.Duration // time at which the caller ends the test; 0: never
	Grace     time.Duration // time that StartTest may take to return after an early end; 0: 1 s
}

// seen contains the observations of one child process.
type seen struct {
	Returned bool // whether StartTest returned
	StartErr string
	Cause    string // why the test ended early
	WaitErr  string
	Leak     string
	Counts   ledger.Counts
	Reasons  map[ledger.Reason]int64
	Attempts int     // failed attempts that were handed on
	Settled  []int64 // samples that had ended at each call of Options.Settled
}

const samples = 64 // of the library

func child(text string) int {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	s, err := runJob(&j)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	return 0
}

func (j *job) settings() loadgen.TestSettings {
	s := loadgen.DefaultTestSettings()
	s.Scenario, s.Mode = j.Scenario, j.Mode
	s.MinDurationMS, s.MinQueryCount = 0, uint64(j.Queries)
	s.ServerTargetQPS = j.QPS
	s.SingleStreamExpectedLatencyNS = 1e5
	s.UseTokenLatencies = true
	s.ServerTTFTLatency, s.ServerTPOTLatency = 1e9, 1e9
	return s
}

func runJob(j *job) (*seen, error) {
	out := &seen{}
	book := ledger.New(j.Shards, samples)
	var serving []backends.Backend
	for range j.Shards {
		serving = append(serving, scripts[j.Backend])
	}
	attempts := make(chan backends.Attempt, 1<<16)
	var settled []int64
	s, err := sut.New(sut.Options{
		Name: "scripted", Backends: serving, Ledger: book, FirstTokens: j.Scenario != loadgen.Offline, Bulk: j.Bulk,
		Failed: func(a backends.Attempt) { attempts <- a }, MaxErrors: j.MaxErrors, DrainTimeout: j.Drain,
		Settled: func() {
			c := book.Counts()
			settled = append(settled, c.Completed+c.Failed)
		},
	})
	if err != nil {
		return nil, err
	}
	nothing := func([]int) error { return nil }
	library, err := loadgen.ConstructQSL("numbers", samples, samples, nothing, nothing, nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if j.CancelAt > 0 {
		time.AfterFunc(j.CancelAt, func() { cancel(errors.New("the caller has had enough")) })
	}
	s.Start(ctx)
	returned := make(chan error, 1)
	go func() {
		_, err := loadgen.StartTest(s.LoadGen(), library, j.settings(), loadgen.DefaultLogSettings(j.Dir), j.Dir+"/none")
		returned <- err
	}()
	out.wait(s, returned, cmp.Or(j.Grace, time.Second))
	out.Counts, out.Reasons, out.Attempts = book.Counts(), map[ledger.Reason]int64{}, len(attempts)
	if out.Returned {
		out.Settled = settled
	}
	names := book.Names()
	for _, e := range book.Entries() {
		if reason := names.Reason(&e); reason != "" {
			out.Reasons[reason]++
		}
	}
	if out.Returned {
		loadgen.DestroyQSL(library)
		cancel(nil)
		if err := goleak.Find(); err != nil {
			out.Leak = err.Error()
		}
	}
	return out, nil
}

// wait waits for StartTest like a run: a test that ended early gets a limited time to return, 1 s in a run.
func (o *seen) wait(s *sut.SUT, returned <-chan error, grace time.Duration) {
	ended := func(err error) {
		o.Returned = true
		if err != nil {
			o.StartErr = err.Error()
		}
		if cause := s.Cause(); cause != nil {
			o.Cause = cause.Error()
		}
		if err := s.Wait(); err != nil {
			o.WaitErr = err.Error()
		}
	}
	select {
	case err := <-returned:
		ended(err)
		return
	case <-s.Stopped():
	}
	o.Cause = s.Cause().Error()
	select {
	case err := <-returned:
		ended(err)
	case <-time.After(grace):
	}
}

// do runs a job in a child process. The test fails if the child does not exit by itself.
func do(t *testing.T, j job) *seen {
	t.Helper()
	j.Dir = t.TempDir()
	return doIn(t, j)
}

func doIn(t *testing.T, j job) *seen {
	t.Helper()
	j.Shards = max(j.Shards, 1)
	text, err := json.Marshal(j)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	s := &seen{}
	require.NoError(t, json.Unmarshal(stdout, s), "%s", stdout)
	require.Empty(t, s.StartErr)
	require.Empty(t, s.Leak)
	require.NotContains(t, stderr.String(), "panic")
	return s
}

func accuracyLog(dir string) string { return filepath.Join(dir, "mlperf_log_accuracy.json") }
