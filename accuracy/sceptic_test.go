package accuracy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/race"
)

// These logs score better than the run deserves. The scores equal the reference's, but the result claims no pass.
func TestDoubtfulLogsClaimNothing(t *testing.T) {
	words := []Reference{{Target: "one two"}, {Target: "three four"}}
	contest := []Reference{{Target: "7", Subset: "aime25"}, {Target: "8", Subset: "aime25"}}
	long := []Reference{{Target: "Paris", Metric: "qa_em"}, {Target: "Rome", Metric: "qa_em"}}
	tools := []Reference{{Target: "[]", Function: "[]", Subset: "irrelevance"},
		{Target: "[]", Function: "[]", Subset: "live_irrelevance"}}
	const final = "<|channel|>final<|message|>"
	seven, eight := answer{0, final + `\boxed{7}`}, answer{1, final + `\boxed{8}`}
	for _, c := range []struct {
		name, model string
		refs        []Reference
		log         []answer
		want        string // expected text in Unclaimed; empty: the score may be claimed
	}{
		{"as it should be", "llama3.1-8b", words, []answer{{1, "three four"}, {0, "one two"}}, ""},
		{"hard samples left out", "llama3.1-8b", words, []answer{{0, "one two"}},
			"1 of the data set's 2 samples has no answer"},
		{"repeats missing", "gpt-oss-120b", contest, []answer{seven}, "1 of the data set's 2 samples has no answer"},
		{"right answers many times", "gpt-oss-120b", contest, []answer{seven, {1, "x"}, seven, seven},
			"2 entries are for a sample that was answered before (counted, like in the reference)"},
		{"the better answer first", "llama3.1-8b", words, []answer{{0, "one two"}, {1, "three four"}, {1, "x"}},
			"1 entry is for a sample that was answered before (left out"},
		{"a data set of its easy samples", "gpt-oss-120b", contest[:1], []answer{seven, eight},
			"1 entry is for samples beyond the data set's 1"},
		{"no answer at all is inside every label", "llama3.1-405b", long, []answer{{0, ""}, {1, ""}},
			"2 answers are empty; their samples failed"},
		{"a blank is inside every label", "llama3.1-405b", long, []answer{{0, "Rome, Paris"}, {1, " "}},
			"1 answer is blank and counts as correct, like in the reference"},
		{"no answer at all is no call", "qwen3.6-27b", tools, []answer{{0, ""}, {1, "No."}},
			"1 answer is empty; its sample failed"},
		{"ids that no model has", "llama3.1-8b", words, []answer{{1, "three four"}, {0, "one two\U000f0000"}},
			"1 answer has token ids outside of the model's vocabulary (sample 0: 983040)"},
		{"ids of another vocabulary", "llama2-70b-99", words, []answer{{0, "one two"}, {1, "three four\U0001f600"}},
			"1 answer has token ids outside of the model's vocabulary (sample 1: 128512)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{Benchmark: c.model, References: c.refs, Decoder: byteDecoder{}, Punkt: plainPunkt(), Rehearsal: true}
			in.Log = writeLog(t, scorers[mustFind(t, c.model).Scorer].text != utf8Text, c.log...)
			r, _ := scored(t, in)
			if c.want == "" {
				require.Empty(t, r.Unclaimed)
				require.True(t, r.Reached(true))
				return
			}
			require.Contains(t, strings.Join(r.Unclaimed, "\n"), c.want)
			require.Nil(t, r.Pass)
			require.False(t, r.Reached(true))
			require.False(t, r.Reached(false))
		})
	}
	// Outside of a rehearsal, a part of the data set does not count as the whole.
	in := Input{Benchmark: "llama3.1-8b", References: words, Decoder: byteDecoder{}, Punkt: plainPunkt(),
		Log: writeLog(t, true, answer{0, "one two"}, answer{1, "three four"})}
	r, _ := scored(t, in)
	require.Equal(t, []string{"2 answers were scored; a submission needs 13368"}, r.Unclaimed)
	require.False(t, r.Reached(false))
}

func mustFind(t *testing.T, model string) *Benchmark {
	t.Helper()
	b, err := Find(model)
	require.NoError(t, err)
	return b
}

func TestTokenCountOfTheLogIsCompared(t *testing.T) {
	log := writeLog(t, true, answer{0, "one two"})
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, []byte(strings.Replace(string(text), `"token_count" : 7`, `"token_count" : 700`,
		1)), 0o644))
	r, _ := scored(t, Input{Benchmark: "llama3.1-8b", References: []Reference{{Target: "one two"}}, Decoder: byteDecoder{},
		Punkt: plainPunkt(), Rehearsal: true, Log: log})
	require.Contains(t, r.Notes, "1 answer differs in length from the log's token_count")
}

// The references accept digits of other scripts too; other characters are wrong.
func TestNonASCIIDigits(t *testing.T) {
	for text, want := range map[string]int{`\boxed{7}`: 7, `\boxed{७}`: 7, `\boxed{１２}`: 12, `\boxed{𝟕}`: 7,
		`\boxed{007}`: 7} {
		n, ok := aimeAnswer(text)
		require.True(t, ok, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{`\boxed{²}`, `\boxed{Ⅶ}`, `\boxed{七}`, `\boxed{½}`, `\boxed{NaN}`, `\boxed{-7}`,
		`\boxed{7.0}`, `\boxed{1e1}`, `\boxed{1000}`, `\boxed{` + strings.Repeat("9", 5000) + `}`} {
		_, ok := aimeAnswer(text)
		require.False(t, ok, "%.40s", text)
	}
	for _, text := range []string{"The answer is NaN", "The answer is inf", "The answer is ∞", "nan", ""} {
		require.False(t, gsm8kCorrect(gsm8kNumber(text), "12"), text)
		require.False(t, gsm8kCorrect(gsm8kNumber(text), "nan"), "nan equals nothing, itself among it")
	}
}

// hostilePieces are texts that could make patterns and parsers slow.
var hostilePieces = []string{
	`\boxed{`, "Answer: ", "ANSWER: A ", "f(", "f(a=1)", "f(a='", "[", `{"a":`, "```python\n", "**", "<|channel|>final",
	"<|channel|>final<|message|>",
	". . ", "a.", "\"\\", " ", "\n", "१", "1,", "x^", `\frac{`, `\sqrt`, "((", "İΣ.", "A B ",
	"12345678-1234-1234-1234-123456789012", "The answer is ", "new ArrayList<>(", "1/", "a ",
}

// Every metric scores answers of a megabyte as wrong, or rejects them, in bounded time.
func TestAnswersOfAMegabyte(t *testing.T) {
	refs := map[string]Reference{
		models.ScoreSummaries: {Target: "one two"}, models.ScoreAnswers: {Target: "one two"},
		models.ScoreLongContext: {Target: "Paris", Metric: "qa_em"},
		models.ScoreMixture:     {Target: "12", Subset: "GSM8K"},
		models.ScoreReasoning:   {Target: `x+\sqrt{2}`, Subset: "math500"},
		models.ScoreHarmony:     {Target: "13", Subset: "aime25"},
		models.ScoreCatalogue:   {Target: "A > B", Brand: "x", Secondhand: "true"},
		models.ScoreFunctionCalls: {Target: `[{"g":{"a":[1]}}]`, Subset: "simple_python",
			Function: `[{"name":"g","parameters":{"type":"dict","properties":{"a":{"type":"integer"}},"required":["a"]}}]`},
	}
	length := 1 << 20
	if testing.Short() || race.Enabled {
		length = 1 << 14
	}
	seen := map[string]bool{}
	for _, b := range Benchmarks() {
		if seen[b.Scorer] {
			continue
		}
		seen[b.Scorer] = true
		require.Contains(t, refs, b.Scorer)
		t.Run(b.Scorer, func(t *testing.T) {
			for i, piece := range hostilePieces {
				if (i+len(b.Scorer))%3 != 0 && piece != "Answer: " && length > 1<<14 {
					piece = piece[:0] // each scorer gets another third of the pieces
				}
				if piece == "" {
					continue
				}
				in := Input{Benchmark: b.Name, References: []Reference{refs[b.Scorer]}, Decoder: byteDecoder{}, Punkt: plainPunkt(),
					Rehearsal: true, Workers: 1}
				in.Log = writeLog(t, scorers[b.Scorer].text != utf8Text, answer{0, strings.Repeat(piece, length/len(piece))})
				from := processTime(t)
				r, err := Score(context.Background(), in)
				took := processTime(t) - from
				require.Less(t, took, 20*time.Second, "%q again and again", piece)
				if err != nil {
					require.ErrorContains(t, err, "the answer to sample 0")
					continue
				}
				for _, m := range r.Metrics {
					require.True(t, len(r.Unclaimed) > 0 || m.Pass == nil || !*m.Pass || corpusTotals[m.Name],
						"%q again and again: %s is %v", piece, m.Name, m.Value)
				}
			}
		})
	}
	require.Len(t, seen, len(refs))
}

// processTime returns the CPU time of this process so far.
func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Score rejects a log with one long line, in another format, or with invalid numbers, and the error names the record.
func TestLogsOfAnotherForm(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`: "the opening [",
		`[{"seq_id" : 0, "qsl_idx" : NaN, "data" : ""}]`:                           "its qsl_idx is not an integer",
		`[{"seq_id" : 0, "qsl_idx" : -1, "data" : ""}]`:                            "it has no qsl_idx",
		`[{"seq_id" : 0, "qsl_idx" : 99999999999999999999, "data" : ""}]`:          "its qsl_idx is not an integer",
		`[{"seq_id" : 0, "qsl_idx" : 0, "data" : "0G"}]`:                           "not hexadecimal",
		`[{"seq_id" : 0, "qsl_idx" : 0, "data" : "00", "score" : 100}]`:            "unknown field",
		fmt.Sprintf(`[{"seq_id" : 0, "qsl_idx" : 0, "data" : "%06d"}]`, 0):         "not a multiple of 4-byte tokens",
		`[{"seq_id" : 0, "qsl_idx" : 0, "data" : "00"}] [{"seq_id" : 1}]`:          "expected the end of the file",
		`[{"seq_id" : 0, "qsl_idx" : 0, "qsl_idx" : 1, "data" : "61000000"}, nan]`: "",
	} {
		path := filepath.Join(t.TempDir(), "mlperf_log_accuracy.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := Score(context.Background(), Input{Benchmark: "llama3.1-8b", Log: path,
			References: []Reference{{Target: "one"}}, Decoder: byteDecoder{}, Punkt: plainPunkt()})
		require.ErrorContains(t, err, want, text)
	}
}
