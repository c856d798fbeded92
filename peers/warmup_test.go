package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// warm is a log of three stages: A of the log by hand is a warm-up stage, B was sent in the warm-up of the next stage,
// whose other requests are C and D. The third stage has no request.
func warm() *Log {
	l := hand()
	l.Stages = []Stage{{Concurrency: 1, Warmup: true}, {RatePerS: 20, Concurrency: 8, Poisson: true}, {RatePerS: 30}}
	for i := range l.Requests {
		l.Requests[i].Stage = min(i, 1)
		l.Requests[i].LeftOut = i < 2
	}
	return l
}

// TestWarmupIsInNoTotal: the figures and the load are those of the measured stage.
func TestWarmupIsInNoTotal(t *testing.T) {
	files, notes := convert(t, "vllm", warm())
	require.Equal(t, "the totals leave out 2 requests of warm-up and cool-down", notes)
	requireValues(t, values(t, files["openai-20.0qps-concurrency8-model-20261123-090000.json"]), "", map[string]float64{
		"num_prompts": 2, "completed": 1, "failed": 1, "request_rate": 20, "max_concurrency": 8, "duration": 0.8,
		"total_output_tokens": 3, "mean_ttft_ms": 100})

	files, _ = convert(t, "aiperf", warm())
	requireValues(t, values(t, files["profile_export_aiperf.json"]), "", map[string]float64{"request_count/avg": 1,
		"completed_request_count/avg": 2, "time_to_first_token/count": 1, "benchmark_duration/avg": 0.7})

	files, _ = convert(t, "guidellm", warm())
	got := values(t, files["benchmarks.json"])
	require.NotContains(t, got, "benchmarks/1/type_", "the warm-up stage is no benchmark")
	requireValues(t, got, "benchmarks/0", map[string]float64{"metrics/request_totals/total": 2,
		"metrics/request_latency/successful/count": 1, "duration": 0.8, "warmup_duration": 0.05, "cooldown_duration": 0,
		"scheduler_state/created_requests": 3, "scheduler_metrics/requests_made/total": 3, "config/strategy/rate": 20})
	requireValues(t, got, "config/benchmarks", map[string]float64{"0/profile/rate/0": 20, "1/profile/rate/0": 30})

	files, _ = convert(t, "inference-perf", warm())
	requireValues(t, values(t, files["summary_lifecycle_metrics.json"]), "", map[string]float64{"load_summary/count": 2,
		"successes/count": 1, "benchmark_time_seconds": 0.8})
	for name, count := range map[string]float64{"stage_0": 1, "stage_1": 3} { // a stage counts all its requests
		got := values(t, files[name+"_lifecycle_metrics.json"])
		requireValues(t, got, "", map[string]float64{"load_summary/count": count})
	}

	l := warm()
	l.Requests = l.Requests[:2]
	for _, name := range Formats() {
		_, err := Convert(name, l)
		require.ErrorContains(t, err, "all 2 requests of the log belong to warm-up or cool-down")
	}
}

// TestProbesOfASweep: guidellm's report has the stages with which a sweep looks for its limits, and inference-perf's
// has none.
func TestProbesOfASweep(t *testing.T) {
	l := warm()
	l.Stages[0] = Stage{Concurrency: 1, Warmup: true, Probe: "synchronous"}
	l.Stages[1] = Stage{Concurrency: 512, Warmup: true, Probe: "throughput"}
	for i := range l.Requests {
		l.Requests[i].Stage, l.Requests[i].LeftOut = min(i, 2), i < 2
	}
	files, _ := convert(t, "guidellm", l)
	got := values(t, files["benchmarks.json"])
	for i, want := range []string{"synchronous", "throughput", "constant"} {
		at := "benchmarks/" + string(rune('0'+i))
		require.Equal(t, want, got[at+"/config/strategy/type_"])
		require.Equal(t, want, got[at+"/config/profile/kind"])
	}
	requireValues(t, got, "benchmarks", map[string]float64{"0/metrics/request_totals/total": 1,
		"1/config/strategy/max_concurrency": 512, "1/config/profile/max_concurrency": 512,
		"2/metrics/request_totals/total": 2})
	require.NotContains(t, got, "benchmarks/0/config/strategy/max_concurrency")

	files, _ = convert(t, "inference-perf", l)
	requireValues(t, values(t, files["stage_0_lifecycle_metrics.json"]), "", map[string]float64{
		"load_summary/requested_rate": 30, "load_summary/count": 2})
	require.Len(t, files, 2)
}
