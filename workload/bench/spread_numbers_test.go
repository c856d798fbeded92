package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

// spreadProgram names mlperf-go for TestSpreadNumbers, which needs a quiet machine (scripts/spread.sh).
const spreadProgram = "SPREAD_BENCH_PROGRAM"

// spreadCPUs is the shards' list of CPUs in taskset's form; empty: those of this process. The server uses the latter in
// any case.
const spreadCPUs = "SPREAD_BENCH_CPUS"

// spreadLoads keep the loops busy, or let them wait for the time of each request. A layout multiplies their rate or
// users.
var spreadLoads = []struct {
	name, stage   string
	size          int // users, or requests per second
	fewer, enough int // numbers of requests; the cost of the additional ones excludes start and end
}{
	{"closed", "arrival: closed, concurrency: %d", 512, 10_000, 70_000},
	{"open", "arrival: constant, rate: %d", 2000, 2000, 12_000},
}

// spreadLayouts are ways to send a load. Two loops wake up for fewer requests each than one does, in one process or in
// two. So the cost of dividing among processes is the difference between "loops" and "shards".
var spreadLayouts = []struct {
	name                   string
	processes, loops, load int
}{
	{"one", 1, 1, 1}, {"loops", 1, 2, 1}, {"shards", 2, 1, 1}, {"double", 2, 1, 2},
}

// TestSpreadNumbers measures the cost of dividing a load: processor time of each additional request, without the
// server's, and the agreement of the starts. The layouts take turns.
func TestSpreadNumbers(t *testing.T) {
	program := os.Getenv(spreadProgram)
	if program == "" {
		t.Skip("measures shards; " + spreadProgram + " is the path of mlperf-go")
	}
	url := simtest.Start(t, program, "--ttft", "0s", "--tpot", "0s")
	beyond := time.Duration(0)
	for _, load := range spreadLoads {
		for _, l := range spreadLayouts {
			r := spreadRun{program: program, url: url, processes: l.processes, loops: l.loops}
			r.stage, r.requests = fmt.Sprintf(load.stage, l.load*load.size), l.load*load.fewer
			few := r.send(t)
			r.requests = l.load * load.enough
			many := r.send(t)
			further := float64(l.load * (load.enough - load.fewer))
			row := "MEASURED spread/" + load.name + "-" + l.name
			fmt.Printf("%s %.3f us\n", row, (many.cpuUS-few.cpuUS)/further)
			fmt.Printf("%s-switches %.4f\n", row, (many.switches-few.switches)/further)
			if many.instructions > 0 {
				fmt.Printf("%s-instructions %.1f\n", row, (many.instructions-few.instructions)/further)
			}
			beyond = max(beyond, many.apart-many.bound)
		}
	}
	fmt.Printf("MEASURED spread/start-beyond-bound %.3f ms\n", float64(beyond)/1e6)
}

// TestMergeNumbers measures the merge.
func TestMergeNumbers(t *testing.T) {
	if os.Getenv(spreadProgram) == "" {
		t.Skip("measures the merge of many shards, if " + spreadProgram + " is set")
	}
	mergeNumbers(t)
}

// onShardCPUs returns a command on the CPUs of the shards.
func onShardCPUs(command ...string) *exec.Cmd {
	if list := os.Getenv(spreadCPUs); list != "" {
		command = append([]string{"taskset", "-c", list}, command...)
	}
	return exec.Command(command[0], command[1:]...)
}

// spreadRun is a load and the processes that send it.
type spreadRun struct {
	program, url, stage        string
	processes, loops, requests int
}

// spreadCost is the total resource use of the processes, and the true difference of their starts, since all use this
// machine's clock.
type spreadCost struct {
	cpuUS, switches, instructions float64 // instructions in user mode; 0: this machine does not count them
	apart, bound                  time.Duration
}

func (r *spreadRun) send(t *testing.T) (cost spreadCost) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "load.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `schema: mlperf-go/profile/1
name: spread
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 50}, output: {kind: fixed, mean: 4}}
load: {stages: [{%s, requests: %d}]}
`, r.stage, r.requests), 0o600))
	var commands []*exec.Cmd
	var connections []shard.Connection
	var shards []Shard
	for i := range r.processes {
		socket := filepath.Join(dir, fmt.Sprint(i))
		shards = append(shards, Shard{Folder: filepath.Join(dir, fmt.Sprintf("run-%d", i))})
		command := []string{r.program, "bench", "run", "--workload", path, "--endpoint-url", r.url, "--output",
			shards[i].Folder, "--part", fmt.Sprintf("%d/%d", i, r.processes), "--control", socket, "--shards",
			fmt.Sprint(r.loops)}
		if countsInstructions() {
			command = append([]string{"perf", "stat", "-x", ",", "-e", "instructions:u", "-o", socket + ".perf", "--"},
				command...)
		}
		c := onShardCPUs(command...)
		require.NoError(t, c.Start())
		commands = append(commands, c)
		connections = append(connections, connectTo(t, socket))
	}
	coordinator := shard.NewCoordinator(connections)
	require.NoError(t, coordinator.Run(t.Context(), 1))
	for i, c := range commands {
		_ = c.Wait() // a busy machine makes the run INVALID
		usage := c.ProcessState.SysUsage().(*syscall.Rusage)
		cost.cpuUS += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
		cost.switches += float64(usage.Nvcsw + usage.Nivcsw)
		cost.instructions += instructions(filepath.Join(dir, fmt.Sprint(i)+".perf"))
	}
	first, last := int64(1<<62), int64(0)
	for i := range shards {
		shards[i].Offset = coordinator.Offsets()[i]
		one, err := Read(shards[i].Folder)
		require.NoError(t, err)
		first, last = min(first, one.Stages[0].StartNS), max(last, one.Stages[0].StartNS)
	}
	merged, err := Merge(shards, filepath.Join(dir, "merged"), nil)
	require.NoError(t, err)
	require.EqualValues(t, r.requests, merged.Measured.Total.Requests.Total)
	cost.apart, cost.bound = time.Duration(last-first), time.Duration(merged.Spread.BoundNS)
	return cost
}

// countsInstructions reports that perf counts the instructions of processes here.
var countsInstructions = sync.OnceValue(func() bool {
	out, err := exec.Command("perf", "stat", "-x", ",", "-e", "instructions:u", "true").CombinedOutput()
	return err == nil && !strings.Contains(string(out), "not ")
})

// instructions returns the only figure in a file of perf stat; 0: no figure.
func instructions(path string) float64 {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(line, ",")
		if n, err := strconv.ParseFloat(number, 64); err == nil && strings.Contains(rest, "instructions") {
			return n
		}
	}
	return 0
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

// mergeNumbers merges made-up runs of 64 shards with a load of 100,000 requests per second. This is just above the
// number whose figures are kept individually: from there on time grows with the number of requests, but memory hardly
// does.
func mergeNumbers(t *testing.T) {
	const shardCount, each = 64, 160_000
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
