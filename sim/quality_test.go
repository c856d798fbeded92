package sim

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// known is a data set's row by the names of its columns.
type known map[string]string

// Rows of each benchmark's own form. Texts are of the synthetic vocabulary; i numbers the rows.
var knownRows = map[string]func(i int, text string) known{
	models.ScoreSummaries:   func(_ int, text string) known { return known{"output": text} },
	models.ScoreAnswers:     func(_ int, text string) known { return known{"output": text} },
	models.ScoreLongContext: longRow,
	models.ScoreMixture:     mixtureRow,
	models.ScoreReasoning:   reasoningRow("gpqa", "mmlu_pro", "math500", "aime1983"),
	models.ScoreHarmony:     reasoningRow("gpqa_diamond", "aime25"),
	models.ScoreCatalogue: func(i int, _ string) known {
		return known{"ground_truth_category": fmt.Sprintf("Clothing > Shoes > Kind %d", i),
			"ground_truth_brand":         "Brand é " + fmt.Sprint(i),
			"ground_truth_is_secondhand": fmt.Sprint(i%2 == 0)}
	},
	models.ScoreFunctionCalls: callRow,
}

func longRow(i int, text string) known {
	switch i % 3 {
	case 0:
		return known{"metric": "rouge", "gt_output": text}
	case 1:
		return known{"metric": "niah_em", "gt_output": fmt.Sprintf("0f3b6a%02x-1234-4abc-9def-0123456789ab", i%256)}
	}
	return known{"metric": "qa_em", "gt_output": text + "|other"}
}

func mixtureRow(i int, text string) known {
	if i%2 == 0 {
		return known{"dataset": "OpenOrca", "gt_output": text, "id": fmt.Sprint("orca_", i)}
	}
	return known{"dataset": "GSM8K", "gt_output": fmt.Sprint(100 + i), "id": fmt.Sprint("gsm_", i)}
}

func reasoningRow(subsets ...string) func(int, string) known {
	return func(i int, _ string) known {
		subset := subsets[i%len(subsets)]
		truth := string("ABCD"[i%4])
		if strings.HasPrefix(subset, "aime") {
			truth = fmt.Sprintf("%03d", i%1000)
		} else if subset == "math500" {
			truth = fmt.Sprintf(`\frac{%d}{7}`, 7*i+1)
		}
		return known{"dataset": subset, "ground_truth": truth}
	}
}

func callRow(i int, _ string) known {
	if i%4 == 3 {
		return known{"subset": "irrelevance", "ground_truth": "[]", "func_description": "[]"}
	}
	subset := []string{"simple_python", "multiple", "parallel"}[i%4]
	return known{
		"subset": subset,
		"ground_truth": fmt.Sprintf(`[{"shop.find": {"name": ["shoe %d"], "count": [%d, ""], "size": [{"eu": [40, 41]}]}}]`,
			i, i),
		"func_description": `[{"name": "shop.find", "description": "", "parameters": {"type": "dict", "properties": {"name": {"type": "string"}, ` +
			`"count": {"type": "integer"}, "size": {"type": "dict"}}, "required": ["name"]}}]`,
	}
}

// knownDataset has n rows of a benchmark, with prompts and reference texts of the synthetic vocabulary.
func knownDataset(t testing.TB, row *models.Row, n int) *datasets.Dataset {
	t.Helper()
	records, err := datasets.Synth(&models.Row{Name: "texts",
		Columns: []models.Column{{Name: "input", Type: "text", Role: "input"}}}, n, 3)
	require.NoError(t, err)
	d := &datasets.Dataset{Path: "memory"}
	for i, r := range records {
		columns := knownRows[row.Scoring.Scorer](i, r.Output)
		s := datasets.Sample{Index: i, InputIDs: r.InputIDs, Target: r.Output}
		for _, name := range DatasetOptions(row).Keep {
			s.Kept = append(s.Kept, columns[name])
		}
		d.Samples = append(d.Samples, s)
	}
	return d
}

// scored answers every row in the given order, writes the contents of an accuracy log, and scores them.
func scored(t testing.TB, row *models.Row, d *datasets.Dataset, quality float64) *accuracy.Result {
	t.Helper()
	cfg := fastConfig()
	cfg.Row, cfg.Dataset, cfg.Answers, cfg.Quality, cfg.Seed, cfg.Vocabulary = row, d, AnswerReference, quality, 5, 1<<20
	if len(row.EOS) > 0 {
		cfg.EOS = row.EOS[len(row.EOS)-1]
	}
	s, err := New(cfg)
	require.NoError(t, err)
	tokens := datasets.SynthTokensOf(row)
	var entries []string
	for i := len(d.Samples) - 1; i >= 0; i-- {
		ids := d.Samples[i].InputIDs
		a := s.complete(ids, s.library.rowOfIDs(ids), limits{maxTokens: 1 << 16, minTokens: 1})
		var data []byte
		for _, id := range a.tokens {
			data = binary.LittleEndian.AppendUint32(data, uint32(id))
		}
		if row.TextAnswers {
			data = []byte(tokens.Decode(a.tokens, true))
		}
		entries = append(entries, fmt.Sprintf(`{"seq_id": %d, "qsl_idx": %d, "data": "%X", "token_count": %d}`, i, i, data,
			len(a.tokens)))
	}
	log := filepath.Join(t.TempDir(), "mlperf_log_accuracy.json")
	require.NoError(t, os.WriteFile(log, []byte("[\n"+strings.Join(entries, ",\n")+"\n]\n"), 0o644))
	b, err := accuracy.Find(row.Name)
	require.NoError(t, err)
	refs, err := b.References(&datasets.Dataset{Samples: cutKept(d.Samples, len(row.Scoring.Columns.Names()))})
	require.NoError(t, err)
	punkt, err := accuracy.EnglishPunkt()
	require.NoError(t, err)
	r, err := accuracy.Score(context.Background(),
		accuracy.Input{Benchmark: row.Name, Log: log, References: refs, Decoder: tokens, Punkt: punkt})
	require.NoError(t, err)
	return r
}

func cutKept(samples []datasets.Sample, n int) []datasets.Sample {
	out := make([]datasets.Sample, len(samples))
	for i, s := range samples {
		s.Kept = s.Kept[:n]
		out[i] = s
	}
	return out
}

// scale is the perfect score of a metric, and the tolerated error for sets of rows of different weight.
var scale = map[string]struct{ full, off float64 }{
	"rouge1": {100, 1}, "rouge2": {100, 1}, "rougeL": {100, 1}, "rougeLsum": {100, 1}, "exact_match": {100, 1.5},
	"gsm8k": {100, 1},
	"f1":    {1, 0.01}, "overall_accuracy": {100, 1.5}, "mAP": {100, 1.5}, "normalized_single_turn_score": {100, 2},
}

// The score equals the configured quality, for every scorer and in every order of the rows.
func TestScoreIsTheQuality(t *testing.T) {
	for _, row := range models.Rows() {
		if row.Scoring.Scorer == "" {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			some, many := knownDataset(t, row, 40), knownDataset(t, row, 240)
			for quality, d := range map[float64]*datasets.Dataset{0: some, 0.83: many, 1: some} {
				r := scored(t, row, d, quality)
				checked := 0
				for _, target := range row.Scoring.Targets {
					want, ok := scale[target.Metric]
					m, there := r.Metric(target.Metric)
					if !ok || !there || target.Metric == "mbxp" {
						continue
					}
					require.InDelta(t, quality*want.full, m.Value, want.off, "%s at quality %v", target.Metric, quality)
					checked++
				}
				require.Positive(t, checked)
			}
		})
	}
}

// Every prefix of the data set has the same quality.
func TestRightRowsAreSpreadEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quality, seed := rapid.Float64Range(0, 1).Draw(t, "quality"), rapid.Uint64().Draw(t, "seed")
		refs := make([]models.Reference, rapid.IntRange(1, 200).Draw(t, "rows"))
		first := make([]int32, len(refs))
		for i := range refs {
			refs[i].Subset = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "subset")
			first[i] = int32(i)
		}
		right := rightRows(refs, first, quality, seed)
		count, total := map[string]float64{}, map[string]float64{}
		for i, r := range refs {
			total[r.Subset]++
			if right[i] {
				count[r.Subset]++
			}
			if d := count[r.Subset] - quality*total[r.Subset]; d < -1.001 || d > 1.001 {
				t.Fatalf("%v of %v rows are right at quality %v", count[r.Subset], total[r.Subset], quality)
			}
		}
	})
}

func TestEqualPromptsAreAnsweredAlike(t *testing.T) {
	refs := make([]models.Reference, 40)
	first := make([]int32, 40)
	for i := range first {
		first[i] = int32(i / 8 * 8)
	}
	right := rightRows(refs, first, 0.6, 1)
	n := 0
	for i := range right {
		require.Equal(t, right[first[i]], right[i])
		if right[i] {
			n++
		}
	}
	require.Equal(t, 24, n)
}

func TestQualityNeedsReferences(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Quality = 0.5 },
		func(c *Config) { c.Quality, c.Answers = 0.5, AnswerRandom },
		func(c *Config) { c.Quality = 1.5 },
		func(c *Config) { c.Quality = -1 },
	} {
		cfg := fastConfig()
		change(&cfg)
		_, err := New(cfg)
		require.ErrorContains(t, err, "quality")
	}
}

func TestCodeAnswers(t *testing.T) {
	q := question{Reference: models.Reference{Target: "q-1", Subset: "livecodebench"},
		output: "So:\n```python\nprint(1)\n```\nDone.", filler: newFiller(func(func(string) bool) {})}
	require.Equal(t, "```python\nprint(1)\n```", codeBlock(&q, true))
	q.program = "print(2)"
	require.Equal(t, "```python\nprint(2)\n```", codeBlock(&q, true))
	require.Equal(t, "```python\nraise SystemExit(1)\n```", codeBlock(&q, false))
	q.Subset = "MBXP"
	require.Equal(t, "print(2)\n```", mixture(&q, true))
	require.NotContains(t, mixture(&q, false), "print")
}

func TestFillerHasNoWordInCommon(t *testing.T) {
	f := newFiller(func(yield func(string) bool) { yield("several green mountains stand behind the village") })
	got := f.unlike("Green mountains are several.", 3)
	require.Len(t, strings.Fields(got), 4)
	for _, w := range []string{"green", "mountains", "several"} {
		require.NotContains(t, got, w)
	}
	require.Equal(t, ".", (&filler{words: []string{"green"}}).unlike("green", 1))
	f = newFiller(func(yield func(string) bool) {
		yield("four letters, Capital words, ümlaut words, zuzka twice: zuzka")
	})
	require.Equal(t, []string{"letters", "words", "zuzka", "twice", "zyxel"}, f.words[:5])
	require.Equal(t, 1, strings.Count(strings.Join(f.words, " "), "zuzka"))
}

func TestCallsAreToolCalls(t *testing.T) {
	q := question{Reference: models.Reference{Subset: "simple_java",
		Target: `[{"a.b": {"n": [5], "s": ["x"], "free": ["", 1]}}]`}}
	var calls []toolCall
	require.NoError(t, json.Unmarshal([]byte(functionCalls(&q, true)), &calls))
	require.Equal(t, []toolCall{{"call_a", "function", functionCall{"a_b", `{"n":"5","s":"x"}`}}}, calls)
	require.Equal(t, "None of the functions can answer that.", functionCalls(&q, false))
}
