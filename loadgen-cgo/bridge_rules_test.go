//go:build cgo && !noloadgen

package loadgen_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The numbers in test names are those of the rules in bridge.h.

// offline returns an Offline job that issues n samples of a library with total samples.
func offline(total, n int) job {
	j := job{Steps: steps("scenario", "Offline", "min_duration_ms", 0, "min_query_count", n)}
	j.QSL.Total, j.QSL.Performance = total, total
	return j
}

// server returns a streamed Server job of n queries at the given rate, each with a first token.
func server(qps float64, n int) job {
	j := job{Steps: steps("scenario", "Server", "min_duration_ms", 0, "min_query_count", n, "server_target_qps", qps,
		"schedule_rng_seed", 7, "use_token_latencies", true, "server_ttft_latency", uint64(1e10), "server_tpot_latency",
		uint64(1e10))}
	j.QSL.Total, j.QSL.Performance = 64, 64
	j.SUT = behaviour{Name: "rules", Data: "idx8", Tokens: "const:2", FirstToken: 1}
	return j
}

// If IssueQuery entered Go, it would wait for one of the Ps, which busy goroutines hold for at least 10 ms at a time.
func TestRule01_IssueQueryNeverEntersGo(t *testing.T) {
	best := int64(math.MaxInt64)
	for range 3 {
		j := server(2000, 2000)
		j.LogSettings.EnableTrace, j.MaxProcs, j.Spin = true, 2, 2
		o := must(t, j, 60*time.Second)
		lags, err := scheduleLags(o.dir)
		require.NoError(t, err)
		require.Len(t, lags, 2000)
		best = min(best, quantile(lags, 0.99))
	}
	t.Logf("issue lag p99, all Ps busy, best of 3: %v", time.Duration(best))
	require.Less(t, time.Duration(best), 8*time.Millisecond)
}

func TestRule02_OneProducerOneConsumerPerRing(t *testing.T) {
	j := offline(64, 20_000)
	j.Shards, j.Capacity = 3, 1024
	o := must(t, j, 30*time.Second)
	require.Len(t, o.Samples, 20_000)
	for i, s := range o.Samples {
		require.Equal(t, o.record.Loads[0][i%64], s, "sample %d was lost or torn", i)
	}
	perShard := map[int]int{}
	for _, s := range o.Shard {
		perShard[s]++
	}
	require.Len(t, perShard, 3, "each ring has its share: %v", perShard)
}

// If the ring is smaller than the query, IssueQuery waits and no sample is lost.
func TestRule02_FullRing(t *testing.T) {
	j := offline(64, 50_000)
	o := must(t, j, 30*time.Second)
	require.Len(t, o.Samples, 50_000)
	require.Positive(t, o.FullWaits)
}

func TestRule03_RingsLiveFromNewToFree(t *testing.T) {
	before := openEventFDs(t)
	sut, err := loadgen.ConstructSUT("rings", 5, 10)
	require.NoError(t, err)
	require.Len(t, sut.Shards(), 5)
	require.Equal(t, before+5, openEventFDs(t))
	for _, s := range sut.Shards() {
		require.Zero(t, s.Pop(make([]loadgen.Query, 4)))
		n, open := s.Wait(make([]loadgen.Query, 4), time.Millisecond)
		require.Zero(t, n)
		require.True(t, open, "an unstarted test has not ended")
	}
	loadgen.DestroySUT(sut)
	require.Equal(t, before, openEventFDs(t))
}

func openEventFDs(t *testing.T) int {
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	n := 0
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.Contains(to, "eventfd") {
			n++
		}
	}
	return n
}

// accuracyTokens returns a streamed accuracy run. Each answer buffer is overwritten right after its call, and is part
// of an object that contains other Go pointers.
func accuracyTokens() job {
	j := job{Scribble: true, Steps: steps("scenario", "SingleStream", "mode", "AccuracyOnly", "use_token_latencies", true)}
	j.QSL.Total, j.QSL.Performance = 200, 200
	j.SUT = behaviour{Name: "rules", Data: "tokens", Tokens: "idx", FirstToken: 1}
	return j
}

func requireAccuracyTokens(t *testing.T, dir string) {
	t.Helper()
	_, records, err := readAccuracy(filepath.Join(dir, "mlperf_log_accuracy.json"))
	require.NoError(t, err)
	require.Len(t, records, 200)
	for _, r := range records {
		n := 2 + r.Index%7
		var want strings.Builder
		for k := range n {
			want.WriteString(littleEndianHex((31*r.Index + 7*k) % 32000))
		}
		require.Equal(t, answered{r.SeqID, r.Index, want.String(), littleEndianHex(31 * r.Index % 32000), n}, r)
	}
}

func littleEndianHex(v int) string {
	return fmt.Sprintf("%02X%02X%02X%02X", v&255, v>>8&255, v>>16&255, v>>24&255)
}

func TestRule04_AnswerBytesBelongToTheCaller(t *testing.T) {
	requireAccuracyTokens(t, must(t, accuracyTokens(), 30*time.Second).dir)
}

// Held answers are copied, in groups smaller and larger than what the ring has room for, and with answers that have no
// room at all.
func TestRule04_HeldAnswersAreCopied(t *testing.T) {
	for _, hold := range []int{1, 8, 1000} {
		j := job{Scribble: true, Hold: hold,
			Steps: steps("scenario", "Offline", "mode", "AccuracyOnly", "use_token_latencies", true)}
		j.QSL.Total, j.QSL.Performance = 200, 200
		j.SUT = behaviour{Name: "rules", Data: "tokens", Tokens: "long"}
		_, records, err := readAccuracy(filepath.Join(must(t, j, 30*time.Second).dir, "mlperf_log_accuracy.json"))
		require.NoError(t, err)
		require.Len(t, records, 200)
		for _, r := range records {
			n := longCount(r.Index)
			require.Equal(t, n, r.TokenCount)
			var want strings.Builder
			for k := range n {
				want.WriteString(littleEndianHex((31*r.Index + 7*k) % 32000))
			}
			require.True(t, want.String() == r.Data, "answer %d of %d ids, %d held", r.Index, n, hold)
		}
	}
}

// Continuous garbage collection would free and overwrite any Go memory that C had kept a pointer to.
func TestRule05_NoPointersAreKept(t *testing.T) {
	o := must(t, accuracyTokens(), 60*time.Second, "GODEBUG=clobberfree=1", "GOGC=1")
	requireAccuracyTokens(t, o.dir)
}

// TestCgoCheck2AccuracyLog repeats rules 4 and 5 in a binary in which the compiler checks every pointer write.
func TestCgoCheck2AccuracyLog(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a test binary of its own")
	}
	exe := filepath.Join(t.TempDir(), "cgocheck2.test")
	build := exec.CommandContext(whileTestsRun(t), "go", "test", "-c", "-o", exe, ".")
	build.Env = append(os.Environ(), "GOEXPERIMENT=cgocheck2")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	o := startBinary(t, exe, accuracyTokens(), time.Minute)
	require.Zero(t, o.code, o.stderr)
	requireAccuracyTokens(t, o.dir)
}

// If first token and answer came from different threads, about one in ten samples would cause an error line
// (docs/reference/measurements.md#first-token-and-answer-from-two-threads).
func TestRule06_FirstTokenAndAnswerFromOneThread(t *testing.T) {
	j := server(5000, 10_000)
	j.SUT.BaseUS, j.SUT.Complete, j.Shards = 1000, "async", 2
	o := must(t, j, 60*time.Second)
	entries, _, _, err := readDetail(filepath.Join(o.dir, "mlperf_log_detail.txt"))
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, e.Metadata.IsError, "%s: %v", e.Key, e.Value)
	}
	require.Len(t, o.Samples, 10_000)
}

// The load functions run in Go even if every P is busy, and LoadGen's clock starts only after they return.
func TestRule07_OnlySampleLoadingEntersGo(t *testing.T) {
	exports, err := os.ReadFile("exports.go")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(exports), "\n//export "))
	others, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range others {
		if name == "exports.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(text), "\n//export ", name)
	}
	j := offline(64, 64)
	j.MaxProcs, j.Spin, j.LoadMS = 2, 2, 500
	o := must(t, j, 30*time.Second)
	require.Len(t, o.record.Loads, 1)
	require.Equal(t, o.record.Loads, o.record.Unloads)
	entries, _, _, err := readDetail(filepath.Join(o.dir, "mlperf_log_detail.txt"))
	require.NoError(t, err)
	for _, e := range entries {
		if e.Key == "result_max_latency_ns" {
			require.Less(t, toInts([]any{e.Value})[0], int(400*time.Millisecond), "loading was timed")
			return
		}
	}
	t.Fatal("no latency was logged")
}

// A real-time thread has no timer slack (recent kernels report 0); any other thread has 1 ns.
func TestRule08_StartTestHasASharpThread(t *testing.T) {
	for _, unable := range []bool{false, true} {
		j := server(100, 10)
		j.Linger, j.Unable, j.LoadMS = true, unable, 300
		o := must(t, j, 30*time.Second)
		t.Logf("without privilege: %v; SCHED_FIFO: %v; slack: %d ns", unable, o.Info.Realtime, o.Info.TimerSlackNS)
		require.Zero(t, o.ThreadsFIFO, "the priority outlived its thread")
		require.LessOrEqual(t, o.Info.TimerSlackNS, int64(1))
		require.Equal(t, !unable && mayBeRealtime(t), o.Info.Realtime)
		if o.Info.Realtime {
			require.Equal(t, 2, o.LoadingFIFO, "the thread of StartTest, and LoadGen's log thread, which it must not preempt")
		} else {
			require.Zero(t, o.LoadingFIFO)
		}
		if unable {
			require.Equal(t, loadgen.ThreadInfo{TimerSlackNS: 1}, o.Info)
		}
	}
}

// mayBeRealtime reports whether a thread of this process gets real-time priority.
func mayBeRealtime(t *testing.T) bool {
	t.Helper()
	permitted := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
		permitted <- err == nil
	}()
	return <-permitted
}

// If memory runs out, LoadGen throws std::bad_alloc on its own thread. The environment is at fault, so this is not
// reported as a bug.
func TestRule09_OutOfMemoryIsOneLineAndExit3(t *testing.T) {
	j := offline(64, 400_000_000)
	j.MemoryCap = 1 << 30
	o := start(t, j, 60*time.Second)
	require.Equal(t, 3, o.code, o.stderr)
	require.Equal(t, "mlperf-go: LoadGen got no memory or no thread (std::bad_alloc). Raise the limits of this process: "+
		"ulimit -v (RLIMIT_AS), "+
		"ulimit -u (RLIMIT_NPROC), the container's memory and pids.\n", o.stderr)
}

// The environment is also at fault if the system refuses a thread. In this test the threads' stacks are too large.
func TestRule09_ARefusedThreadIsOneLineAndExit3(t *testing.T) {
	j := offline(64, 64)
	j.Stacks, j.MemoryCap = 1<<30, 256<<20
	o := start(t, j, 60*time.Second)
	require.Equal(t, 3, o.code, o.stderr)
	require.Contains(t, o.stderr, "mlperf-go: LoadGen got no memory or no thread (Resource temporarily unavailable)")
}

func TestRule10_SecondTestIsRefused(t *testing.T) {
	j := offline(64, 64)
	j.StartTwice = true
	o := must(t, j, 30*time.Second)
	require.Empty(t, o.Err)
	require.Equal(t, loadgen.ErrSecondTest.Error(), o.SecondErr)
}

// Every rule has a test with the rule's number in its name.
func TestEveryRuleHasATest(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	tests, err := os.ReadFile(filepath.Base(file))
	require.NoError(t, err)
	var numbers []string
	for _, line := range strings.Split(bridgeHeader, "\n") {
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(line, "//"), "%d. ", &n); err == nil {
			numbers = append(numbers, fmt.Sprintf("func TestRule%02d_", n))
		}
	}
	require.Len(t, numbers, 10)
	require.False(t, slices.ContainsFunc(numbers,
		func(name string) bool { return !strings.Contains(string(tests), name) }))
}

// LoadGen keeps the error of a faulty line in a log buffer of the thread that read the file. With one P the consumer
// often runs on the caller's thread. If lg_from_config read the file on that thread, up to one child in five would
// crash here.
func TestFaultyConfigLeavesNoBufferToTheConsumer(t *testing.T) {
	text := "*.*.min_query_count 5\n"
	j := offline(64, 70)
	j.MaxProcs = 1
	j.Steps = append([]step{{Op: "from_config", FileText: &text, Scenario: "Offline", ConfType: loadgen.ConfUser}},
		j.Steps...)
	for range 40 {
		o := must(t, j, 60*time.Second)
		require.Empty(t, o.Err)
		require.Equal(t, []int{-int(unix.EINVAL)}, o.ReturnCodes)
		detail, err := os.ReadFile(filepath.Join(o.dir, "mlperf_log_detail.txt"))
		require.NoError(t, err)
		require.Contains(t, string(detail), "expected 'key=value', line=1", "the error reaches the log")
	}
}

// LoadGen writes names into its log lines unchanged, so a name must not be able to break or forge a line.
func TestNamesThatBreakLogLines(t *testing.T) {
	nothing := func([]int) error { return nil }
	for _, name := range []string{`a"b`, `a\b`, "a\nb", "a\tb", "a\x00b"} {
		_, err := loadgen.ConstructSUT(name, 1, 1)
		require.ErrorContains(t, err, "contains a quote", name)
		_, err = loadgen.ConstructQSL(name, 1, 1, nothing, nothing, nil)
		require.ErrorContains(t, err, "contains a quote", name)
	}
}
