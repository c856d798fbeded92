package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Round is one submission round and the seeds that its performance runs must use.
type Round struct {
	Name            string // such as v6.1
	QSLSeed         uint64 // qsl_rng_seed
	SampleIndexSeed uint64 // sample_index_rng_seed
	ScheduleSeed    uint64 // schedule_rng_seed
}

// CurrentRound is the round whose seeds the linked LoadGen carries.
const CurrentRound = "v6.1"

// rounds is the table of spec/models.md §1, oldest first.
var rounds = []Round{
	{"v5.1", 1780908523862526354, 14771362308971278857, 18209322760996052031},
	{"v6.0", 2465351861681999779, 14276810075590677512, 3936089224930324775},
	{"v6.1", 2085463073848966840, 2747215439041700203, 16159082839903944936},
}

// Rounds gives the known rounds, oldest first.
func Rounds() []Round {
	return append([]Round(nil), rounds...)
}

// Seeds are the round's in LoadGen's order: qsl, sample index, schedule.
func (r Round) Seeds() [3]uint64 { return [3]uint64{r.QSLSeed, r.SampleIndexSeed, r.ScheduleSeed} }

// FindRound finds a round by name, with or without the leading v.
func FindRound(name string) (Round, bool) {
	for _, r := range rounds {
		if r.Name == name || r.Name == "v"+name {
			return r, true
		}
	}
	return Round{}, false
}

// Rounds lists the rounds that know the row, oldest first; none knows a row of a user's.
func (r *Row) Rounds() []string {
	var names []string
	for _, round := range rounds {
		if slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Round == round.Name }) {
			names = append(names, round.Name)
		}
	}
	return names
}

// LastRound is the newest round that knows the row; CurrentRound where none does.
func (r *Row) LastRound() string {
	names := r.Rounds()
	if len(names) == 0 {
		return CurrentRound
	}
	return names[len(names)-1]
}

// In gives the row as a round has it: the scenarios that the round takes, with its limits, counts and targets. A row that no round knows is the
// same in all. A round that lacks the benchmark is an error.
func (r *Row) In(round string) (*Row, error) {
	known, ok := FindRound(round)
	if !ok {
		return nil, fmt.Errorf("round %q is unknown: take one of %s", round, strings.Join(roundNames(), ", "))
	}
	if len(r.Entries) == 0 {
		return r, nil
	}
	taken := r.taken(known.Name)
	if len(taken) == 0 {
		return nil, fmt.Errorf("round %s has no results for %s: it is in the rounds %s", known.Name, r.Name, strings.Join(r.Rounds(), ", "))
	}
	own := *r
	own.Scenarios = slices.DeleteFunc(slices.Clone(r.Scenarios), func(s ScenarioRow) bool { return !slices.Contains(taken, s.Scenario) })
	own.Scoring.Scenarios = maps.Clone(r.Scoring.Scenarios)
	for _, b := range r.Before {
		if b.Round != known.Name {
			continue
		}
		at := slices.IndexFunc(own.Scenarios, func(s ScenarioRow) bool { return s.Scenario == b.Scenario.Scenario })
		own.Scenarios[at] = b.Scenario
		if delete(own.Scoring.Scenarios, b.Scenario.Scenario); len(b.Targets) > 0 {
			own.Scoring.Scenarios[b.Scenario.Scenario] = b.Targets
		}
	}
	return &own, nil
}

// taken are the scenarios that a round takes of the row, on any type of system.
func (r *Row) taken(round string) []Scenario {
	var list []Scenario
	for _, e := range r.Entries {
		if e.Round == round {
			list = append(list, slices.Concat(e.Required, e.Optional)...)
		}
	}
	return list
}

func roundNames() []string {
	var names []string
	for _, r := range rounds {
		names = append(names, r.Name)
	}
	return names
}
