package check

import (
	"cmp"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// benchmark combines a round's requirements of a benchmark with its row in the registry.
type benchmark struct {
	*rounds.Benchmark
	row *models.Row // with the round's limits; nil if the registry has no row
}

type targets = rounds.Targets

// scenarioSet lists the scenarios of a benchmark on one system type, by the names of their folders.
type scenarioSet struct{ Required, Optional []string }

// folderNames returns the names of the folders of scenarios.
func folderNames(scenarios []models.Scenario) []string {
	names := make([]string, len(scenarios))
	for i, s := range scenarios {
		names[i] = string(s)
	}
	return names
}

// tablesOf returns the benchmarks of a round by name.
func tablesOf(round *rounds.Round) map[string]*benchmark {
	of := map[string]*benchmark{}
	for _, b := range round.Benchmarks {
		of[b.Name] = newBenchmark(b)
	}
	return of
}

// newBenchmark fills in the counts that the round does not set from the registry.
func newBenchmark(b *rounds.Benchmark) *benchmark {
	own := *b
	for _, r := range models.Rows() {
		if r.Name != b.Name {
			continue
		}
		row := b.Apply(r)
		own.PerformanceCount = cmp.Or(own.PerformanceCount, row.PerformanceCount)
		if offline, err := row.Scenario(string(models.Offline)); err == nil {
			own.OfflineSamples = cmp.Or(own.OfflineSamples, offline.MinQueries)
		}
		return &benchmark{Benchmark: &own, row: row}
	}
	return &benchmark{Benchmark: &own}
}

// SystemTypes returns the system types of a benchmark in a round, or nil if the round does not have it.
func SystemTypes(benchmark, round string) []string {
	r, err := rounds.Find(round)
	if err != nil || r.Benchmark(benchmark) == nil {
		return nil
	}
	return r.Benchmark(benchmark).Types()
}

// isLLM reports whether token latencies of the benchmark are measured.
func (b *benchmark) isLLM() bool { return b.row != nil && b.row.UseTokenLatencies }

// limits returns the p99 limits of a scenario; ok is false if it has none.
func (b *benchmark) limits(scenario string) (ttft, tpot time.Duration, ok bool) {
	if b.row == nil {
		return 0, 0, false
	}
	s, err := b.row.Scenario(scenario)
	if err != nil || s.TTFTLimit == 0 {
		return 0, 0, false
	}
	return s.TTFTLimit, s.TPOTLimit, true
}

// accuracyCount returns the required number of samples in an accuracy run of the scenario.
func (b *benchmark) accuracyCount(scenario string) int {
	if b.AccuracyCount > 0 || b.row == nil {
		return b.AccuracyCount
	}
	if s, err := b.row.Scenario(scenario); err == nil && s.Samples > 0 {
		return s.Samples
	}
	if b.row.AccuracyCount > 0 {
		return b.row.AccuracyCount
	}
	return b.row.DatasetSamples
}

func (b *benchmark) atLeast(scenario string) targets {
	if own, ok := b.AtLeastOf[models.Scenario(scenario)]; ok {
		return own
	}
	return b.AtLeast
}

// find returns the rules of a benchmark's folder: by its name, its alias, or in open by the submitter's mapping. If
// rules is nil, other reports whether it is an official benchmark that generates no text.
func (s *scope) find(name string) (rules *benchmark, other bool) {
	if b := s.tables[name]; b != nil {
		return b, false
	}
	for _, b := range s.tables {
		if b.Alias == name {
			return b, false
		}
	}
	mapped := s.at(submitterLevel).mapping[name]
	b := s.tables[mapped]
	return b, b == nil && (s.round.NotJudged.Has(name) || s.round.NotJudged.Has(mapped))
}

// set returns the scenarios of the benchmark for the type of its system; ok is false for an unknown benchmark or type.
func (s *scope) set() (scenarioSet, bool) {
	kind, _ := s.sut().text("system_type")
	if kind == "edge,datacenter" {
		kind = "datacenter,edge"
	}
	if s.model() == nil {
		return scenarioSet{}, false
	}
	set, ok := s.model().Systems[kind]
	return scenarioSet{folderNames(set.Required), folderNames(set.Optional)}, ok
}

// canonical returns the official spelling of a scenario, or "".
func canonical(name string) string {
	for _, s := range []string{"Offline", "Server", "Interactive", "SingleStream", "MultiStream"} {
		if strings.EqualFold(s, name) {
			return s
		}
	}
	return ""
}
