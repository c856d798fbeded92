package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each key of LoadGen's files in each scenario, and its values at their edges
// (docs/reference/loadgen.md#configuration-keys).
func TestEachKeyOfLoadGen(t *testing.T) {
	const server, tails, rates = "Server", "SingleStream MultiStream Server", "Server Offline"
	readOnly := "qsl_rng_seed sample_index_rng_seed schedule_rng_seed accuracy_log_probability test05 " +
		"test05_qsl_rng_seed test05_sample_index_rng_seed test05_schedule_rng_seed"
	scenarios := map[string]string{"ttft_latency": server, "tpot_latency": server, "coalesce_queries": server,
		"max_async_queries": server, "samples_per_query": "MultiStream", "target_latency": tails,
		"target_latency_percentile": tails, "target_qps": rates}
	edges := map[string][2]string{ // values that are taken, and that are refused
		"0 1": {"use_token_latencies infer_token_latencies performance_issue_unique performance_issue_same " +
			"sample_concatenate_permutation print_timestamps", "2 -1 1.0 x"},
		"0 1 2":        {"coalesce_queries", "3 -1"},
		"1 2 3 0":      {"mode", "4"},
		"0 2147483647": {"max_async_queries", "2147483648"},
		"0.001 99.999": {"target_latency_percentile", "0 100 -1 x"},
		"0 0xff 18446744073": {"token_latency_scaling_factor samples_per_query performance_issue_same_index",
			"-1 1.5 017 x"},
		"18446744073709551615": {"min_query_count max_query_count performance_sample_count_override " +
			"accuracy_sample_count_override accuracy_log_rng_seed accuracy_log_sampling_target", "18446744073709551616 1e3"},
		"9223372036854 0":   {"min_duration max_duration ttft_latency tpot_latency", "9223372036855 1.5"},
		"0.001 1e3 5000000": {"target_qps", "0 -1 inf nan x"},
	}
	all := map[string]string{}
	for taken, keys := range edges {
		for key := range strings.FieldsSeq(keys[0]) {
			all[key] = taken + ";" + keys[1]
		}
	}
	reads := func(key, scenario, text string) bool {
		_, err := ParseConf("f", strings.NewReader("*."+scenario+"."+key+" = "+text+"\n"), UserConf)
		return err == nil
	}
	for _, key := range confKeyNames() {
		if strings.Contains(" "+readOnly+" ", " "+key+" ") {
			require.False(t, reads(key, "*", "1"), key)
			continue
		}
		values, known := all[key]
		if !known {
			require.Contains(t, "target_latency test07_accuracy_threshold test09_min_output_tokens test09_max_output_tokens",
				key)
			continue
		}
		taken, refused, _ := strings.Cut(values, ";")
		for _, scenario := range append([]string{"*"}, confScenarios...) {
			read := scenario == "*" || scenarios[key] == "" || strings.Contains(" "+scenarios[key]+" ", " "+scenario+" ")
			for text := range strings.FieldsSeq(taken) {
				require.Equal(t, read, reads(key, scenario, text), "%s %s %s", key, scenario, text)
			}
			for text := range strings.FieldsSeq(refused) {
				require.False(t, reads(key, scenario, text), "%s %s %s", key, scenario, text)
			}
		}
	}
	require.False(t, reads("", "*", "1"))
}

// The target latency has a fraction where LoadGen reads one, and is never 0 in a scenario that has no other end.
func TestTargetLatencies(t *testing.T) {
	for place, want := range map[string]string{
		"SingleStream 1.5": "", "MultiStream 0.5": "", "Server 1": "", "Server 0": "", "* 1": "",
		"Server 1.5": "a whole number", "* 1.5": "a whole number", "* 0": "that test never ends",
		"SingleStream 0": "must be above 0", "Offline 1": "only for SingleStream, MultiStream, Server",
	} {
		scenario, text, _ := strings.Cut(place, " ")
		_, err := ParseConf("f", strings.NewReader("*."+scenario+".target_latency = "+text+"\n"), UserConf)
		if want == "" {
			require.NoError(t, err, place)
			continue
		}
		require.ErrorContains(t, err, want, place)
	}
	for _, key := range []string{"test07_accuracy_threshold", "test09_min_output_tokens", "test09_max_output_tokens"} {
		for text, ok := range map[string]bool{"-1.5": true, "0": true, "x": false, "inf": false} {
			line := "*.*." + key + " = " + text + "\n"
			_, err := ParseConf("f", strings.NewReader(line), AuditConf)
			require.Equal(t, ok, err == nil, line)
			_, err = ParseConf("f", strings.NewReader(line), UserConf)
			require.Error(t, err, line)
		}
	}
}

// A later "auto" lets the run decide again.
func TestAutoForgetsAValue(t *testing.T) {
	e := New(RunSettings())
	require.NoError(t, e.Set("backend", "vllm", Origin{FromFile, "f"}))
	require.Equal(t, "vllm", e.String("backend"))
	require.NoError(t, e.Set("backend", Auto, Origin{FromFlag, "--backend"}))
	require.False(t, e.IsSet("backend"))
}

// Words are compared up to 96 bytes.
func TestLongWordsHaveNoNeighbours(t *testing.T) {
	long := strings.Repeat("a", longestWord)
	require.Equal(t, []string{long}, Nearest(long, []string{long + "a", long}))
	require.Nil(t, Nearest(long+"a", []string{long}))
	require.Equal(t, []string{"aab"}, Nearest("aa_b", []string{"aab"}))
	require.Equal(t, "is not one of ab, cd; did you mean ab?", NotOneOf("abx", []string{"ab", "cd"}))
	require.Equal(t, "is not one of ab", NotOneOf("xyz", []string{"ab"}))
}

// A configuration may have a MiB, and no byte more.
func TestLargestConfiguration(t *testing.T) {
	for size, ok := range map[int]bool{largestFile: true, largestFile + 1: false} {
		text := "a: 1\n#" + strings.Repeat("x", size-len("a: 1\n#"))
		_, err := ReadYAML("f", strings.NewReader(text))
		require.Equal(t, ok, err == nil, size)
		text = "#" + strings.Repeat(" ", size-1)
		_, err = ParseConf("f", strings.NewReader(text), UserConf)
		require.Equal(t, ok, err == nil, size)
	}
}
