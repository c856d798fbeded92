package models

import (
	"fmt"
	"slices"
	"strings"
)

// scenarioNames and modeNames list the names that ParseScenario and ParseMode accept, in the order of error messages.
var (
	scenarioNames = []Scenario{Offline, Server, Interactive, SingleStream}
	modeNames     = []Mode{Performance, Accuracy}
)

// Scenarios returns every scenario in the order of error messages.
func Scenarios() []Scenario { return slices.Clone(scenarioNames) }

// ParseScenario parses a scenario's name. It ignores letter case, "-" and "_".
func ParseScenario(s string) (Scenario, error) {
	for _, name := range scenarioNames {
		if squeeze(s) == squeeze(string(name)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("unknown scenario %q: use one of %s", s, join(scenarioNames))
}

// ParseMode parses the name of a test's mode in any letter case. It rejects "submission", which is two tests.
func ParseMode(s string) (Mode, error) {
	for _, name := range modeNames {
		if strings.EqualFold(s, string(name)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("unknown mode %q: use one of %s", s, join(modeNames))
}

// Scenario returns the row of a scenario, in any spelling that ParseScenario accepts. If the benchmark lacks the
// scenario, the error lists those it has.
func (r *Row) Scenario(name string) (*ScenarioRow, error) {
	scenario, err := ParseScenario(name)
	if err != nil {
		return nil, err
	}
	var has []Scenario
	for i := range r.Scenarios {
		if r.Scenarios[i].Scenario == scenario {
			return &r.Scenarios[i], nil
		}
		has = append(has, r.Scenarios[i].Scenario)
	}
	return nil, fmt.Errorf("model %s has no scenario %s; it has %s", r.Name, scenario, join(has))
}

// DefaultScenario returns Offline if the row has it, else its first scenario.
func (r *Row) DefaultScenario() Scenario {
	if r.has(Offline) {
		return Offline
	}
	return r.Scenarios[0].Scenario
}

func (r *Row) has(s Scenario) bool {
	return slices.ContainsFunc(r.Scenarios, func(row ScenarioRow) bool { return row.Scenario == s })
}

func join[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
