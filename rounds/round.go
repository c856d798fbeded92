package rounds

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/models"
)

// Current is the round whose seeds the linked LoadGen carries: runs are for it unless the user names another.
const Current = "v6.1"

// Round is one submission round.
type Round struct {
	Name        string `yaml:"-"` // name of the round, such as v6.1, which is the file's name
	Seeds       Seeds
	Layout      Layout
	Checker     Checker
	Benchmarks  []*Benchmark
	OtherAudits map[string][]string `yaml:"other_audits"` // benchmarks that generate no text, by audit
	NotJudged   NotJudged           `yaml:"not_judged"`
}

// NotJudged names the official benchmarks that generate no text: this program has no rules for them.
type NotJudged struct {
	Names []string // names of benchmark folders
	Parts []string // parts of folder names by which the official checker recognizes such a benchmark
}

// Has reports whether the name of a benchmark's folder is that of such a benchmark.
func (n NotJudged) Has(name string) bool {
	return name != "" && (slices.Contains(n.Names, name) ||
		slices.ContainsFunc(n.Parts, func(part string) bool { return strings.Contains(name, part) }))
}

// Seeds are the random seeds that performance runs of a round must use.
type Seeds struct {
	QSL         uint64 // LoadGen's qsl_rng_seed
	SampleIndex uint64 `yaml:"sample_index"` // LoadGen's sample_index_rng_seed
	Schedule    uint64 // LoadGen's schedule_rng_seed
}

// InOrder returns the seeds in LoadGen's order: QSL, sample index, schedule.
func (s Seeds) InOrder() [3]uint64 { return [3]uint64{s.QSL, s.SampleIndex, s.Schedule} }

// Layout describes the parts of a submitter's folder that differ between rounds.
type Layout struct {
	Code         string   // folder of the code
	Measurements string   // folder of measurements, user.conf and README.md; empty: the scenario's own
	Compliance   string   // folder of the audits in MovedAudits; empty: the scenario's own
	MovedAudits  []string `yaml:"moved_audits"`
	PowerFile    bool     `yaml:"power_file"` // whether the checker reads systems/<system>_power.yaml
}

// Checker holds the traits in which a round's submission checker differs from the others.
type Checker struct {
	OtherClient bool `yaml:"other_client"` // whether the round accepts results of the organisers' newer client
	DesignPower bool `yaml:"design_power"` // whether the summary has the column design_power_watts
}

// Benchmark holds a round's requirements of one benchmark.
type Benchmark struct {
	Name             string
	Alias            string                      // another spelling of the benchmark's folder
	Systems          map[string]Set              // by system type: datacenter, edge, "datacenter,edge"
	Audits           []string                    // audits due for every submitted scenario
	AtLeast          Targets                     `yaml:"at_least"`
	AtLeastOf        map[models.Scenario]Targets `yaml:"at_least_of"` // replaces AtLeast in these scenarios
	AtMost           Targets                     `yaml:"at_most"`
	Limits           map[models.Scenario]Limits  // limits by scenario, if they differ from the default row
	TargetLatencyNS  map[models.Scenario]int64   `yaml:"target_latency_ns"` // largest allowed target latency
	PerformanceCount int                         `yaml:"performance_count"` // 0: the default row's
	AccuracyCount    int                         `yaml:"accuracy_count"`    // 0: the default row's
	OfflineSamples   int                         `yaml:"offline_samples"`   // 0: the default row's
	AnyDuration      bool                        `yaml:"any_duration"`
	SingleStream     string                      `yaml:"single_stream_metric"` // key of the metric in place of LoadGen's
	Guided           bool                        // whether the closed division allows guided decoding
	// Whether results of the organisers' newer client are accepted.
	OtherClient bool `yaml:"other_client"`
	// Whether their score is compared with the target.
	OtherClientScored bool `yaml:"other_client_scored"`
}

// Set is the scenarios of a benchmark on one system type. Where Interactive and Server are both optional, at least one
// of them is required.
type Set struct{ Required, Optional []models.Scenario }

// All returns the required and the optional scenarios.
func (s Set) All() []models.Scenario { return slices.Concat(s.Required, s.Optional) }

// Limits replace the values of a benchmark's default row for one scenario. Nil keeps the row's value.
type Limits struct {
	TTFT, TPOT, Latency *time.Duration
	Samples             *int
	MinQueries          *int `yaml:"min_queries"`
}

// Targets are bounds on metrics of accuracy.txt in the order of the file, which is the order of the checker's summary.
type Targets []Target

// Target is the bound on one metric, under the name that the submission checker uses, such as ROUGE1.
type Target struct {
	Metric string
	Bound  float64
}

// Of returns the bound on a metric; ok is false if the metric has no bound.
func (b Targets) Of(metric string) (value float64, ok bool) {
	i := slices.IndexFunc(b, func(one Target) bool { return one.Metric == metric })
	if i < 0 {
		return 0, false
	}
	return b[i].Bound, true
}

// UnmarshalYAML reads a mapping and keeps its order.
func (b *Targets) UnmarshalYAML(n *yaml.Node) error {
	*b = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		one := Target{Metric: n.Content[i].Value}
		if err := n.Content[i+1].Decode(&one.Bound); err != nil {
			return err
		}
		*b = append(*b, one)
	}
	return nil
}

//go:embed *.yaml
var files embed.FS

// all parses every round once. The files are part of the program, so an error in them is a bug of this program.
var all = sync.OnceValue(func() []*Round {
	list, err := read(files)
	if err != nil {
		panic(err)
	}
	return list
})

// read returns the rounds of a folder of YAML files, oldest first.
func read(folder fs.FS) ([]*Round, error) {
	names, err := fs.Glob(folder, "*.yaml")
	if err != nil {
		return nil, err
	}
	list := make([]*Round, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		r := &Round{Name: strings.TrimSuffix(name, ".yaml")}
		in := yaml.NewDecoder(bytes.NewReader(data))
		in.KnownFields(true)
		if err := errors.Join(in.Decode(r), r.complete()); err != nil {
			return nil, fmt.Errorf("the file of a round, %s: %w", name, err)
		}
		list = append(list, r)
	}
	ordering.Sort(list, func(a, b *Round) int { return slices.Compare(a.number(), b.number()) })
	return list, nil
}

// number splits v6.1 into 6 and 1, so that v10.0 comes after v9.9.
func (r *Round) number() []int {
	var parts []int
	for part := range strings.SplitSeq(strings.TrimPrefix(r.Name, "v"), ".") {
		n, _ := strconv.Atoi(part) // complete has checked it
		parts = append(parts, n)
	}
	return parts
}

// both is the type of systems that are datacenter and edge systems.
const both = "datacenter,edge"

// SystemTypes lists the system types in the order in which they are offered.
func SystemTypes() []string { return []string{"datacenter", "edge", both} }

// complete checks a round's file and fills in omitted values. A system of both types gets the scenarios of the first
// type in the file.
func (r *Round) complete() error {
	parts := strings.Split(strings.TrimPrefix(r.Name, "v"), ".")
	if _, err := strconv.Atoi(parts[0]); len(parts) != 2 || err != nil || !strings.HasPrefix(r.Name, "v") {
		return fmt.Errorf("its name must be v, a number, a dot and a number")
	}
	if _, err := strconv.Atoi(parts[1]); err != nil {
		return fmt.Errorf("its name must be v, a number, a dot and a number")
	}
	if r.Seeds == (Seeds{}) || r.Layout.Code == "" {
		return fmt.Errorf("it needs seeds and layout.code")
	}
	for _, b := range r.Benchmarks {
		for kind := range b.Systems {
			if !slices.Contains(SystemTypes(), kind) {
				return fmt.Errorf("benchmark %s: unknown system type %q: use one of %s", b.Name, kind,
					strings.Join(SystemTypes(), ", "))
			}
		}
		if b.Name == "" || len(b.Systems) == 0 {
			return fmt.Errorf("benchmark %q needs a name and systems", b.Name)
		}
		if _, named := b.Systems[both]; !named {
			b.Systems[both] = b.Systems[cmp.Or(r.firstType(b), both)]
		}
	}
	return nil
}

func (r *Round) firstType(b *Benchmark) string {
	for _, kind := range SystemTypes() {
		if _, ok := b.Systems[kind]; ok {
			return kind
		}
	}
	return ""
}

// All returns the known rounds, oldest first.
func All() []*Round { return slices.Clone(all()) }

// Names returns the names of the known rounds, oldest first.
func Names() []string {
	var names []string
	for _, r := range all() {
		names = append(names, r.Name)
	}
	return names
}

// Find returns a round by its name, with or without the leading v. An unknown name is an error that lists the known
// ones.
func Find(name string) (*Round, error) {
	for _, r := range all() {
		if r.Name == name || r.Name == "v"+name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("unknown round %q: use one of %s", name, strings.Join(Names(), ", "))
}

// Benchmark returns the round's requirements of a benchmark, by the name that the submission checker uses, or nil if
// the round does not have it.
func (r *Round) Benchmark(name string) *Benchmark {
	for _, b := range r.Benchmarks {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Types returns the system types of a benchmark in the order of SystemTypes.
func (b *Benchmark) Types() []string {
	return slices.DeleteFunc(SystemTypes(), func(kind string) bool { _, ok := b.Systems[kind]; return !ok })
}
