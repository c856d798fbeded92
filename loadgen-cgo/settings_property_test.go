//go:build cgo && !noloadgen

package loadgen_test

import (
	"testing"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"pgregory.net/rapid"
)

// Settings that Check accepts lead to a test that ends. Random settings, many of them invalid, must never hang or crash
// a test.
func TestRandomSettingsAreRefusedOrEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each of many settings")
	}
	ran, refusals := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		j := randomJob(rt)
		settings := settingsOf(rt, j)
		if settings.Check(j.QSL.Total, j.QSL.Performance) != nil {
			refusals++
			return
		}
		ran++
		o := start(t, j, 10*time.Second)
		if o.code != 0 || o.Err != "" {
			rt.Fatalf("exit %d, error %q, stderr %s, settings %v", o.code, o.Err, o.stderr, j.Steps)
		}
	})
	t.Logf("%d ran, %d refused", ran, refusals)
}

func randomJob(rt *rapid.T) job {
	var j job
	j.QSL.Total = rapid.IntRange(1, 40).Draw(rt, "total")
	j.QSL.Performance = rapid.IntRange(1, 60).Draw(rt, "performance")
	for _, f := range []struct {
		field  string
		values []any
	}{
		{"scenario", []any{"SingleStream", "MultiStream", "Server", "Offline"}},
		{"mode", []any{"SubmissionRun", "AccuracyOnly", "PerformanceOnly", "PerformanceOnly", "FindPeakPerformance"}},
		{"single_stream_expected_latency_ns", []any{1e6, 1e4, 1e5, 1e6, 0.0}},
		{"multi_stream_expected_latency_ns", []any{8e6, 1e5, 1e6, 1e7, 0.0}},
		{"multi_stream_samples_per_query", []any{8, 1, 100, 3, 2, 0}},
		{"server_target_qps", []any{1000.0, 5000.0, 2000.0, 700.0, 0.0}},
		{"offline_expected_qps", []any{100.0, 10.0, 1.0, -1.0, 0.0}},
		{"server_target_latency_percentile", []any{0.99, 0.5, 0.0, 0.9, 0.95, 0.999, 1.0}},
		{"server_max_async_queries", []any{0, 1, 1000}},
		{"server_coalesce_queries", []any{false, true}},
		{"min_duration_ms", []any{0, 10, 50}},
		{"max_duration_ms", []any{0, 20}},
		{"min_query_count", []any{1, 7, 64, 3, 0}},
		{"max_query_count", []any{0, 1, 20}},
		{"performance_issue_unique", []any{false, false, true}},
		{"performance_issue_same", []any{false, false, true}},
		{"performance_issue_same_index", []any{0, 3, 1, 50}},
		{"performance_sample_count_override", []any{0, 1, 17, 1000}},
		{"accuracy_sample_count_override", []any{0, 1, 17, 1000}},
		{"sample_concatenate_permutation", []any{false, true}},
		{"accuracy_log_sampling_target", []any{0, 10}},
		{"test05", []any{false, false, true}},
		{"server_num_issue_query_threads", []any{0, 0, 0, 0, 0, 0, 0, 0, 2}},
		{"server_target_latency_ns", []any{uint64(1e8), uint64(1)}},
		{"server_find_peak_qps_boundary_step_size", []any{1.0, 0.0}},
	} {
		j.Steps = append(j.Steps, set(f.field, rapid.SampledFrom(f.values).Draw(rt, f.field)))
	}
	// If the server is never too slow, the search for its peak never ends, so an impossible latency limit ends it
	// immediately.
	if settings := settingsOf(rt, j); settings.Mode == loadgen.FindPeakPerformance {
		j.Steps = append(j.Steps, set("server_target_latency_ns", 1))
	}
	return j
}

func settingsOf(rt *rapid.T, j job) loadgen.TestSettings {
	settings := loadgen.DefaultTestSettings()
	for _, s := range j.Steps {
		if err := setField(&settings, s.Field, s.Value); err != nil {
			rt.Fatal(err)
		}
	}
	return settings
}
