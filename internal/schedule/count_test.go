package schedule

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

func TestGoldenServerCounts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "loadgen"), "*.json"))
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		var c struct {
			Case      string
			Audit     *string `json:"audit_config_text"`
			Generated []struct {
				Scenario, Mode string
				QueryCount     int `json:"query_count"`
			}
			QSL struct {
				Performance int `json:"performance_sample_count"`
			} `json:"qsl"`
			Settings struct {
				QPS         float64 `json:"server_target_qps"`
				Seed        uint64  `json:"schedule_rng_seed"`
				MinDuration int64   `json:"min_duration_ms"`
				MinQueries  int     `json:"min_query_count"`
				EqualIssue  bool    `json:"sample_concatenate_permutation"`
				Unique      bool    `json:"performance_issue_unique"`
			} `json:"settings_at_start_test"`
		}
		load(t, file, &c)
		// Skip cases whose count has other causes: audit configurations change settings later, find-peak makes its own
		// queries, and unique samples end with the set.
		if len(c.Generated) != 1 || c.Generated[0].Scenario != "Server" || c.Generated[0].Mode != "PerformanceOnly" ||
			c.Audit != nil || c.Settings.Unique {
			continue
		}
		seen++
		t.Run(c.Case, func(t *testing.T) {
			l := Load{Seed: c.Settings.Seed, QPS: c.Settings.QPS,
				MinDuration: time.Duration(c.Settings.MinDuration) * time.Millisecond, MinQueries: c.Settings.MinQueries}
			if c.Settings.EqualIssue {
				l.Set = c.QSL.Performance
			}
			require.Equal(t, c.Generated[0].QueryCount, ServerCount(l))
		})
	}
	require.Greater(t, seen, 10)
}

// The counts are those of docs/reference/loadgen.md#query-counts, with the seed that the page uses.
func TestServerCountOfOfficialSchedules(t *testing.T) {
	const seed = 2023080168 // LoadGen uses its low 32 bits
	for _, c := range []struct {
		qps       float64
		set, want int
	}{{10, 0, 6012}, {100, 0, 60155}, {10, 24576, 24576}, {100, 24576, 73728}} {
		require.Equal(t, c.want, ServerCount(Load{Seed: seed, QPS: c.qps, MinDuration: 10 * time.Minute, Set: c.set}))
	}
}

func TestServerCountOfNoSchedule(t *testing.T) {
	for _, qps := range []float64{0, math.NaN(), math.Inf(1)} {
		require.Zero(t, ServerCount(Load{QPS: qps, MinQueries: 5}))
	}
	require.Equal(t, 3, ServerCount(Load{QPS: -7, MinQueries: 3}))
}
