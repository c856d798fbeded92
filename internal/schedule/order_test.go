package schedule

import (
	"cmp"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

func TestGoldenShuffle(t *testing.T) {
	var table struct {
		Series []struct {
			Seed  uint64
			N     int
			Next  uint32 `json:"next_u32"`
			Order goldenSequence
		}
	}
	load(t, filepath.Join(golden.Dir(t, "loadgen"), "table_shuffle.json"), &table)
	require.NotEmpty(t, table.Series)
	for _, s := range table.Series {
		list, tw := identity(s.N), newTwister(s.Seed)
		tw.shuffle(list)
		s.Order.check(t, wide(list))
		require.Equal(t, s.Next, tw.uint32(), "seed %d, %d elements", s.Seed, s.N)
	}
}

func TestGoldenBelow(t *testing.T) {
	var table struct {
		Series []struct {
			Seed  uint64
			N     uint32
			Draws []uint32
		}
	}
	load(t, filepath.Join(golden.Dir(t, "loadgen"), "table_uniform_int.json"), &table)
	require.NotEmpty(t, table.Series)
	for _, s := range table.Series {
		tw := newTwister(s.Seed)
		for i, want := range s.Draws {
			require.Equal(t, want, tw.below(s.N), "seed %d, below %d, draw %d", s.Seed, s.N, i)
		}
	}
}

// The samples of each recorded Server test are in the computed order.
func TestGoldenServerOrder(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "loadgen"), "*.json"))
	require.NoError(t, err)
	seen := map[bool]int{}
	for _, file := range files {
		var c struct {
			Case      string
			Audit     *string `json:"audit_config_text"`
			Generated []struct {
				Scenario, Mode string
				Samples        *goldenSequence
			}
			QSL struct {
				Performance int `json:"performance_sample_count"`
			} `json:"qsl"`
			Settings struct {
				Mode       string
				SetSeed    uint64 `json:"qsl_rng_seed"`
				SampleSeed uint64 `json:"sample_index_rng_seed"`
				MinQueries int    `json:"min_query_count"`
				EqualIssue bool   `json:"sample_concatenate_permutation"`
				Unique     bool   `json:"performance_issue_unique"`
				Same       bool   `json:"performance_issue_same"`
				Override   int    `json:"performance_sample_count_override"`
			} `json:"settings_at_start_test"`
		}
		load(t, file, &c)
		if len(c.Generated) != 1 || c.Audit != nil || c.Settings.Unique || c.Settings.Same {
			continue
		}
		g := c.Generated[0]
		if g.Scenario != "Server" || g.Mode != "PerformanceOnly" || g.Samples == nil {
			continue
		}
		seen[c.Settings.EqualIssue]++
		t.Run(c.Case, func(t *testing.T) {
			settings := c.Settings
			o := Order{SetSeed: settings.SetSeed, SampleSeed: settings.SampleSeed, EqualIssue: settings.EqualIssue,
				Samples: cmp.Or(settings.Override, c.QSL.Performance), MinQueries: settings.MinQueries}
			want := g.Samples
			want.check(t, wide(o.Sequence(want.Count)))
		})
	}
	require.Greater(t, seen[false], 5)
	require.Greater(t, seen[true], 3)
}

func TestSequenceOfNothing(t *testing.T) {
	require.Nil(t, Order{}.Sequence(5))
	require.Nil(t, Order{Samples: 5}.Sequence(0))
}

func wide(list []int) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}
