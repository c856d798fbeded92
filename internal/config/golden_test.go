package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

func readGolden(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	require.NoError(t, d.Decode(into))
}

// settingsOf computes LoadGen's settings from a file that ParseConf accepts, as
// docs/reference/loadgen.md#configuration-keys describes. It contains only fields that the file sets.
func settingsOf(t *testing.T, c *Conf, model, scenario string, gates ...string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	set := func(key, lookup, field string, convert func(string) string) {
		if e, ok := c.Lookup(model, lookup, key); ok {
			fields[field] = convert(e.Text)
		}
	}
	count := decimal
	onOff := func(text string) string { return strconv.FormatBool(count(text) == "1") }
	whole := func(factor uint64) func(string) string {
		return func(text string) string {
			n, err := parseConfCount(text)
			require.NoError(t, err)
			return strconv.FormatUint(n*factor, 10)
		}
	}
	real := func(factor float64) func(string) string {
		return func(text string) string {
			f, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			return strconv.FormatFloat(f*factor, 'g', -1, 64)
		}
	}
	for _, same := range []string{"mode", "min_query_count", "max_query_count", "performance_sample_count_override",
		"accuracy_sample_count_override",
		"accuracy_log_rng_seed", "accuracy_log_sampling_target", "performance_issue_same_index"} {
		set(same, scenario, same, count)
	}
	for _, same := range []string{keyTokenLatencies, keyInferLatencies, "performance_issue_unique",
		"performance_issue_same", "sample_concatenate_permutation", "print_timestamps"} {
		set(same, scenario, same, onOff)
	}
	set("min_duration", scenario, "min_duration_ms", count)
	set("max_duration", scenario, "max_duration_ms", count)
	set("coalesce_queries", "Server", "server_coalesce_queries", onOff)
	set("max_async_queries", "Server", "server_max_async_queries", count)
	set("target_qps", "Server", "server_target_qps", real(1))
	set("target_qps", "Offline", "offline_expected_qps", real(1))
	set("target_latency", "Server", "server_target_latency_ns", whole(1e6))
	set("target_latency", "SingleStream", "single_stream_expected_latency_ns", real(1e6))
	set("target_latency", "MultiStream", "multi_stream_expected_latency_ns", real(1e6))
	set("samples_per_query", "MultiStream", "multi_stream_samples_per_query", count)
	set("target_latency_percentile", "Server", "server_target_latency_percentile", real(0.01))
	set("target_latency_percentile", "SingleStream", "single_stream_target_latency_percentile", real(0.01))
	set("target_latency_percentile", "MultiStream", "multi_stream_target_latency_percentile", real(0.01))
	if c.gateOpen(keyTokenLatencies, model, scenario, gates) {
		set("ttft_latency", "Server", "server_ttft_latency", whole(1e6))
		set("tpot_latency", "Server", "server_tpot_latency", whole(1e6))
	}
	if c.gateOpen(keyInferLatencies, model, scenario, gates) {
		set("token_latency_scaling_factor", scenario, "token_latency_scaling_factor", count)
	}
	return fields
}

func number(v any) string {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil && strings.ContainsAny(string(n), ".e") {
			return strconv.FormatFloat(f, 'g', -1, 64)
		}
		return string(n)
	}
	text, _ := json.Marshal(v)
	return strings.Trim(string(text), `"`)
}

func sameNumber(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y && strings.ContainsAny(a+b, ".e")
}

// defaults are the fields of TestSettings that a case may set to their default values
// (docs/reference/loadgen.md#default-settings).
var defaults = map[string]string{"mode": "2", "use_token_latencies": "false", "performance_issue_same": "false"}

// harmless lists the cases whose text LoadGen reads as written. All others must be rejected.
var harmless = map[string]bool{
	"plain": true, "no_newline_at_end": true, "glued_hash_line": true, "hash_then_text": true, "leading_spaces": true,
	"tabs": true, "crlf": true,
	"empty_file": true, "blank_lines": true, "hex": true, "exp_qps": true, "frac_latency_ss": true,
	"prec_all": true, "prec_no_exact": true, "prec_model_star": true, "other_model": true, "other_scenario": true,
	"mode0": true, "mode1": true, "mode2": true, "mode3": true, "acc_seed_target": true, "percentile": true,
	"ttft_with_flag": true, "scaling_with_flag": true, "server_keys_in_any_scenario": true,
	"star_scenario_for_server_key": true,
	"overrides":                    true, "durations": true,
}

func TestGoldenConfigParse(t *testing.T) {
	var table struct {
		Cases []struct {
			Name     string         `json:"name"`
			Text     string         `json:"file_text"`
			Model    string         `json:"model"`
			Scenario string         `json:"scenario"`
			Code     int            `json:"return_code"`
			Changed  map[string]any `json:"changed"`
		} `json:"cases"`
	}
	readGolden(t, filepath.Join(golden.Dir(t, "loadgen"), "table_config_parse.json"), &table)
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) {
			conf, err := ParseConf("user.conf", strings.NewReader(c.Text), UserConf, c.Model, "x")
			if err == nil {
				_, err = conf.Resolve(c.Model, c.Scenario)
			}
			if !harmless[c.Name] {
				require.Error(t, err)
				require.Contains(t, err.Error(), " line ")
				return
			}
			require.NoError(t, err)
			require.Zero(t, c.Code, "LoadGen refuses what is accepted here")
			got := settingsOf(t, conf, c.Model, c.Scenario)
			for field, want := range c.Changed {
				require.True(t, sameNumber(number(want), got[field]), "%s: %s, LoadGen has %v", field, got[field], want)
				delete(got, field)
			}
			for field, value := range got {
				require.Equal(t, defaults[field], value, "%s is not changed by LoadGen", field)
			}
		})
	}
}

// For every recorded run with one user.conf, ParseConf rejects the file if LoadGen failed, and otherwise returns
// LoadGen's settings.
func TestGoldenUserConfs(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(golden.Dir(t, "loadgen"), "*.json"))
	require.NoError(t, err)
	compared := 0
	for _, path := range paths {
		var c goldenRun
		readGolden(t, path, &c)
		step, fixed := c.userConf()
		if step == nil {
			continue
		}
		compared++
		t.Run(c.Case, func(t *testing.T) {
			conf, err := ParseConf("user.conf", strings.NewReader(*step.Text), UserConf, step.Model)
			if step.Code != 0 {
				require.ErrorContains(t, err, "user.conf line 1: ")
				return
			}
			if err != nil {
				require.Contains(t, refusedUserConfs, c.Case, "refused: %v", err)
				require.ErrorContains(t, err, refusedUserConfs[c.Case])
				return
			}
			var gates []string
			for _, gate := range []string{keyTokenLatencies, keyInferLatencies} {
				if c.Settings[gate] == true {
					gates = append(gates, gate)
				}
			}
			_, err = conf.Resolve(step.Model, step.Scenario, gates...)
			require.NoError(t, err)
			for field, value := range settingsOf(t, conf, step.Model, step.Scenario, gates...) {
				if !fixed[field] {
					require.True(t, sameNumber(number(c.Settings[field]), value), "%s: %s, LoadGen has %v", field, value,
						c.Settings[field])
				}
			}
		})
	}
	require.Positive(t, compared)
}

// refusedUserConfs maps recorded files that LoadGen silently misreads to the error that names the misread line.
var refusedUserConfs = map[string]string{
	"userconf_all_keys": "user.conf line 20: \"*.*.qsl_rng_seed\": LoadGen reads qsl_rng_seed only from its built-in " +
		"mlperf.conf",
	"userconf_precedence": "user.conf line 9: mymodel.Offline.target_qps is already set in line 8",
}

func TestGoldenAuditConfigs(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(golden.Dir(t, "loadgen"), "audit_*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	refused := map[string]string{
		"audit_malformed": `audit.config a line 2: *.*.min_query_count = "xyz" is not a whole number`,
		"audit_bad_mode":  `audit.config a line 1: *.*.mode = "9" is above 3`,
	}
	for _, path := range paths {
		var c goldenRun
		readGolden(t, path, &c)
		t.Run(c.Case, func(t *testing.T) {
			conf, err := ParseConf("a", strings.NewReader(*c.Audit), AuditConf)
			if want, bad := refused[c.Case]; bad {
				require.EqualError(t, err, want)
				return
			}
			require.NoError(t, err)
			_, err = conf.Resolve("any", "Offline")
			require.NoError(t, err)
		})
	}
}

type goldenRun struct {
	Case     string         `json:"case"`
	Steps    []goldenStep   `json:"steps"`
	Audit    *string        `json:"audit_config_text"`
	Settings map[string]any `json:"settings_at_start_test"`
}

type goldenStep struct {
	Op       string  `json:"op"`
	Field    string  `json:"field"`
	Text     *string `json:"file_text"`
	Model    string  `json:"model"`
	Scenario string  `json:"scenario"`
	ConfType int     `json:"conf_type"`
	Code     int     `json:"return_code"`
}

// userConf returns the only user.conf of a run, and the fields that were assigned after reading it.
func (c *goldenRun) userConf() (*goldenStep, map[string]bool) {
	var found *goldenStep
	fixed := map[string]bool{"mode": true} // the recording has the mode as a word
	for i := range c.Steps {
		s := &c.Steps[i]
		switch {
		case s.Op == "set":
			fixed[s.Field] = true
		case found != nil || s.ConfType != 1 || s.Text == nil:
			return nil, nil
		default:
			found = s
			clear(fixed)
			maps.Copy(fixed, map[string]bool{"mode": true})
		}
	}
	return found, fixed
}
