package bench_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/peers"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
)

// exportOf sends a profile of another tool to the simulator, and returns the files of a format by their order.
func exportOf(t *testing.T, tool, text, format string) (*bench.Record, [][]byte) {
	t.Helper()
	p, err := dialect.Parse(tool, tool+".yaml", []byte(text), dialect.Options{})
	require.NoError(t, err)
	folder := t.TempDir()
	url, _ := runtest.Simulate(t, time.Millisecond, 100*time.Microsecond, func(c *sim.Config) {
		for _, a := range p.API.Adapters {
			c.Adapters = append(c.Adapters, a.Name)
		}
	})
	r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: folder})
	require.NoError(t, err)
	l, err := bench.Log(folder, r)
	require.NoError(t, err)
	e, err := peers.Convert(format, l)
	require.NoError(t, err)
	var files [][]byte
	for i := range e.Files {
		var b bytes.Buffer
		require.NoError(t, e.Files[i].Write(&b))
		files = append(files, b.Bytes())
	}
	return r, files
}

// TestWarmupOfPeers: the file of each client has the requests and the load that the client would measure.
func TestWarmupOfPeers(t *testing.T) {
	r, files := exportOf(t, "vllm-benchmark", `
backend: vllm
dataset-name: random
num-prompts: 20
num-warmups: 2
request-rate: 100
burstiness: 4
max-concurrency: 8
goodput: "ttft:10000 e2el:20000"
save-detailed: true
metric-percentiles: "75,99"
percentile-metrics: "e2el,client_queue_time"
random-input-len: 8
random-output-len: 4
`, "vllm")
	var v struct {
		Prompts     int     `json:"num_prompts"`
		Rate        float64 `json:"request_rate"`
		Concurrency int     `json:"max_concurrency"`
		Burstiness  float64 `json:"burstiness"`
		Throughput  float64 `json:"request_throughput"`
		Goodput     float64 `json:"request_goodput"`
		ITLs        [][]float64
		P75         float64 `json:"p75_e2el_ms"`
		Queue       float64 `json:"p99_client_queue_time_ms"`
	}
	require.NoError(t, json.Unmarshal(files[0], &v))
	require.Equal(t, 20, v.Prompts)
	require.EqualValues(t, v.Prompts, r.Measured.Total.Requests.Total)
	require.EqualValues(t, 100, v.Rate)
	require.Equal(t, 8, v.Concurrency)
	require.EqualValues(t, 4, v.Burstiness)
	require.Positive(t, v.Goodput)
	require.Len(t, v.ITLs, 20)
	require.Len(t, v.ITLs[0], 3)
	require.Positive(t, v.P75)
	require.Positive(t, v.Queue)
	require.InDelta(t, v.Throughput, v.Goodput, 1e-9, "every answer is within the limits")

	r, files = exportOf(t, "guidellm", `
spec:
  backend: {kind: openai_http, target: "http://127.0.0.1"}
  profile: {kind: constant, rate: [50], warmup: 0.2, cooldown: 0.1}
  constraints: [{kind: max_requests, count: 50}]
  data: [{kind: synthetic_text, prompt_tokens: 8, output_tokens: 4}]
`, "guidellm")
	require.Less(t, r.Measured.Total.Requests.Total, int64(50))
	var g guideReport
	require.NoError(t, json.Unmarshal(files[0], &g))
	require.Len(t, g.Benchmarks, 1)
	require.Equal(t, r.Measured.Total.Requests.Total, g.Benchmarks[0].Metrics.Totals.Total)
	require.Greater(t, g.Benchmarks[0].Warmup, 0.15)
	require.Greater(t, g.Benchmarks[0].Cooldown, 0.05)
}

// TestAdaptersOfAWorkload: inference-perf's files have the adapters of the requests, and the sizes of their bodies.
func TestAdaptersOfAWorkload(t *testing.T) {
	_, files := exportOf(t, "inference-perf", `
load:
  type: constant
  stages: [{rate: 200, duration: 0.2}]
  lora_traffic_split: [{name: a, split: 0.5}, {name: b, split: 0.5}]
api: {type: completion, streaming: true}
data:
  type: random
  input_distribution: {min: 8, max: 8, mean: 8, std_dev: 0}
  output_distribution: {min: 4, max: 4, mean: 4, std_dev: 0}
`, "inference-perf")
	type report struct {
		Load      struct{ Count int } `json:"load_summary"`
		Successes struct {
			Count int
			Size  struct{ Min, Max float64 } `json:"request_size_bytes"`
		}
	}
	require.Len(t, files, 4, "the summary, the stage and two adapters")
	var all [4]report
	for i, text := range files {
		require.NoError(t, json.Unmarshal(text, &all[i]))
		require.Positive(t, all[i].Successes.Count)
		require.Greater(t, all[i].Successes.Size.Min, 50.)
	}
	require.Equal(t, all[0].Load.Count, all[2].Load.Count+all[3].Load.Count)
}

// guideReport is a part of benchmarks.json.
type guideReport struct {
	Benchmarks []struct {
		Warmup   float64 `json:"warmup_duration"`
		Cooldown float64 `json:"cooldown_duration"`
		Config   struct {
			Strategy struct {
				Type string `json:"type_"`
			}
		}
		Metrics struct {
			Totals struct{ Total int64 } `json:"request_totals"`
		}
	}
}

// TestStrategiesOfGuideLLM: the strategy of each stage is that of the profile, and a sweep's probes are benchmarks.
// With a duration, throughput is sent as users who never wait, which is guidellm's strategy concurrent.
func TestStrategiesOfGuideLLM(t *testing.T) {
	for profile, want := range map[string][]string{
		"{kind: concurrent, streams: [2]}":          {"concurrent"},
		"{kind: throughput, max_concurrency: 4}":    {"concurrent"},
		"{kind: poisson, rate: [100]}":              {"poisson"},
		"{kind: sweep, sweep_size: 4}":              {"synchronous", "throughput", "constant", "constant"},
		"{kind: constant, rate: [100], warmup: .2}": {"constant"},
	} {
		_, files := exportOf(t, "guidellm", `
spec:
  backend: {kind: openai_http, target: "http://127.0.0.1"}
  profile: `+profile+`
  constraints: [{kind: max_requests, count: 20}, {kind: max_duration, seconds: 0.2}]
  data: [{kind: synthetic_text, prompt_tokens: 8, output_tokens: 4}]
`, "guidellm")
		var g guideReport
		require.NoError(t, json.Unmarshal(files[0], &g))
		var got []string
		for _, b := range g.Benchmarks {
			got = append(got, b.Config.Strategy.Type)
		}
		require.Equal(t, want, got, profile)
	}
}

// TestBackendOfAKilledRun: the name of vllm's file begins with the backend, also of a run without a record.
func TestBackendOfAKilledRun(t *testing.T) {
	folder := t.TempDir()
	r, err := bench.Run(t.Context(), bench.Options{Profile: prefixed("completions"), Endpoints: []string{simulate(t)},
		Folder: folder})
	require.NoError(t, err)
	require.NotEmpty(t, r.Backend)
	require.NoError(t, os.Remove(filepath.Join(folder, bench.RecordName)))
	killed, err := bench.Read(folder)
	require.NoError(t, err)
	require.Equal(t, r.Backend, killed.Backend)
	l, err := bench.Log(folder, killed)
	require.NoError(t, err)
	e, err := peers.Convert("vllm", l)
	require.NoError(t, err)
	require.Regexp(t, "^"+r.Backend+`-200\.0qps-`, e.Files[0].Name)
}
