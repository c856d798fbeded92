package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// spreadProgram names mlperf-go for TestSpreadNumbers, which needs a quiet machine (scripts/spread.sh).
const spreadProgram = "SPREAD_BENCH_PROGRAM"

// More variables of TestSpreadNumbers.
const (
	spreadCPUs    = "SPREAD_BENCH_CPUS"    // of the shards, as taskset reads it; empty: those of the servers
	spreadServers = "SPREAD_BENCH_SERVERS" // simulators; default 1
	spreadOf      = "SPREAD_BENCH_LOADS"   // names of loads; empty: all
)

// spreadLoads keep the loops busy, or let them wait for the time of each request. A layout multiplies their rate or
// users.
var spreadLoads = []struct {
	name, stage   string
	size          int  // users, or requests per second
	fewer, enough int  // requests: what the further ones cost leaves out start and end
	byLoop        bool // size and requests are those of a loop
}{
	{"saturated", "arrival: closed, concurrency: %d", 1024, 20_000, 120_000, true},
	{"closed", "arrival: closed, concurrency: %d", 512, 10_000, 70_000, false},
	{"open", "arrival: constant, rate: %d", 2000, 1000, 7000, false},
}

// spreadLayouts are ways to send a load. Two loops of one load wake up for fewer requests each than one does, in one
// process as in two: so the cost of dividing among processes is the difference between "loops" and "shards". Under a
// saturated load each loop has as much to do in all layouts. There the cost is also the difference between "one" and
// "shards", if the servers are quick enough to keep every loop busy. "apart" is two loads that know nothing of each
// other: what it costs more than "one" is the machine's cost of two busy cores.
var spreadLayouts = []struct {
	name                   string
	processes, loops, load int
	apart                  bool
}{
	{"one", 1, 1, 1, false}, {"loops", 1, 2, 1, false}, {"shards", 2, 1, 1, false}, {"apart", 2, 1, 1, true},
	{"double", 2, 1, 2, false},
}

// TestSpreadNumbers measures what it costs to divide a load: processor time of each further request, without the
// server's, how busy the loops were, and the agreement of the starts. The layouts take turns.
func TestSpreadNumbers(t *testing.T) {
	program := os.Getenv(spreadProgram)
	if program == "" {
		t.Skip("measures shards; " + spreadProgram + " is the path of mlperf-go")
	}
	var urls []string
	for range number(t, spreadServers, 1) {
		urls = append(urls, simtest.Start(t, program, "--ttft", "0s", "--tpot", "0s"))
	}
	beyond := time.Duration(0)
	for _, load := range spreadLoads {
		if only := os.Getenv(spreadOf); only != "" && !slices.Contains(strings.Fields(only), load.name) {
			continue
		}
		for _, l := range spreadLayouts {
			loops := l.processes * l.loops
			if load.byLoop && l.load > 1 {
				continue
			}
			times := l.load
			if load.byLoop {
				times = loops
			}
			r := spreadRun{program: program, urls: urls, processes: l.processes, loops: l.loops, loads: 1}
			if l.apart {
				r.loads = l.processes
			}
			r.stage, r.requests = fmt.Sprintf(load.stage, times*load.size/r.loads), times*load.fewer
			few := r.send(t)
			r.requests = times * load.enough
			many := r.send(t)
			further := float64(times * (load.enough - load.fewer))
			row := "MEASURED spread/" + load.name + "-" + l.name
			fmt.Printf("%s %.3f us\n", row, (many.cpuUS-few.cpuUS)/further)
			fmt.Printf("%s-switches %.4f\n", row, (many.switches-few.switches)/further)
			fmt.Printf("%s-busy %.3f\n", row, (many.cpuUS-few.cpuUS)/1e6/(many.seconds-few.seconds)/float64(loops))
			fmt.Printf("%s-rate %.0f per s\n", row, further/(many.seconds-few.seconds))
			if many.instructions > 0 {
				fmt.Printf("%s-instructions %.1f\n", row, (many.instructions-few.instructions)/further)
			}
			beyond = max(beyond, many.apart-many.bound)
		}
	}
	fmt.Printf("MEASURED spread/start-beyond-bound %.3f ms\n", float64(beyond)/1e6)
}

// onShardCPUs returns a command on the CPUs of the shards.
func onShardCPUs(command ...string) *exec.Cmd {
	if list := os.Getenv(spreadCPUs); list != "" {
		command = append([]string{"taskset", "-c", list}, command...)
	}
	return exec.Command(command[0], command[1:]...)
}

// spreadRun is a load, or several, and the processes that send it.
type spreadRun struct {
	program, stage             string
	urls                       []string
	processes, loops, requests int // of all loads
	loads                      int // 1, or one for each process
}

// spreadCost is the total resource use of the processes, and the true difference of their starts, since all use this
// machine's clock.
type spreadCost struct {
	cpuUS, switches, instructions float64 // instructions in user mode; 0: this machine does not count them
	seconds                       float64 // from the first request to the last answer
	apart, bound                  time.Duration
}

func (r *spreadRun) send(t *testing.T) (cost spreadCost) {
	t.Helper()
	dir, parts := t.TempDir(), r.processes/r.loads
	commands, connections, shards := r.start(t, dir)
	errs := make(chan error, r.loads)
	var coordinators []*shard.Coordinator
	for some := range slices.Chunk(connections, parts) {
		c := shard.NewCoordinator(some, shard.Options{})
		coordinators = append(coordinators, c)
		go func() { errs <- c.Run(t.Context(), 1) }()
	}
	for range r.loads {
		require.NoError(t, <-errs)
	}
	for i, c := range commands {
		_ = c.Wait() // a busy machine makes the run INVALID
		usage := c.ProcessState.SysUsage().(*syscall.Rusage)
		cost.cpuUS += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
		cost.switches += float64(usage.Nvcsw + usage.Nivcsw)
		cost.instructions += instructions(filepath.Join(dir, fmt.Sprint(i)+".perf"))
	}
	first, last := int64(1<<62), int64(0)
	for i := range shards {
		shards[i].Offset = coordinators[i/parts].Offsets()[i%parts]
		one, err := Read(shards[i].Folder)
		require.NoError(t, err)
		first, last = min(first, one.Stages[0].StartNS), max(last, one.Stages[0].StartNS)
	}
	for i := range coordinators {
		merged, err := Merge(shards[i*parts:(i+1)*parts], filepath.Join(dir, fmt.Sprint("merged-", i)), nil)
		require.NoError(t, err)
		require.EqualValues(t, r.requests/r.loads, merged.Measured.Total.Requests.Total)
		cost.seconds = max(cost.seconds, merged.Measured.Total.DurationS)
		if r.loads == 1 {
			cost.apart, cost.bound = time.Duration(last-first), time.Duration(merged.Spread.BoundNS)
		}
	}
	return cost
}

// start starts the processes, which wait for their coordinators.
func (r *spreadRun) start(t *testing.T, dir string) ([]*exec.Cmd, []shard.Connection, []Shard) {
	t.Helper()
	var commands []*exec.Cmd
	var connections []shard.Connection
	var shards []Shard
	path, parts := filepath.Join(dir, "load.yaml"), r.processes/r.loads
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `schema: mlperf-go/profile/1
name: spread
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 50}, output: {kind: fixed, mean: 4}}
load: {stages: [{%s, requests: %d}]}
`, r.stage, r.requests/r.loads), 0o600))
	for i := range r.processes {
		socket := filepath.Join(dir, fmt.Sprint(i))
		shards = append(shards, Shard{Folder: filepath.Join(dir, fmt.Sprintf("run-%d", i))})
		command := []string{r.program, "bench", "run", "--workload", path, "--output", shards[i].Folder,
			"--part", fmt.Sprintf("%d/%d", i%parts, parts), "--control", socket, "--shards", fmt.Sprint(r.loops)}
		for _, url := range r.urls {
			command = append(command, "--endpoint-url", url)
		}
		if countsInstructions() {
			command = append([]string{"perf", "stat", "-x", ",", "-e", "instructions:u", "-o", socket + ".perf", "--"},
				command...)
		}
		c := onShardCPUs(command...)
		require.NoError(t, c.Start())
		commands = append(commands, c)
		connections = append(connections, connectTo(t, socket))
	}
	return commands, connections, shards
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
