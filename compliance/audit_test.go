package compliance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// settled returns the settings that LoadGen reads from an audit's configuration.
func settled(t *testing.T, a *Audit, scenario string) map[string]string {
	t.Helper()
	conf, err := config.ParseConf("audit.config", strings.NewReader(a.Config()), config.AuditConf)
	require.NoError(t, err)
	entries, err := conf.Resolve("*", scenario)
	require.NoError(t, err)
	require.Empty(t, conf.Unmatched())
	got := map[string]string{}
	for _, e := range entries {
		got[e.Key] = e.Text
	}
	return got
}

func TestLoadGenReadsEveryAuditConfig(t *testing.T) {
	count := 0
	for _, test := range Tests() {
		for _, benchmark := range Benchmarks() {
			a, err := Find(test, benchmark)
			if err != nil {
				require.ErrorContains(t, err, test+" has no settings for the benchmark")
				continue
			}
			count++
			for _, scenario := range []string{"Offline", "Server", "SingleStream", "MultiStream"} {
				got := settled(t, a, scenario)
				for _, s := range a.Settings {
					require.Equal(t, s.Value, got[s.Key], "%s %s", test, s.Key)
				}
				require.Len(t, got, len(a.Settings))
			}
		}
	}
	require.Greater(t, count, 50)
}

func TestConfigText(t *testing.T) {
	a, err := Find(Test07, gptOSS.Name)
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"mode": "2", "accuracy_log_rng_seed": "720381539243781796", "accuracy_log_sampling_target": "990",
		"min_query_count": "990",
		"min_duration":    "0", "performance_issue_unique": "1", "sample_concatenate_permutation": "0",
		"test07_accuracy_threshold": "60.698",
	}, settled(t, a, "Server"))
	require.True(t, strings.HasPrefix(a.Config(), "# TEST07 of gpt-oss-120b. "))

	_, err = Find("TEST05", gptOSS.Name)
	require.EqualError(t, err, `unknown compliance test "TEST05": use one of TEST01, TEST04, TEST06, TEST07, TEST08, TEST09`)
}

// Every audit has the settings of the official files and requires of the logs what they require
// (docs/reference/audits.md).
func TestEveryAuditFollowsTheRules(t *testing.T) {
	const seed = "720381539243781796"
	type wanted struct {
		Records, Samples     int
		Distinct             bool
		Threshold            float64
		MinTokens, MaxTokens float64
	}
	sampled := func(n string) map[string]string {
		return map[string]string{"mode": "2", "accuracy_log_rng_seed": seed, "accuracy_log_sampling_target": n}
	}
	for _, c := range []struct {
		test, benchmark string
		settings        map[string]string
		want            wanted
	}{
		{Test01, "resnet", sampled("4096"), wanted{}},
		{Test01, "bert-99.9", sampled("4096"), wanted{}},
		{Test01, "3d-unet-99", sampled("64"), wanted{}},
		{Test01, "yolo-95", sampled("64"), wanted{}},
		{Test01, "stable-diffusion-xl", sampled("128"), wanted{}},
		{Test04, "resnet", map[string]string{"mode": "2", "performance_issue_unique": "0", "performance_issue_same": "1",
			"performance_issue_same_index": "3"}, wanted{}},
		{Test06, "llama3.1-8b", map[string]string{
			"mode": "2", "accuracy_log_rng_seed": seed, "accuracy_log_sampling_target": "100", "min_query_count": "100",
			"min_duration": "0", "sample_concatenate_permutation": "0",
		}, wanted{Records: 100}},
		{Test07, gptOSS.Name, map[string]string{
			"mode": "2", "accuracy_log_rng_seed": seed, "accuracy_log_sampling_target": "990", "min_query_count": "990",
			"min_duration":             "0",
			"performance_issue_unique": "1", "sample_concatenate_permutation": "0", "test07_accuracy_threshold": "60.698",
		}, wanted{Records: 990, Samples: 990, Distinct: true, Threshold: 60.698}},
		{Test08, "dlrm-v3", sampled("4096"), wanted{}},
		{Test09, gptOSS.Name, map[string]string{
			"mode": "2", "accuracy_log_rng_seed": seed, "accuracy_log_sampling_target": "10000", "min_query_count": "6396",
			"min_duration": "0", "performance_issue_unique": "1",
			"sample_concatenate_permutation": "0", "test09_min_output_tokens": "1150.38", "test09_max_output_tokens": "1406.02",
		}, wanted{Records: 6396, Distinct: true, MinTokens: 1150.38, MaxTokens: 1406.02}},
		{Test09, "e2e-rag-qna", map[string]string{
			"mode": "2", "accuracy_log_rng_seed": seed, "accuracy_log_sampling_target": "10000", "min_query_count": "824",
			"min_duration":                   "0",
			"sample_concatenate_permutation": "0", "test09_min_output_tokens": "246.43", "test09_max_output_tokens": "301.19",
		}, wanted{Records: 824, MinTokens: 246.43, MaxTokens: 301.19}},
	} {
		a, err := Find(c.test, c.benchmark)
		require.NoError(t, err)
		require.Equal(t, c.settings, settled(t, a, "Offline"), "%s of %s", c.test, c.benchmark)
		require.Equal(t, c.want, wanted{a.Records, a.Samples, a.Distinct, a.Threshold, a.MinTokens, a.MaxTokens}, "%s of %s",
			c.test, c.benchmark)
		require.Equal(t, []any{c.test, c.benchmark, false}, []any{a.Test, a.Benchmark, a.Scaled})
	}
}

func TestScale(t *testing.T) {
	a, err := Find(Test07, gptOSS.Name)
	require.NoError(t, err)
	small := a.Scale(20)
	require.Equal(t, "20", settled(t, small, "Offline")["min_query_count"])
	require.Equal(t, []any{20, 990, true}, []any{small.Records, small.Samples, small.Scaled},
		"fewer queries leave the data set as it is")
	require.Contains(t, small.Config(), "# a rehearsal: the audit requires 990\n")
	require.Equal(t, "990", settled(t, a, "Offline")["min_query_count"])
	require.False(t, a.Scale(990).Scaled)

	// The answers of a rehearsal do not have the benchmark's length.
	a, err = Find(Test09, gptOSS.Name)
	require.NoError(t, err)
	small = a.Scale(20)
	require.Equal(t, 1.0, small.MinTokens)
	require.Contains(t, small.Config(), "# a rehearsal: the audit requires 1150.38\n*.*.test09_min_output_tokens = 1.0\n")
	require.Equal(t, 1150.38, a.MinTokens)
}

// An audit that issues each sample once issues no more samples than the data set has.
func TestOver(t *testing.T) {
	a, err := Find(Test07, gptOSS.Name)
	require.NoError(t, err)
	require.Same(t, a, a.Over(990))
	small := a.Over(512)
	require.Equal(t, []any{512, 512, true}, []any{small.Records, small.Samples, small.Scaled})
	small = small.Scale(20)
	require.Equal(t, []any{20, 512, true}, []any{small.Records, small.Samples, small.Scaled})
	require.Contains(t, small.Config(), "# a rehearsal: the audit requires 990\n*.*.min_query_count = 20\n")

	a, err = Find(Test09, gptOSS.Name)
	require.NoError(t, err)
	small = a.Over(512)
	require.Equal(t, []any{512, 0, true, 1.0}, []any{small.Records, small.Samples, small.Scaled, small.MinTokens},
		"it has no data set of its own")
	a, err = Find(Test06, llama8b.Name)
	require.NoError(t, err)
	require.Same(t, a, a.Over(10), "samples may repeat")
}

// Needs returns the audits that each round's file lists, and all of them exist.
func TestNeedsAgreeWithTheRounds(t *testing.T) {
	for _, row := range models.Rows() {
		if row.Name == models.Generic {
			continue
		}
		for _, round := range rounds.All() {
			var needed, due []string
			if b := round.Benchmark(row.Name); b != nil {
				due = b.Audits
			}
			needs, err := Needs(row.Name, round.Name, "closed")
			require.NoError(t, err)
			require.Len(t, needs, len(Tests()))
			for _, n := range needs {
				require.NotEmpty(t, n.Why)
				if n.Needed {
					needed = append(needed, n.Test)
					_, err := Find(n.Test, row.Name)
					require.NoError(t, err)
				}
			}
			require.Equal(t, due, needed, "%s in %s", row.Name, round.Name)
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, c := range []struct{ benchmark, round, division, needed string }{
		{"llama3.1-8b", "v6.1", "closed", "TEST06"},
		{"llama3.1-8b", "6.1", "network", "TEST06"},
		{"llama3.1-8b", "v6.1", "open", ""},
		{"llama2-70b-99", "v6.0", "closed", "TEST06"},
		{"llama2-70b-99", "v6.1", "closed", ""},
		{"gpt-oss-120b", "v5.1", "closed", ""},
		{"gpt-oss-120b", "v6.0", "closed", "TEST07 TEST09"},
		{"e2e-rag-qna", "v6.1", "closed", "TEST09"},
		{"qwen3-vl-235b-a22b", "v6.1", "closed", ""},
		{"bert-99.9", "v5.1", "closed", "TEST01"},
		{"resnet", "v6.1", "closed", "TEST01 TEST04"},
		{"dlrm-v3", "v6.1", "closed", "TEST08"},
	} {
		needs, err := Needs(c.benchmark, c.round, c.division)
		require.NoError(t, err)
		var needed []string
		for _, n := range needs {
			if n.Needed {
				needed = append(needed, n.Test)
			}
		}
		require.Equal(t, c.needed, strings.Join(needed, " "), "%+v", c)
	}
	_, err := Needs("llama9", "v6.1", "closed")
	require.ErrorContains(t, err, `unknown benchmark "llama9": use one of`)
	_, err = Needs("resnet", "v1.0", "closed")
	require.EqualError(t, err, `unknown round "v1.0": use one of v5.1, v6.0, v6.1`)
	needs, err := Needs("gpt-oss-120b", "v5.1", "closed")
	require.NoError(t, err)
	require.Equal(t, "gpt-oss-120b is not in round v5.1", needs[0].Why)
}

func TestOfficialEOSOption(t *testing.T) {
	require.Equal(t, "128001", OfficialEOSOption(llama8b))
	require.Empty(t, OfficialEOSOption(&models.Row{EOS: []int32{2}}))
	require.Empty(t, OfficialEOSOption(&models.Row{}))
}

var (
	gptOSS  = mustRow("gptoss")
	llama8b = mustRow("llama3.1-8b")
)

func mustRow(name string) *models.Row {
	m, err := models.Find(name)
	if err != nil {
		panic(err)
	}
	return m.Row
}
