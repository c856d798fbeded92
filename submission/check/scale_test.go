package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// largeTree multiplies the recorded tree by systems, benchmarks and three scenarios, with linked files. In open a
// submitter may use any number of names for a benchmark, so that every result is valid.
func largeTree(t testing.TB, systems, benchmarks int) string {
	t.Helper()
	base, root := baseTree(t), t.TempDir()
	from := filepath.Join(base, "closed", "ExampleOrg")
	to := filepath.Join(root, "open", "ExampleOrg")
	copyTree(t, filepath.Join(from, "src"), filepath.Join(to, "src"))
	require.NoError(t, os.MkdirAll(filepath.Join(to, "systems"), 0o755))
	b, err := os.ReadFile(filepath.Join(from, "systems", "sim-8x.json"))
	require.NoError(t, err)
	b = []byte(strings.Replace(string(b), `"division": "closed"`, `"division": "open"`, 1))
	mapping := map[string]string{}
	for i := range systems {
		system := fmt.Sprintf("sim-%d", i)
		require.NoError(t, os.WriteFile(filepath.Join(to, "systems", system+".json"), b, 0o644))
		for j := range benchmarks {
			own := fmt.Sprintf("own-%d", j)
			mapping[own] = "llama3.1-8b"
			for scenario, as := range map[string]string{"Offline": "Offline", "Server": "Server", "Interactive": "Server"} {
				linkTree(t, filepath.Join(from, "results/sim-8x/llama3.1-8b", as),
					filepath.Join(to, "results", system, own, scenario))
			}
		}
	}
	m, err := json.Marshal(mapping)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "model_mapping.json"), m, 0o644))
	return root
}

func linkTree(t testing.TB, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		return os.Link(name, filepath.Join(to, rel))
	}))
}

// peak records the memory use of the process, in bytes, until stop is called.
func peak() (stop func() uint64) {
	var (
		highest uint64
		ended   = make(chan struct{})
		group   sync.WaitGroup
	)
	group.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest = max(highest, m.Sys-m.HeapReleased)
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(ended); group.Wait(); return highest }
}

// cpu returns the processor time of this process so far.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// 100 systems of 10 benchmarks of 3 scenarios: 3000 results in 10 s on two cores, in 300 MB.
func TestLargeTree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a tree of 42,000 files")
	}
	root := largeTree(t, 100, 10)
	stop, started, before := peak(), time.Now(), cpu(t)
	r, err := Check(context.Background(), root, Options{})
	took, used, held := time.Since(started), cpu(t)-before, stop()
	require.NoError(t, err)
	require.True(t, r.Valid, "%v", r.Findings[:min(len(r.Findings), 3)])
	require.Equal(t, 3000, r.Counts.Valid)
	t.Logf("%d results in %v, %v of processor time, at most %d MiB", len(r.Results), took, used, held>>20)
	require.Less(t, held, uint64(300<<20))
	require.Less(t, used, 20*time.Second) // 10 s on two cores
}

func BenchmarkCheck(b *testing.B) {
	root := largeTree(b, 10, 10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Check(context.Background(), root, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/300, "us/result")
}
