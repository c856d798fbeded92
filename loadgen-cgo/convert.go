//go:build cgo && !noloadgen

package loadgen

// #include <stdlib.h>
// #include "bridge.h"
import "C"

import "unsafe"

// DefaultTestSettings returns the defaults of the linked LoadGen.
func DefaultTestSettings() TestSettings {
	var c C.lg_settings
	C.lg_default_settings(&c)
	return fromC(&c)
}

// Kinds of configuration files.
const (
	ConfBuiltIn = 0 // the built-in mlperf.conf; path is ignored
	ConfUser    = 1 // user.conf; the first one in a process loads the built-in mlperf.conf before itself
	ConfAudit   = 2 // audit.config
)

// FromConfig lets LoadGen apply a configuration file and returns its code: 0, -2 (no such file) or -22 (a faulty line;
// nothing was applied). ConfUser works once per process.
func (s *TestSettings) FromConfig(path, model, scenario string, kind int) int {
	cpath, cmodel, cscenario := C.CString(path), C.CString(model), C.CString(scenario)
	for _, p := range []*C.char{cpath, cmodel, cscenario} {
		defer C.free(unsafe.Pointer(p))
	}
	c := s.c()
	rc := int(C.lg_from_config(&c, cpath, cmodel, cscenario, C.int(kind)))
	*s = fromC(&c)
	return rc
}

func cbool(b bool) C.uint8_t {
	if b {
		return 1
	}
	return 0
}

func (s *TestSettings) c() C.lg_settings {
	return C.lg_settings{
		scenario:                                   C.int32_t(s.Scenario),
		mode:                                       C.int32_t(s.Mode),
		single_stream_expected_latency_ns:          C.double(s.SingleStreamExpectedLatencyNS),
		single_stream_target_latency_percentile:    C.double(s.SingleStreamTargetLatencyPercentile),
		multi_stream_expected_latency_ns:           C.double(s.MultiStreamExpectedLatencyNS),
		multi_stream_target_latency_percentile:     C.double(s.MultiStreamTargetLatencyPercentile),
		multi_stream_samples_per_query:             C.uint64_t(s.MultiStreamSamplesPerQuery),
		server_target_qps:                          C.double(s.ServerTargetQPS),
		server_target_latency_ns:                   C.uint64_t(s.ServerTargetLatencyNS),
		server_target_latency_percentile:           C.double(s.ServerTargetLatencyPercentile),
		server_coalesce_queries:                    cbool(s.ServerCoalesceQueries),
		server_find_peak_qps_decimals_of_precision: C.int32_t(s.ServerFindPeakQPSDecimals),
		server_find_peak_qps_boundary_step_size:    C.double(s.ServerFindPeakQPSBoundaryStep),
		server_max_async_queries:                   C.uint64_t(s.ServerMaxAsyncQueries),
		server_num_issue_query_threads:             C.uint64_t(s.ServerNumIssueQueryThreads),
		offline_expected_qps:                       C.double(s.OfflineExpectedQPS),
		sample_concatenate_permutation:             cbool(s.SampleConcatenatePermutation),
		min_duration_ms:                            C.uint64_t(s.MinDurationMS),
		max_duration_ms:                            C.uint64_t(s.MaxDurationMS),
		min_query_count:                            C.uint64_t(s.MinQueryCount),
		max_query_count:                            C.uint64_t(s.MaxQueryCount),
		qsl_rng_seed:                               C.uint64_t(s.QSLRNGSeed),
		sample_index_rng_seed:                      C.uint64_t(s.SampleIndexRNGSeed),
		schedule_rng_seed:                          C.uint64_t(s.ScheduleRNGSeed),
		accuracy_log_rng_seed:                      C.uint64_t(s.AccuracyLogRNGSeed),
		accuracy_log_probability:                   C.double(s.AccuracyLogProbability),
		accuracy_log_sampling_target:               C.uint64_t(s.AccuracyLogSamplingTarget),
		test05:                                     cbool(s.Test05),
		test05_qsl_rng_seed:                        C.uint64_t(s.Test05QSLRNGSeed),
		test05_sample_index_rng_seed:               C.uint64_t(s.Test05SampleIndexRNGSeed),
		test05_schedule_rng_seed:                   C.uint64_t(s.Test05ScheduleRNGSeed),
		print_timestamps:                           cbool(s.PrintTimestamps),
		performance_issue_unique:                   cbool(s.PerformanceIssueUnique),
		performance_issue_same:                     cbool(s.PerformanceIssueSame),
		performance_issue_same_index:               C.uint64_t(s.PerformanceIssueSameIndex),
		performance_sample_count_override:          C.uint64_t(s.PerformanceSampleCountOverride),
		accuracy_sample_count_override:             C.uint64_t(s.AccuracySampleCountOverride),
		use_token_latencies:                        cbool(s.UseTokenLatencies),
		server_ttft_latency:                        C.uint64_t(s.ServerTTFTLatency),
		server_tpot_latency:                        C.uint64_t(s.ServerTPOTLatency),
		infer_token_latencies:                      cbool(s.InferTokenLatencies),
		token_latency_scaling_factor:               C.uint64_t(s.TokenLatencyScalingFactor),
	}
}

func fromC(c *C.lg_settings) TestSettings {
	return TestSettings{
		Scenario:                            TestScenario(c.scenario),
		Mode:                                TestMode(c.mode),
		SingleStreamExpectedLatencyNS:       float64(c.single_stream_expected_latency_ns),
		SingleStreamTargetLatencyPercentile: float64(c.single_stream_target_latency_percentile),
		MultiStreamExpectedLatencyNS:        float64(c.multi_stream_expected_latency_ns),
		MultiStreamTargetLatencyPercentile:  float64(c.multi_stream_target_latency_percentile),
		MultiStreamSamplesPerQuery:          uint64(c.multi_stream_samples_per_query),
		ServerTargetQPS:                     float64(c.server_target_qps),
		ServerTargetLatencyNS:               uint64(c.server_target_latency_ns),
		ServerTargetLatencyPercentile:       float64(c.server_target_latency_percentile),
		ServerCoalesceQueries:               c.server_coalesce_queries != 0,
		ServerFindPeakQPSDecimals:           int32(c.server_find_peak_qps_decimals_of_precision),
		ServerFindPeakQPSBoundaryStep:       float64(c.server_find_peak_qps_boundary_step_size),
		ServerMaxAsyncQueries:               uint64(c.server_max_async_queries),
		ServerNumIssueQueryThreads:          uint64(c.server_num_issue_query_threads),
		OfflineExpectedQPS:                  float64(c.offline_expected_qps),
		SampleConcatenatePermutation:        c.sample_concatenate_permutation != 0,
		MinDurationMS:                       uint64(c.min_duration_ms),
		MaxDurationMS:                       uint64(c.max_duration_ms),
		MinQueryCount:                       uint64(c.min_query_count),
		MaxQueryCount:                       uint64(c.max_query_count),
		QSLRNGSeed:                          uint64(c.qsl_rng_seed),
		SampleIndexRNGSeed:                  uint64(c.sample_index_rng_seed),
		ScheduleRNGSeed:                     uint64(c.schedule_rng_seed),
		AccuracyLogRNGSeed:                  uint64(c.accuracy_log_rng_seed),
		AccuracyLogProbability:              float64(c.accuracy_log_probability),
		AccuracyLogSamplingTarget:           uint64(c.accuracy_log_sampling_target),
		Test05:                              c.test05 != 0,
		Test05QSLRNGSeed:                    uint64(c.test05_qsl_rng_seed),
		Test05SampleIndexRNGSeed:            uint64(c.test05_sample_index_rng_seed),
		Test05ScheduleRNGSeed:               uint64(c.test05_schedule_rng_seed),
		PrintTimestamps:                     c.print_timestamps != 0,
		PerformanceIssueUnique:              c.performance_issue_unique != 0,
		PerformanceIssueSame:                c.performance_issue_same != 0,
		PerformanceIssueSameIndex:           uint64(c.performance_issue_same_index),
		PerformanceSampleCountOverride:      uint64(c.performance_sample_count_override),
		AccuracySampleCountOverride:         uint64(c.accuracy_sample_count_override),
		UseTokenLatencies:                   c.use_token_latencies != 0,
		ServerTTFTLatency:                   uint64(c.server_ttft_latency),
		ServerTPOTLatency:                   uint64(c.server_tpot_latency),
		InferTokenLatencies:                 c.infer_token_latencies != 0,
		TokenLatencyScalingFactor:           uint64(c.token_latency_scaling_factor),
	}
}
