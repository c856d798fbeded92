package http1_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// benchRow is one load, and the clients that are measured with it in turns.
type benchRow struct {
	name     string
	stream   bool
	request  int // bytes
	conns    int
	segments []string
	tokens   int // of an answer; 0: the unit is a request
	requests int // of one round: about a second of it, as wrk gets, so that opening connections weighs the same in both
	kinds    []string
	pace     time.Duration // between the segments; 0: as fast as the client reads them
	server   string        // of nginx; tlsStream; empty: the canned server
}

var benchRows = []benchRow{
	{"whole-1.2KB-64", false, 1200, 64, []string{wholeAnswer}, 0, 100000,
		[]string{"client", "client-times", "client-ids", "wrk", "path", "client-nethttp", "path-nethttp"}, 0, ""},
	{"whole-1.2KB-256", false, 1200, 256, []string{wholeAnswer}, 0, 100000, []string{"client", "wrk", "path"}, 0, ""},
	{"whole-1.2KB-1024", false, 1200, 1024, []string{wholeAnswer}, 0, 100000, []string{"client", "wrk"}, 0, ""},
	{"whole-24KB-64", false, 24 << 10, 64, []string{wholeAnswer}, 0, 60000, []string{"client", "wrk"}, 0, ""},
	{"stream-1-64", true, 1200, 64, streamOf(32, 1), 32, 4000,
		[]string{"client", "client-times", "client-ids", "wrk", "path", "client-nethttp"}, 0, ""},
	{"stream-16-64", true, 1200, 64, streamOf(32, 16), 32, 12000,
		[]string{"client", "client-ids", "wrk", "path", "client-nethttp"}, 0, ""},
	{"slow-1", true, 1200, 1, streamOf(32, 1), 32, 4, []string{"client", "path", "client-nethttp"}, 20 * time.Millisecond,
		""},
	{"http-nginx-256", false, 1200, 256, []string{wholeAnswer}, 0, 100000, []string{"client", "wrk", "run"}, 0,
		wiretest.NginxPlain},
	{"ids-256", false, 1200, 256, []string{wholeAnswer}, 0, 100000, []string{"path", "path-ids"}, 0, nginxIDs},
	{"workload-256", false, 1200, 256, []string{eightTokens}, 0, 100000, []string{"run", "workload"}, 0, nginxEight},
	{"https-1.2KB-256", false, 1200, 256, []string{wholeAnswer}, 0, 100000,
		[]string{"client", "wrk", "path", "run", "client-nethttp"}, 0, wiretest.NginxTLS},
	{"https-24KB-64", false, 24 << 10, 64, []string{wholeAnswer}, 0, 30000, []string{"client", "wrk"}, 0,
		wiretest.NginxTLS},
	{"https-stream-1-64", true, 1200, 64, streamOf(32, 1), 32, 4000, []string{"client", "client-nethttp"}, 0, tlsStream},
	{"handshake-full-16", false, 1200, 16, []string{wholeAnswer}, 0, 2000, []string{"client", "bare", "openssl"}, 0,
		wiretest.NginxFull},
	{"handshake-resumed-16", false, 1200, 16, []string{wholeAnswer}, 0, 4000, []string{"client", "bare", "openssl"}, 0,
		wiretest.NginxResumed},
}

// tlsStream is the canned server over TLS.
const tlsStream = "canned TLS"

// nginxEight is an nginx that answers with eightTokens.
const nginxEight = "nginx, eight tokens"

// nginxIDs is an nginx whose answers have ids like vLLM's.
const nginxIDs = "nginx, ids"

// identified is wholeAnswer from nginxIDs.
var identified = strings.Replace(wholeAnswer, strings.Repeat("0", policy.IDLength), wiretest.NginxID, 1)

// wholeAnswer is about as long as the answer of 16 tokens.
var wholeAnswer = answerOf("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", 16)

// eightTokens is the answer that a workload's short test request allows.
var eightTokens = answerOf("1,2,3,4,5,6,7,8", 8)

func answerOf(ids string, tokens int) string {
	return wiretest.Whole(200, "application/json",
		`{"id":"cmpl-00000000000000000000000000000000","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"`+
			strings.Repeat("word ", 16)+`","logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[`+ids+
			fmt.Sprintf(`]}],"usage":{"prompt_tokens":200,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":null}}`,
				200+tokens, tokens))
}

// benchKinds are the clients. Each sends one load in its own process and returns the failures that it counted. Kinds
// that need LoadGen are added in builds with it.
var benchKinds = map[string]func(c benchRow, url string, m *meter) (failures int, err error){
	"client": func(c benchRow, url string, m *meter) (int,
		error) {
		return benchClient(c, url, m, backends.IDsOff, false)
	},
	// the server returns no ids
	"client-ids": func(c benchRow, url string, m *meter) (int,
		error) {
		return benchClient(c, url, m, backends.IDsTried, false)
	},
	"client-times": func(c benchRow, url string, m *meter) (int, error) {
		return benchClient(c, url, m, backends.IDsOff, true)
	},
	"client-nethttp": benchNetHTTP,
	"bare":           benchBare,
}

func benchClient(c benchRow, url string, m *meter, ids backends.IDUse, kernelTimes bool) (int, error) {
	config := fixed(url, c.stream, c.request)
	config.KernelTimes = kernelTimes
	config.Endpoints[0].IDs, config.Endpoints[0].Model = ids, "m"
	b, err := open(config)
	if err != nil {
		return 0, err
	}
	s, stop, err := wiretest.OpenClosed(c.requests, c.conns)
	if err != nil {
		return 0, err
	}
	defer stop()
	m.start()
	err = b.Serve(context.Background(), s, s)
	return s.Failures, err
}

func benchNetHTTP(c benchRow, url string, m *meter) (int, error) {
	config := fixed(url, c.stream, c.request)
	config.Concurrency = c.conns
	b, err := nethttp.New(config, jsonProtocol)
	if err != nil {
		return 0, err
	}
	m.start()
	return 0, b.Serve(context.Background(), wiretest.NewQueries(c.requests).End(), wiretest.Quiet{})
}

// benchBare is crypto/tls without a client around it: one blocking connection after another, each with one request.
func benchBare(c benchRow, url string, m *meter) (failures int, err error) {
	config, err := fixed(url, false, 0).TLS()
	if err != nil {
		return 0, err
	}
	config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	request := fmt.Appendf(nil, "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", c.request,
		strings.Repeat("x", c.request))
	m.start()
	for range c.requests {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), config)
		if err != nil {
			return 0, err
		}
		if _, err := conn.Write(request); err != nil {
			return 0, err
		}
		if answer, err := io.ReadAll(conn); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			failures++
		}
		if err := conn.Close(); err != nil {
			return 0, err
		}
	}
	return failures, nil
}

// meter measures the processor time of the process from start on.
type meter struct{ began time.Duration }

func (m *meter) start() { m.began = wiretest.ProcessorTime() }

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
	m := &meter{}
	failures, err := benchKinds[kind](benchRows[row], url, m)
	if err != nil {
		panic(err)
	}
	fmt.Println((wiretest.ProcessorTime() - m.began).Microseconds(), failures)
	syscall.Exit(0)
}

// TestAgainstOthers measures this client, alone and with LoadGen, net/http, and wrk in sequence in each round, with the
// server on one processor and the client on the other. Every second round has the opposite order, so that drift of the
// machine favours no kind. HTTP1_BENCH is the number of rounds, HTTP1_BENCH_ONLY an expression for "row/kind". It
// prints one line per measurement, for scripts/benchsum.
func TestAgainstOthers(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("HTTP1_BENCH"))
	if rounds == 0 {
		t.Skip("a comparison of processor times; HTTP1_BENCH=5 makes five rounds")
	}
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		t.Skip("the comparison needs two processors, and taskset")
	}
	only := regexp.MustCompile(os.Getenv("HTTP1_BENCH_ONLY"))
	wrk, _ := exec.LookPath("wrk")
	openssl, _ := exec.LookPath("openssl")
	urls := make([]string, len(benchRows))
	nginx := wiretest.Nginx(t, 0, wholeAnswer)
	eight := wiretest.Nginx(t, 0, eightTokens)[wiretest.NginxPlain]
	echoing := wiretest.Nginx(t, 0, identified)[wiretest.NginxPlain]
	for i, c := range benchRows {
		switch c.server {
		case "":
			urls[i] = wiretest.CannedPaced(t, 0, c.pace, c.segments...)
		case nginxEight:
			urls[i] = eight
		case nginxIDs:
			urls[i] = echoing
		case tlsStream:
			urls[i] = wiretest.CannedSecure(t, 0, 0, c.segments...)
		default:
			urls[i] = nginx[c.server]
		}
	}
	for round := range rounds {
		for i, c := range benchRows {
			kinds := slices.Clone(c.kinds)
			if round%2 == 1 {
				slices.Reverse(kinds)
			}
			for _, kind := range kinds {
				_, built := benchKinds[kind]
				whole := kind == "run" || kind == "workload"
				if urls[i] == "" || !only.MatchString(c.name+"/"+kind) || (kind == "wrk" && wrk == "") ||
					(kind == "openssl" && openssl == "") || (whole && os.Getenv(benchProgram) == "") ||
					(!built && kind != "wrk" && kind != "openssl" && !whole) {
					continue
				}
				fmt.Printf("MEASURED %s/%s %.4f us\n", c.name, kind, c.measure(t, kind, i, urls[i], wrk))
			}
		}
	}
}

// measure returns the µs of a request, or of a token if answers have several.
func (c *benchRow) measure(t *testing.T, kind string, row int, url, wrk string) float64 {
	per := 0.0
	switch kind {
	case "wrk":
		per = benchWrk(t, wrk, url, c)
	case "openssl":
		per = benchOpenSSL(t, url)
	case "run":
		per = c.wholeRun(t, url)
	case "workload":
		per = c.workload(t, url)
	default:
		per = runKind(t, kind, row, url) / float64(c.requests)
	}
	return per / float64(max(1, c.tokens))
}

// runKind returns the µs of one round.
func runKind(t *testing.T, kind string, row int, url string) float64 {
	cmd := exec.Command("taskset", "-c", "1", os.Args[0])
	// as a run has it
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", benchRole, kind, row, url), "GOMAXPROCS=3", "GOGC=400")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var us float64
	var failures int
	_, err = fmt.Sscan(string(out), &us, &failures)
	require.NoError(t, err, "%s", out)
	require.Zero(t, failures)
	return us
}

// benchProgram names the variable with the path of the program for the kinds "run" and "workload".
const benchProgram = "HTTP1_BENCH_PROGRAM"

// runRequests are the requests of a whole run.
const runRequests = 60000

// manyRequests are the requests of a whole run beside wrk: about as many as wrk sends, which cannot be told a number,
// so that connections and handshakes weigh the same in both.
var manyRequests = map[bool]int{false: 200_000, true: 300_000} // by whether it is over TLS

// limit is how many tokens the answer of a whole run has.
func (c *benchRow) limit() int {
	if c.server == nginxEight {
		return 8
	}
	return 16
}

// wholeRun returns the µs of a sample during the test of the whole program, and prints those from the program's start
// to its end, and its memory up to the end of the test and of the program.
func (c *benchRow) wholeRun(t *testing.T, url string) float64 {
	perSample, memory, cmd := c.runProgram(t, url, runRequests)
	fmt.Printf("MEASURED %s/run-memory %.1f MB\n", c.name, memory/1e6)
	fmt.Printf("MEASURED %s/process-memory %.1f MB\n", c.name,
		float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)/1e6)
	samples := runRequests
	if slices.Contains(c.kinds, "wrk") {
		samples = manyRequests[strings.HasPrefix(url, "https:")]
		perSample, _, cmd = c.runProgram(t, url, samples)
	}
	fmt.Printf("MEASURED %s/process %.4f us\n", c.name, us(cmd)/float64(samples))
	return perSample
}

// runProgram runs the whole program with a number of samples. It returns the µs of a sample and the most memory in
// bytes during the test, and the ended process.
func (c *benchRow) runProgram(t *testing.T, url string, samples int) (perSample, memory float64, cmd *exec.Cmd) {
	dir := t.TempDir()
	sample := `{"tok_input":[` + strings.Repeat("12345,", c.request/6-1) + "1]}\n"
	require.NoError(t, os.WriteFile(dir+"/rows.jsonl", []byte(strings.Repeat(sample, 64)), 0o600))
	cmd = exec.Command("taskset", "-c", "1", os.Getenv(benchProgram), "run", "--quiet", "--model", "generic",
		"--scenario", "Offline", "--backend", "vllm", "--served-model", "m",
		"--dataset", dir+"/rows.jsonl", "--endpoint", url, "--insecure-skip-verify",
		"--min-queries", strconv.Itoa(samples), "--min-duration", "0", "--max-tokens", strconv.Itoa(c.limit()),
		"--concurrency", strconv.Itoa(c.conns), "--no-preflight-query", "--output-dir", dir+"/run")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(dir + "/run/run.json")
	require.NoError(t, err)
	var record struct {
		Client struct {
			US  float64 `json:"cpu_us_per_sample"`
			RSS float64 `json:"rss_max_bytes"`
		} `json:"client"`
	}
	require.NoError(t, json.Unmarshal(text, &record))
	return record.Client.US, record.Client.RSS, cmd
}

// benchOpenSSL returns the µs of OpenSSL's own client for one connection with a GET request. It makes one after
// another, and resumes sessions where the server allows that.
func benchOpenSSL(t *testing.T, url string) float64 {
	cmd := exec.Command("taskset", "-c", "1", "openssl", "s_time", "-connect", strings.TrimPrefix(url, "https://"),
		"-www", "/v1/models", "-reuse", "-time", "2")
	out, err := cmd.Output()
	require.NoError(t, err)
	last := regexp.MustCompile(`(\d+) connections in \d+ real seconds`).FindSubmatch(out)
	require.NotNil(t, last, "%s", out)
	n, err := strconv.ParseFloat(string(last[1]), 64)
	require.NoError(t, err)
	return us(cmd) / n
}

// benchWrk returns the µs of wrk for one request. TLS handshakes take the first second or two.
func benchWrk(t *testing.T, wrk, url string, c *benchRow) float64 {
	script := t.TempDir() + "/post.lua"
	require.NoError(t, os.WriteFile(script, []byte(`wrk.method="POST" wrk.headers["Content-Type"]="application/json" wrk.body=string.rep("x",`+strconv.Itoa(c.request)+`)`), 0o600))
	cmd := exec.Command("taskset", "-c", "1", wrk, "-t1", "-c"+strconv.Itoa(c.conns),
		map[bool]string{false: "-d1s", true: "-d4s"}[strings.HasPrefix(url, "https:")], "-s", script,
		url+"/v1/completions")
	out, err := cmd.Output()
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(out), " requests in ")
	fields := strings.Fields(strings.TrimSuffix(string(out), " requests in "+rest))
	require.True(t, ok && len(fields) > 0, "%s", out)
	n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	require.NoError(t, err)
	require.NotContains(t, string(out), "Non-2xx")
	return us(cmd) / n
}
