package models

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name     string
		row      string
		scenario Scenario
		served   string
		notice   string
	}{
		{name: "llama3.1-8b", row: "llama3.1-8b"},
		{name: "LLAMA3.1-8B", row: "llama3.1-8b"},
		{name: "llama3_1-8b", row: "llama3.1-8b", notice: "model llama3_1-8b: benchmark llama3.1-8b"},
		{name: "llama31_8b", row: "llama3.1-8b", notice: "model llama31_8b: benchmark llama3.1-8b"},
		{name: "llama3_1-8b-edge", row: "llama3.1-8b-edge", notice: "model llama3_1-8b-edge: benchmark llama3.1-8b-edge"},
		{name: "llama3.1-8b-interactive", row: "llama3.1-8b", scenario: Interactive,
			notice: "model llama3.1-8b-interactive: benchmark llama3.1-8b, scenario Interactive"},
		{name: "llama3_1-8b-Interactive", row: "llama3.1-8b", scenario: Interactive,
			notice: "model llama3_1-8b-Interactive: benchmark llama3.1-8b, scenario Interactive"},
		{name: "qwen3vl", row: "qwen3-vl-235b-a22b", notice: "model qwen3vl: benchmark qwen3-vl-235b-a22b"},
		{name: "gptoss120b", row: "gpt-oss-120b", notice: "model gptoss120b: benchmark gpt-oss-120b"},
		{name: "gpt_oss_120b", row: "gpt-oss-120b", notice: "model gpt_oss_120b: benchmark gpt-oss-120b"},
		{name: "deepseek_r1", row: "deepseek-r1", notice: "model deepseek_r1: benchmark deepseek-r1"},
		{name: "llama2_70b-99", row: "llama2-70b-99", notice: "model llama2_70b-99: benchmark llama2-70b-99"},
		{name: "llama2-70b-99.9", row: "llama2-70b-99.9"},
		{name: "llama2-70b-interactive-99.9", row: "llama2-70b-99.9", scenario: Interactive,
			notice: "model llama2-70b-interactive-99.9: benchmark llama2-70b-99.9, scenario Interactive"},
		{name: "openai/gpt-oss-120b", row: "gpt-oss-120b", served: "openai/gpt-oss-120b",
			notice: "model openai/gpt-oss-120b: benchmark gpt-oss-120b, served model name openai/gpt-oss-120b"},
		{name: "meta-llama/Llama-3.1-8B-Instruct", row: "llama3.1-8b", served: "meta-llama/Llama-3.1-8B-Instruct",
			notice: "model meta-llama/Llama-3.1-8B-Instruct: benchmark llama3.1-8b, served model name " +
				"meta-llama/Llama-3.1-8B-Instruct"},
		{name: "generic", row: "generic"},
		{name: "gptj-99.9", row: "gptj", notice: "model gptj-99.9: benchmark gptj"},
	} {
		t.Run(strings.ReplaceAll(c.name, "/", ":"), func(t *testing.T) {
			m, err := Find(c.name)
			require.NoError(t, err)
			require.Equal(t, c.row, m.Row.Name)
			require.Equal(t, c.scenario, m.Scenario)
			require.Equal(t, c.served, m.ServedModel)
			require.Equal(t, c.notice, m.Notice)
		})
	}
}

func TestFindRejects(t *testing.T) {
	for _, c := range []struct {
		name       string
		ambiguous  bool
		candidates []string
		text       string
	}{
		{"llama2-70b", true, []string{"llama2-70b-99", "llama2-70b-99.9"},
			`model "llama2-70b" matches several benchmarks: use one of llama2-70b-99, llama2-70b-99.9`},
		{"llama270b", true, []string{"llama2-70b-99", "llama2-70b-99.9"}, "use one of"},
		{"llama2-70b-interactive", true, []string{"llama2-70b-99", "llama2-70b-99.9"}, "use one of"},
		{"meta-llama/Llama-2-70b-chat-hf", true, []string{"llama2-70b-99", "llama2-70b-99.9"}, "use one of"},
		{"llama3.1-8", false, []string{"llama3.1-8b", "llama3.1-8b-edge"}, "similar names are llama3.1-8b"},
		{"gpt-oss-20b", false, []string{"gpt-oss-120b"}, "gpt-oss-120b"},
		{"openai/gpt-oss-20b", false, []string{"gpt-oss-120b"}, "gpt-oss-120b"},
		{"mixtral-interactive", false, nil, "unknown model"},
		{"xyzzy", false, nil, "no known name is similar; `mlperf-go models` lists all benchmarks, and " +
			"--model generic --served-model NAME"},
		{"", false, nil, "unknown model"},
		{"/", false, nil, "unknown model"},
		{"interactive", false, nil, "unknown model"},
	} {
		t.Run(strings.ReplaceAll(c.name, "/", ":"), func(t *testing.T) {
			_, err := Find(c.name)
			var e *NameError
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.ambiguous, e.Ambiguous)
			for _, want := range c.candidates {
				require.Contains(t, e.Candidates, want)
			}
			require.ErrorContains(t, err, c.text)
		})
	}
}

// Find returns the generic row only for the generic row's own name.
func TestFindNeverFallsBackToGeneric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		m, err := Find(name)
		if err == nil && m.Row == &generic && squeeze(name) != Generic {
			t.Fatalf("%q became the generic row", name)
		}
	})
}

func TestAliasesAreUnique(t *testing.T) {
	owner := map[string]string{}
	for _, r := range Rows() {
		for _, n := range append([]string{r.Name}, r.Aliases...) {
			key := squeeze(n)
			if other, taken := owner[key]; taken {
				require.Equal(t, r.Name, other, "%s", n)
			}
			owner[key] = r.Name
			require.NotContains(t, ambiguous, key)
			require.NotContains(t, n, "/", "Hugging Face ids are served models")
		}
	}
	for id, row := range servedOwner {
		m, err := Find(id)
		require.NoError(t, err)
		require.Equal(t, row, m.Row.Name)
	}
}

func TestEveryServedModelSelectsItsRowOrAsks(t *testing.T) {
	for _, r := range Rows() {
		for _, id := range r.ServedModels {
			m, err := Find(strings.ToUpper(id))
			if err != nil {
				require.ErrorContains(t, err, r.Name)
				continue
			}
			require.Contains(t, m.Row.ServedModels, id)
		}
	}
}

func TestRowsAreComplete(t *testing.T) {
	types := []string{"ids", "text", "object", "array", "int", "number", "bool", "messages", "any"}
	for _, r := range Rows() {
		t.Run(r.Name, func(t *testing.T) {
			require.NotEmpty(t, r.Source)
			require.NotEmpty(t, r.Scenarios)
			require.NotEmpty(t, r.Columns)
			require.Positive(t, r.MinOutputTokens)
			for _, m := range []Mode{Performance, Accuracy} {
				require.Contains(t, r.Sampling, m)
			}
			seen := map[string]bool{}
			for _, c := range r.Columns {
				require.Subset(t, types, strings.Split(c.Type, "|"))
				for _, n := range append([]string{c.Name}, c.Aliases...) {
					require.False(t, seen[n], "column %s stands twice", n)
					seen[n] = true
				}
			}
			for _, s := range r.Scenarios {
				require.Equal(t, s.LoadGen != Offline, s.Stream)
				require.Equal(t, s.Scenario == Interactive, s.Scenario != s.LoadGen)
				if s.LoadGenModel != Generic {
					require.Contains(t, config.LoadGenModels(), s.LoadGenModel)
				}
			}
			for _, id := range r.EOS {
				require.Less(t, int(id), r.Vocabulary)
			}
			for _, special := range r.Special {
				require.Less(t, int(special.ID), r.Vocabulary)
			}
		})
	}
}

// The expected numbers of every benchmark come from the reference implementations, the rules and the models'
// configurations.
func TestNumbers(t *testing.T) {
	llama31 := []int32{128001, 128008, 128009}
	want := map[string]struct {
		samples, performance, accuracy, mostInput, leastOutput, vocabulary, bos int
		eos                                                                     []int32
	}{
		"deepseek-r1":        {4388, 4388, 0, 3140, 1, 129280, 0, []int32{1}},
		"gpt-oss-120b":       {6396, 6396, 4395, 0, 1, 201088, -1, []int32{199999, 200012, 200002}},
		"llama2-70b-99":      {24576, 24576, 0, 1024, 1, 32000, 1, []int32{2}},
		"llama2-70b-99.9":    {24576, 24576, 0, 1024, 1, 32000, 1, []int32{2}},
		"llama3.1-405b":      {8313, 8313, 0, 20000, 2, 128256, 128000, llama31},
		"llama3.1-8b":        {13368, 13368, 0, 0, 1, 128256, 128000, llama31},
		"llama3.1-8b-edge":   {5000, 5000, 0, 0, 1, 128256, 128000, llama31},
		"mixtral-8x7b":       {15000, 15000, 0, 0, 2, 32000, 1, []int32{2}},
		"qwen3-vl-235b-a22b": {48289, 48289, 0, 0, 1, 151936, -1, []int32{151643, 151645}},
		"qwen3.6-27b":        {995, 0, 995, 0, 1, 0, -1, nil},
		"gptj":               {13368, 13368, 0, 1919, 30, 50400, -1, []int32{50256}},
		"generic":            {0, 0, 0, 0, 1, 0, -1, nil},
	}
	require.Len(t, want, len(Rows()))
	for _, r := range Rows() {
		w := want[r.Name]
		require.Equal(t, []int{w.samples, w.performance, w.accuracy, w.mostInput, w.leastOutput, w.vocabulary, w.bos},
			[]int{r.DatasetSamples, r.PerformanceCount, r.AccuracyCount, r.MaxInputTokens, r.MinOutputTokens, r.Vocabulary,
				int(r.BOS)}, r.Name)
		require.Equal(t, w.eos, r.EOS, r.Name)
	}
}

// The constants of the main benchmark, copied from docs/reference/benchmarks.md.
func TestLlama31_8b(t *testing.T) {
	m, err := Find("llama3.1-8b")
	require.NoError(t, err)
	r := m.Row
	require.Equal(t, []int{13368, 13368, 128256, 128000, 1},
		[]int{r.DatasetSamples, r.PerformanceCount, r.Vocabulary, int(r.BOS), r.MinOutputTokens})
	require.Equal(t, []int32{128001, 128008, 128009}, r.EOS)
	for _, mode := range []Mode{Performance, Accuracy} {
		require.Equal(t, "temperature 0, top_p 1, top_k 1, seed 42, min_tokens 1, max_tokens 128", r.Sampling[mode].String())
	}
	s, err := r.Scenario("interactive")
	require.NoError(t, err)
	require.Equal(t, ScenarioRow{
		Scenario: Interactive, LoadGenModel: "llama3_1-8b-interactive", LoadGen: Server,
		TTFTLimit: 500 * time.Millisecond, TPOTLimit: 30 * time.Millisecond,
		MinQueries: 100, MinDuration: 10 * time.Minute, Stream: true,
	}, *s)
}

func TestScenarioOfRow(t *testing.T) {
	_, err := llama31_8b.Scenario("single_stream")
	require.EqualError(t, err, "model llama3.1-8b has no scenario SingleStream; it has Offline, Server, Interactive")
	_, err = llama31_8b.Scenario("Ofline")
	require.EqualError(t, err, `unknown scenario "Ofline": use one of Offline, Server, Interactive, SingleStream`)
	s, err := llama31_8bEdge.Scenario("SINGLESTREAM")
	require.NoError(t, err)
	require.Equal(t, SingleStream, s.Scenario)
}

func TestParseMode(t *testing.T) {
	m, err := ParseMode("Accuracy")
	require.NoError(t, err)
	require.Equal(t, Accuracy, m)
	_, err = ParseMode("submission")
	require.EqualError(t, err, `unknown mode "submission": use one of performance, accuracy`)
}

func TestDescribe(t *testing.T) {
	for _, r := range Rows() {
		fields := r.Describe()
		for _, f := range fields {
			require.NotEmpty(t, f.Name)
			require.NotEmpty(t, f.Value, "%s %s", r.Name, f.Name)
		}
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == "scenario "+string(r.Scenarios[0].Scenario) })
		require.GreaterOrEqual(t, i, 0)
	}
	line := llama31_8b.Scenarios[2].String()
	require.Equal(t, "LoadGen llama3_1-8b-interactive as Server, p99 TTFT under 500ms, p99 TPOT under 30ms, at least "+
		"100 queries and 10m0s, streamed", line)
}

// Lists show current benchmarks by name, then retired ones by name, then the generic row.
func TestOrderOfRows(t *testing.T) {
	var names [2][]string
	rows := Rows()
	require.Equal(t, Generic, rows[len(rows)-1].Name)
	for i, r := range rows[:len(rows)-1] {
		require.False(t, i > 0 && rows[i-1].Retired && !r.Retired, r.Name)
		group := 0
		if r.Retired {
			group = 1
		}
		names[group] = append(names[group], r.Name)
	}
	for _, group := range names {
		require.NotEmpty(t, group)
		require.IsIncreasing(t, group)
	}
}

// Each limit equals, to the last bit, the product that its source prints.
func TestTargetsAreTheReferencesTimesTheFactor(t *testing.T) {
	for _, r := range Rows() {
		if r.Scoring.Scorer == "" {
			require.Equal(t, Generic, r.Name)
			continue
		}
		require.Contains(t, Scorings(), r.Scoring.Scorer)
		require.NotEmpty(t, r.Scoring.Source)
		require.NotEmpty(t, r.Scoring.Columns.Target)
		for _, name := range r.Scoring.Columns.Names() {
			require.True(t, slices.ContainsFunc(r.Columns, func(c Column) bool { return c.Name == name }), "%s: no column %s",
				r.Name, name)
		}
		targets := slices.Clone(r.Scoring.Targets)
		for _, own := range r.Scoring.Scenarios {
			targets = append(targets, own...)
		}
		require.NotEmpty(t, targets)
		for _, target := range targets {
			if target.LowFactor > 0 {
				require.Equal(t, target.Min, target.LowFactor*target.Reference, "%s %s", r.Name, target.Metric)
			}
			if target.HighFactor > 0 {
				require.Equal(t, target.Max, target.HighFactor*target.Reference, "%s %s", r.Name, target.Metric)
			}
		}
	}
}

func TestEdgeAgentic(t *testing.T) {
	m, err := Find("qwen3.6-27b")
	require.NoError(t, err)
	require.Equal(t, "temperature 0, seed 42, max_tokens 1024", m.Row.Sampling[Accuracy].String())
	require.Equal(t, 995, m.Row.AccuracyCount)
	require.Equal(t, "at least 85.3677 (0.99 x 86.23)", m.Row.Scoring.Targets[2].String())
}
