package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The steps of a scenario that are not LoadGen tests.
const (
	Preflight = "preflight" // probes the endpoints; always done again
	Score     = "score"     // scores the accuracy run's answers
	Tune      = "tune"      // finds the target QPS, and confirms it by a performance run
)

// Step is one step of one scenario.
type Step struct {
	Scenario models.Scenario
	Test     string // Preflight, Tune, layout.Performance, layout.Accuracy, Score, or an audit's name
}

// ID returns the step's name, such as Server/accuracy.
func (s Step) ID() string { return string(s.Scenario) + "/" + s.Test }

// Audit reports whether the step is an audit.
func (s Step) Audit() bool { return strings.HasPrefix(s.Test, "TEST") }

// IsRun reports whether the step is a LoadGen test with a folder of its own.
func (s Step) IsRun() bool { return s.Test != Preflight && s.Test != Score && s.Test != Tune }

// Mode returns the mode of the step's test; an audit measures performance.
func (s Step) Mode() models.Mode {
	if s.Test == layout.Accuracy || s.Test == Score {
		return models.Accuracy
	}
	return models.Performance
}

// Needs returns the tests of the same scenario that must be done before: the accuracy run for a score, the performance
// run for an audit.
func (s Step) Needs() []string {
	switch {
	case s.Test == Score:
		return []string{layout.Accuracy}
	case s.Audit():
		return []string{layout.Performance}
	default:
		return nil
	}
}

// Steps returns the steps of the scenarios in the order in which they run. audits are the names of the audits, and
// tuned are the scenarios whose target QPS is to be found.
func Steps(scenarios []models.Scenario, audits []string, tuned map[models.Scenario]bool) []Step {
	var steps []Step
	for _, s := range scenarios {
		tests := slices.Concat([]string{Preflight, Tune, layout.Performance, layout.Accuracy, Score}, audits)
		for _, test := range tests {
			if test != Tune || tuned[s] {
				steps = append(steps, Step{s, test})
			}
		}
	}
	return steps
}

// Only selects steps by scenario, test, or Scenario/test. A word that matches no step is an error.
func Only(steps []Step, words []string) ([]Step, error) {
	if len(words) == 0 {
		return steps, nil
	}
	var names, scenarios []string
	for _, s := range steps {
		if name := string(s.Scenario); !slices.Contains(scenarios, name) {
			scenarios = append(scenarios, name)
		}
		if !slices.Contains(names, s.Test) {
			names = append(names, s.Test)
		}
	}
	named := func(s Step, word string) bool {
		return strings.EqualFold(word, s.Test) || strings.EqualFold(word, s.ID()) ||
			strings.EqualFold(word, string(s.Scenario))
	}
	for _, w := range words {
		if !slices.ContainsFunc(steps, func(s Step) bool { return named(s, w) }) {
			return nil, fmt.Errorf("the campaign has no step %q: its scenarios are %s, and its tests %s; %s selects a single "+
				"step", w, strings.Join(scenarios, ", "), strings.Join(names, ", "), steps[0].ID())
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return named(s, w) })
	}), nil
}

// Scenarios returns a benchmark's scenarios in a round on a system type: those that the checker requires or allows and
// that the benchmark's row has. An empty type selects the first type of the benchmark in the round. The selected type
// is returned too.
func Scenarios(row *models.Row, round, systemType string) ([]models.Scenario, string, error) {
	of, err := rounds.Find(round)
	if err != nil {
		return nil, "", err
	}
	b := of.Benchmark(row.Name)
	switch {
	case b == nil:
		return nil, "", fmt.Errorf("round %s does not include %s; it is in the rounds [%s]", round, row.Name,
			strings.Join(rounds.Of(row), " "))
	case systemType == "":
		systemType = b.Types()[0]
	case !slices.Contains(rounds.SystemTypes(), systemType):
		return nil, "", fmt.Errorf("the system type %q is unknown: use one of %s", systemType,
			strings.Join(rounds.SystemTypes(), " | "))
	}
	set, ok := b.Systems[systemType]
	if !ok {
		return nil, "", fmt.Errorf("round %s has %s for systems of type %s only", round, row.Name,
			strings.Join(b.Types(), " and "))
	}
	var list []models.Scenario
	for _, s := range row.Scenarios {
		if slices.Contains(set.All(), s.Scenario) {
			list = append(list, s.Scenario)
		}
	}
	return list, systemType, nil
}
