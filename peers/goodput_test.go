package peers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGoodput compares the answers A, B and C of the log by hand with limits, by each client's definition.
func TestGoodput(t *testing.T) {
	l := hand()
	l.Limits = []Limit{{"ttft", 150 * time.Millisecond}, {"tpot", 150 * time.Millisecond}}
	files, _ := convert(t, "vllm", l)
	const name = "openai-10.0qps-model-20261123-090000.json"
	requireValues(t, values(t, files[name]), "", map[string]float64{"request_goodput": 1}) // A, in 1 s
	l.Limits = []Limit{{"ttft", 250 * time.Millisecond}, {"tpot", 150 * time.Millisecond}, {"ntpot", time.Millisecond}}
	files, notes := convert(t, "vllm", l)
	requireValues(t, values(t, files[name]), "", map[string]float64{"request_goodput": 2}) // B has no tpot
	require.Contains(t, notes, "request_goodput ignores the limits of ntpot")

	l.Limits = []Limit{{"ttft", 250 * time.Millisecond}, {"itl", 150 * time.Millisecond}, {"e2e", time.Second}}
	files, _ = convert(t, "inference-perf", l)
	for _, name := range []string{"summary_lifecycle_metrics.json", "stage_0_lifecycle_metrics.json"} {
		requireValues(t, values(t, files[name]), "successes/goodput_metrics", map[string]float64{
			"good_requests": 1, "total_requests": 3, "goodput_percentage": 100. / 3, "request_goodput": 1,
			"token_goodput": 14, "ttft_attainment_percentage": 200. / 3, // B has one event, so no ttft
			"itl_attainment_percentage": 100. / 3, "request_latency_attainment_percentage": 100})
	}
	l.Limits = nil
	files, _ = convert(t, "inference-perf", l)
	require.NotContains(t, files["summary_lifecycle_metrics.json"], "goodput")
}

// TestGoodputOfGuideLLM: with ttft within 200 ms and time between tokens within 150 ms, A (100 and 100) is good, C (100
// and 300) and the error D are not, and B has no time between tokens. A ends at 410 of 1000 ms.
func TestGoodputOfGuideLLM(t *testing.T) {
	l := hand()
	files, _ := convert(t, "guidellm", l)
	got := values(t, files["benchmarks.json"])
	require.Nil(t, got["benchmarks/0/metrics/slo_attainment"])
	require.Nil(t, got["benchmarks/0/metrics/request_goodput"])
	require.Nil(t, got["benchmarks/0/config/slo"])
	require.NotContains(t, files["benchmarks.csv"], "Attainment")

	l.Limits = []Limit{{"ttft", 200 * time.Millisecond}, {"tpot", 150 * time.Millisecond}, {"tpot", time.Second},
		{"ntpot", 1}}
	files, notes := convert(t, "guidellm", l)
	got = values(t, files["benchmarks.json"])
	requireValues(t, got, "benchmarks/0", map[string]float64{"metrics/slo_attainment": 1. / 3,
		"metrics/slo_determined_requests": 3, "config/slo/ttft_ms": 200, "config/slo/tpot_ms": 150,
		"metrics/request_goodput/successful/count": 1, "metrics/request_goodput/successful/mean": 1,
		"metrics/request_goodput/successful/max": 2, "metrics/request_goodput/errored/mean": 0,
		"metrics/request_goodput/total/mean": 1}) // A's event lasts from 205 to 705 ms
	require.Nil(t, got["benchmarks/0/config/slo/e2el_ms"])
	require.Contains(t, notes, "slo_attainment ignores the limits of ntpot")
	require.Contains(t, files["benchmarks.csv"], "Successful Goodput/Sec,SLO Attainment,")

	l.Requests = l.Requests[1:2]
	files, _ = convert(t, "guidellm", l)
	got = values(t, files["benchmarks.json"])
	require.Nil(t, got["benchmarks/0/metrics/slo_attainment"], "B alone is not determined")
	requireValues(t, got, "benchmarks/0/metrics", map[string]float64{"slo_determined_requests": 0})
}

// TestBurstiness: vllm's burstiness is the shape of the gaps.
func TestBurstiness(t *testing.T) {
	l := hand()
	l.Stages[0].Burstiness = 4
	files, _ := convert(t, "vllm", l)
	got := values(t, files["openai-10.0qps-model-20261123-090000.json"])
	requireValues(t, got, "", map[string]float64{"burstiness": 4})
}

// TestFirstVisibleToken: the first 100 ms of A's answer are reasoning, and the other answers have none.
func TestFirstVisibleToken(t *testing.T) {
	l := hand()
	l.HasVisible = true
	l.Requests[0].VisibleNS = l.Requests[0].TokenNS[1]
	files, notes := convert(t, "guidellm", l)
	require.NotContains(t, notes, "reasoning")
	got := values(t, files["benchmarks.json"])
	requireValues(t, got, "benchmarks/0/metrics/time_to_first_output_token_ms/successful", map[string]float64{
		"count": 3, "min": 100, "median": 200, "max": 200, "mean": 500. / 3})
	requireValues(t, got, "benchmarks/0/requests/successful/0", map[string]float64{"time_to_first_token_ms": 100,
		"time_to_first_output_token_ms": 200})
}
