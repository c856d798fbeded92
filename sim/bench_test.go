package sim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkStream sends 200 streamed requests of 128 tokens a second on 64 kept connections from another process. It
// reports the server's CPU time per streamed event and the delay of its events.
func BenchmarkStream(b *testing.B) {
	if addr := os.Getenv("SIM_BENCH_CLIENT"); addr != "" {
		b.Skip("this process is the client")
	}
	v := serve(b, func(c *Config) { c.TTFT, c.TPOT, c.OutputTokens = 5*time.Millisecond, time.Millisecond, 128 })
	self, err := os.Executable()
	require.NoError(b, err)
	var begin, end syscall.Rusage
	for b.Loop() {
		before := v.Stats()
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &begin))
		cmd := exec.Command(self, "-test.run=^TestBenchClient$", "-test.v")
		cmd.Env = append(os.Environ(), "SIM_BENCH_CLIENT="+v.addr)
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, string(out))
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &end))
		st := v.Stats()
		cpu := cpuOf(&end) - cpuOf(&begin)
		n := st.Events - before.Events
		b.ReportMetric(float64(cpu.Microseconds())/float64(n), "cpu-us/event")
		b.ReportMetric(float64(n)/cpu.Seconds(), "tokens/cpu-s")
		b.ReportMetric(float64(st.MeanLateness.Microseconds()), "us-late")
		for _, l := range strings.Split(string(out), "\n") {
			if strings.Contains(l, "mean TTFT") {
				b.Log(strings.TrimSpace(l))
			}
		}
	}
}

func cpuOf(r *syscall.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestBenchClient is the client process of BenchmarkStream.
func TestBenchClient(t *testing.T) {
	addr := os.Getenv("SIM_BENCH_CLIENT")
	if addr == "" {
		t.Skip("run by BenchmarkStream")
	}
	const conns, rate, total = 64, 200, 1000
	jobs := make(chan int, total)
	var mu sync.Mutex
	var sum time.Duration
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer c.Close()
			in := bufio.NewReaderSize(c, 16<<10)
			for i := range jobs {
				at := time.Now()
				_, err := io.WriteString(c, rawRequest("/v1/completions",
					fmt.Sprintf(`{"prompt":[%d],"max_tokens":128,"stream":true,"return_token_ids":true}`, i)))
				require.NoError(t, err)
				for n := 0; ; n++ {
					line, err := in.ReadSlice('\n')
					require.NoError(t, err)
					if strings.HasPrefix(string(line), "data: ") && n < 20 && at.Before(time.Now()) {
						mu.Lock()
						sum += time.Since(at)
						mu.Unlock()
						n = 20
					}
					if string(line) == "0\r\n" {
						_, _ = in.ReadSlice('\n')
						break
					}
				}
			}
		})
	}
	begin := time.Now()
	for i := range total {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / rate)))
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	t.Logf("mean TTFT %v", sum/total)
}

// BenchmarkEvent measures the cost of building one event, without its write.
func BenchmarkEvent(b *testing.B) {
	s, err := New(fastConfig())
	require.NoError(b, err)
	s.engine = &engine{pace: &pacer{base: time.Now()}}
	r := &request{protocol: completions, id: "0123456789abcdef", prompts: []prompt{{ids: make([]int32, 1000), row: -1}},
		limits: []limits{{maxTokens: 128, ignoreEOS: true}},
		stream: true, returnIDs: true, interval: 1}
	rp := s.prepare(nil, r, plan{tail: wholeTail}, 0)
	q := rp.seqs[0]
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := 1 + i%126
		buf = rp.enc.event(buf[:0], q, at, at+1)
	}
}
