package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// headlines are LoadGen's own figures, the ones that a submission reports
// (docs/reference/benchmarks.md#limits-and-counts), in order of preference.
var headlines = []struct{ key, unit string }{
	{"result_completed_tokens_per_second", "tokens/s (LoadGen, completed)"},
	{"result_tokens_per_second", "tokens/s (LoadGen)"},
	{"result_completed_samples_per_sec", "samples/s (LoadGen, completed)"},
	{"result_samples_per_second", "samples/s (LoadGen)"},
}

// Headline returns the figure that a submission reports, or the number of answers of an accuracy test.
func (r *Record) Headline() string {
	if r.Cancelled() > 0 { // the figures in LoadGen's logs are those of a part of the test
		return "no result: the test was interrupted"
	}
	if r.Mode == "accuracy" {
		return plural.Count(r.Samples.Completed, "answer", "answers") + " in the accuracy log"
	}
	if ms, _, ok := Figure(r.Scenario, r.LoadGen.Result); ok && r.Scenario == "SingleStream" {
		return strconv.FormatFloat(ms, 'f', -1, 64) + " ms 90th percentile latency (LoadGen)"
	}
	for _, h := range headlines {
		if v, ok := r.LoadGen.Result[h.key]; ok {
			return fmt.Sprintf("%v %s", v, h.unit)
		}
	}
	return "LoadGen reported no result"
}

// Figure returns the figure that a submission reports from LoadGen's result keys, with its unit: a rate, or in
// SingleStream the 90th percentile of the latency in ms.
func Figure(scenario string, result map[string]any) (value float64, unit string, ok bool) {
	parse := func(v any) (float64, bool) {
		f, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		return f, err == nil && f-f == 0
	}
	if scenario == "SingleStream" {
		ns, ok := parse(result["result_90.00_percentile_latency_ns"])
		return ns / 1e6, "ms, p90", ok
	}
	for _, h := range headlines {
		if v, ok := parse(result[h.key]); ok {
			unit, _, _ := strings.Cut(h.unit, " ")
			return v, unit, true
		}
	}
	return 0, "", false
}
