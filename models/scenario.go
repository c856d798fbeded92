package models

import (
	"fmt"
	"slices"
	"strings"
)

// scenarioNames and modeNames list what ParseScenario and ParseMode accept, in the order in which errors show them.
var (
	scenarioNames = []Scenario{Offline, Server, Interactive, SingleStream}
	modeNames     = []Mode{Performance, Accuracy}
)

// Scenarios lists every scenario in the order in which errors show them.
func Scenarios() []Scenario { return slices.Clone(scenarioNames) }

// ParseScenario reads a scenario's name; letter case, "-" and "_" do not count.
func ParseScenario(s string) (Scenario, error) {
	for _, name := range scenarioNames {
		if squeeze(s) == squeeze(string(name)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("scenario %q is unknown: take one of %s", s, join(scenarioNames))
}

// ParseMode reads a mode's name in any letter case. "submission" is not a mode: it means two runs.
func ParseMode(s string) (Mode, error) {
	for _, name := range modeNames {
		if strings.EqualFold(s, string(name)) {
			return name, nil
		}
	}
	return "", fmt.Errorf("mode %q is unknown: take one of %s", s, join(modeNames))
}

// Scenario returns the row's entry for a scenario, in any spelling that ParseScenario accepts.
//
// If the benchmark lacks the scenario, the error lists those it has.
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
	return nil, fmt.Errorf("model %s has no scenario %s: it has %s", r.Name, scenario, join(has))
}

// DefaultScenario returns Offline if the row has it, else its first scenario.
func (r *Row) DefaultScenario() Scenario {
	if r.has(Offline) {
		return Offline
	}
	return r.Scenarios[0].Scenario
}

func (r *Row) has(s Scenario) bool {
	for i := range r.Scenarios {
		if r.Scenarios[i].Scenario == s {
			return true
		}
	}
	return false
}

func join[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
