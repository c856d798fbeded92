package dialect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Each way to load a server with aiperf becomes the stages of the same load.
func TestFurtherLoadsOfAIPerf(t *testing.T) {
	ramp := func(s int) *profile.Ramp { return &profile.Ramp{Shape: "linear", Over: time.Duration(s) * time.Second} }
	for text, want := range map[string][]profile.Stage{
		"concurrency: 4\nconcurrency-ramp-duration: 7\nrequest-rate-ramp-duration: 9\n": {
			{Arrival: profile.Closed, Concurrency: 4, Requests: 10, Ramp: ramp(7)}},
		"request-rate: 5\nconcurrency: 4\nrequest-count: 9\nrequest-rate-ramp-duration: 7\n": {
			{Arrival: profile.Poisson, Rate: 5, Concurrency: 4, Requests: 9, Ramp: ramp(7)}},
		"request-rate: 5\nrequest-count: 9\nnum-warmup-requests: 3\n": {
			{Name: "warm-up", Arrival: profile.Poisson, Rate: 5, Requests: 3, Warmup: true},
			{Arrival: profile.Poisson, Rate: 5, Requests: 9}},
		"concurrency: 5\nrequest-count: 9\nwarmup-duration: 3\nwarmup-request-rate: 2\nwarmup-arrival-pattern: constant\n" +
			"warmup-request-rate-ramp-duration: 1\n": {
			{Name: "warm-up", Arrival: profile.Constant, Rate: 2, Concurrency: 5, Duration: 3 * time.Second, Ramp: ramp(1),
				Warmup: true},
			{Arrival: profile.Closed, Concurrency: 5, Requests: 9}},
		"concurrency: 5\nrequest-count: 9\nwarmup-duration: 3\nwarmup-concurrency: 2\n" +
			"warmup-concurrency-ramp-duration: 1\n": {
			{Name: "warm-up", Arrival: profile.Closed, Concurrency: 2, Duration: 3 * time.Second, Ramp: ramp(1),
				Warmup: true},
			{Arrival: profile.Closed, Concurrency: 5, Requests: 9}},
		"user-centric-rate: 2\nnum-users: 6\nrequest-count: 9\nsession-turns-mean: 3\n": {
			{Arrival: profile.Constant, Rate: 2, Requests: 9}},
	} {
		p := translated(t, "aiperf", "model: m\nurl: http://h:1\nosl: 9\n"+text)
		require.Equal(t, want, p.Load.Stages, text)
	}
	p := translated(t, "aiperf", "model: m\nrequest-cancellation-rate: 25\nrequest-cancellation-delay: 2\n")
	require.Equal(t, &profile.Leave{Share: .25, After: profile.FixedAt(2)}, p.Load.Leave)
	p = translated(t, "aiperf", "model: m\nrequest-cancellation-rate: 25\n")
	require.Equal(t, profile.FixedAt(.001), p.Load.Leave.After)
	_, err := parse("aiperf", "model: m\nuser-centric-rate: 2\n")
	require.ErrorContains(t, err, "set num-users too")
	for _, key := range []string{"prefill-concurrency", "request-rate-series", "fixed-schedule-start-offset",
		"sequence-distribution",
		"rankings-passages-stddev"} {
		_, err := parse("aiperf", "model: m\n"+key+": 2\n")
		require.ErrorContains(t, err, key)
	}
}

// Sessions, rankings and images of aiperf have their lengths and numbers.
func TestFurtherDataOfAIPerf(t *testing.T) {
	data := func(text string) *profile.Data {
		return &translated(t, "aiperf", "model: m\nosl: 9\n"+text).Data
	}
	d := data("num-users: 6\nuser-centric-rate: 2\nnum-sessions: 20\n")
	require.Equal(t, &profile.Turns{Conversations: 6, Count: profile.FixedAt(1)}, d.Turns)
	d = data("session-turns-mean: 3\nnum-sessions: 20\nsession-turn-delay-mean: 4000\nsession-turn-delay-stddev: 1000\n" +
		"session-delay-ratio: 0.5\nshared-system-prompt-length: 7\nuser-context-prompt-length: 5\n")
	require.Equal(t, &profile.Turns{Conversations: 20, Count: profile.FixedAt(3), SharedSystem: 7,
		System: profile.FixedAt(5), ToolLatency: &profile.Distribution{Kind: "normal", Mean: 2, StdDev: .5}}, d.Turns)
	require.Equal(t, profile.Synthetic, data("session-turns-mean: 1\n").Kind)
	require.Nil(t, data("session-turns-mean: 2\nsession-turn-delay-mean: 9\nsession-delay-ratio: 0\n").Turns.ToolLatency)

	d = data("endpoint-type: rankings\n")
	require.Equal(t, profile.FixedAt(550), d.Input)
	require.Equal(t, &profile.Passages{Count: 1, Tokens: profile.FixedAt(550)}, d.Passages)
	d = data("endpoint-type: rankings\nrankings-passages-mean: 4\nrankings-passages-prompt-token-mean: 30\n" +
		"rankings-query-prompt-token-mean: 20\nrankings-query-prompt-token-stddev: 2\n")
	require.Equal(t, &profile.Distribution{Kind: "normal", Mean: 20, StdDev: 2, Min: 1}, d.Input)
	require.Equal(t, &profile.Passages{Count: 4, Tokens: profile.FixedAt(30)}, d.Passages)

	d = data("image-width-mean: 64\nimage-height-mean: 32\nimage-batch-size: 2\nimage-format: jpeg\n")
	require.Equal(t, &profile.Images{Count: profile.FixedAt(2), Format: "jpeg",
		Resolutions: []profile.Resolution{{Width: 64, Height: 32}}}, d.Images)
	for _, none := range []string{"image-width-mean: 64\n",
		"image-width-mean: 64\nimage-height-mean: 32\nimage-batch-size: 0\n"} {
		require.Nil(t, data(none).Images, none)
	}
	p := translated(t, "aiperf", "model: m\nosl: 9\nimage-width-mean: 64\nimage-height-mean: 32\nimage-width-stddev: 2\n"+
		"session-header: X-Session\n")
	require.Equal(t, []string{"image-width-stddev, image-height-stddev: not read; all images have the mean size"},
		p.Source.Notes)
	require.Equal(t, "X-Session", p.API.SessionHeader)
}

// Newer keys of inference-perf and LMBenchmark change what is sent, or are refused or noted.
func TestNewerKeysOfOtherTools(t *testing.T) {
	const file = "load: {stages: [{rate: 5, duration: 6}]}\nserver: {base_url: 'http://h:1'}\n" +
		"data: {type: random}\napi: {type: embeddings"
	p := translated(t, "inference-perf", file+", embeddings: {batch_size: 1, dimensions: 64, encoding_format: float}}\n"+
		"observability: {metrics: {enabled: true}}\ntokenizer: {load_timeout: 9}\n")
	require.Equal(t, "embeddings", p.API.Kind)
	require.False(t, p.API.Stream)
	require.Nil(t, p.Data.Output)
	require.Equal(t, map[string]any{"dimensions": 64}, p.API.Extra)
	for _, text := range []string{"batch_size: 2", "encoding_format: base64"} {
		_, err := parse("inference-perf", file+", embeddings: {"+text+"}}\n")
		require.ErrorContains(t, err, text[:strings.Index(text, ":")])
	}
	for _, key := range []string{"request_retries", "request_retry_backoff_sec", "stage_teardown_grace_seconds"} {
		_, err := parse("inference-perf", strings.Replace(file, "load: {", "load: {"+key+": 1, ", 1)+"}\n")
		require.ErrorContains(t, err, key)
	}
	p = translated(t, "inference-perf", "load: {stages: [{rate: 5, duration: 6}]}\nserver: {base_url: 'http://h:1'}\n"+
		"data: {type: shared_prefix, shared_prefix: {enable_multi_turn_chat: true, max_model_len: 9}}\n")
	require.Contains(t, p.Source.Notes[0], "max_model_len: not read")
	p = translated(t, "fmperf", "model_name: m\nqps_values: 1\nscenarios: all\n")
	require.Contains(t, p.Source.Notes[0], "scenarios: all: only the synthetic conversations are sent")
	for scenario, want := range map[string][3]int{"long-input": {256, 1024, 32}, "short-input": {0, 256, 20}} {
		p = translated(t, "fmperf", "model_name: m\nqps_values: 1\nscenarios: "+scenario+"\n")
		require.Equal(t, want, [3]int{p.Data.Turns.SharedSystem, int(p.Data.Turns.System.Mean), int(p.Data.Output.Mean)})
	}
	p = translated(t, "fmperf", "model_name: m\nqps_values: 1\nscenarios: short-input\nsystem_prompt: 5\n"+
		"chat_history: 6\nanswer_len: 7\n")
	require.Equal(t, [3]int{5, 6, 7}, [3]int{p.Data.Turns.SharedSystem, int(p.Data.Turns.System.Mean),
		int(p.Data.Output.Mean)}, "the file's own lengths count")
	p = translated(t, "fmperf", "model_name: m\nqps_values: 1\nscenarios: long-long\n")
	require.NotContains(t, strings.Join(p.Source.Notes, ""), "scenarios")
}

// A number of sessions bounds a run of aiperf that has no other bound, with all their turns; a trace is sent at its
// times unless its file forbids it; and the data have as many different sessions as the file names, or else 100.
func TestBoundsOfAIPerf(t *testing.T) {
	const trace = "input-file: f.jsonl\ncustom-dataset-type: mooncake_trace\n"
	for text, want := range map[string]struct {
		arrival  profile.Arrival
		requests int
		entries  int
	}{
		"concurrency: 4\nnum-sessions: 20\nsession-turns-mean: 3\n":                          {profile.Closed, 60, 20},
		"concurrency: 4\nnum-sessions: 20\n":                                                 {profile.Closed, 20, 20},
		"concurrency: 4\nnum-sessions: 20\nsession-turns-mean: 3\nsession-turns-stddev: 1\n": {profile.Closed, 60, 20},
		"concurrency: 4\nnum-sessions: 20\nrequest-count: 30\n":                              {profile.Closed, 30, 20},
		"concurrency: 4\nrequest-count: 30\nsession-turns-mean: 3\n":                         {profile.Closed, 30, 30},
		"request-rate: 4\nbenchmark-duration: 9\nsession-turns-mean: 3\n":                    {profile.Poisson, 0, 100},
		"concurrency: 4\nrequest-count: 30\nnum-dataset-entries: 7\n":                        {profile.Closed, 30, 7},
		trace: {profile.Trace, 0, 0},
		trace + "no-fixed-schedule: true\nrequest-count: 5\n": {profile.Closed, 5, 0},
		trace + "request-rate: 3\nrequest-count: 5\n":         {profile.Poisson, 5, 0},
	} {
		p := translated(t, "aiperf", "url: http://h:1\nmodel: m\nosl: 5\n"+text)
		require.Equal(t, []any{want.arrival, want.requests},
			[]any{p.Load.Stages[0].Arrival, p.Load.Stages[0].Requests}, text)
		entries := p.Data.Rows
		if p.Data.Turns != nil {
			require.Zero(t, entries)
			entries = p.Data.Turns.Conversations
		}
		require.Equal(t, want.entries, entries, text)
		require.Equal(t, strings.Contains(text, "stddev"), len(p.Source.Notes) > 0, text)
	}
}
