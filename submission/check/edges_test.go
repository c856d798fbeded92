package check

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/rounds"
)

// Figures that the official checker infers from the log of another scenario.
func TestInferredMetrics(t *testing.T) {
	for _, c := range []struct {
		ran, folder string
		values      map[string]any
		value       float64
		err         string
	}{
		{"SingleStream", "Offline", map[string]any{"result_qps_without_loadgen_overhead": 12.5}, 12.5, ""},
		{"SingleStream", "Offline", nil, 1, "no number for result_qps_without_loadgen_overhead"},
		{"MultiStream", "Offline", map[string]any{"effective_samples_per_query": int64(8),
			"result_mean_query_latency_ns": int64(4e6)}, 2000, ""},
		{"MultiStream", "Offline", map[string]any{"effective_samples_per_query": int64(8),
			"result_mean_query_latency_ns": int64(0)}, 0, "no rate can be computed from 8 samples per query in 0 ns"},
		{"MultiStream", "Offline", map[string]any{"result_mean_query_latency_ns": int64(4e6)}, 4e6,
			"no rate can be computed"},
		{"MultiStream", "Offline", map[string]any{"effective_samples_per_query": int64(8)}, 1,
			"no number for result_mean_query_latency_ns"},
		{"SingleStream", "MultiStream", map[string]any{"early_stopping_latency_ms": int64(2e6)}, 16, ""},
		{"SingleStream", "MultiStream", map[string]any{"early_stopping_latency_ms": int64(0)}, 0, "too few queries"},
		{"Server", "Offline", nil, 1, ""},
	} {
		m := metric{value: 1}
		m.infer(&detail{values: c.values}, c.ran, c.folder)
		require.InDelta(t, c.value, m.value, 1e-9, "%s in %s: %v", c.ran, c.folder, c.values)
		if c.err == "" {
			require.NoError(t, m.err)
		} else {
			require.ErrorContains(t, m.err, c.err)
		}
	}
}

// Latencies of logs are in ns and figures of reports in ms; rates stay as they are.
func TestUnitsOfMetrics(t *testing.T) {
	round := rounds.All()[0]
	for ran, want := range map[string]float64{"SingleStream": 3, "MultiStream": 3, "Offline": 3e6, "Server": 3e6} {
		s := resultOf(round, "llama3.1-8b", ran, ran, "edge", false)
		for _, keys := range []map[string]string{metricKeys, tokenKeys} {
			s.result.performance.values[keys[ran]] = 3e6
		}
		m := s.measure(s.result.performance, s.model())
		require.NoError(t, m.err, ran)
		require.InDelta(t, want, m.value, 1e-9, ran)
	}
}

// A key that a log repeats once is there twice.
func TestRepeatedKeysAreCounted(t *testing.T) {
	s := &scope{result: &result{performance: &detail{path: "log", several: map[string]int{"b": 1, "a": 4}}}}
	var got []string
	repeatedKeys(s, func(_, key string, found, _ any) { got = append(got, fmt.Sprint(key, ": ", found)) })
	require.Equal(t, []string{"a: 5 times", "b: 2 times"}, got)
}

// A report of one result ends like one of several; an empty one is a pair of brackets.
func TestEntriesOfAReport(t *testing.T) {
	for n, want := range map[int]string{0: "[]", 1: "[\n  {\n    \"ID\": \"a\"\n  }\n]",
		2: "[\n  {\n    \"ID\": \"a\"\n  },\n  {\n    \"ID\": \"a\"\n  }\n]"} {
		var out strings.Builder
		entries := slices.Repeat([]finalEntry{{pairs: []pair{{"ID", quoted("a")}}}}, n)
		require.NoError(t, writeEntries(&out, entries))
		require.Equal(t, want, out.String())
	}
}

// A submitter that was asked for has a folder in the tree.
func TestSubmitterOfTheTree(t *testing.T) {
	root := baseTree(t)
	for name, found := range map[string]bool{"ExampleOrg": true, "OtherOrg": false} {
		_, err := Check(t.Context(), root, Options{Submitter: name})
		require.Equal(t, found, err == nil, "%s: %v", name, err)
	}
}

func TestPythonTruthValues(t *testing.T) {
	for _, v := range []any{true, "x", []any{nil}, map[string]any{"a": nil}, 1, int64(-1), uint64(2), 0.5,
		json.Number("3"),
		json.Number("x"), struct{}{}} {
		require.True(t, truthy(v), "%v", v)
	}
	for _, v := range []any{nil, false, "", []any{}, map[string]any{}, 0, int64(0), uint64(0), 0.0, json.Number("0")} {
		require.False(t, truthy(v), "%v", v)
	}
}

func TestNumbersOfPython(t *testing.T) {
	for v, want := range map[any]float64{true: 1, false: 0, 3: 3, int64(-4): -4, uint64(5): 5, 1.5: 1.5,
		json.Number("2.5"): 2.5} {
		f, ok := number(v)
		require.True(t, ok)
		require.Equal(t, want, f)
	}
	for _, v := range []any{nil, "1", json.Number("x")} {
		_, ok := number(v)
		require.False(t, ok)
	}
	f, ok := pyFloat("1_0.5")
	require.True(t, ok)
	require.Equal(t, 10.5, f)
	for _, v := range []any{7, int64(7), uint64(7), 7.0} {
		require.True(t, equalsInt(v, 7))
		require.False(t, equalsInt(v, 8))
	}
	for _, v := range []any{0, int64(0), uint64(0), 0.0} {
		require.True(t, equalsInt(v, 0))
	}
	for _, v := range []any{-7, int64(-7), 7.5, -7.0, math.NaN(), math.Inf(1), "7", true} {
		require.False(t, equalsInt(v, 7), "%v", v)
	}
	for v, want := range map[any]string{7: "7", 7.9: "7", -7.9: "-7", "12": "12", json.Number("1e2"): "100",
		json.Number("12345678901234567890"): "12345678901234567890", true: "1"} {
		n, ok := pyInt(v)
		require.True(t, ok)
		require.Equal(t, want, n.String())
	}
	for _, v := range []any{math.NaN(), math.Inf(1), "x", "1.5", nil} {
		_, ok := pyInt(v)
		require.False(t, ok)
	}
}

func TestRepresentationsOfPython(t *testing.T) {
	for want, v := range map[string]any{"None": nil, "True": true, "False": false, "1.5": 1.5, "12": json.Number("12"),
		"100.0": json.Number("1e2"), "[1, 'a']": []any{json.Number("1"), "a"},
		`{'a': None, 'b': "it's"}`: map[string]any{"b": "it's", "a": nil}, `'it\'s "x"'`: `it's "x"`} {
		require.Equal(t, want, pyRepr(v))
	}
	require.Equal(t, "a", pyStr("a"))
	require.Equal(t, "None", pyStr(nil))
}

// Types that the organisers' reader, pandas, infers for a column.
func TestTypesOfColumns(t *testing.T) {
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{[]string{"1", "-2"}, "int"}, {[]string{"1", ""}, "float"}, {[]string{"1", "2.5"}, "float"},
		{[]string{"True", "False"}, "bool"}, {[]string{"False"}, "bool"}, {[]string{"True"}, "bool"},
		{[]string{"True", "N/A"}, "text"}, {[]string{"True", "1"}, "text"}, {[]string{"1", "x"}, "text"},
		{[]string{"1", "inf"}, "text"}, {[]string{"1", "-Inf"}, "text"}, {[]string{"N/A", ""}, "float"},
	} {
		table := finalTable{}
		for _, cell := range c.cells {
			table.rows = append(table.rows, row{"c": cell})
		}
		require.Equal(t, c.want, table.guess("c"), "%q", c.cells)
	}
}
