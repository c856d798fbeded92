package rounds

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/models"
)

func find(t *testing.T, name string) *Round {
	t.Helper()
	r, err := Find(name)
	require.NoError(t, err)
	return r
}

func row(t *testing.T, name string) *models.Row {
	t.Helper()
	m, err := models.Find(name)
	require.NoError(t, err)
	return m.Row
}

func TestFind(t *testing.T) {
	require.Equal(t, []string{"v5.1", "v6.0", "v6.1"}, Names())
	require.Equal(t, [3]uint64{2465351861681999779, 14276810075590677512, 3936089224930324775},
		find(t, "6.0").Seeds.InOrder())
	_, err := Find("v9")
	require.EqualError(t, err, `unknown round "v9": use one of v5.1, v6.0, v6.1`)
}

// The seeds of the current round equal those of the official library.
func TestGoldenSeedsOfTheCurrentRound(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(golden.Dir(t, "loadgen"), "table_builtin_config.json"))
	require.NoError(t, err)
	var table struct {
		Rows []struct {
			Model       string `json:"model"`
			QSL         uint64 `json:"qsl_rng_seed"`
			SampleIndex uint64 `json:"sample_index_rng_seed"`
			Schedule    uint64 `json:"schedule_rng_seed"`
		} `json:"rows"`
	}
	require.NoError(t, json.Unmarshal(text, &table))
	seen := false
	for _, r := range table.Rows {
		if r.Model == "*" {
			seen = true
			require.Equal(t, Seeds{r.QSL, r.SampleIndex, r.Schedule}, find(t, Current).Seeds)
		}
	}
	require.True(t, seen)
}

// The scenarios of every benchmark in each round, on any system type.
func TestBenchmarksOfEachRound(t *testing.T) {
	three := []models.Scenario{models.Offline, models.Server, models.Interactive}
	two := []models.Scenario{models.Offline, models.Server}
	edge := []models.Scenario{models.SingleStream, models.Offline}
	for name, want := range map[string]map[string][]models.Scenario{
		"llama3.1-8b":        {"v5.1": three, "v6.0": three, "v6.1": three},
		"llama3.1-8b-edge":   {"v5.1": edge, "v6.0": edge, "v6.1": edge},
		"llama3.1-405b":      {"v5.1": three, "v6.0": three},
		"llama2-70b-99":      {"v5.1": three, "v6.0": three},
		"llama2-70b-99.9":    {"v5.1": three, "v6.0": three, "v6.1": three},
		"mixtral-8x7b":       {"v5.1": two, "v6.0": two},
		"deepseek-r1":        {"v5.1": two, "v6.0": three, "v6.1": three},
		"gpt-oss-120b":       {"v6.0": three, "v6.1": three},
		"qwen3-vl-235b-a22b": {"v6.0": three, "v6.1": three},
		"qwen3.6-27b":        {"v6.1": {models.SingleStream}},
	} {
		benchmark := row(t, name)
		for _, round := range All() {
			of, err := round.Row(benchmark)
			if want[round.Name] == nil {
				require.ErrorContains(t, err, "round "+round.Name+" does not include "+name+"; it is in the rounds ")
				continue
			}
			require.NoError(t, err, "%s in %s", name, round.Name)
			var got []models.Scenario
			for i := range of.Scenarios {
				got = append(got, of.Scenarios[i].Scenario)
			}
			require.ElementsMatch(t, want[round.Name], got, "%s in %s", name, round.Name)
			require.Equal(t, benchmark.Name, of.Name)
		}
		require.Len(t, Of(benchmark), len(want), name)
		require.Contains(t, want, Last(benchmark))
	}
}

// Every benchmark in use is in a round, and each limit of a round belongs to a scenario of the benchmark.
func TestRoundsAndRegistryAgree(t *testing.T) {
	for _, r := range models.Rows() {
		require.Equal(t, r.Retired || r.Name == models.Generic, len(Of(r)) == 0, r.Name)
		for _, name := range Of(r) {
			b := find(t, name).Benchmark(r.Name)
			for s := range b.Limits {
				_, err := r.Scenario(string(s))
				require.NoError(t, err, "%s in %s", r.Name, name)
			}
			for _, target := range r.Scoring.Targets {
				if bound, ok := b.AtLeast.Of(target.CheckerName()); ok {
					require.Equal(t, target.Min, bound, "%s in %s: the default row has another target", r.Name, name)
				}
			}
		}
	}
}

// Interactive of the catalogue benchmark has had a limit, rows and a target of its own only since v6.1.
func TestScenarioOfAnEarlierRound(t *testing.T) {
	qwen := row(t, "qwen3-vl-235b-a22b")
	newest, err := find(t, "6.1").Row(qwen)
	require.NoError(t, err)
	s, err := newest.Scenario("Interactive")
	require.NoError(t, err)
	require.Equal(t, 1500*time.Millisecond, s.TargetLatency)
	require.Equal(t, 8000, s.Samples)
	require.Equal(t, 0.7799219999999999, newest.Scoring.TargetsFor(models.Interactive)[0].Min)
	require.Equal(t, 0.99, newest.Scoring.TargetsFor(models.Interactive)[0].LowFactor)
	require.False(t, find(t, "v6.1").Benchmark(qwen.Name).Guided)

	before, err := find(t, "v6.0").Row(qwen)
	require.NoError(t, err)
	s, err = before.Scenario("Interactive")
	require.NoError(t, err)
	require.Equal(t, 12*time.Second, s.TargetLatency)
	require.Zero(t, s.Samples)
	require.Equal(t, 0.782397, before.Scoring.TargetsFor(models.Interactive)[0].Min)
	require.Len(t, qwen.Scoring.Scenarios, 1, "the default row stays as it is")
	require.True(t, find(t, "v6.0").Benchmark(qwen.Name).Guided)
}

// A benchmark that is in no round has the same row in all of them.
func TestBenchmarksOfNoRound(t *testing.T) {
	for _, name := range []string{"generic", "gptj"} {
		for _, round := range All() {
			same, err := round.Row(row(t, name))
			require.NoError(t, err)
			require.Same(t, row(t, name), same)
		}
		require.Equal(t, Current, Last(row(t, name)))
	}
}

// A new round changes limits, targets and scenarios with its file alone.
func TestANewRoundIsAFile(t *testing.T) {
	list, err := read(fstest.MapFS{
		"v9.9.yaml": {Data: []byte(`
seeds: {qsl: 1, sample_index: 2, schedule: 18446744073709551615}
layout: {code: src}
benchmarks:
  - name: llama3.1-8b
    systems: {datacenter: {required: [Server]}}
    audits: [TEST06]
    at_least: {ROUGE1: 40}
    at_least_of: {Server: {ROUGE1: 41}}
    at_most: {GEN_LEN: 9000000}
    limits: {Server: {ttft: 1s, tpot: 50ms, min_queries: 200}}
`)},
		"v10.0.yaml": {Data: []byte("seeds: {qsl: 1}\nlayout: {code: src}\n")},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"v9.9", "v10.0"}, []string{list[0].Name, list[1].Name})
	of, err := list[0].Row(row(t, "llama3.1-8b"))
	require.NoError(t, err)
	require.Len(t, of.Scenarios, 1)
	require.Equal(t, []any{time.Second, 50 * time.Millisecond, 200},
		[]any{of.Scenarios[0].TTFTLimit, of.Scenarios[0].TPOTLimit, of.Scenarios[0].MinQueries})
	require.Equal(t, "at least 40", of.Scoring.Targets[0].String())
	require.Equal(t, "at least 41", of.Scoring.TargetsFor(models.Server)[0].String())
	require.Equal(t, 9e6, of.Scoring.Targets[4].Max)
	require.Equal(t, "at least 38.7792 (1 x 38.7792)",
		models.Target{Min: 38.7792, Reference: 38.7792, LowFactor: 1}.String())
	require.Equal(t, list[0].Benchmarks[0].Systems["datacenter"], list[0].Benchmarks[0].Systems["datacenter,edge"])
}

func TestInvalidRoundFiles(t *testing.T) {
	const good = "seeds: {qsl: 1}\nlayout: {code: src}\n"
	for says, file := range map[string]struct{ name, text string }{
		"its name must be v, a number, a dot and a number": {"6.2.yaml", good},
		"v, a number, a dot":             {"v6.yaml", good},
		"a dot and a number":             {"vx.y.yaml", good},
		"it needs seeds and layout.code": {"v6.2.yaml", "layout: {code: src}\n"},
		"field target_qps not found":     {"v6.2.yaml", good + "target_qps: 3\n"},
		`unknown system type "cloud": use one of datacenter, edge, datacenter,edge`: {"v6.2.yaml",
			good + "benchmarks: [{name: a, systems: {cloud: {}}}]\n"},
		`benchmark "a" needs a name and systems`: {"v6.2.yaml",
			good + "benchmarks: [{name: a}]\n"},
	} {
		_, err := read(fstest.MapFS{file.name: {Data: []byte(file.text)}})
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, file.name)
	}
}

func TestARoundNeedsACodeFolder(t *testing.T) {
	_, err := read(fstest.MapFS{"v6.2.yaml": {Data: []byte("seeds: {qsl: 1}\n")}})
	require.ErrorContains(t, err, "it needs seeds and layout.code")
}

func TestDescribe(t *testing.T) {
	fields := Describe(row(t, "qwen3-vl-235b-a22b"))
	require.Contains(t, fields, models.Field{Name: "round v6.1, datacenter",
		Value: "required Offline; optional Interactive, Server, at least one of them", Source: sourceChecker})
	require.Contains(t, fields, models.Field{Name: "Interactive in v6.0",
		Value: "p99 latency under 12s, the benchmark's data set", Source: sourceChecker})
	require.Contains(t, fields, models.Field{Name: "guided decoding in v6.0",
		Value: "left to the submitter in the closed division", Source: sourceRules})
	require.Contains(t, Describe(row(t, "gpt-oss-120b")),
		models.Field{Name: "audits of v6.1", Value: "TEST07, TEST09", Source: sourceChecker})
	require.Empty(t, Describe(row(t, "generic")))
}

// The description of systems of both types has a line of their own only where their scenarios differ from the first
// type's.
func TestDescribeSystemsOfBothTypes(t *testing.T) {
	lines := map[string]string{}
	for _, r := range models.Rows() {
		for _, f := range Describe(r) {
			if strings.HasSuffix(f.Name, both) {
				lines[r.Name+" "+f.Name] = f.Value
			}
		}
	}
	require.Equal(t, map[string]string{
		"deepseek-r1 round v5.1, datacenter,edge": "required SingleStream, Server, Offline",
		"qwen3-vl-235b-a22b round v6.0, datacenter,edge": "required Offline; optional Interactive, Server, " +
			"at least one of them",
	}, lines)
}

func TestLimitsInWords(t *testing.T) {
	second, none, some := time.Second, 0, 100
	for want, l := range map[string]Limits{
		"":                     {},
		"p99 TTFT under 1s":    {TTFT: &second},
		"p99 latency under 1s": {Latency: &second},
		"p99 TPOT under 1s, the benchmark's data set, at least 100 queries": {TPOT: &second, Samples: &none,
			MinQueries: &some},
		"data set of 100, at least 0 queries": {Samples: &some, MinQueries: &none},
	} {
		require.Equal(t, want, l.String())
	}
}

// Benchmarks that generate no text are recognized by their names, and by parts of the names that submitters use.
func TestBenchmarksThatAreNotJudged(t *testing.T) {
	n := NotJudged{Names: []string{"resnet"}, Parts: []string{"bert"}}
	for name, want := range map[string]bool{"resnet": true, "resnet50": false, "my-resnet": false, "bert": true,
		"bert-99": true, "my-bert": true, "llama": false, "": false} {
		require.Equal(t, want, n.Has(name), name)
	}
	require.False(t, NotJudged{Names: []string{""}, Parts: []string{""}}.Has(""), "a folder without a name")
	for _, r := range all() {
		for _, name := range append(r.NotJudged.Names, r.NotJudged.Parts...) {
			require.True(t, r.NotJudged.Has(name), "%s of %s", name, r.Name)
		}
		for _, b := range r.Benchmarks {
			require.False(t, r.NotJudged.Has(b.Name), "%s has rules in %s", b.Name, r.Name)
		}
	}
}
