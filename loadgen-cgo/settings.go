package loadgen

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// TestScenario is LoadGen's enumeration of scenarios.
type TestScenario int32

// LoadGen's scenarios.
const (
	SingleStream TestScenario = iota
	MultiStream
	Server
	Offline
)

var scenarioNames = [...]string{"SingleStream", "MultiStream", "Server", "Offline"}

// String returns LoadGen's name of the scenario.
func (s TestScenario) String() string { return nameOf(scenarioNames[:], int(s)) }

// ParseScenario parses LoadGen's name of a scenario.
func ParseScenario(name string) (TestScenario, error) {
	i, err := indexOf("scenario", scenarioNames[:], name)
	return TestScenario(i), err
}

// TestMode is LoadGen's enumeration of modes.
type TestMode int32

// LoadGen's modes.
const (
	SubmissionRun TestMode = iota
	AccuracyOnly
	PerformanceOnly
	FindPeakPerformance
)

var modeNames = [...]string{"SubmissionRun", "AccuracyOnly", "PerformanceOnly", "FindPeakPerformance"}

// String returns LoadGen's name of the mode.
func (m TestMode) String() string { return nameOf(modeNames[:], int(m)) }

// ParseMode parses LoadGen's name of a mode.
func ParseMode(name string) (TestMode, error) {
	i, err := indexOf("mode", modeNames[:], name)
	return TestMode(i), err
}

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("invalid(%d)", i)
	}
	return names[i]
}

func indexOf(what string, names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("LoadGen has no %s %q; it has %v", what, name, names)
}

// TestSettings holds every field of LoadGen's TestSettings. Units are LoadGen's: ns for latencies, ms for durations,
// fractions for percentiles and probabilities.
type TestSettings struct {
	Scenario                            TestScenario
	Mode                                TestMode
	SingleStreamExpectedLatencyNS       float64
	SingleStreamTargetLatencyPercentile float64
	MultiStreamExpectedLatencyNS        float64
	MultiStreamTargetLatencyPercentile  float64
	MultiStreamSamplesPerQuery          uint64
	ServerTargetQPS                     float64
	ServerTargetLatencyNS               uint64
	ServerTargetLatencyPercentile       float64
	ServerCoalesceQueries               bool
	ServerFindPeakQPSDecimals           int32
	ServerFindPeakQPSBoundaryStep       float64
	ServerMaxAsyncQueries               uint64
	ServerNumIssueQueryThreads          uint64
	OfflineExpectedQPS                  float64
	SampleConcatenatePermutation        bool
	MinDurationMS                       uint64
	MaxDurationMS                       uint64
	MinQueryCount                       uint64
	MaxQueryCount                       uint64
	QSLRNGSeed                          uint64
	SampleIndexRNGSeed                  uint64
	ScheduleRNGSeed                     uint64
	AccuracyLogRNGSeed                  uint64
	AccuracyLogProbability              float64
	AccuracyLogSamplingTarget           uint64
	Test05                              bool
	Test05QSLRNGSeed                    uint64
	Test05SampleIndexRNGSeed            uint64
	Test05ScheduleRNGSeed               uint64
	PrintTimestamps                     bool
	PerformanceIssueUnique              bool
	PerformanceIssueSame                bool
	PerformanceIssueSameIndex           uint64
	PerformanceSampleCountOverride      uint64
	AccuracySampleCountOverride         uint64
	UseTokenLatencies                   bool
	ServerTTFTLatency                   uint64
	ServerTPOTLatency                   uint64
	InferTokenLatencies                 bool
	TokenLatencyScalingFactor           uint64
}

// LogSettings selects where and how LoadGen writes its logs.
type LogSettings struct {
	OutDir              string // existing folder for the logs
	Prefix              string // prefix of the logs' file names; LoadGen's default is mlperf_log_
	Suffix              string
	PrefixWithDatetime  bool
	CopyDetailToStdout  bool
	CopySummaryToStdout bool
	EnableTrace         bool
}

// DefaultLogSettings returns LoadGen's defaults for a folder, with the trace switched off.
func DefaultLogSettings(outDir string) LogSettings {
	return LogSettings{OutDir: outDir, Prefix: "mlperf_log_"}
}

// LogFiles returns the files that LoadGen creates under s, in its order. With PrefixWithDatetime their names are
// unknown.
func (s LogSettings) LogFiles() []string {
	var files []string
	for _, f := range [...]struct{ stem, ext string }{{"summary", ".txt"}, {"detail", ".txt"}, {"accuracy", ".json"},
		{"trace", ".json"}} {
		files = append(files, filepath.Join(s.OutDir, s.Prefix+f.stem+s.Suffix+f.ext))
	}
	return files
}

// maxGenerated is the maximum number of queries of one test, because LoadGen prepares them all in memory (about 100
// bytes each) before it starts.
const maxGenerated = 1e9

// A SettingsError reports a setting that would make LoadGen hang, loop or crash.
type SettingsError struct {
	Field string
	Value any
	Why   string
}

// Error returns a message with the field, its value and what LoadGen would do with it.
func (e *SettingsError) Error() string {
	return fmt.Sprintf("LoadGen setting %s = %v is refused: %s", e.Field, e.Value, e.Why)
}

// Check returns a *SettingsError for a setting that makes LoadGen hang, loop or crash
// (docs/reference/loadgen.md#traps). The library has total samples, of which performance samples fit into memory. Check
// accepts mistakes that LoadGen itself reports in its log.
func (s *TestSettings) Check(total, performance int) error {
	for _, c := range s.checks(uint64(max(total, 0)), uint64(max(performance, 0))) {
		if c.bad {
			return &SettingsError{c.field, c.value, c.why}
		}
	}
	return nil
}

type check struct {
	bad   bool
	field string
	value any
	why   string
}

// maxQPS is the maximum scheduled rate. LoadGen truncates the time between two queries to whole ns, and loops forever
// if it becomes 0.
const maxQPS = 1e8

func (s *TestSettings) checks(total, performance uint64) []check {
	piece := performance // number of samples loaded together
	if s.PerformanceSampleCountOverride != 0 {
		piece = s.PerformanceSampleCountOverride
	}
	qps := s.qps()
	seconds := float64(s.MinDurationMS) / 1000
	generated := math.Max(float64(s.MinQueryCount), 2*seconds*qps)
	multi := s.Scenario == MultiStream
	if multi {
		generated *= float64(s.MultiStreamSamplesPerQuery)
	}
	performs := s.Mode != AccuracyOnly || s.Test05 // with TEST05, LoadGen runs every mode as a performance test
	return []check{
		{s.Scenario < SingleStream || s.Scenario > Offline, "scenario", int32(s.Scenario), "LoadGen does not know it"},
		{s.Mode < SubmissionRun || s.Mode > FindPeakPerformance, "mode", int32(s.Mode), "LoadGen does not know it"},
		{total == 0, "total sample count", total, "LoadGen would index an empty library"},
		{performance == 0, "performance sample count", performance, "LoadGen would divide by it"},
		{math.IsNaN(qps) || math.IsInf(qps, 0) || qps == 0, "target QPS", qps, "LoadGen would prepare queries for ever"},
		{s.Scenario != Offline && qps > maxQPS, "target QPS", qps, "LoadGen would schedule queries 0 ns apart, for ever"},
		{s.Scenario == SingleStream && !(s.SingleStreamExpectedLatencyNS > 0), "single_stream_expected_latency_ns",
			s.SingleStreamExpectedLatencyNS, "LoadGen would prepare queries for ever"},
		{multi && !(s.MultiStreamExpectedLatencyNS > 0), "multi_stream_expected_latency_ns",
			s.MultiStreamExpectedLatencyNS, "LoadGen would prepare queries for ever"},
		{multi && s.MultiStreamSamplesPerQuery == 0, "multi_stream_samples_per_query", 0, "LoadGen would divide by it"},
		{multi && s.MultiStreamSamplesPerQuery > maxGenerated, "multi_stream_samples_per_query", s.MultiStreamSamplesPerQuery,
			"LoadGen would run out of memory"},
		{s.MinQueryCount == 0 && s.MinDurationMS == 0 && performs, "min_query_count", 0,
			"with min_duration 0 LoadGen would prepare no query and read past an empty list"},
		{s.Scenario == Offline && performs && !s.PerformanceIssueUnique && max(float64(s.MinQueryCount), 1.1*seconds*qps) < 1,
			"min_query_count",
			s.MinQueryCount, "with so short a duration LoadGen would issue a query of no samples and read past its end"},
		{generated > maxGenerated, "min_query_count, min_duration and target QPS", generated,
			"LoadGen prepares every query before it starts and would run out of memory"},
		{s.Scenario == Server && s.MinQueryCount == 0 && s.SampleConcatenatePermutation && performs, "min_query_count", 0,
			"with sample_concatenate_permutation LoadGen would divide by it"},
		{s.Scenario == Offline && s.PerformanceIssueUnique && piece > total && performs, "performance_issue_unique", true,
			"the performance sample count is above the total, and LoadGen would prepare no query and read past an empty list"},
		{multi && s.PerformanceIssueUnique && s.SampleConcatenatePermutation && s.MultiStreamSamplesPerQuery > 1 && performs,
			"performance_issue_unique", true, "with sample_concatenate_permutation LoadGen would run out of unique samples " +
				"and throw"},
		{s.PerformanceIssueSame && s.PerformanceIssueSameIndex >= s.smallestSet(total, piece), "performance_issue_same_index",
			s.PerformanceIssueSameIndex, "it is not in every loaded set, and LoadGen would read past its end"},
		{badPercentile(s.SingleStreamTargetLatencyPercentile), "single_stream_target_latency_percentile",
			s.SingleStreamTargetLatencyPercentile, percentileWhy},
		{badPercentile(s.MultiStreamTargetLatencyPercentile), "multi_stream_target_latency_percentile",
			s.MultiStreamTargetLatencyPercentile, percentileWhy},
		{badPercentile(s.ServerTargetLatencyPercentile), "server_target_latency_percentile", s.ServerTargetLatencyPercentile,
			percentileWhy},
		{s.ServerNumIssueQueryThreads != 0, "server_num_issue_query_threads", s.ServerNumIssueQueryThreads,
			"the bridge registers no issue threads, and LoadGen would wait for them for ever"},
		{s.Mode == FindPeakPerformance && s.Scenario == Server && !(s.ServerFindPeakQPSBoundaryStep > 0),
			"server_find_peak_qps_boundary_step_size",
			s.ServerFindPeakQPSBoundaryStep, "LoadGen would widen its bounds for ever"},
		{s.ServerFindPeakQPSDecimals < 0 || s.ServerFindPeakQPSDecimals > 9, "server_find_peak_qps_decimals_of_precision",
			s.ServerFindPeakQPSDecimals, "LoadGen would bisect for ever"},
	}
}

// smallestSet returns the size of the smallest set that LoadGen loads. In accuracy mode that is the last set, which
// contains the remaining samples.
func (s *TestSettings) smallestSet(total, piece uint64) uint64 {
	smallest := min(piece, total)
	if s.Mode != AccuracyOnly && s.Mode != SubmissionRun || smallest == 0 {
		return smallest
	}
	accuracy := total
	if s.AccuracySampleCountOverride != 0 {
		accuracy = min(s.AccuracySampleCountOverride, total)
	}
	if rest := accuracy % smallest; rest != 0 {
		return rest
	}
	return smallest
}

const percentileWhy = "LoadGen would read past the end of its sorted latencies; it must be at least 0 and below 1"

func badPercentile(p float64) bool { return !(p >= 0 && p < 1) }

// qps returns the rate that LoadGen derives (docs/reference/loadgen.md#effective-settings); LoadGen replaces a negative
// rate by 1 and logs an error.
func (s *TestSettings) qps() float64 {
	switch s.Scenario {
	case SingleStream:
		return 1e9 / s.SingleStreamExpectedLatencyNS
	case MultiStream:
		return 1e9 / s.MultiStreamExpectedLatencyNS
	case Server:
		return negativeIsOne(s.ServerTargetQPS)
	default:
		return negativeIsOne(s.OfflineExpectedQPS)
	}
}

func negativeIsOne(qps float64) float64 {
	if qps < 0 {
		return 1
	}
	return qps
}

// Check returns an error if the log folder is missing or LoadGen's files cannot be created in it: in that case LoadGen
// would return without an error and abort the process later.
func (s LogSettings) Check() error {
	for _, name := range s.LogFiles() {
		_, err := os.Stat(name)
		existed := err == nil
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("LoadGen's log file cannot be written: %w. Create the folder, or choose another", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("LoadGen's log file cannot be written: %w", err)
		}
		if !existed {
			if err := os.Remove(name); err != nil {
				return fmt.Errorf("a probe of LoadGen's log folder cannot be removed: %w", err)
			}
		}
	}
	return nil
}
