package tree

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// scenario is a scenario of a campaign and its place in the tree.
type scenario struct {
	system, benchmark string // benchmark: the checker's name
	scenario          models.Scenario
	place             layout.Scenario
	tests             []*test
}

// test is one run of a scenario.
type test struct {
	leaf      layout.Leaf
	folder    string         // path of leaf; only valid after missing has checked it
	record    *record.Record // nil if missing
	rehearsal bool
}

// where returns the test's folder relative to the campaign's.
func (t *test) where() string { return t.leaf.Folder("") }

// test returns the scenario's run with that name, or nil if the tree does not need it.
func (s *scenario) test(name string) *test {
	for _, t := range s.tests {
		if t.leaf.Test == name {
			return t
		}
	}
	return nil
}

// collect finds the scenarios of the campaign: folders named after scenarios in folders named after known benchmarks.
func (b *builder) collect() error {
	systems, err := b.campaign.folders(".")
	if err != nil {
		return fmt.Errorf("build the tree of %s: %w", b.o.Campaign, err)
	}
	for _, system := range systems {
		benchmarks, err := b.campaign.folders(system)
		if err != nil {
			return fmt.Errorf("build the tree of %s: %w", b.o.Campaign, err)
		}
		for _, name := range benchmarks {
			if m, err := models.Find(name); err == nil && m.Row.Name == name && name != models.Generic {
				b.benchmark(system, name)
			}
		}
	}
	if len(b.scenarios) == 0 && len(b.refusal.Runs) == 0 {
		return fmt.Errorf("build the tree of %s: %w", b.o.Campaign, errNothing)
	}
	return nil
}

func (b *builder) benchmark(system, name string) {
	needs, err := compliance.Needs(name, b.round.Name, b.o.Division)
	kinds := check.SystemTypes(name, b.round.Name)
	if err != nil || len(kinds) == 0 {
		b.refusal.run(filepath.Join(system, name), "not_in_round", "round %s has no benchmark of this name", b.round.Name)
		return
	}
	if why := folderName(system); why != "" {
		b.refusal.run(system, "system_name", "the system's name is used as a folder's name, but %s: rename the folder", why)
	}
	b.kind = cmp.Or(b.kind, kinds[0])
	has, err := b.campaign.folders(filepath.Join(system, name))
	if err != nil {
		b.refusal.run(filepath.Join(system, name), "unreadable", "%v", err)
		return
	}
	for _, folder := range has {
		if s, err := models.ParseScenario(folder); err == nil && string(s) == folder {
			b.scenarios = append(b.scenarios, b.scenario(system, name, s, needs))
		}
	}
}

// scenario returns a scenario with the runs that the tree requires.
func (b *builder) scenario(system, benchmark string, name models.Scenario, needs []compliance.Need) *scenario {
	folder := benchmark
	if own := b.words.Names[benchmark]; own != "" && b.o.Division == layout.Open {
		folder = own
	}
	s := &scenario{system: system, benchmark: benchmark, scenario: name,
		place: layout.Place(b.round, b.submitter, system, folder, name)}
	tests := []string{layout.Performance, layout.Accuracy}
	for _, n := range needs {
		if n.Needed {
			tests = append(tests, n.Test)
		}
	}
	for _, t := range tests {
		leaf := layout.Leaf{System: system, Benchmark: benchmark, Scenario: name, Test: t}
		s.tests = append(s.tests, &test{leaf: leaf, folder: leaf.Folder(b.o.Campaign)})
	}
	return s
}
