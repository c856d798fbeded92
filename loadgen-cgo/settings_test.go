package loadgen_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/stretchr/testify/require"
)

// plain returns LoadGen's defaults for the fields that Check reads.
func plain(scenario loadgen.TestScenario) loadgen.TestSettings {
	return loadgen.TestSettings{
		Scenario: scenario, Mode: loadgen.PerformanceOnly,
		SingleStreamExpectedLatencyNS: 1e6, SingleStreamTargetLatencyPercentile: 0.9,
		MultiStreamExpectedLatencyNS: 8e6, MultiStreamTargetLatencyPercentile: 0.99, MultiStreamSamplesPerQuery: 8,
		ServerTargetQPS: 1, ServerTargetLatencyPercentile: 0.99, ServerFindPeakQPSDecimals: 1,
		ServerFindPeakQPSBoundaryStep: 1,
		OfflineExpectedQPS:            1, MinDurationMS: 10_000, MinQueryCount: 100, TokenLatencyScalingFactor: 1,
	}
}

// Each case lists the field that the error must name; "" means that Check accepts the value.
func TestCheckTestSettings(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	const huge = 1 << 62
	type set = func(s *loadgen.TestSettings)
	for name, c := range map[string]struct {
		scenario loadgen.TestScenario
		set      set
		field    string
	}{
		"single stream":     {loadgen.SingleStream, func(s *loadgen.TestSettings) {}, ""},
		"multi stream":      {loadgen.MultiStream, func(s *loadgen.TestSettings) {}, ""},
		"server":            {loadgen.Server, func(s *loadgen.TestSettings) {}, ""},
		"offline":           {loadgen.Offline, func(s *loadgen.TestSettings) {}, ""},
		"no scenario":       {4, func(s *loadgen.TestSettings) {}, "scenario"},
		"negative scenario": {-1, func(s *loadgen.TestSettings) {}, "scenario"},
		"no mode":           {loadgen.Server, func(s *loadgen.TestSettings) { s.Mode = 4 }, "mode"},
		"server QPS 0": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerTargetQPS = 0 },
			"target QPS"},
		"server QPS NaN": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerTargetQPS = nan },
			"target QPS"},
		"server QPS infinite": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerTargetQPS = inf },
			"target QPS"},
		"server QPS negative is 1": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerTargetQPS = -5 }, ""},
		"server QPS of others":     {loadgen.Offline, func(s *loadgen.TestSettings) { s.ServerTargetQPS = nan }, ""},
		"offline QPS 0": {loadgen.Offline, func(s *loadgen.TestSettings) { s.OfflineExpectedQPS = 0 },
			"target QPS"},
		"offline QPS NaN": {loadgen.Offline, func(s *loadgen.TestSettings) { s.OfflineExpectedQPS = nan },
			"target QPS"},
		"offline QPS negative is 1": {loadgen.Offline, func(s *loadgen.TestSettings) { s.OfflineExpectedQPS = -1 }, ""},
		"single stream latency 0": {loadgen.SingleStream,
			func(s *loadgen.TestSettings) { s.SingleStreamExpectedLatencyNS = 0 }, "target QPS"},
		"single stream latency < 0": {loadgen.SingleStream,
			func(s *loadgen.TestSettings) { s.SingleStreamExpectedLatencyNS = -1 }, "single_stream_expected_latency_ns"},
		"single stream latency NaN": {loadgen.SingleStream,
			func(s *loadgen.TestSettings) { s.SingleStreamExpectedLatencyNS = nan }, "target QPS"},
		"multi stream latency 0": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.MultiStreamExpectedLatencyNS = 0 }, "target QPS"},
		"multi stream latency < 0": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.MultiStreamExpectedLatencyNS = -1 }, "multi_stream_expected_latency_ns"},
		"multi stream 0 samples": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.MultiStreamSamplesPerQuery = 0 }, "multi_stream_samples_per_query"},
		"multi stream huge queries": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.MultiStreamSamplesPerQuery = huge }, "multi_stream_samples_per_query"},
		"0 samples, other scenario": {loadgen.Server, func(s *loadgen.TestSettings) { s.MultiStreamSamplesPerQuery = 0 },
			""},
		"no queries": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.MinQueryCount, s.MinDurationMS = 0, 0 }, "min_query_count"},
		"no queries, accuracy": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.MinQueryCount, s.MinDurationMS, s.Mode = 0, 0, loadgen.AccuracyOnly }, ""},
		"no count":    {loadgen.Server, func(s *loadgen.TestSettings) { s.MinQueryCount = 0 }, ""},
		"no duration": {loadgen.Server, func(s *loadgen.TestSettings) { s.MinDurationMS = 0 }, ""},
		"too many queries": {loadgen.Server, func(s *loadgen.TestSettings) { s.MinQueryCount = huge },
			"min_query_count, min_duration and target QPS"},
		"too long": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.MinDurationMS, s.ServerTargetQPS = huge, 1000 },
			"min_query_count, min_duration and target QPS"},
		"same index": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.PerformanceIssueSame, s.PerformanceIssueSameIndex = true, 9 }, ""},
		"same index outside": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.PerformanceIssueSame, s.PerformanceIssueSameIndex = true, 10 },
			"performance_issue_same_index"},
		"same index outside, not used": {loadgen.Server, func(s *loadgen.TestSettings) { s.PerformanceIssueSameIndex = 10 },
			""},
		"same index in no last set": {loadgen.Server, func(s *loadgen.TestSettings) {
			s.Mode, s.AccuracySampleCountOverride, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = loadgen.AccuracyOnly,
				23, true, 3
		}, "performance_issue_same_index"},
		"same index in the last set": {loadgen.Server, func(s *loadgen.TestSettings) {
			s.Mode, s.AccuracySampleCountOverride, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = loadgen.SubmissionRun,
				24, true, 3
		}, ""},
		"equal issue, no count": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.SampleConcatenatePermutation, s.MinQueryCount = true, 0 }, "min_query_count"},
		"equal issue, single stream": {loadgen.SingleStream,
			func(s *loadgen.TestSettings) { s.SampleConcatenatePermutation, s.MinQueryCount = true, 0 }, ""},
		"unique, more than there are": {loadgen.Offline,
			func(s *loadgen.TestSettings) { s.PerformanceIssueUnique, s.PerformanceSampleCountOverride = true, 101 },
			"performance_issue_unique"},
		"unique, all there are": {loadgen.Offline,
			func(s *loadgen.TestSettings) { s.PerformanceIssueUnique, s.PerformanceSampleCountOverride = true, 100 }, ""},
		"unique and equal issue": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.PerformanceIssueUnique, s.SampleConcatenatePermutation = true, true },
			"performance_issue_unique"},
		"unique and equal issue, server": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.PerformanceIssueUnique, s.SampleConcatenatePermutation = true, true }, ""},
		"server steps of 0 ns": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.ServerTargetQPS, s.MinDurationMS = 1e10, 10 }, "target QPS"},
		"single stream steps of 0 ns": {loadgen.SingleStream,
			func(s *loadgen.TestSettings) { s.SingleStreamExpectedLatencyNS, s.MinDurationMS = 0.5, 10 }, "target QPS"},
		"offline query of 0 samples": {loadgen.Offline,
			func(s *loadgen.TestSettings) { s.MinQueryCount, s.MinDurationMS = 0, 900 }, "min_query_count"},
		"offline query of 1 sample": {loadgen.Offline,
			func(s *loadgen.TestSettings) { s.MinQueryCount, s.MinDurationMS = 0, 1000 }, ""},
		"offline has no steps": {loadgen.Offline,
			func(s *loadgen.TestSettings) { s.OfflineExpectedQPS, s.MinDurationMS = 1e10, 10 }, ""},
		"too many samples": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.MinQueryCount, s.MultiStreamSamplesPerQuery = 1e6, 1e6 },
			"min_query_count, min_duration and target QPS"},
		"TEST05 makes it a performance run": {loadgen.Server, func(s *loadgen.TestSettings) {
			s.MinQueryCount, s.MinDurationMS, s.Mode, s.Test05 = 0, 0, loadgen.AccuracyOnly, true
		}, "min_query_count"},
		"single stream percentile 1": {loadgen.SingleStream,
			func(s *loadgen.TestSettings) { s.SingleStreamTargetLatencyPercentile = 1 },
			"single_stream_target_latency_percentile"},
		"multi stream percentile < 0": {loadgen.MultiStream,
			func(s *loadgen.TestSettings) { s.MultiStreamTargetLatencyPercentile = -0.1 },
			"multi_stream_target_latency_percentile"},
		"server percentile NaN": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.ServerTargetLatencyPercentile = nan }, "server_target_latency_percentile"},
		"server percentile 99": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.ServerTargetLatencyPercentile = 99 }, "server_target_latency_percentile"},
		"percentile 0": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerTargetLatencyPercentile = 0 },
			""},
		"issue threads": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerNumIssueQueryThreads = 1 },
			"server_num_issue_query_threads"},
		"find peak": {loadgen.Server,
			func(s *loadgen.TestSettings) { s.Mode = loadgen.FindPeakPerformance }, ""},
		"find peak without a step": {loadgen.Server, func(s *loadgen.TestSettings) {
			s.Mode, s.ServerFindPeakQPSBoundaryStep = loadgen.FindPeakPerformance, 0
		}, "server_find_peak_qps_boundary_step_size"},
		"step 0 without find peak": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerFindPeakQPSBoundaryStep = 0 },
			""},
		"find peak decimals < 0": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerFindPeakQPSDecimals = -1 },
			"server_find_peak_qps_decimals_of_precision"},
		"find peak decimals": {loadgen.Server, func(s *loadgen.TestSettings) { s.ServerFindPeakQPSDecimals = 10 },
			"server_find_peak_qps_decimals_of_precision"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plain(c.scenario)
			c.set(&s)
			requireField(t, s.Check(100, 10), c.field)
		})
	}
	s := plain(loadgen.Offline)
	requireField(t, s.Check(0, 1), "total sample count")
	requireField(t, s.Check(1, 0), "performance sample count")
	requireField(t, s.Check(1, -1), "performance sample count")
}

func requireField(t *testing.T, err error, field string) {
	t.Helper()
	if field == "" {
		require.NoError(t, err)
		return
	}
	var refused *loadgen.SettingsError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.Equal(t, field, refused.Field)
	require.Contains(t, err.Error(), "LoadGen setting "+field+" = ")
	require.Contains(t, err.Error(), " is refused: ")
}

func TestCheckLogSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o644))
	taken := loadgen.DefaultLogSettings(filepath.Join(dir, "taken"))
	require.NoError(t, os.MkdirAll(taken.LogFiles()[2], 0o755))
	for name, c := range map[string]struct {
		log  loadgen.LogSettings
		text string
	}{
		"a folder":          {loadgen.DefaultLogSettings(dir), ""},
		"prefix and suffix": {loadgen.LogSettings{OutDir: dir, Prefix: "a_", Suffix: "_b"}, ""},
		"prefix in another folder": {loadgen.LogSettings{OutDir: dir, Prefix: "missing/a_"},
			"no such file or directory. Create the folder"},
		"missing": {loadgen.DefaultLogSettings(filepath.Join(dir, "missing")),
			"no such file or directory. Create the folder"},
		"a file":                   {loadgen.DefaultLogSettings(file), "not a directory. Create the folder"},
		"a log's name is a folder": {taken, "mlperf_log_accuracy.json: is a directory. Create the folder"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.log.Check()
			if c.text == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.text)
		})
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "kept", string(kept))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "the probes stay behind")
}

// The check does not change the logs of an earlier run.
func TestCheckLogSettingsKeepsOldLogs(t *testing.T) {
	log := loadgen.DefaultLogSettings(t.TempDir())
	require.NoError(t, os.WriteFile(log.LogFiles()[0], []byte("old"), 0o644))
	require.NoError(t, log.Check())
	text, err := os.ReadFile(log.LogFiles()[0])
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
}

func TestScenarioAndModeNames(t *testing.T) {
	for i := range 4 {
		s, err := loadgen.ParseScenario(loadgen.TestScenario(i).String())
		require.NoError(t, err)
		require.EqualValues(t, i, s)
		m, err := loadgen.ParseMode(loadgen.TestMode(i).String())
		require.NoError(t, err)
		require.EqualValues(t, i, m)
	}
	_, err := loadgen.ParseScenario("server")
	require.EqualError(t, err, `LoadGen has no scenario "server"; it has [SingleStream MultiStream Server Offline]`)
	require.Equal(t, "invalid(7)", loadgen.TestMode(7).String())
}
