package ldb

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// page has the readings of one server, every half second from 1.75 s on, and those of a page without signals.
func page() *series.Set {
	gauge := func(name string, values ...float64) *series.Series {
		return &series.Series{Series: exposition.Series{Name: name}, Values: values}
	}
	times := []float64{0.75, 1.25, 1.75, 2.25, 3.5} // since 1 s; the stage lasts from 2 s to 3.4 s
	return &series.Set{
		Header: series.Header{Started: time.Unix(1, 0), IntervalS: 0.5,
			Targets: []string{"http://a:1/metrics", "http://g/m"}},
		Scrapes: []series.Scrapes{{TimesS: times}, {TimesS: times}},
		Series: []*series.Series{
			gauge("vllm:num_requests_running", 9, 1, 2, math.NaN(), 9),
			gauge("vllm:kv_cache_usage_perc", 0.9, 0.25, 0.75, 0.5, 0.9),
			gauge("vllm:num_preemptions_total", 0, 2, 3, 5, 9),
		}}
}

// The signals of a stage are in its report, each with its unit, and no reading of another time.
func TestObservability(t *testing.T) {
	r := recorded(t)
	at := func(ts string, v float64) map[string]any { return map[string]any{"ts": ts, "value": v} }
	aggregate := map[string]any{
		"running_requests": map[string]any{"units": "count", "mean": 1.5, "min": 1, "max": 2},
		"kv_cache_usage":   map[string]any{"units": "fraction", "mean": 0.5, "min": 0.25, "max": 0.75},
		"preemptions":      map[string]any{"units": "count", "mean": 3},
	}
	over := map[string]any{"kv_cache_usage": map[string]any{"units": "fraction", "series": []any{
		at("1970-01-01T00:00:02.25Z", 0.25), at("1970-01-01T00:00:02.75Z", 0.75), at("1970-01-01T00:00:03.25Z", 0.5)}}}
	running := map[string]any{"units": "count", "series": []any{at("1970-01-01T00:00:02.25Z", 1),
		at("1970-01-01T00:00:02.75Z", 2)}}
	form, err := schematest.Compile("ldb-0.2.1.schema.json", schema.LDB02)
	require.NoError(t, err)
	for _, version := range []string{"0.2", "0.2.1"} {
		if version == "0.2.1" {
			over["num_requests_running"] = running
		}
		want, err := yaml.Marshal(map[string]any{"components": []any{map[string]any{"component_label": "server-0",
			"replica_id": "0", "aggregate": aggregate, "time_series": over, "raw_data_path": "metrics/server.jsonl.zst"}}})
		require.NoError(t, err)
		list := reports(t, version, r, page())
		got, err := yaml.Marshal(list[0]["results"].(map[string]any)["observability"])
		require.NoError(t, err)
		require.YAMLEq(t, string(want), string(got), version)
		require.NoError(t, form.Validate(list[0]))
		require.NotContains(t, list[1]["results"], "observability", "no reading during the second stage")
	}

	form, err = schematest.Compile("ldb-0.1.schema.json", schema.LDB01)
	require.NoError(t, err)
	list := reports(t, "0.1", r, page())
	require.Equal(t, map[string]any{"batch_size": map[string]any{"units": "count", "mean": 1.5, "min": 1, "max": 2}},
		list[0]["metrics"].(map[string]any)["service"])
	require.NoError(t, form.Validate(list[0]))
}

// A page of no server is labelled with its address.
func TestLabelsOfPages(t *testing.T) {
	r := &bench.Record{Stack: "llm-d-8b", Endpoints: []bench.Endpoint{{URL: "http://a:1"}, {URL: "http://b:1"}}}
	require.Equal(t, "llm-d-8b-1", componentOf(r, "http://b:1/metrics"))
	require.Equal(t, "http://gateway/metrics", componentOf(r, "http://gateway/metrics"))
}

func reports(t *testing.T, version string, r *bench.Record, set *series.Set) (list []map[string]any) {
	t.Helper()
	files, err := Reports(version, r, &profile.Profile{}, set)
	require.NoError(t, err)
	for _, f := range files {
		var v map[string]any
		require.NoError(t, yaml.Unmarshal(f.Data, &v))
		list = append(list, finite(v).(map[string]any))
	}
	return list
}

// Without a page that has the hit rate, the report has the one of the servers' answers.
func TestHitRateOfAnswers(t *testing.T) {
	r := recorded(t)
	r.Measured.Stages[0].PrefixCache = &measure.PrefixCache{Requests: 1, Prompt: 8, Cached: 6, HitRate: .75}
	of := func(set *series.Set, last int) map[string]any {
		list := reports(t, "0.2.1", r, set)
		all := list[0]["results"].(map[string]any)["observability"].(map[string]any)["components"].([]any)
		return all[last].(map[string]any)
	}
	want := map[string]any{"component_label": "servers",
		"aggregate": map[string]any{"cache_hit_rate": map[string]any{"units": "fraction", "mean": .75}}}
	require.Equal(t, want, of(nil, 0))
	require.Equal(t, want, of(page(), 1), "beside the signals of a page without it")
}
