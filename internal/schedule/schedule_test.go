package schedule

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

func load(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into), path)
}

func TestGoldenMersenneTwister(t *testing.T) {
	var table struct {
		Series []struct {
			Seed    uint64
			Outputs []uint32
		}
	}
	load(t, filepath.Join(golden.Dir(t, "loadgen"), "table_mt19937.json"), &table)
	require.NotEmpty(t, table.Series)
	for _, s := range table.Series {
		t.Run(fmt.Sprint(s.Seed), func(t *testing.T) {
			tw := newTwister(s.Seed)
			got := make([]uint32, len(s.Outputs))
			for i := range got {
				got[i] = tw.uint32()
			}
			require.Equal(t, s.Outputs, got)
		})
	}
}

func TestGoldenInterarrival(t *testing.T) {
	var table struct {
		Series []struct {
			Seed           uint64
			QPS            float64
			InterarrivalNS []int64 `json:"interarrival_ns"`
		}
	}
	load(t, filepath.Join(golden.Dir(t, "loadgen"), "table_poisson_interarrival.json"), &table)
	require.NotEmpty(t, table.Series)
	for _, s := range table.Series {
		t.Run(fmt.Sprintf("%d at %g", s.Seed, s.QPS), func(t *testing.T) {
			want := make([]int64, len(s.InterarrivalNS)+1)
			for i, gap := range s.InterarrivalNS {
				want[i+1] = want[i] + gap
			}
			require.Equal(t, want, ServerDeltas(s.Seed, s.QPS, len(want)))
		})
	}
}

type goldenSequence struct {
	Count            int
	FNV              string `json:"fnv1a64"`
	Full, Head, Tail []int64
}

func (g goldenSequence) check(t *testing.T, got []int64) {
	t.Helper()
	require.Len(t, got, g.Count)
	if g.Full != nil {
		require.Equal(t, g.Full, got)
	} else {
		require.Equal(t, g.Head, got[:len(g.Head)], "head")
		require.Equal(t, g.Tail, got[len(got)-len(g.Tail):], "tail")
	}
	h := fnv.New64a()
	for _, v := range got {
		_ = binary.Write(h, binary.LittleEndian, v)
	}
	require.Equal(t, g.FNV, fmt.Sprintf("%016x", h.Sum64()))
}

func TestGoldenServerCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "loadgen"), "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		var c struct {
			Case      string
			Audit     *string `json:"audit_config_text"`
			Generated []struct {
				Scenario, Mode string
				Deltas         *goldenSequence `json:"scheduled_delta_ns"`
			}
			Settings struct {
				Mode   string
				QPS    float64 `json:"server_target_qps"`
				Seed   uint64  `json:"schedule_rng_seed"`
				Test05 bool
			} `json:"settings_at_start_test"`
		}
		load(t, file, &c)
		for i, g := range c.Generated {
			if g.Scenario != "Server" || g.Deltas == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", c.Case, i), func(t *testing.T) {
				if c.Settings.Mode == "FindPeakPerformance" {
					t.Skip("find-peak searches its own rates; they are not in the settings")
				}
				if c.Settings.Test05 {
					t.Skip("TEST05 takes another seed")
				}
				g.Deltas.check(t, ServerDeltas(c.Settings.Seed, c.Settings.QPS, g.Deltas.Count))
			})
		}
	}
}

func TestServerDeltasOfInvalidLoads(t *testing.T) {
	require.Nil(t, ServerDeltas(1, 0, 10))
	require.Nil(t, ServerDeltas(1, math.Inf(1), 10))
	require.Nil(t, ServerDeltas(1, math.NaN(), 10))
	require.Nil(t, ServerDeltas(1, 5, 0))
	require.Equal(t, []int64{0}, ServerDeltas(1, 5, 1))
}

func BenchmarkServerDeltas(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ServerDeltas(16159082839903944936, 100, 10000)
	}
}
