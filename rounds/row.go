package rounds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// Of returns the names of the rounds that have a benchmark, oldest first; no round has a benchmark from a model file.
func Of(row *models.Row) []string {
	var names []string
	for _, r := range all() {
		if r.Benchmark(row.Name) != nil {
			names = append(names, r.Name)
		}
	}
	return names
}

// Last returns the newest round up to Current that has a benchmark, or Current if no round has it.
func Last(row *models.Row) string {
	last := Current
	for _, name := range Of(row) {
		last = name
		if name == Current {
			break
		}
	}
	return last
}

// Row returns a benchmark's row under the rules of the round: its scenarios, limits, counts and targets. A benchmark
// that is in no round is returned unchanged; one that is only in other rounds is an error.
func (r *Round) Row(row *models.Row) (*models.Row, error) {
	known := Of(row)
	if len(known) == 0 {
		return row, nil
	}
	b := r.Benchmark(row.Name)
	if b == nil {
		return nil, fmt.Errorf("round %s does not include %s; it is in the rounds %s", r.Name, row.Name,
			strings.Join(known, ", "))
	}
	own, taken := b.Apply(row), b.scenarios()
	own.Scenarios = slices.DeleteFunc(own.Scenarios,
		func(s models.ScenarioRow) bool { return !slices.Contains(taken, s.Scenario) })
	return own, nil
}

// Apply returns a copy of a benchmark's row with the round's limits, counts and targets, and with all its scenarios.
func (b *Benchmark) Apply(row *models.Row) *models.Row {
	own := *row
	own.Scenarios = make([]models.ScenarioRow, len(row.Scenarios))
	for i, s := range row.Scenarios {
		own.Scenarios[i] = b.Limits[s.Scenario].apply(s)
	}
	own.Scoring = b.scoring(&row.Scoring)
	return &own
}

// scenarios returns the benchmark's scenarios in the round, on any system type.
func (b *Benchmark) scenarios() []models.Scenario {
	var list []models.Scenario
	for _, set := range b.Systems {
		list = append(list, set.All()...)
	}
	return list
}

// apply returns a scenario with the round's limits.
func (l Limits) apply(s models.ScenarioRow) models.ScenarioRow {
	replace(&s.TTFTLimit, l.TTFT)
	replace(&s.TPOTLimit, l.TPOT)
	replace(&s.TargetLatency, l.Latency)
	replace(&s.Samples, l.Samples)
	replace(&s.MinQueries, l.MinQueries)
	return s
}

func replace[T any](value *T, by *T) {
	if by != nil {
		*value = *by
	}
}

// scoring returns a benchmark's scoring with the round's targets. A scenario has its own targets only if the round sets
// them.
func (b *Benchmark) scoring(standard *models.Scoring) models.Scoring {
	own := *standard
	own.Targets = withBounds(standard.Targets, b.AtLeast, b.AtMost)
	own.Scenarios = maps.Clone(standard.Scenarios)
	maps.DeleteFunc(own.Scenarios, func(s models.Scenario, _ []models.Target) bool { return b.AtLeastOf[s] == nil })
	for s, atLeast := range b.AtLeastOf {
		if own.Scenarios == nil {
			own.Scenarios = map[models.Scenario][]models.Target{}
		}
		own.Scenarios[s] = withBounds(standard.TargetsFor(s), atLeast, b.AtMost)
	}
	return own
}

// withBounds returns targets with the round's bounds. If a bound differs from the default row's, it is not a product of
// the row's reference figure, so that figure is removed.
func withBounds(targets []models.Target, atLeast, atMost Targets) []models.Target {
	targets = slices.Clone(targets)
	for i := range targets {
		t := &targets[i]
		if v, ok := atLeast.Of(t.CheckerName()); ok && v != t.Min {
			t.Min, t.Reference, t.LowFactor, t.HighFactor = v, 0, 0, 0
		}
		if v, ok := atMost.Of(t.CheckerName()); ok && v != t.Max {
			t.Max, t.Reference, t.LowFactor, t.HighFactor = v, 0, 0, 0
		}
	}
	return targets
}
