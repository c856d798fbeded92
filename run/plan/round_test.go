package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Every benchmark can be planned, with the round's values, for every round that contains it, and for no other.
func TestPlansOfEveryRound(t *testing.T) {
	for _, row := range models.Rows() {
		for _, round := range rounds.All() {
			of, err := round.Row(row)
			if err != nil {
				_, err := New(Settings{"model": row.Name, "round": round.Name})
				require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit)
				require.ErrorContains(t, err, "does not include "+row.Name)
				continue
			}
			for i := range of.Scenarios {
				s := of.Scenarios[i]
				p, err := New(Settings{"model": row.Name, "round": round.Name, "scenario": string(s.Scenario),
					"endpoint": "http://a:1", "dataset": "f", "target-qps": "7", "served-model": "m"})
				require.NoError(t, err)
				require.Equal(t, round, p.Round)
				require.Equal(t, round.Name, p.Config.String("round"))
				require.Equal(t, s, *p.Scenario, "%s in %s", row.Name, round.Name)
				require.Equal(t, round.Seeds.InOrder(), *p.seeds)
				require.NoError(t, p.Bind(max(1, p.OfficialRows())))
				require.Empty(t, p.Rehearsal, "a whole run in %s is no rehearsal", round.Name)
				require.Empty(t, p.Breaches())
			}
		}
	}
}

func TestTheDefaultRound(t *testing.T) {
	p := planned(t, 13368, real8b("Offline"))
	require.Equal(t, rounds.Current, p.Round.Name)
	require.Nil(t, p.seeds, "the linked library has them, whichever it is")
	require.Empty(t, p.Notices())

	p = planned(t, 8313, Settings{"model": "llama3.1-405b", "endpoint": "http://a:1", "dataset": "f"})
	require.Equal(t, "v6.0", p.Round.Name)
	require.Equal(t, p.Round.Seeds.InOrder(), *p.seeds)
	require.Equal(t, []string{"llama3.1-405b is not in round v6.1: using round v6.0, the latest that includes it"},
		p.Notices())
	require.Empty(t, p.Rehearsal)
	require.Contains(t, p.LoadGenNotes()[0], "the run is for round v6.0: its seeds are given to LoadGen")
}

func TestRoundsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		text     string
	}{
		"no round": {Settings{"model": "llama3.1-8b", "round": "v9"},
			`--round v9: unknown round "v9": use one of v5.1, v6.0, v6.1`},
		"not in the round": {Settings{"model": "gpt-oss-120b", "round": "v5.1"},
			"round v5.1 does not include gpt-oss-120b; it is in the rounds v6.0, v6.1"},
		"without scenario": {Settings{"model": "deepseek-r1", "round": "v5.1", "scenario": "Interactive"},
			"round v5.1: model deepseek-r1 has no scenario Interactive; it has Offline, Server"},
		"its rows are more": {Settings{"model": "qwen3-vl-235b-a22b", "scenario": "Interactive", "endpoint": "http://a:1",
			"dataset": "f", "target-qps": "1"}, "more than the 8000"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := New(c.settings)
			if err == nil {
				err = p.Bind(48289)
			}
			require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit)
			require.ErrorContains(t, err, c.text)
		})
	}
	// In v6.0 the same scenario has the whole data set.
	p := planned(t, 48289, Settings{"model": "qwen3-vl-235b-a22b", "round": "v6.0", "scenario": "Interactive",
		"endpoint": "http://a:1", "dataset": "f", "target-qps": "1"})
	require.Empty(t, p.Rehearsal)
	require.Equal(t, 12*time.Second, p.Scenario.TargetLatency)
}

// The round decides what the closed division allows.
func TestBreachesOfARound(t *testing.T) {
	for round, want := range map[string]int{"v6.0": 0, "v6.1": 1} {
		p := withServer(t, 10, Settings{"model": "qwen3-vl-235b-a22b", "round": round, "response-format": "benchmark"})
		require.Len(t, p.Breaches(), want, round)
	}
}
