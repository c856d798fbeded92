package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// Ten million requests need less than 500 MB. `make bench` runs it, as does
// MEASURE_BENCH=1 go test ./workload/measure -run TenMillion -v
func TestTenMillionRequests(t *testing.T) {
	if os.Getenv("MEASURE_BENCH") == "" {
		t.Skip("it takes minutes: MEASURE_BENCH is not set")
	}
	const n = 10_000_000
	path := filepath.Join(t.TempDir(), eventlog.FileName)
	w, err := eventlog.Create(path, eventlog.Header{StartNS: 1e9})
	require.NoError(t, err)
	start := time.Now()
	r := eventlog.Request{InputTokens: 20, OutputTokens: 4, Finish: "stop"}
	for i := range n {
		at := int64(1e9) + int64(i)*1e6
		r.Seq, r.DueNS, r.ReadyNS, r.SentNS, r.FirstByteNS = i, at, at, at+int64(i%1000)*10, at+5e6
		r.EndNS = at + 9e6 + int64(i%777)*1e3
		r.Events = r.Events[:0]
		for k := range int64(4) {
			r.Events = append(r.Events, eventlog.Event{AtNS: at + 5e6 + k*1e6 + int64(i%313)*100, Tokens: 1})
		}
		require.NoError(t, w.Add(&r))
	}
	require.NoError(t, w.Close(eventlog.End{Complete: true}))
	wrote := time.Since(start)
	debug.SetGCPercent(25) // as bench run does
	m, err := Log(path, Options{})
	require.NoError(t, err)
	require.EqualValues(t, n, m.Total.Requests.OK)
	require.True(t, m.Total.Latency[nameTTFT].Exact)
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	info, err := os.Stat(path)
	require.NoError(t, err)
	t.Logf("written in %v, measured in %v, %d MiB of log, %d MiB of memory at most", wrote, time.Since(start)-wrote,
		info.Size()>>20, used.Maxrss>>10)
	fmt.Printf("MEASURED many/memory %.1f MB\n", float64(used.Maxrss)*1024/1e6)
	require.Less(t, used.Maxrss*1024, int64(500e6))
}
