package check

import (
	"bytes"
	"cmp"
	_ "embed" // rounds.yaml
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/models"
)

//go:embed rounds.yaml
var roundsYAML []byte

// benchmark is what one round asks of one benchmark.
type benchmark struct {
	Name              string
	Alias             string // another spelling of the folder
	Rounds            []string
	Scenarios         map[string]scenarioSet // by kind of system
	AtLeast           targets                `yaml:"at_least"`
	AtLeastOf         map[string]targets     `yaml:"at_least_of"` // by scenario
	AtMost            targets                `yaml:"at_most"`
	TargetLatencyNS   map[string]int64       `yaml:"target_latency_ns"` // by scenario
	PerformanceCount  int                    `yaml:"performance_count"`
	AccuracyCount     int                    `yaml:"accuracy_count"`
	OfflineSamples    int                    `yaml:"offline_samples"`
	AnyDuration       bool                   `yaml:"any_duration"`
	SingleStream      string                 `yaml:"single_stream_metric"` // key of the metric in place of LoadGen's
	Audits            []string
	OtherClient       bool `yaml:"other_client"`        // results of the organisers' newer client are taken
	OtherClientScored bool `yaml:"other_client_scored"` // and their score is compared with the target

	row *models.Row // nil where the registry has none
}

type scenarioSet struct{ Required, Optional []string }

// targets are metrics of accuracy.txt with a bound, in the order of the file.
type targets []target

type target struct {
	Metric string
	Bound  float64
}

// UnmarshalYAML keeps the order of the mapping, in which the summary CSV prints the scores.
func (t *targets) UnmarshalYAML(n *yaml.Node) error {
	*t = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		one := target{Metric: n.Content[i].Value}
		if err := n.Content[i+1].Decode(&one.Bound); err != nil {
			return err
		}
		*t = append(*t, one)
	}
	return nil
}

// roundTables is the file's content.
type roundTables struct {
	Summary, Both map[string]scenarioSet // only anchors
	Benchmarks    []*benchmark
	NotJudged     struct {
		Names []string
		Parts []string // of the names that the official checker guesses a benchmark from
	} `yaml:"not_judged"`
}

var tables = sync.OnceValues(func() (*roundTables, error) {
	var file roundTables
	in := yaml.NewDecoder(bytes.NewReader(roundsYAML))
	in.KnownFields(true)
	if err := in.Decode(&file); err != nil {
		return nil, fmt.Errorf("reading the checker's own table of rounds: %w", err)
	}
	for _, b := range file.Benchmarks {
		b.fromRegistry()
	}
	return &file, nil
})

// tablesOf gives the benchmarks of a round by name.
func tablesOf(round string) (map[string]*benchmark, error) {
	all, err := tables()
	if err != nil {
		return nil, err
	}
	of := map[string]*benchmark{}
	for _, b := range all.Benchmarks {
		if slices.Contains(b.Rounds, round) {
			of[b.Name] = b
		}
	}
	return of, nil
}

// SystemTypes are the kinds of systems that a benchmark of a round is for, as a system's description spells them; none where the round
// lacks the benchmark.
func SystemTypes(benchmark, round string) []string {
	of, err := tablesOf(round)
	if err != nil || of[benchmark] == nil {
		return nil
	}
	return sortedKeys(of[benchmark].Scenarios)
}

// fromRegistry fills what the models registry knows about the benchmark.
func (b *benchmark) fromRegistry() {
	for _, r := range models.Rows() {
		if r.Name == b.Name {
			b.row = r
		}
	}
	if b.row == nil {
		return
	}
	b.PerformanceCount = cmp.Or(b.row.PerformanceCount, b.PerformanceCount) // a row without a count leaves it to the table
	b.Audits = b.row.Audits
	if offline, err := b.row.Scenario(string(models.Offline)); err == nil {
		b.OfflineSamples = offline.MinQueries
	}
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
	if own, ok := b.AtLeastOf[scenario]; ok {
		return own
	}
	return b.AtLeast
}

// find returns the rules of a benchmark folder: by its name, its alias, or in open by the submitter's own mapping. Where there are none,
// other reports whether the name is that of an official benchmark that generates no text.
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
	return b, b == nil && (generatesNoText(name) || generatesNoText(mapped))
}

func generatesNoText(name string) bool {
	all, err := tables()
	if err != nil || name == "" {
		return false
	}
	return slices.Contains(all.NotJudged.Names, name) ||
		slices.ContainsFunc(all.NotJudged.Parts, func(part string) bool { return strings.Contains(name, part) })
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
	set, ok := s.model().Scenarios[kind]
	return set, ok
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
