package models

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What each round takes of every benchmark, on any type of system (spec/models.md §3).
func TestRowsInRounds(t *testing.T) {
	three := []Scenario{Offline, Server, Interactive}
	two := []Scenario{Offline, Server}
	for name, want := range map[string]map[string][]Scenario{
		"llama3.1-8b":        {"v5.1": three, "v6.0": three, "v6.1": three},
		"llama3.1-8b-edge":   {"v5.1": {SingleStream, Offline}, "v6.0": {SingleStream, Offline}, "v6.1": {SingleStream, Offline}},
		"llama3.1-405b":      {"v5.1": three, "v6.0": three},
		"llama2-70b-99":      {"v5.1": three, "v6.0": three},
		"llama2-70b-99.9":    {"v5.1": three, "v6.0": three, "v6.1": three},
		"mixtral-8x7b":       {"v5.1": two, "v6.0": two},
		"deepseek-r1":        {"v5.1": two, "v6.0": three, "v6.1": three},
		"gpt-oss-120b":       {"v6.0": three, "v6.1": three},
		"qwen3-vl-235b-a22b": {"v6.0": three, "v6.1": three},
		"qwen3.6-27b":        {"v6.1": {SingleStream}},
	} {
		m, err := Find(name)
		require.NoError(t, err)
		for _, round := range Rounds() {
			row, err := m.Row.In(round.Name)
			if want[round.Name] == nil {
				require.ErrorContains(t, err, "round "+round.Name+" has no results for "+name+": it is in the rounds ")
				continue
			}
			require.NoError(t, err, "%s in %s", name, round.Name)
			var got []Scenario
			for i := range row.Scenarios {
				got = append(got, row.Scenarios[i].Scenario)
			}
			require.ElementsMatch(t, want[round.Name], got, "%s in %s", name, round.Name)
			require.Equal(t, m.Row.Name, row.Name)
		}
		require.Len(t, m.Row.Rounds(), len(want), name)
		_, ok := want[m.Row.LastRound()]
		require.True(t, ok, name)
	}
}

// Interactive of the catalogue benchmark has limits, rows and a target of its own since v6.1 alone.
func TestScenarioOfAnEarlierRound(t *testing.T) {
	newest, err := qwen3VL.In("6.1")
	require.NoError(t, err)
	s, err := newest.Scenario("Interactive")
	require.NoError(t, err)
	require.Equal(t, 1500*time.Millisecond, s.TargetLatency)
	require.Equal(t, 8000, s.Samples)
	require.Equal(t, 0.7799219999999999, newest.Scoring.TargetsFor(Interactive)[0].Min)

	before, err := qwen3VL.In("v6.0")
	require.NoError(t, err)
	s, err = before.Scenario("Interactive")
	require.NoError(t, err)
	require.Equal(t, 12*time.Second, s.TargetLatency)
	require.Zero(t, s.Samples)
	require.Equal(t, 0.782397, before.Scoring.TargetsFor(Interactive)[0].Min)
	require.Len(t, qwen3VL.Scoring.Scenarios, 1, "the row itself stays as it is")
}

func TestRoundsWithoutTheBenchmark(t *testing.T) {
	for _, row := range []*Row{&generic, &gptj} { // no round of the table knows them, so they are the same in all
		for _, round := range Rounds() {
			same, err := row.In(round.Name)
			require.NoError(t, err)
			require.Same(t, row, same)
		}
		require.Equal(t, CurrentRound, row.LastRound())
	}
	_, err := llama31_8b.In("v9")
	require.EqualError(t, err, `round "v9" is unknown: take one of v5.1, v6.0, v6.1`)
}
