package mllog

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// group is a list of keys that LoadGen logs together, and the tests that have them
// (docs/reference/loadgen.md#detail-log).
type group struct {
	of   func(*Result) bool // function that reports whether a test has the keys; nil: every test has them
	keys []string
}

// The first and the last entry of a series of queries; an accuracy test has a series for each loaded set of samples.
const (
	seriesBegin = "loaded_qsl_set"
	seriesEnd   = "power_end"
)

// mandatory lists the keys that every complete detail log contains, in any version of LoadGen.
var mandatory = []group{
	{nil, []string{
		"loadgen_version", "test_datetime", "sut_name", "qsl_name", "qsl_reported_total_count",
		"qsl_reported_performance_count",
		"effective_scenario", "effective_test_mode", "effective_samples_per_query", "effective_target_qps",
		"effective_target_latency_ns",
		"effective_target_latency_percentile", "effective_max_async_queries", "effective_target_duration_ms",
		"effective_min_duration_ms",
		"effective_max_duration_ms", "effective_min_query_count", "effective_max_query_count", "effective_min_sample_count",
		"effective_qsl_rng_seed", "effective_sample_index_rng_seed", "effective_schedule_rng_seed",
		"effective_accuracy_log_rng_seed",
		"effective_accuracy_log_probability", "effective_accuracy_log_sampling_target", "effective_print_timestamps",
		"effective_performance_issue_unique", "effective_performance_issue_same", "effective_performance_issue_same_index",
		"effective_performance_sample_count", "effective_accuracy_sample_count", "effective_sample_concatenate_permutation",
	}},
	{(*Result).hasSeries, []string{
		seriesBegin, "generated_query_count", "generated_samples_per_query", "generated_query_duration", "power_begin",
		seriesEnd,
	}},
	{(*Result).performs, []string{
		"result_validity", "result_min_duration_met", "result_min_queries_met", "early_stopping_met", "result_query_count",
		"result_min_latency_ns", "result_max_latency_ns", "result_mean_latency_ns", "result_50.00_percentile_latency_ns",
		"result_90.00_percentile_latency_ns", "result_95.00_percentile_latency_ns", "result_97.00_percentile_latency_ns",
		"result_99.00_percentile_latency_ns", "result_99.90_percentile_latency_ns", "num_errors",
	}},
	{performsIn("Server"), []string{
		"result_perf_constraints_met", "result_overlatency_query_count", "result_scheduled_samples_per_sec",
		"result_completed_samples_per_sec",
	}},
	{performsIn("Offline"), []string{"result_samples_per_second"}},
	{performsIn("SingleStream"), []string{"result_qps_with_loadgen_overhead", "result_qps_without_loadgen_overhead"}},
	{func(r *Result) bool { return r.tokens() && performsIn("Offline")(r) }, []string{"result_tokens_per_second"}},
	{func(r *Result) bool { return r.tokens() && !performsIn("Offline")(r) }, []string{
		"result_first_token_99.00_percentile_latency_ns", "result_time_per_output_token_99.00_percentile_ns",
		"result_token_throughput",
		"result_completed_tokens_per_second",
	}},
}

// isMandatory reports whether a key belongs to any group.
var isMandatory = func() map[string]bool {
	keys := map[string]bool{}
	for _, g := range mandatory {
		for _, k := range g.keys {
			keys[k] = true
		}
	}
	return keys
}()

// performs reports whether the test has a performance part, which ends with num_errors.
func (r *Result) performs() bool {
	mode, _ := r.Result["effective_test_mode"].(string)
	return mode == "PerformanceOnly" || mode == "SubmissionRun"
}

// hasSeries reports whether the test issues a series of queries. A search for the peak may end before its first query.
func (r *Result) hasSeries() bool { return r.Result["effective_test_mode"] != "FindPeakPerformance" }

// tokens reports whether a performance test measured token latencies.
func (r *Result) tokens() bool {
	return r.performs() && r.Result["requested_use_token_latencies"] == true
}

func performsIn(scenario string) func(*Result) bool {
	return func(r *Result) bool { return r.performs() && r.Result["effective_scenario"] == scenario }
}

// lacking returns the mandatory keys that the test's log does not contain.
func (r *Result) lacking() []string {
	var keys []string
	for _, g := range mandatory {
		if g.of != nil && !g.of(r) {
			continue
		}
		keys = append(keys, slices.DeleteFunc(slices.Clone(g.keys), func(k string) bool { return r.seen[k] > 0 })...)
	}
	return keys
}

// hasNUL reports whether a file contains a NUL byte. If a file is truncated while a program writes to it, NUL bytes
// replace its beginning.
func hasNUL(in io.Reader) (bool, error) {
	buffer := make([]byte, readBuffer)
	for {
		n, err := in.Read(buffer)
		switch {
		case bytes.IndexByte(buffer[:n], 0) >= 0:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
	}
}
