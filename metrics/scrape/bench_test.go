package scrape

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// exporterKey makes the test binary serve a number of exporters.
const exporterKey = "TEST_EXPORTERS"

// vllmPage writes a page like vLLM 0.32.0's: 505 series in 67 KB. While requests come, about every third value changes
// with each reading.
func vllmPage(w io.Writer, n int64) {
	family := func(name, kind string) {
		fmt.Fprintf(w, "# HELP vllm:%s Histogram, counter or gauge of %s, in its base unit.\n# TYPE vllm:%s %s\n",
			name, strings.ReplaceAll(name, "_", " "), name, kind)
	}
	const labels = `engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"`
	for i := range 55 {
		name, kind := fmt.Sprintf("some_figure_of_the_engine_%d", i), []string{"gauge", "counter"}[i%2]
		switch i {
		case 0:
			name = "num_requests_running"
		case 1:
			name = "generation_tokens_total"
		}
		family(name, kind)
		fmt.Fprintf(w, "vllm:%s{%s} %d.0\n", name, labels, int64(i)+n*int64((i+1)%3))
	}
	for i := range 18 {
		name := []string{"time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds"}[i%3]
		name += strings.Repeat("_x", i/3)
		family(name, "histogram")
		for b := range 23 {
			bound := fmt.Sprint(float64(int(1)<<b) / 1000)
			fmt.Fprintf(w, "vllm:%s_bucket{%s,le=\"%s\"} %d.0\n", name, labels, bound, int64(b)*n/20*int64(1-i%2))
		}
		fmt.Fprintf(w, "vllm:%s_bucket{%s,le=\"+Inf\"} %d.0\nvllm:%s_count{%s} %d.0\nvllm:%s_sum{%s} %v\n",
			name, labels, 2*n, name, labels, 2*n, name, labels, 0.123456789*float64(n))
	}
}

// serveExporters serves pages, each at its own port, until its parent ends, and prints their addresses.
func serveExporters(count string) {
	var reading atomic.Int64
	n := 0
	fmt.Sscan(count, &n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Printf("http://%s\n", l.Addr())
		go func() {
			panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				var page bytes.Buffer // vLLM writes its page at once too
				vllmPage(&page, reading.Add(1))
				w.Header().Set("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
				w.Header().Set("Content-Length", fmt.Sprint(page.Len()))
				_, _ = w.Write(page.Bytes())
			})))
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// BenchmarkReadings measures the work of reading 64 pages of vLLM each second from another process.
func BenchmarkReadings(b *testing.B) {
	const pagesRead, interval = 64, time.Second
	exporters := exec.CommandContext(b.Context(), os.Args[0])
	exporters.Env = append(os.Environ(), exporterKey+"="+fmt.Sprint(pagesRead))
	out, err := exporters.StdoutPipe()
	require.NoError(b, err)
	in, err := exporters.StdinPipe()
	require.NoError(b, err)
	require.NoError(b, exporters.Start())
	b.Cleanup(func() { _ = in.Close(); _ = exporters.Wait() })
	var targets []string
	for lines := bufio.NewScanner(out); len(targets) < pagesRead && lines.Scan(); {
		targets = append(targets, lines.Text())
	}
	c, err := Start(b.Context(), Options{Access: atomicfile.Shared, Path: filepath.Join(b.TempDir(), "m.jsonl.zst"),
		Targets: pages(targets), Interval: interval, Seen: func(int, time.Time, map[string]float64) {}})
	require.NoError(b, err)
	time.Sleep(interval / 2)
	b.ResetTimer()
	before, waited := processorTime(b)
	for b.Loop() {
		time.Sleep(interval)
	}
	after, waits := processorTime(b)
	took := float64(after-before) / float64(b.N)
	outcomes, err := c.Stop()
	require.NoError(b, err)
	b.ReportMetric(took/pagesRead/1e3, "µs/page")
	b.ReportMetric(took/1e9*100, "%-of-a-core")
	b.ReportMetric(float64(waits-waited)/float64(b.N)/pagesRead, "switches/page")
	b.ReportMetric(float64(outcomes[0].Series), "series")
}

// processorTime returns the processor time of this process in ns, and how often its threads have waited. Elapsed time
// would include the work of others.
func processorTime(b *testing.B) (ns, waits int64) {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano(), u.Nvcsw
}
