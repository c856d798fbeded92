package http1_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// benchCases are the rows of the comparison: what a client costs in processor time.
var benchCases = []struct {
	name     string
	stream   bool
	request  int // bytes
	conns    int
	segments []string
	tokens   int // 0: the unit is a request
	requests int // of one round
}{
	{"whole 1.2 KB, 64", false, 1200, 64, []string{wholeAnswer}, 0, 40000},
	{"whole 1.2 KB, 256", false, 1200, 256, []string{wholeAnswer}, 0, 40000},
	{"whole 1.2 KB, 1024", false, 1200, 1024, []string{wholeAnswer}, 0, 40000},
	{"whole 24 KB, 64", false, 24 << 10, 64, []string{wholeAnswer}, 0, 20000},
	{"stream, 1 token a segment, 64", true, 1200, 64, streamOf(32, 1), 32, 3000},
	{"stream, 16 tokens a segment, 64", true, 1200, 64, streamOf(32, 16), 32, 10000},
}

// wholeAnswer is about as long as the answer of 16 tokens.
var wholeAnswer = wiretest.Whole(200, "application/json", `{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"`+
	strings.Repeat("word ", 16)+`","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}],"usage":{"prompt_tokens":200,"total_tokens":216,"completion_tokens":16,"prompt_tokens_details":null}}`)

const benchRole = "HTTP1_BENCH_CLIENT"

// runBenchClient is a process that only drives one client and prints its processor time in µs.
func runBenchClient() {
	role := os.Getenv(benchRole)
	if role == "" {
		return
	}
	var kind, url string
	var row int
	if _, err := fmt.Sscan(role, &kind, &row, &url); err != nil {
		panic(err)
	}
	c := benchCases[row]
	b, err := open(fixed(url, c.stream, c.request))
	if kind == "net/http" {
		config := fixed(url, c.stream, c.request)
		config.Concurrency = c.conns
		b, err = openReference(config)
	}
	if err != nil {
		panic(err)
	}
	start := processorTime()
	failures := drive(b, kind, c.requests, c.conns)
	fmt.Println(processorTime()-start, failures)
	os.Exit(0)
}

func drive(b backends.Backend, kind string, n, window int) int {
	if kind == "net/http" {
		if err := b.Serve(context.Background(), wiretest.NewQueries(n).End(), wiretest.Quiet{}); err != nil {
			panic(err)
		}
		return 0
	}
	s, stop, err := wiretest.OpenClosed(n, window)
	if err != nil {
		panic(err)
	}
	defer stop()
	if err := b.Serve(context.Background(), s, s); err != nil {
		panic(err)
	}
	return s.Failures
}

// processorTime is what this process has used, in µs.
func processorTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Microseconds()
}

// TestAgainstOthers measures this client, net/http and, for whole answers, wrk, one after the other in each round, with the
// server on one processor and the client on the other. HTTP1_BENCH is the number of rounds.
func TestAgainstOthers(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("HTTP1_BENCH"))
	if rounds == 0 {
		t.Skip("a comparison of processor times; HTTP1_BENCH=5 makes five rounds")
	}
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		t.Skip("the comparison needs two processors, and taskset")
	}
	wrk, _ := exec.LookPath("wrk")
	for row, c := range benchCases {
		url := wiretest.Canned(t, 0, c.segments...)
		costs := map[string][]float64{}
		unit := float64(c.requests)
		if c.tokens > 0 {
			unit *= float64(c.tokens)
		}
		for range rounds {
			for _, kind := range []string{"epoll", "net/http"} {
				costs[kind] = append(costs[kind], benchClient(t, kind, row, url)/unit)
			}
			if wrk != "" {
				per := benchWrk(t, wrk, url, c.request, c.conns)
				if c.tokens > 0 {
					per /= float64(c.tokens)
				}
				costs["wrk"] = append(costs["wrk"], per)
			}
		}
		line := fmt.Sprintf("%s: epoll %.2f us", c.name, median(costs["epoll"]))
		for _, kind := range []string{"wrk", "net/http"} {
			if len(costs[kind]) == 0 {
				continue
			}
			ratios := []float64{}
			for i, cost := range costs[kind] {
				ratios = append(ratios, cost/costs["epoll"][i])
			}
			line += fmt.Sprintf("; %s %.2f us, epoll does %.2f times as many (%.2f to %.2f)", kind, median(costs[kind]), median(ratios), slices.Min(ratios), slices.Max(ratios))
		}
		t.Logf("medians of %d: %s", rounds, line)
	}
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// benchClient gives the µs of one round.
func benchClient(t *testing.T, kind string, row int, url string) float64 {
	cmd := exec.Command("taskset", "-c", "1", os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", benchRole, kind, row, url), "GOMAXPROCS=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	var us float64
	var failures int
	_, err = fmt.Sscan(string(out), &us, &failures)
	require.NoError(t, err, "%s", out)
	require.Zero(t, failures)
	return us
}

// benchWrk gives the µs of wrk for one request.
func benchWrk(t *testing.T, wrk, url string, request, conns int) float64 {
	script := t.TempDir() + "/post.lua"
	require.NoError(t, os.WriteFile(script, []byte(`wrk.method="POST" wrk.headers["Content-Type"]="application/json" wrk.body=string.rep("x",`+strconv.Itoa(request)+`)`), 0o600))
	cmd := exec.Command("taskset", "-c", "1", wrk, "-t1", "-c"+strconv.Itoa(conns), "-d1s", "-s", script, url+"/v1/completions")
	out, err := cmd.Output()
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(out), " requests in ")
	fields := strings.Fields(strings.TrimSuffix(string(out), " requests in "+rest))
	require.True(t, ok && len(fields) > 0, "%s", out)
	n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	require.NoError(t, err)
	require.NotContains(t, string(out), "Non-2xx")
	return float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / n
}
