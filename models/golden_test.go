package models

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// goldenFile reads a recorded file. It skips the test if the recordings are absent.
func goldenFile(t *testing.T, part, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(golden.Dir(t, part), name))
	require.NoError(t, err)
	return text
}

// builtin returns the recording of LoadGen's settings for a model key and scenario after its built-in mlperf.conf.
func builtin(t *testing.T) func(key string, s Scenario) (settings map[string]any, listed bool) {
	var table struct {
		Rows []map[string]any `json:"rows"`
	}
	require.NoError(t, json.Unmarshal(goldenFile(t, "loadgen", "table_builtin_config.json"), &table))
	return func(key string, s Scenario) (map[string]any, bool) {
		all := map[string]any{}
		listed := false
		for _, r := range table.Rows {
			if r["scenario"] != string(s) {
				continue
			}
			switch r["model"] {
			case "*":
				maps.Copy(all, r)
			case key:
				listed = true
				maps.Copy(all, r["differs_from_wildcard"].(map[string]any))
			}
		}
		return all, listed
	}
}

// These rows deviate from mlperf.conf, so the generated user.conf contains their value. The reasons are in
// docs/reference/benchmarks.md#limits-and-counts.
var betterThanConf = map[string]bool{
	"gpt-oss-120b Offline MinQueries":              true, // mlperf.conf sets none; the checker requires 6396
	"qwen3-vl-235b-a22b Interactive TargetLatency": true, // there is no interactive key
	"generic Server TargetLatency":                 true, // 10 ms for unlisted models; the row has no limits
	"generic Server TTFTLimit":                     true,
	"generic Server TPOTLimit":                     true,
	"generic Offline UseTokenLatencies":            true,
	"generic Server UseTokenLatencies":             true,
	"generic SingleStream UseTokenLatencies":       true,
}

func TestGoldenRowsEqualBuiltinConf(t *testing.T) {
	conf := builtin(t)
	used := map[string]bool{}
	for _, r := range Rows() {
		for _, s := range r.Scenarios {
			t.Run(r.Name+"/"+string(s.Scenario), func(t *testing.T) {
				want, listed := conf(s.LoadGenModel, s.LoadGen)
				if r.Name != Generic && !listed {
					t.Skipf("model key %s is not recorded", s.LoadGenModel)
				}
				same := func(field string, want, got any) {
					t.Helper()
					name := r.Name + " " + string(s.Scenario) + " " + field
					if betterThanConf[name] {
						used[name] = true
						require.NotEqual(t, want, got, "%s needs no exception", name)
						return
					}
					require.Equal(t, want, got, name)
				}
				ns := func(key string) time.Duration { return time.Duration(want[key].(float64)) }

				same("MinQueries", int(want["min_query_count"].(float64)), s.MinQueries)
				same("MinDuration", time.Duration(want["min_duration_ms"].(float64))*time.Millisecond, s.MinDuration)
				same("PerformanceCount", int(want["performance_sample_count_override"].(float64)), r.PerformanceCount)
				same("AccuracyCount", int(want["accuracy_sample_count_override"].(float64)), r.AccuracyCount)
				same("UseTokenLatencies", want["use_token_latencies"], r.UseTokenLatencies)
				if s.LoadGen != Server {
					require.Zero(t, s.TTFTLimit)
					require.Zero(t, s.TPOTLimit)
					require.Zero(t, s.TargetLatency)
					return
				}
				same("TargetLatency", ns("server_target_latency_ns"), s.TargetLatency)
				if r.UseTokenLatencies {
					same("TTFTLimit", ns("server_ttft_latency"), s.TTFTLimit)
					same("TPOTLimit", ns("server_tpot_latency"), s.TPOTLimit)
				}
			})
		}
	}
	for name := range betterThanConf {
		require.True(t, used[name], "the exception %s is not used", name)
	}
}
