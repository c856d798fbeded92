package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCachedTokens: the server reported 8 cached tokens of A, 0 of C and nothing of B.
func TestCachedTokens(t *testing.T) {
	l := hand()
	l.Requests[0].CachedTokens, l.Requests[0].HasCached, l.Requests[2].HasCached = 8, true, true

	files, notes := convert(t, "inference-perf", l)
	got := values(t, files["summary_lifecycle_metrics.json"])
	requireValues(t, got, "successes/prompt_tokens", map[string]float64{"total": 60, "cached": 8, "uncached": 52,
		"mean": 20})
	requireValues(t, got, "failures/prompt_tokens", map[string]float64{"total": 5, "cached": 0, "uncached": 5})
	require.NotContains(t, notes, "cached")

	files, _ = convert(t, "aiperf", l)
	requireValues(t, values(t, files["profile_export_aiperf.json"]), "", map[string]float64{
		"usage_prompt_cache_read_tokens/count": 2, "usage_prompt_cache_read_tokens/avg": 4,
		"total_usage_prompt_cache_read_tokens/avg": 8, "overall_usage_prompt_cache_read_pct/avg": 100. * 8 / 60})

	files, _ = convert(t, "guidellm", l)
	got = values(t, files["benchmarks.json"])
	for i, want := range []any{8., nil, 0.} {
		at := "benchmarks/0/requests/successful/" + string(rune('0'+i))
		require.Equal(t, []any{want, want}, []any{got[at+"/cached_tokens"], got[at+"/input_metrics/cached_tokens"]}, at)
	}
}

// TestNoCachedTokens: a server that reports nothing has no hit rate of 0.
func TestNoCachedTokens(t *testing.T) {
	files, notes := convert(t, "inference-perf", hand())
	require.NotContains(t, files["summary_lifecycle_metrics.json"], "cached")
	require.Contains(t, notes, "the server reported no cached tokens: cached and uncached are left out")
	files, _ = convert(t, "aiperf", hand())
	require.NotContains(t, files["profile_export_aiperf.json"], "cache")
}

// TestVLLMCountsTheFirstChoice: the first events of A and C have no text, at 90 and 220 ms.
func TestVLLMCountsTheFirstChoice(t *testing.T) {
	l := hand()
	l.Requests[0].ChoiceNS = l.Requests[0].FirstTokenNS - 10e6
	l.Requests[2].ChoiceNS = l.Requests[2].FirstTokenNS - 80e6
	files, notes := convert(t, "vllm", l)
	require.Empty(t, notes)
	requireValues(t, values(t, files["openai-10.0qps-model-20261123-090000.json"]), "", map[string]float64{
		"mean_ttft_ms": 310. / 3, "median_ttft_ms": 90, // 90, 200, 20
		"mean_tpot_ms": (310./3 + 340) / 2,        // (400 - 90) / 3, (900 - 220) / 2
		"mean_itl_ms":  165, "median_itl_ms": 100, // 10, 100, 100, 100, 80, 600
		"mean_e2el_ms": 1300. / 3, "max_output_tokens_per_s": 9,
	})
	require.Equal(t, hand().Requests[0].TokenNS, l.Requests[0].TokenNS, "the log is as before")
	for _, format := range []string{"guidellm", "aiperf", "inference-perf"} {
		with, _ := convert(t, format, l)
		without, _ := convert(t, format, hand())
		require.Equal(t, without, with, format)
	}
}
