package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// spreadProgram names mlperf-go for TestSpreadNumbers, which needs a machine of its own (scripts/bench.sh).
const spreadProgram = "SPREAD_BENCH_PROGRAM"

// spreadRequests are enough that the start of a process counts little.
const spreadRequests = 60_000

// spreadLoad keeps the processes busy: between requests that wait for their time, wake-ups would be measured.
const spreadLoad = `schema: mlperf-go/profile/1
name: spread
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 50}, output: {kind: fixed, mean: 4}}
load: {stages: [{arrival: closed, concurrency: 512, requests: 60000}]}
`

// TestSpreadNumbers measures what it costs to divide a load: processor time, agreement of the starts, the merge.
func TestSpreadNumbers(t *testing.T) {
	program := os.Getenv(spreadProgram)
	if program == "" {
		t.Skip("measures shards; " + spreadProgram + " is the path of mlperf-go")
	}
	url := simtest.Start(t, program, "--ttft", "0s", "--tpot", "0s")
	one, two, beyond := 0.0, 0.0, time.Duration(0)
	for range 3 { // in turns
		cpu, _, _ := runShards(t, program, url, 1)
		one += cpu / 3
		cpu, apart, bound := runShards(t, program, url, 2)
		two += cpu / 3
		beyond = max(beyond, apart-bound)
	}
	fmt.Printf("MEASURED spread/cpu-1 %.2f us\nMEASURED spread/cpu-2 %.2f us\n", one, two)
	fmt.Printf("MEASURED spread/start-beyond-bound %.3f ms\n", float64(beyond)/1e6)
}

// TestMergeNumbers measures the merge.
func TestMergeNumbers(t *testing.T) {
	if os.Getenv(spreadProgram) == "" {
		t.Skip("measures the merge of many shards, if " + spreadProgram + " is set")
	}
	mergeNumbers(t)
}

// runShards sends the load from n processes. It returns their processor time in us per request, and how far apart they
// really started: all have this machine's clock.
func runShards(t *testing.T, program, url string, n int) (cpuUS float64, apart, bound time.Duration) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "load.yaml")
	require.NoError(t, os.WriteFile(path, []byte(spreadLoad), 0o600))
	var commands []*exec.Cmd
	var connections []shard.Connection
	var shards []Shard
	for i := range n {
		socket := filepath.Join(dir, fmt.Sprint(i))
		shards = append(shards, Shard{Folder: filepath.Join(dir, fmt.Sprintf("run-%d", i))})
		c := exec.Command(program, "bench", "run", "--workload", path, "--endpoint-url", url, "--output", shards[i].Folder,
			"--part", fmt.Sprintf("%d/%d", i, n), "--control", socket)
		require.NoError(t, c.Start())
		commands = append(commands, c)
		connections = append(connections, connectTo(t, socket))
	}
	coordinator := shard.NewCoordinator(connections)
	require.NoError(t, coordinator.Run(t.Context(), 1))
	for _, c := range commands {
		_ = c.Wait() // a busy machine makes it INVALID
		usage := c.ProcessState.SysUsage().(*syscall.Rusage)
		cpuUS += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
	}
	first, last := int64(1<<62), int64(0)
	for i := range shards {
		shards[i].Offset = coordinator.Offsets()[i]
		r, err := Read(shards[i].Folder)
		require.NoError(t, err)
		first, last = min(first, r.Stages[0].StartNS), max(last, r.Stages[0].StartNS)
	}
	r, err := Merge(shards, filepath.Join(dir, "merged"), nil)
	require.NoError(t, err)
	require.EqualValues(t, spreadRequests, r.Measured.Total.Requests.Total)
	return cpuUS / spreadRequests, time.Duration(last - first), time.Duration(r.Spread.BoundNS)
}

func connectTo(t *testing.T, socket string) shard.Connection {
	t.Helper()
	var c shard.Connection
	require.Eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			c = shard.Connection{In: conn, Out: conn}
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return c
}

// mergeNumbers merges made runs of 64 shards, of a load of 100,000 requests per second. The time grows with the number
// of requests, and the memory hardly does.
func mergeNumbers(t *testing.T) {
	const shardCount, each = 64, 50_000
	p := workloadOf(1)
	p.Load.Stages = []profile.Stage{{Arrival: profile.Constant, Rate: 1e5, Requests: shardCount * each}}
	var shards []Shard
	for i := range shardCount {
		shards = append(shards, shardOf(t, p, record.Valid, 0, i))
		fillLog(t, shards[i].Folder, i, shardCount, each)
	}
	began := time.Now()
	r, err := Merge(shards, filepath.Join(t.TempDir(), "merged"), nil)
	took := time.Since(began)
	require.NoError(t, err)
	require.EqualValues(t, shardCount*each, r.Measured.Total.Requests.OK)
	const million = shardCount * each / 1e6
	fmt.Printf("MEASURED spread/merge-million %.3f s\n", took.Seconds()/million)
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	fmt.Printf("MEASURED spread/memory %d MB\n", usage.Maxrss/1024)
}

// fillLog writes the event log of shard i of n.
func fillLog(t *testing.T, folder string, i, n, requests int) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(folder, eventlog.FileName)))
	began := start.UnixNano()
	w, err := eventlog.Create(filepath.Join(folder, eventlog.FileName), eventlog.Header{ID: "x", StartNS: began,
		Model: "m"})
	require.NoError(t, err)
	for k := range requests {
		seq := k*n + i
		due := began + int64(seq)*10_000
		require.NoError(t, w.Add(&eventlog.Request{Seq: seq, DueNS: due, ReadyNS: due, SentNS: due + 1000,
			FirstByteNS: due + 5e6, EndNS: due + 20e6, Events: []eventlog.Event{{AtNS: due + 5e6, Tokens: 1},
				{AtNS: due + 20e6, Tokens: 1}}, AskedInput: 10, AskedOutput: 2, InputTokens: 10, OutputTokens: 2}))
	}
	require.NoError(t, w.Close(eventlog.End{Complete: true}))
}
