package dialect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// A fixed distribution is the whole part of its mean, whatever its limits are, and total_count limits no prompts.
func TestFixedLengthsAreNotClipped(t *testing.T) {
	p := translated(t, "inference-perf", ipHead+"data:\n  type: random\n"+
		"  input_distribution: {type: fixed, mean: 5000.9, total_count: 7}\n"+
		"  output_distribution: {type: fixed, mean: 3, min: 10, max: 20}\n")
	require.Equal(t, profile.FixedAt(5000), p.Data.Input)
	require.Equal(t, profile.FixedAt(3), p.Data.Output)
	require.Zero(t, p.Data.Rows)
}

// Data of types random and synthetic draw lognormal lengths above the smallest one.
func TestLognormalLengthsAreShifted(t *testing.T) {
	for kind, shifted := range map[string]bool{"random": true, "synthetic": true, "shared_prefix": false} {
		p := translated(t, "inference-perf", ipHead+"data:\n  type: "+kind+"\n"+
			"  input_distribution: {type: lognormal}\n  output_distribution: {type: lognormal}\n"+
			"  shared_prefix: {output_len: {type: lognormal}}\n")
		require.Equal(t, shifted, p.Data.Output.Shift, kind)
	}
}

// Conversations without their keys have the defaults of inference-perf's code, which are not those of a distribution.
func TestDefaultsOfConversations(t *testing.T) {
	p := translated(t, "inference-perf", "load: {type: concurrent, stages: [{num_requests: 9, concurrency_level: 3}]}\n"+
		"data: {type: conversation_replay}\n")
	require.Equal(t, profile.Data{Kind: profile.Conversations, Restart: true, Rotate: true, Input: profile.FixedAt(512),
		Output: profile.FixedAt(256), Turns: &profile.Turns{Conversations: 200, Count: profile.FixedAt(10),
			SharedSystem: 8359, MaxContext: 225000}}, p.Data)
	require.EqualValues(t, 42, p.Seed)
}

// Users of shared prefixes have turns if the file enables them; every stage begins with the first prompt.
func TestPrefixesRestart(t *testing.T) {
	for _, turns := range []string{"false", "true"} {
		p := translated(t, "inference-perf",
			ipHead+"data: {type: shared_prefix, shared_prefix: {enable_multi_turn_chat: "+turns+"}}\n")
		require.Equal(t, []any{true, turns == "true"}, []any{p.Data.Restart, p.Data.Rotate})
	}
}

// A pause is at least as long as Prometheus needs for a sample of each stage.
func TestPauseForPrometheus(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"metrics: {type: prometheus}\nreport: {prometheus: {per_stage: true}}\n": 15 * time.Second,
		"metrics: {type: prometheus, prometheus: {url: http://p:9090, scrape_interval: 20}}\n" +
			"report: {prometheus: {per_stage: true}}\n": 20 * time.Second,
		"metrics: {type: prometheus, prometheus: {scrape_interval: 1}}\nreport: {prometheus: {per_stage: true}}\n": 2e9,
		"metrics: {type: prometheus}\n":                             2 * time.Second,
		"report: {prometheus: {per_stage: true}}\n":                 2 * time.Second,
		"metrics: {type: prometheus, prometheus: {filters: [a]}}\n": 2 * time.Second,
	} {
		p := translated(t, "inference-perf", "load: {interval: 2, stages: [{rate: 5, duration: 60}]}\n"+text)
		require.Equal(t, want, p.Load.Pause, text)
		notes := strings.Join(p.Source.Notes, "\n")
		require.Equal(t, want > 2*time.Second, strings.Contains(notes, "load.interval"), text)
		isAsked := strings.Contains(text, "url") || strings.Contains(text, "filters")
		require.Equal(t, isAsked, strings.Contains(notes, "no Prometheus is asked"), text)
	}
}

// Loads that differ from inference-perf's are noted, and recorded images are refused with a remedy.
func TestDifferencesOfInferencePerfAreNoted(t *testing.T) {
	for text, want := range map[string]string{
		"data: {type: shareGPT, path: f}\napi: {type: chat}\n":                            "limits answers to 30 tokens",
		"data: {type: conversation_replay, conversation_replay: {max_model_len: 9000}}\n": "drops its oldest turns",
	} {
		p := translated(t, "inference-perf", ipHead+text)
		require.Contains(t, strings.Join(p.Source.Notes, "\n"), want)
	}
	p := translated(t, "inference-perf", ipHead+"data: {type: shareGPT, path: f}\napi: {type: completion}\n")
	require.Empty(t, p.Source.Notes)
	p = translated(t, "vllm-benchmark", "model: m\nbase-url: http://h:1\ndataset-name: burstgpt\ndataset-path: f\n")
	require.Contains(t, strings.Join(p.Source.Notes, "\n"), "rows of GPT-4")

	for file, noted := range map[string]bool{"otel_trace_replay: {trace_directory: d": true,
		"otel_trace_replay: {trace_directory: d, override_tool_call_max_tokens: false": false,
		"weka_trace_replay: {trace_directory: d":                                       false} {
		kind, _, _ := strings.Cut(file, ":")
		p := translated(t, "inference-perf", sessionHead+"data: {type: "+kind+", "+file+"}}\n")
		require.Equal(t, noted, strings.Contains(strings.Join(p.Source.Notes, "\n"), "answers that call tools"), file)
	}
	_, err := parse("inference-perf", ipHead+"api: {type: chat}\ndata: {type: visionarena, visionarena: {}}\n")
	require.ErrorContains(t, err, "data.type: recorded images cannot be sent; use type shared_prefix")
}
