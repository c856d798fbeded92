//go:build cgo && !noloadgen

package loadgen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/loadgen-cgo/internal/cppsut"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// LoadGen runs one test per process, so the test binary starts itself again for each job. This variable contains the
// path of the job.
const jobVariable = "MLPERF_GO_LOADGEN_TEST_JOB"

func TestMain(m *testing.M) {
	if path := os.Getenv(jobVariable); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

// A step prepares the settings: an assignment, or a configuration file.
type step struct {
	Op         string
	Field      string
	Value      any
	FileText   *string `json:"file_text"`
	Model      string
	Scenario   string
	ConfType   int  `json:"conf_type"`
	ReturnCode *int `json:"return_code"`
}

// A job describes the work of one child process. Its first five fields are those of a golden case.
type job struct {
	QSL struct {
		Name        string
		Total       int `json:"total_sample_count"`
		Performance int `json:"performance_sample_count"`
	}
	Steps       []step
	AuditText   *string `json:"audit_config_text"`
	SUT         behaviour
	LogSettings struct {
		EnableTrace bool `json:"enable_trace"`
		Prefix      *string
		Suffix      string
		CopySummary int `json:"copy_summary"`
	} `json:"log_settings"`

	Dir        string
	SeriesEnds []int // sample counts at which find-peak probes end
	Capacity   int
	Shards     int
	MaxProcs   int
	Spin       int    // number of goroutines that never give up their P
	Runner     string // "": the bridge; "cpp": the same system under test in C++
	MemoryCap  uint64 // number of bytes by which the address space may grow; 0: no limit
	Stacks     uint64 // size of each new thread's stack in bytes; 0: the default
	StartTwice bool
	Scribble   bool // whether to overwrite each answer buffer after its call
	Hold       int  // answers that are reported together; 0: each by itself
	Linger     bool // whether to inspect the threads after the test
	Unable     bool // whether to run without the capability to make real-time threads
	LoadMS     int  // duration of loading samples in ms
	Lean       bool // whether to answer immediately and record nothing
}

// A record contains the observations of one child process.
type record struct {
	ReturnCodes []int
	Settings    map[string]any
	Loads       [][]int
	Unloads     [][]int
	Samples     []int
	QuerySizes  []int
	IssuedNS    []int64
	Shard       []int
	Flushes     []int
	Flushed     []int // values of Flushed before and after the test
	Info        loadgen.ThreadInfo
	Err         string
	Field       string // field of a rejected setting
	SecondErr   string
	CPU         time.Duration // processor time of the process during StartTest
	Wakes       int
	FullWaits   int
	ThreadsFIFO int
	LoadingFIFO int // number of real-time threads while the samples were loaded
}

func child(path string) int {
	var j job
	text, err := os.ReadFile(path)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&j)
	}
	if err == nil && j.Stacks > 0 {
		err = enlargeStacks(j.Stacks)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	r, err := runJob(&j)
	if err == nil {
		if text, err = json.Marshal(r); err == nil {
			err = os.WriteFile(filepath.Join(j.Dir, "record.json"), text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	return 0
}

func runJob(j *job) (*record, error) {
	if j.MaxProcs > 0 {
		runtime.GOMAXPROCS(j.MaxProcs)
	}
	r := &record{}
	settings := loadgen.DefaultTestSettings()
	settings.TokenLatencyScalingFactor = 0 // the golden cases start from a value-initialized struct
	for _, s := range j.Steps {
		if s.Op == "set" {
			if err := setField(&settings, s.Field, s.Value); err != nil {
				return nil, err
			}
			continue
		}
		file := filepath.Join(j.Dir, fmt.Sprintf("conf%d", len(r.ReturnCodes)))
		if s.FileText != nil {
			if err := os.WriteFile(file, []byte(*s.FileText), 0o644); err != nil {
				return nil, err
			}
		}
		r.ReturnCodes = append(r.ReturnCodes, settings.FromConfig(file, s.Model, s.Scenario, s.ConfType))
	}
	r.Settings = fieldMap(settings)
	if j.Runner == "config" {
		return r, nil
	}
	audit := filepath.Join(j.Dir, "audit.config")
	if j.AuditText != nil {
		if err := os.WriteFile(audit, []byte(*j.AuditText), 0o644); err != nil {
			return nil, err
		}
	}
	log := loadgen.DefaultLogSettings(j.Dir)
	log.EnableTrace, log.Suffix, log.CopySummaryToStdout = j.LogSettings.EnableTrace, j.LogSettings.Suffix,
		j.LogSettings.CopySummary != 0
	if j.LogSettings.Prefix != nil {
		log.Prefix = *j.LogSettings.Prefix
	}
	for range j.Spin {
		go func() {
			for n := 0; ; n++ {
				_ = make([]byte, 64+n%64)
			}
		}()
	}
	if j.Runner == "cpp" {
		start := cpuTime()
		err := cppsut.Run(j.Dir, audit, settings.ServerTargetQPS, settings.MinQueryCount, j.QSL.Total,
			j.LogSettings.EnableTrace)
		r.CPU = cpuTime() - start
		return r, err
	}
	return r, runBridge(j, r, settings, log, audit)
}

func runBridge(j *job, r *record, settings loadgen.TestSettings, log loadgen.LogSettings, audit string) error {
	sut, err := loadgen.ConstructSUT(j.SUT.Name, max(j.Shards, 1), max(j.Capacity, 1024))
	if err != nil {
		return err
	}
	note := func(list *[][]int) func([]int) error {
		return func(indices []int) (err error) {
			*list = append(*list, indices)
			time.Sleep(time.Duration(j.LoadMS) * time.Millisecond)
			if j.Linger && list == &r.Loads {
				r.LoadingFIFO, err = countRealtimeThreads()
			}
			return err
		}
	}
	qsl, err := loadgen.ConstructQSL(j.QSL.Name, j.QSL.Total, j.QSL.Performance, note(&r.Loads), note(&r.Unloads), nil)
	if err != nil {
		return err
	}
	var consumers []*consumer
	for i, s := range sut.Shards() {
		c := &consumer{shard: s, number: i, b: &j.SUT, ends: j.SeriesEnds, scribble: j.Scribble, hold: j.Hold,
			ended: make(chan struct{})}
		consumers = append(consumers, c)
		if j.Lean {
			go c.runLean()
		} else {
			go c.run()
		}
	}
	if j.Stacks > 0 {
		spareThreads(32)
	}
	if j.MemoryCap > 0 {
		if err := capMemory(j.MemoryCap); err != nil {
			return err
		}
	}
	if j.Unable {
		runtime.LockOSThread()
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	start := cpuTime()
	r.Flushed = []int{sut.Flushed()}
	r.Info, err = loadgen.StartTest(sut, qsl, settings, log, audit)
	r.CPU = cpuTime() - start
	if err != nil {
		r.Err = err.Error()
		var refused *loadgen.SettingsError
		if errors.As(err, &refused) {
			r.Field = refused.Field
		}
		return nil // no test ended, so the consumers still wait, and the rings must exist until the process ends
	}
	if j.StartTwice {
		if _, err := loadgen.StartTest(sut, qsl, settings, log, audit); err != nil {
			r.SecondErr = err.Error()
		}
	}
	for _, c := range consumers {
		<-c.ended
		r.Wakes, r.FullWaits = r.Wakes+c.shard.Wakes(), r.FullWaits+c.shard.FullWaits()
	}
	r.Flushes, r.Flushed = sut.Flushes(), append(r.Flushed, sut.Flushed())
	loadgen.DestroySUT(sut)
	loadgen.DestroyQSL(qsl)
	gather(r, consumers)
	if j.Linger {
		r.ThreadsFIFO, err = countRealtimeThreads()
	}
	return err
}

// gather sorts the samples of all shards in the order of issue.
func gather(r *record, consumers []*consumer) {
	total := 0
	for _, c := range consumers {
		total += len(c.seen)
	}
	r.Samples, r.IssuedNS, r.Shard = make([]int, total), make([]int64, total), make([]int, total)
	for i, c := range consumers {
		for _, q := range c.seen {
			r.Samples[q.Seq], r.IssuedNS[q.Seq], r.Shard[q.Seq] = q.Index, q.IssuedNS, i
			for q.Call >= len(r.QuerySizes) {
				r.QuerySizes = append(r.QuerySizes, 0)
			}
			r.QuerySizes[q.Call]++
		}
	}
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// capMemory lets the address space grow by no more than extra bytes.
func capMemory(extra uint64) error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return err
	}
	limit := pages*uint64(os.Getpagesize()) + extra
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit})
}

// enlargeStacks starts this program again with larger stacks for its threads, because the C library reads the limit
// only once.
func enlargeStacks(size uint64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &limit); err != nil || limit.Cur == size {
		return err
	}
	limit.Cur = size
	if err := unix.Setrlimit(unix.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// spareThreads creates n idle threads, so that the Go runtime need not create any later.
func spareThreads(n int) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			ready.Wait()
			runtime.UnlockOSThread()
		})
	}
	done.Wait()
}

// dropCapabilities removes every privilege from the calling thread, and thereby from the threads that it creates.
func dropCapabilities() error {
	if err := unix.Setrlimit(unix.RLIMIT_RTPRIO, &unix.Rlimit{}); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// countRealtimeThreads counts this process's threads that run under a real-time policy.
func countRealtimeThreads() (int, error) {
	stats, err := filepath.Glob("/proc/self/task/*/stat")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if policy := fields[38]; policy == "1" || policy == "2" { // field 41 of stat: SCHED_FIFO, SCHED_RR
			n++
		}
	}
	return n, nil
}

// outcome contains what the parent receives from a child process.
type outcome struct {
	*record
	dir            string
	code           int
	stdout, stderr string
}

// timedOut is the exit code reported for a child that was killed after its time limit.
const timedOut = 124

// start runs a job in a child process with its own folder, for at most limit.
func start(t testing.TB, j job, limit time.Duration, env ...string) outcome {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return startBinary(t, exe, j, limit, env...)
}

func startBinary(t testing.TB, exe string, j job, limit time.Duration, env ...string) outcome {
	t.Helper()
	if j.Dir == "" {
		j.Dir = t.TempDir()
	}
	if j.SUT.Name == "" {
		j.SUT.Name, j.QSL.Name = "golden-sut", "golden-qsl"
	}
	text, err := json.Marshal(j)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "job.json")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(exe)
	cmd.Dir, cmd.Stdout, cmd.Stderr = j.Dir, &stdout, &stderr
	cmd.Env = append(append(os.Environ(), jobVariable+"="+path), env...)
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	o := outcome{record: &record{}, dir: j.Dir, stdout: stdout.String(), stderr: stderr.String()}
	if !timer.Stop() {
		o.code, o.stderr = timedOut, o.stderr+fmt.Sprintf("\nthe child did not end within %v", limit)
		return o
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if o.code = exit.ExitCode(); o.code < 0 { // a signal ended the child, which may have printed nothing
			o.stderr += "\n" + exit.String()
		}
		return o
	}
	require.NoError(t, err)
	text, err = os.ReadFile(filepath.Join(j.Dir, "record.json"))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(o.record))
	return o
}

// must is like start but fails the test if the job fails.
func must(t testing.TB, j job, limit time.Duration, env ...string) outcome {
	t.Helper()
	o := start(t, j, limit, env...)
	require.Zero(t, o.code, o.stderr)
	return o
}

// set returns a step that sets a field to a value.
func set(field string, value any) step { return step{Op: "set", Field: field, Value: value} }

// steps returns steps that set fields, given as field, value, field, value, ...
func steps(pairs ...any) []step {
	var out []step
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, set(pairs[i].(string), pairs[i+1]))
	}
	return out
}
