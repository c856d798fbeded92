package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

const shardedLoad = `schema: mlperf-go/profile/1
name: two
seed: 3
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 20}, output: {kind: fixed, mean: 8}}
load: {stages: [{arrival: poisson, rate: 200, requests: 500}]}
`

// TestPageOfShards runs two shards as processes against a server that fails some requests. The page of their
// coordinator has the same counts as their merged run.
func TestPageOfShards(t *testing.T) {
	url, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--ttft", "20ms", "--fault", "cut_mid=0.05")
	dir := t.TempDir()
	profile := filepath.Join(dir, "two.yaml")
	require.NoError(t, os.WriteFile(profile, []byte(shardedLoad), 0o600))
	server, err := live.Start(live.Options{Address: "127.0.0.1:0", What: "workload"})
	require.NoError(t, err)
	totals := pageTotals(t, server)

	var shards []bench.Shard
	var connections []shard.Connection
	var processes []*process
	for i := range 2 {
		folder, socket := filepath.Join(dir, fmt.Sprint("run", i)), filepath.Join(dir, fmt.Sprint("socket", i))
		p := start(t, folder, "bench", "run", "--workload", profile, "--endpoint-url", url, "--output", folder, "--part",
			fmt.Sprintf("%d/2", i), "--control", socket)
		p.until("its socket", patience, func() bool {
			c, err := net.Dial("unix", socket)
			if err != nil {
				return false
			}
			t.Cleanup(func() { c.Close() })
			connections = append(connections, shard.Connection{In: c, Out: c})
			return true
		})
		processes, shards = append(processes, p), append(shards, bench.Shard{Folder: folder})
	}
	c := shard.NewCoordinator(connections)
	c.Progress, c.Count = (&shard.Page{Server: server}).Show, true
	require.NoError(t, c.Run(t.Context(), 1))
	for i, p := range processes {
		p.until("its end", patience, p.isOver)
		shards[i].Offset = c.Offsets()[i]
	}
	c.Wait()
	server.End(string(record.Valid), "", nil)
	merged, err := bench.Merge(shards, filepath.Join(dir, "merged"), nil)
	require.NoError(t, err)
	total := merged.Measured.Total
	got := <-totals
	require.Positive(t, total.Requests.Failed)
	require.EqualValues(t, 500, got["issued"])
	require.EqualValues(t, total.Requests.OK, got["answered"])
	require.EqualValues(t, total.Requests.Failed, got["failed"])
	require.Equal(t, 8*float64(total.Requests.OK), got["tokens"])
}

// pageTotals sums the seconds of a page until its end.
func pageTotals(t *testing.T, s *live.Server) <-chan map[string]float64 {
	t.Helper()
	r, err := http.Get(s.URL() + "events")
	require.NoError(t, err)
	all := make(chan map[string]float64, 1)
	go func() {
		defer r.Body.Close()
		sum := map[string]float64{}
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
		}
		all <- sum
	}()
	return all
}
