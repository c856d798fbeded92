package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// Variables of TestMergeNumbers (scripts/merge.sh). The default has just more requests than those whose figures are
// kept one by one, so that time grows with their number from here on, and memory hardly does.
const (
	mergeFolder   = "MERGE_BENCH_FOLDER"   // for the shards; must not exist. Empty: a temporary one
	mergeShards   = "MERGE_BENCH_SHARDS"   // default 64
	mergeRequests = "MERGE_BENCH_REQUESTS" // of a shard; default 160,000
	mergeOf       = "MERGE_BENCH_OF"       // set for the process that merges
)

// TestMergeNumbers writes the runs of many shards of a load of 100,000 requests per second, and measures what another
// process uses up that merges them.
func TestMergeNumbers(t *testing.T) {
	if os.Getenv(spreadProgram) == "" && os.Getenv(mergeFolder) == "" {
		t.Skip("measures the merge of many shards, if " + mergeFolder + " or " + spreadProgram + " is set")
	}
	folder := cmp.Or(os.Getenv(mergeFolder), filepath.Join(t.TempDir(), "shards"))
	n, each := number(t, mergeShards, 64), number(t, mergeRequests, 160_000)
	require.NoError(t, os.Mkdir(folder, 0o700))
	defer os.RemoveAll(folder)
	began := time.Now()
	bytes := writeShards(t, folder, n, each)
	fmt.Printf("wrote %d shards of %d requests, %d MB, in %.1f s\n", n, each, bytes>>20, time.Since(began).Seconds())
	child := exec.Command(os.Args[0], "-test.run", "^TestMergeOfNumbers$", "-test.count", "1")
	child.Env = append(os.Environ(), mergeOf+"="+folder)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "MEASURED") || strings.HasPrefix(line, "merged") {
			fmt.Print(line)
		}
	}
	require.Contains(t, string(out), fmt.Sprintf("merged %d requests", n*each))
}

// TestMergeOfNumbers is the process that merges. Its memory includes that of the test binary.
func TestMergeOfNumbers(t *testing.T) {
	folder := os.Getenv(mergeOf)
	if folder == "" {
		t.Skip("TestMergeNumbers starts it")
	}
	var shards []Shard
	for i := range number(t, mergeShards, 64) {
		shards = append(shards, Shard{Folder: filepath.Join(folder, fmt.Sprint(i)), Offset: mergeOffset(i)})
	}
	before, began := cpuUsed(t), time.Now()
	r, err := Merge(shards, filepath.Join(folder, "merged"), nil)
	took, used := time.Since(began), cpuUsed(t)-before
	require.NoError(t, err)
	require.EqualValues(t, start.UnixNano()+1000, r.Measured.Total.StartNS, "all are in one clock")
	n := r.Measured.Total.Requests.OK
	fmt.Printf("merged %d requests: %.2f s, %.2f s of CPU, %d MB of memory at most, %d CPUs\n", n, took.Seconds(),
		used.Seconds(), peakMB(t), runtime.GOMAXPROCS(0))
	fmt.Printf("MEASURED spread/merge-million %.4f s\n", took.Seconds()*1e6/float64(n))
	fmt.Printf("MEASURED spread/merge-cpu %.4f s\n", used.Seconds()*1e6/float64(n))
	fmt.Printf("MEASURED spread/memory %d MB\n", peakMB(t))
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), fmt.Sprint(otherwise)))
	require.NoError(t, err, variable)
	return n
}

// mergeOffset is the clock of a shard. That of shard 0 is right.
func mergeOffset(i int) shard.Offset { return shard.Offset{AheadNS: int64(i) * 1e6, BoundNS: 1e5} }

// writeShards writes the shards, as many at a time as there are CPUs, and returns the size of their logs.
func writeShards(t *testing.T, folder string, n, each int) (bytes int64) {
	t.Helper()
	p := workloadOf(1)
	p.Load.Stages = []profile.Stage{{Arrival: profile.Constant, Rate: 1e5, Requests: n * each}}
	for i := range n { // its record is that of one request
		one := shardOf(t, p, record.Valid, time.Duration(mergeOffset(i).AheadNS), i)
		require.NoError(t, os.Remove(filepath.Join(one.Folder, eventlog.FileName)))
		require.NoError(t, os.CopyFS(filepath.Join(folder, fmt.Sprint(i)), os.DirFS(one.Folder)))
	}
	errs := make([]error, n)
	next := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				errs[i] = fillLog(filepath.Join(folder, fmt.Sprint(i), eventlog.FileName), i, n, each)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	require.NoError(t, errors.Join(errs...))
	for i := range n {
		info, err := os.Stat(filepath.Join(folder, fmt.Sprint(i), eventlog.FileName))
		require.NoError(t, err)
		bytes += info.Size()
	}
	return bytes
}

// fillLog writes the event log of shard i of n. Latencies vary as those of a server do.
func fillLog(path string, i, n, requests int) error {
	began := start.UnixNano() + mergeOffset(i).AheadNS
	w, err := eventlog.Create(path, eventlog.Header{ID: "x", StartNS: began, Model: "m"})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(i), 1))
	r := eventlog.Request{Events: make([]eventlog.Event, 2), AskedInput: 10, AskedOutput: 2, InputTokens: 10,
		OutputTokens: 2, Finish: "length"}
	for k := range requests {
		r.Seq = k*n + i
		r.DueNS = began + int64(r.Seq)*10_000
		r.ReadyNS = r.DueNS
		r.SentNS = r.DueNS + 1000
		if r.Seq > 0 {
			r.SentNS += random.Int64N(20_000)
		}
		r.FirstByteNS = r.SentNS + 5e6 + random.Int64N(2e6)
		r.Events[0] = eventlog.Event{AtNS: r.FirstByteNS + random.Int64N(1000), Tokens: 1}
		r.Events[1] = eventlog.Event{AtNS: r.Events[0].AtNS + 15e6 + random.Int64N(3e6), Tokens: 1}
		r.EndNS = r.Events[1].AtNS + random.Int64N(1000)
		if err := w.Add(&r); err != nil {
			return err
		}
	}
	return w.Close(eventlog.End{Complete: true})
}

func cpuUsed(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakMB returns the most memory that this process had. Rusage would include its parent's.
func peakMB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb int
	_, err = fmt.Sscan(rest, &kb)
	require.NoError(t, err)
	return kb / 1024
}
