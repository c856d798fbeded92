package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// TestLiveAddress serves the page until a launch ends that the cluster rejects. It also rejects bad addresses.
func TestLiveAddress(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"major":"1","minor":"34","gitVersion":"v1.34.2"}`)
	}))
	defer api.Close()
	config := write(t, "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: \""+api.URL+"\"}}], "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], current-context: c, users: [{name: u, user: {token: x}}]}")
	for address, want := range map[string]string{"127.0.0.1:0": "live page: http://127.0.0.1:",
		"nothing":                    `"nothing" is not an address to serve the live page at`,
		api.Listener.Addr().String(): "address already in use"} {
		code, _, errs := kube("run", "--kubeconfig", config, "-p", "bench", "--image", "x:1", "-w", write(t, own), "-U",
			"http://127.0.0.1:9", "--shards", "2", "--live", address, "-r", t.TempDir())
		require.GreaterOrEqual(t, code, exit.StatusUsage, errs)
		require.Contains(t, errs, want)
	}
}

// TestPageOfTwoRuns shows two runs of shards in sequence, and the verdict of the worse one.
func TestPageOfTwoRuns(t *testing.T) {
	server, err := live.Start(live.Options{Address: "127.0.0.1:0", What: "workload"})
	require.NoError(t, err)
	r, err := http.Get(server.URL() + "events")
	require.NoError(t, err)
	defer r.Body.Close()
	w := &watcher{program: &program{stderr: &bytes.Buffer{}}, server: server}
	for i, verdict := range []record.Verdict{record.Invalid, record.Valid} {
		w.begin(contract.Rendered{Profile: &profile.Profile{}})
		w.Progress(shard.Progress{Sent: 7, Ended: 7, Elapsed: time.Second, Counted: 1,
			Second: &live.Second{Answered: 7, Output: int64(40 + i)}})
		w.result(&bench.Record{Verdict: verdict, Measured: &measure.Measured{}})
	}
	w.end(nil)
	events, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	for _, want := range []string{`"rates":[7,7,0]`, `"tokens":[40]`, `"tokens":[41]`, `"verdict":"INVALID"`} {
		require.Contains(t, string(events), want)
	}
}

// messages collects what a command prints while it runs.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(p)
}

func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// TestStopByPage stops two shards of a long load by their page, after it has shown a failure of each, and the server's
// queue. The launch collects both, and the merged run is INTERRUPTED.
func TestStopByPage(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t, "--ttft", "5ms", "--fault", "cut_mid=0.05")
	long := strings.Replace(own, "rate: 20, requests: 20}", "rate: 50, requests: 100000}", 1)
	output, errs := t.TempDir(), &messages{}
	args := []string{"mlperf-go-kube", "run", "--kubeconfig", tc.UserKubeconfig(true), "-p", kubetest.Namespace(t, tc),
		"--image", kubetest.ImageName, "--cpu", "1", "--memory", "1Gi", "-r", output, "-w", write(t, long), "-U", url,
		"--shards", "2", "--id", "stop", "--live", "127.0.0.1:0", "--live-control", "--metrics"}
	ended := make(chan int, 1)
	go func() { ended <- mainCode(args, io.Discard, errs) }()
	address, token := "", ""
	require.Eventually(t, func() bool {
		_, after, _ := strings.Cut(errs.String(), "live page: http://")
		line, _, whole := strings.Cut(after, "\n")
		address, token, _ = strings.Cut(line, "/#token=")
		return whole
	}, time.Minute, 50*time.Millisecond, "%s", errs)
	require.Eventually(t, func() bool {
		page := pageAt(address)
		return strings.Contains(page, "<td>shard 0: ") && strings.Contains(page, "<td>shard 1: ") &&
			strings.Contains(page, `id="server-waiting"`)
	}, 3*time.Minute, 200*time.Millisecond, "%s", errs)
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/stop", nil)
	require.NoError(t, err)
	request.Header.Set("Origin", "http://"+address)
	request.Header.Set("X-Live-Token", token)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusNoContent, answer.StatusCode)
	require.Equal(t, live.Stopped.ExitCode(), <-ended, "%s", errs)
	merged, err := bench.Read(filepath.Join(output, "merged"))
	require.NoError(t, err)
	require.Equal(t, record.Interrupted, merged.Verdict)
	require.Positive(t, merged.Measured.Total.Requests.OK)
	for _, i := range []string{"0", "1"} {
		require.FileExists(t, filepath.Join(output, "stop_"+i, "run", bench.RecordName))
	}
}
