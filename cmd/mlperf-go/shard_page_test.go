package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/recording"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

const shardedLoad = `schema: mlperf-go/profile/1
name: two
seed: 3
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 20}, output: {kind: fixed, mean: 8}}
load: {stages: [{arrival: poisson, rate: 200, requests: 500}]}
`

// shardedRun is a load of two shards, which are processes.
type shardedRun struct {
	t           *testing.T
	dir         string
	shards      []bench.Shard
	processes   []*process
	coordinator *shard.Coordinator
}

// startShards starts two shards against a server that fails some requests. Their coordinator has a page.
func startShards(t *testing.T, load string, page *live.Server) *shardedRun {
	t.Helper()
	return startSharded(t, load, 2, (&shard.Page{Server: page}).Show, "--fault", "cut_mid=0.05")
}

// startSharded starts some shards. They measure a simulator with further flags.
func startSharded(t *testing.T, load string, shards int, show func(shard.Progress), flags ...string) *shardedRun {
	t.Helper()
	url, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), append(flags, "--ttft", "20ms")...)
	r := &shardedRun{t: t, dir: t.TempDir()}
	profile := filepath.Join(r.dir, "two.yaml")
	require.NoError(t, os.WriteFile(profile, []byte(load), 0o600))
	var connections []shard.Connection
	for i := range shards {
		folder, socket := filepath.Join(r.dir, fmt.Sprint("run", i)), filepath.Join(r.dir, fmt.Sprint("socket", i))
		p := start(t, folder, "bench", "run", "--workload", profile, "--endpoint-url", url, "--output", folder, "--part",
			fmt.Sprintf("%d/%d", i, shards), "--control", socket, "--metrics", "--metrics-interval", "200ms")
		p.until("its socket", patience, func() bool {
			c, err := net.Dial("unix", socket)
			if err != nil {
				return false
			}
			t.Cleanup(func() { c.Close() })
			connections = append(connections, shard.Connection{In: c, Out: c})
			return true
		})
		r.processes, r.shards = append(r.processes, p), append(r.shards, bench.Shard{Folder: folder})
	}
	r.coordinator = shard.NewCoordinator(connections, shard.Options{Progress: show, Count: true})
	require.NoError(t, r.coordinator.Run(t.Context(), 1))
	return r
}

// merge waits for the end of the shards and merges them.
func (r *shardedRun) merge() *bench.Record {
	r.t.Helper()
	for i, p := range r.processes {
		p.until("its end", patience, p.isOver)
		r.shards[i].Offset = r.coordinator.Offsets()[i]
	}
	r.coordinator.Wait()
	merged, err := bench.Merge(r.shards, filepath.Join(r.dir, "merged"), nil)
	require.NoError(r.t, err)
	return merged
}

// pageOf returns the page so far.
func pageOf(t *testing.T, s *live.Server) string {
	t.Helper()
	r, err := http.Get(s.URL())
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

// TestStoppedShards stops a long load by its page: both shards end as by an interrupt, and so does the merged run. The
// page has the failures of both, and the servers' signals.
func TestStoppedShards(t *testing.T) {
	stop := make(chan struct{})
	server, err := live.Start(live.Options{Address: "127.0.0.1:0", What: "workload", Stop: func() { close(stop) }})
	require.NoError(t, err)
	r := startShards(t, strings.Replace(shardedLoad, "requests: 500", "requests: 500000", 1), server)
	seen := ""
	r.processes[0].until("failures of both shards, and signals", patience, func() bool {
		seen = pageOf(t, server)
		return strings.Contains(seen, "<td>shard 0: ") && strings.Contains(seen, "<td>shard 1: ") &&
			strings.Contains(seen, `id="server-running"`)
	})
	origin, token, _ := strings.Cut(server.URL(), "/#token=")
	request, err := http.NewRequest(http.MethodPost, origin+"/stop", nil)
	require.NoError(t, err)
	request.Header.Set("Origin", origin)
	request.Header.Set("X-Live-Token", token)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusNoContent, answer.StatusCode)
	<-stop
	require.True(t, r.coordinator.Stop())
	merged := r.merge()
	server.End(string(merged.Verdict), "", nil)
	require.Equal(t, record.Interrupted, merged.Verdict)
	require.Contains(t, merged.Reasons[0].Text, "shard 0: the run was ended early: interrupted by a viewer of")
	require.Positive(t, merged.Measured.Total.Requests.OK)
	require.NotNil(t, merged.Metrics, "the first shard read them")
	require.NoFileExists(t, filepath.Join(r.shards[1].Folder, record.MetricsName))
	require.FileExists(t, filepath.Join(r.dir, "merged", record.MachineName))
	shown, err := bench.Report(filepath.Join(r.dir, "merged"))
	require.NoError(t, err)
	require.NotNil(t, shown.Metrics, "%v", shown.Notes)
	require.Contains(t, fmt.Sprint(shown.Workload.Tables), "Machines of the client")
}

// TestPageOfShards runs two shards as processes: the page of their coordinator counts what their merged run counts.
func TestPageOfShards(t *testing.T) {
	server, err := live.Start(live.Options{Address: "127.0.0.1:0", What: "workload"})
	require.NoError(t, err)
	totals := pageTotals(t, server)
	r := startShards(t, shardedLoad, server)
	merged := r.merge()
	server.End(string(record.Valid), "", nil)
	total := merged.Measured.Total
	got := <-totals
	require.Positive(t, total.Requests.Failed)
	const rounding = 0.5 // the page rounds its figures
	require.InDelta(t, 500, got["issued"], rounding)
	require.InDelta(t, total.Requests.OK, got["answered"], rounding)
	require.InDelta(t, total.Requests.Failed, got["failed"], rounding)
	require.InDelta(t, 8*total.Requests.OK, got["tokens"], rounding)
}

// TestEmptyShards divides loads with fewer sessions or requests than shards: the merged run is VALID, and its notes
// name the shards without any. Their own runs are VALID too.
func TestEmptyShards(t *testing.T) {
	var recorded bytes.Buffer
	require.NoError(t, recording.Rehearse(&recorded, "weka", 7, 2))
	file := filepath.Join(t.TempDir(), "two.jsonl")
	require.NoError(t, os.WriteFile(file, recorded.Bytes(), 0o600))
	const random = "data: {kind: random, input: 20, output: 8}\n"
	for name, c := range map[string]struct {
		load string
		sent int64
	}{
		"sessions": {"api: {kind: chat}\ndata: {kind: recorded, format: weka, sessions: {default_output: 9}, path: " +
			file + "}\nload: {stages: [{arrival: sessions, concurrency: 4}]}\n", 12},
		"rate":  {random + "load: {stages: [{arrival: poisson, rate: 50, requests: 2}]}\n", 2},
		"users": {random + "load: {stages: [{arrival: closed, concurrency: 4, requests: 2}]}\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			load := "schema: mlperf-go/profile/1\nname: few\nseed: 3\nslo: {ttft: 60s}\n" + c.load
			r := startSharded(t, load, 4, func(shard.Progress) {})
			merged := r.merge()
			require.Equal(t, record.Valid, merged.Verdict, "%v", merged.Reasons)
			require.Equal(t, c.sent, merged.Measured.Total.Requests.OK)
			for i, p := range r.processes {
				require.Zero(t, p.cmd.ProcessState.ExitCode(), "shard %d", i)
				note := fmt.Sprintf("shard %d: no request was sent: the workload has fewer requests or sessions than shards", i)
				require.Equal(t, i >= 2, slices.Contains(merged.Notes, note), "%v", merged.Notes)
			}
		})
	}
}

// pageTotals sums the seconds of a page until its end.
func pageTotals(t *testing.T, s *live.Server) <-chan map[string]float64 {
	t.Helper()
	all := make(chan map[string]float64, 1)
	go func() {
		sum, other := map[string]float64{}, true
		for other { // first, and again for the charts of the servers
			r, err := http.Get(s.URL() + "events")
			if err != nil {
				break
			}
			sum, other = sumOf(r)
		}
		all <- sum
	}()
	return all
}

// sumOf adds the seconds of a page up. The last event may be that the page has other charts now.
func sumOf(r *http.Response) (sum map[string]float64, other bool) {
	defer r.Body.Close()
	sum = map[string]float64{}
	lines := bufio.NewScanner(r.Body)
	for name := ""; lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "event":
			name = value
		case field == "data" && name == "tick":
			var one struct {
				Values struct{ Rates, Tokens []float64 }
			}
			if json.Unmarshal([]byte(value), &one) == nil && len(one.Values.Rates) == 3 {
				for i, what := range []string{"issued", "answered", "failed"} {
					sum[what] += one.Values.Rates[i]
				}
				sum["tokens"] += one.Values.Tokens[0]
			}
		}
		other = name == "other"
	}
	return sum, other
}
