//go:build cgo && !noloadgen

package loadgen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tables maps each golden table that a run or a configuration can reproduce to its test. Every other table must be
// listed in skipped.
var tables = map[string]func(*testing.T, []byte){
	"table_builtin_config":        goldenBuiltinConfig,
	"table_config_parse":          goldenConfigParse,
	"table_shuffle":               goldenShuffle,
	"table_poisson_interarrival":  goldenPoisson,
	"table_accuracy_log_sampling": goldenAccuracySampling,
}

func TestGoldenTables(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenDir(t), "table_*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			if why := skipped[name]; why != "" {
				t.Skip(why)
			}
			require.Contains(t, tables, name)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			tables[name](t, text)
		})
	}
}

// row runs one row of a table as a parallel subtest.
func row(t *testing.T, name string, f func(t *testing.T, d *differences)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		slots <- struct{}{}
		defer func() { <-slots }()
		d := &differences{}
		f(t, d)
		require.Empty(t, d.list)
	})
}

func goldenBuiltinConfig(t *testing.T, text []byte) {
	var table struct {
		Rows []map[string]any
	}
	require.NoError(t, decode(text, &table))
	whole := map[string]map[string]any{}
	modes := []string{"SubmissionRun", "AccuracyOnly", "PerformanceOnly", "FindPeakPerformance"}
	for _, r := range table.Rows {
		model, scenario := r["model"].(string), r["scenario"].(string)
		code := toInts([]any{r["rc"]})
		want := map[string]any{}
		differs, partly := r["differs_from_wildcard"].(map[string]any)
		if partly {
			for k, v := range whole[scenario] {
				want[k] = v
			}
		} else {
			differs = r
		}
		for k, v := range differs {
			want[k] = v
		}
		for _, k := range []string{"model", "scenario", "rc"} {
			delete(want, k)
		}
		if model == "*" {
			whole[scenario] = want
		}
		want = cloneWithMode(want, modes)
		row(t, model+"/"+scenario, func(t *testing.T, d *differences) {
			o := must(t, job{Runner: "config", Steps: []step{{Op: "from_config", Model: model, Scenario: scenario}}},
				10*time.Second)
			d.check(slices.Equal(code, o.ReturnCodes), "FromConfig returned %v", o.ReturnCodes)
			compareFields(d, want, o.record.Settings)
		})
	}
}

// cloneWithMode copies the fields and replaces the mode's number by its name.
func cloneWithMode(fields map[string]any, names []string) map[string]any {
	out := map[string]any{}
	for k, v := range fields {
		if k == "mode" {
			v = names[toInts([]any{v})[0]]
		}
		out[k] = v
	}
	return out
}

func goldenConfigParse(t *testing.T, text []byte) {
	var table struct {
		Cases []struct {
			Name, Model, Scenario string
			FileText              *string `json:"file_text"`
			ReturnCode            int     `json:"return_code"`
			Changed               map[string]any
		}
	}
	require.NoError(t, decode(text, &table))
	before := must(t, job{Runner: "config"}, 10*time.Second).record.Settings
	modes := []string{"SubmissionRun", "AccuracyOnly", "PerformanceOnly", "FindPeakPerformance"}
	for _, c := range table.Cases {
		row(t, c.Name, func(t *testing.T, d *differences) {
			o := must(t, job{Runner: "config", Steps: []step{{Op: "from_config", FileText: c.FileText, Model: c.Model,
				Scenario: c.Scenario, ConfType: 2}}}, 10*time.Second)
			d.check(slices.Equal([]int{c.ReturnCode}, o.ReturnCodes), "FromConfig returned %v, recorded %d", o.ReturnCodes,
				c.ReturnCode)
			want := map[string]any{}
			for k, v := range before {
				want[k] = v
			}
			changed := c.Changed
			if _, isName := changed["mode"].(string); !isName && changed["mode"] != nil {
				changed = cloneWithMode(changed, modes)
			}
			for k, v := range changed {
				want[k] = v
			}
			compareFields(d, want, o.record.Settings)
		})
	}
}

// goldenShuffle determines shuffles from the set that LoadGen loads, which is 0..n-1 shuffled with qsl_rng_seed.
func goldenShuffle(t *testing.T, text []byte) {
	var table struct {
		Series []struct {
			Seed  uint64
			N     int
			Order sequence
		}
	}
	require.NoError(t, decode(text, &table))
	for _, s := range table.Series {
		row(t, fmt.Sprintf("%d/%d", s.Seed, s.N), func(t *testing.T, d *differences) {
			j := job{Steps: steps("scenario", "Offline", "min_duration_ms", 0, "min_query_count", 1, "qsl_rng_seed", s.Seed)}
			j.QSL.Total, j.QSL.Performance = s.N, s.N
			compareSequences(d, "load", []sequence{s.Order}, must(t, j, 20*time.Second).record.Loads)
		})
	}
}

// goldenPoisson reads sums of inter-arrival times from the log, which contains the scheduled time after the last
// generated query. max_query_count allows only one query to be issued.
func goldenPoisson(t *testing.T, text []byte) {
	var table struct {
		Series []struct {
			Seed         uint64
			QPS          float64
			Interarrival []int `json:"interarrival_ns"`
			Delta999     int   `json:"scheduled_delta_999"`
		}
	}
	require.NoError(t, decode(text, &table))
	for _, s := range table.Series {
		for _, n := range []int{1, 2, 3, 10, 100, 500, 999, 1000} {
			row(t, fmt.Sprintf("%d/%g/%d", s.Seed, s.QPS, n), func(t *testing.T, d *differences) {
				j := job{Steps: steps("scenario", "Server", "min_duration_ms", 0, "min_query_count", n, "max_query_count", 1,
					"schedule_rng_seed", s.Seed, "server_target_qps", s.QPS)}
				j.QSL.Total, j.QSL.Performance = 8, 8
				o := must(t, j, 20*time.Second)
				entries, _, _, err := readDetail(filepath.Join(o.dir, "mlperf_log_detail.txt"))
				require.NoError(t, err)
				want := 0
				for _, ns := range s.Interarrival[:n] {
					want += ns
				}
				if n == 999 {
					require.Equal(t, s.Delta999, want, "the table contradicts itself")
				}
				for _, e := range entries {
					if e.Key == "generated_query_duration" {
						d.check(toInts([]any{e.Value})[0] == want, "duration %v, recorded %d", e.Value, want)
					}
				}
			})
		}
	}
}

func goldenAccuracySampling(t *testing.T, text []byte) {
	var table struct {
		Series []struct {
			Seed        uint64 `json:"accuracy_log_rng_seed"`
			Probability float64
			N           int
			Logged      []int `json:"logged_sample_sequence_ids"`
		}
	}
	require.NoError(t, decode(text, &table))
	for _, s := range table.Series {
		row(t, fmt.Sprintf("%d/%g", s.Seed, s.Probability), func(t *testing.T, d *differences) {
			j := job{Steps: steps("scenario", "Offline", "min_duration_ms", 0, "min_query_count", s.N,
				"accuracy_log_rng_seed", s.Seed, "accuracy_log_probability", s.Probability)}
			j.QSL.Total, j.QSL.Performance = 8, 8
			o := must(t, j, 20*time.Second)
			_, records, err := readAccuracy(filepath.Join(o.dir, "mlperf_log_accuracy.json"))
			require.NoError(t, err)
			var ids []int
			for _, r := range records {
				ids = append(ids, r.SeqID)
			}
			d.check(slices.Equal(s.Logged, ids), "logged %v, recorded %v", cut(ids), cut(s.Logged))
		})
	}
}
