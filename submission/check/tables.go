package check

import (
	"cmp"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// benchmark is what the round asks of one benchmark, with what the models registry knows about it.
type benchmark struct {
	*rounds.Benchmark
	row *models.Row // with the round's limits; nil where the registry has none
}

type targets = rounds.Targets

// scenarioSet is the scenarios of a benchmark on one system type, by the names of their folders.
type scenarioSet struct{ Required, Optional []string }

// folderNames returns the names of the folders that scenarios lie in.
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

// newBenchmark fills in the counts that the round leaves to the registry.
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

// SystemTypes returns the system types that a round takes a benchmark on; none where the round lacks the benchmark.
func SystemTypes(benchmark, round string) []string {
	r, err := rounds.Find(round)
	if err != nil || r.Benchmark(benchmark) == nil {
		return nil
	}
	return r.Benchmark(benchmark).Types()
}

// isLLM is true for the benchmarks whose token latencies are measured.
func (b *benchmark) isLLM() bool { return b.row != nil && b.row.UseTokenLatencies }

// limits gives the p99 limits of a scenario; ok is false where it has none.
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

// accuracyCount is the number of samples that an accuracy run of the scenario must have.
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

// find returns the rules of a benchmark folder: by its name, its alias, or in open by the submitter's own mapping.
// Where there are none, other reports whether the name is that of an official benchmark that generates no text.
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

// set gives the scenarios of the benchmark for the kind of system that it ran on; ok is false where that has none.
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

// canonical gives the official spelling of a scenario; "" where there is none.
func canonical(name string) string {
	for _, s := range []string{"Offline", "Server", "Interactive", "SingleStream", "MultiStream"} {
		if strings.EqualFold(s, name) {
			return s
		}
	}
	return ""
}
