package plan

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// unlike changes LoadGen's own settings to those that a row has on purpose, by row and scenario. Package models cites
// the sources.
var unlike = map[string]func(s *loadgen.TestSettings){
	// mlperf.conf has no count; the submission checker requires the whole set.
	"gpt-oss-120b Offline":     func(s *loadgen.TestSettings) { s.MinQueryCount = 6396 },
	"qwen3.6-27b SingleStream": func(s *loadgen.TestSettings) { s.MinQueryCount = 995 },
	// mlperf.conf has no key for Interactive; Server's has Server's limit.
	"qwen3-vl-235b-a22b Interactive": func(s *loadgen.TestSettings) {
		s.ServerTargetLatencyNS = uint64(1500 * time.Millisecond)
	},
	// The built-in limit for an unknown model belongs to no benchmark.
	"generic Offline":      func(s *loadgen.TestSettings) { s.UseTokenLatencies = true },
	"generic SingleStream": func(s *loadgen.TestSettings) { s.UseTokenLatencies = true },
	"generic Server":       unlimited,
}

func unlimited(s *loadgen.TestSettings) {
	s.UseTokenLatencies, s.ServerTargetLatencyNS = true, 0
	s.ServerTTFTLatency, s.ServerTPOTLatency = uint64(NoLimit), uint64(NoLimit)
}

// TestEveryRowHasTheLinkedLoadGensSettings plans a real test of each row, scenario and mode, and compares LoadGen's
// settings with those of its built-in mlperf.conf for the row's key: limits, counts, durations, seeds and switches.
// Only the load, which a user chooses, may differ.
func TestEveryRowHasTheLinkedLoadGensSettings(t *testing.T) {
	for _, r := range models.Rows() {
		for _, s := range r.Scenarios {
			for mode, number := range loadgenModes {
				name := r.Name + " " + string(s.Scenario)
				t.Run(name+" "+string(mode), func(t *testing.T) {
					t.Parallel()
					set := Settings{"model": r.Name, "scenario": string(s.Scenario), "mode": string(mode), "endpoint": "http://a:1",
						"dataset": "f"}
					set[map[bool]string{true: "expected-latency", false: "target-qps"}[s.LoadGen == models.SingleStream]] = "7"
					if r.Name == models.Generic {
						set["served-model"] = "m"
					}
					rows := cmp.Or(s.Samples, r.DatasetSamples, 64)
					if mode == models.Accuracy {
						rows = cmp.Or(s.Samples, r.AccuracyCount, rows)
					}
					got := settle(t, job{Settings: set, Rows: rows})
					require.Empty(t, got.Error)
					require.Equal(t, r.DatasetSamples > 0 && s.LoadGenModel != models.Generic, got.Official != got.Unlisted,
						"mlperf.conf has the key")
					if got.Official != got.Unlisted {
						require.EqualValues(t, got.Official.PerformanceSampleCountOverride, r.PerformanceCount)
						require.EqualValues(t, got.Official.AccuracySampleCountOverride, r.AccuracyCount)
					}

					want := got.Official
					want.Scenario, want.Mode = got.Settings.Scenario, number
					require.Equal(t, string(s.LoadGen), want.Scenario.String())
					switch s.LoadGen {
					case models.Server:
						want.ServerTargetQPS = 7
					case models.Offline:
						want.OfflineExpectedQPS = 7
					case models.SingleStream:
						want.SingleStreamExpectedLatencyNS = float64(7 * time.Second)
					}
					if change := unlike[name]; change != nil {
						change(&want)
					}
					// A benchmark that the linked round no longer has is measured with the seeds of its last one.
					if last := rounds.Last(r); last != rounds.Current {
						round, err := rounds.Find(last)
						require.NoError(t, err)
						require.NotEqual(t, want.QSLRNGSeed, round.Seeds.QSL)
						want.QSLRNGSeed, want.SampleIndexRNGSeed, want.ScheduleRNGSeed = round.Seeds.QSL, round.Seeds.SampleIndex,
							round.Seeds.Schedule
					}
					require.Equal(t, want, got.Settings)
				})
			}
		}
	}
}
