package rounds

import (
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

const (
	sourceChecker = "tools/submission of mlcommons/inference at the round's tag"
	sourceSeeds   = "loadgen/mlperf.conf of mlcommons/inference at the round's tag"
	sourceRules   = "inference_rules.adoc of mlcommons/inference_policies"
)

// Describe returns the requirements of each round that has a benchmark, and its seeds, for models.Row.Describe.
func Describe(row *models.Row) []models.Field {
	var fields []models.Field
	for _, r := range all() {
		b := r.Benchmark(row.Name)
		if b == nil {
			continue
		}
		add := func(name, value, source string) {
			fields = append(fields, models.Field{Name: name + " " + r.Name, Value: value, Source: source})
		}
		for _, kind := range b.Types() {
			if kind == both && b.Systems[both].String() == b.Systems[b.Types()[0]].String() {
				continue
			}
			fields = append(fields, models.Field{Name: "round " + r.Name + ", " + kind, Value: b.Systems[kind].String(),
				Source: sourceChecker})
		}
		if len(b.Audits) > 0 {
			add("audits of", strings.Join(b.Audits, ", "), sourceChecker)
		}
		for _, s := range models.Scenarios() {
			if limits := b.Limits[s].String(); limits != "" {
				add(string(s)+" in", limits, sourceChecker)
			}
		}
		if b.Guided {
			add("guided decoding in", "left to the submitter in the closed division", sourceRules)
		}
		add("seeds of", fmt.Sprintf("qsl %d, sample index %d, schedule %d", r.Seeds.QSL, r.Seeds.SampleIndex,
			r.Seeds.Schedule), sourceSeeds)
	}
	return fields
}

// String returns the scenarios as `mlperf-go models` shows them.
func (s Set) String() string {
	text := "required " + join(s.Required)
	if len(s.Optional) > 0 {
		text += "; optional " + join(s.Optional) + ", at least one of them"
	}
	return text
}

func join(scenarios []models.Scenario) string {
	names := make([]string, len(scenarios))
	for i, s := range scenarios {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// String returns the limits that replace those of the benchmark's row, or "".
func (l Limits) String() string {
	var parts []string
	for _, limit := range []struct {
		name  string
		value *time.Duration
	}{{"TTFT", l.TTFT}, {"TPOT", l.TPOT}, {"latency", l.Latency}} {
		if limit.value != nil {
			parts = append(parts, fmt.Sprintf("p99 %s under %v", limit.name, *limit.value))
		}
	}
	if l.Samples != nil && *l.Samples == 0 {
		parts = append(parts, "the benchmark's data set")
	} else if l.Samples != nil {
		parts = append(parts, fmt.Sprintf("data set of %d", *l.Samples))
	}
	if l.MinQueries != nil {
		parts = append(parts, fmt.Sprintf("at least %d queries", *l.MinQueries))
	}
	return strings.Join(parts, ", ")
}
