package accuracy

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/stretchr/testify/require"
)

// byteDecoder decodes each token to a character; 0 is special.
type byteDecoder struct{}

func (byteDecoder) Decode(ids []int32, skipSpecial bool) string {
	var b strings.Builder
	for _, id := range ids {
		if id != 0 || !skipSpecial {
			b.WriteRune(rune(id))
		}
	}
	return b.String()
}

// answer is one entry of a log under test.
type answer struct {
	index int
	text  string
}

// writeLog writes an accuracy log with texts as tokens of byteDecoder or as bytes.
func writeLog(t testing.TB, tokens bool, answers ...answer) string {
	t.Helper()
	var entries []string
	for i, a := range answers {
		data := []byte(a.text)
		if tokens {
			data = nil
			for _, r := range a.text {
				data = binary.LittleEndian.AppendUint32(data, uint32(r))
			}
		}
		entries = append(entries, fmt.Sprintf(`{"seq_id" : %d, "qsl_idx" : %d, "data" : "%s", "token_count" : %d}`, i,
			a.index, strings.ToUpper(hex.EncodeToString(data)), len(data)/4))
	}
	path := filepath.Join(t.TempDir(), "mlperf_log_accuracy.json")
	require.NoError(t, os.WriteFile(path, []byte("[\n"+strings.Join(entries, ",\n")+"\n]\n"), 0o644))
	return path
}

// plainPunkt splits after every full stop.
func plainPunkt() *Punkt { return newPunkt() }

func scored(t *testing.T, in Input) (*Result, string) {
	t.Helper()
	r, err := Score(context.Background(), in)
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	return r, text.String()
}

func TestEveryModelHasAScorer(t *testing.T) {
	for _, row := range models.Rows() {
		if row.Name == models.Generic {
			continue
		}
		b, err := Find(row.Name)
		require.NoError(t, err)
		require.Contains(t, scorers, b.Scorer)
		require.NotEmpty(t, b.Targets)
		names := b.Columns.Names()
		for _, name := range names {
			found := false
			for _, c := range row.Columns {
				found = found || c.Name == name
			}
			require.True(t, found, "%s reads the column %s, which its row of the registry does not have", row.Name, name)
		}
	}
	var names []string
	for _, b := range Benchmarks() {
		names = append(names, b.Name)
	}
	require.Contains(t, names, "gptj")
	_, err := Find("llama9")
	require.EqualError(t, err, `model "llama9" has no scorer; the benchmarks with a scorer are `+strings.Join(names, ", "))
}

// A perfect answer to every sample has the score that the reference scripts call 100.
func TestSummariesFromADataset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"tok_input":[1],"output":"The first one. It is short."},{"tok_input":[2],"output":"Another text\nover two lines."}]`), 0o644))
	b, err := Find("llama3.1-8b")
	require.NoError(t, err)
	m, err := models.Find("llama3.1-8b")
	require.NoError(t, err)
	d, err := datasets.Open(path, b.DatasetOptions(datasets.ForRow(m.Row)))
	require.NoError(t, err)
	refs, err := b.References(d)
	require.NoError(t, err)
	var done, total int
	r, text := scored(t, Input{Benchmark: b.Name, References: refs, Punkt: plainPunkt(), Decoder: byteDecoder{},
		PerSample: true,
		Log: writeLog(t, true, answer{1, "Another text over two lines.\x00"}, answer{0, " The first one. It is short. "},
			answer{1, "again"}),
		Progress: func(d, of int) { done, total = d, of }})
	require.Equal(t, "Results\n\n{'rouge1': '100.0', 'rouge2': '100.0', 'rougeL': '100.0', 'rougeLsum': '100.0', "+
		"'gen_len': 55, 'gen_num': 2}\n", text)
	require.Equal(t, []int{2, 2}, []int{done, total})
	require.Equal(t, 1, r.Duplicates)
	require.Nil(t, r.Pass)
	m0, _ := r.Metric("rouge1")
	require.True(t, *m0.Pass)
	length, _ := r.Metric("gen_len")
	require.Equal(t, "a sum over 2 samples; the target is for 13368", length.Note)
	require.Equal(t, []string{
		"1 entry is for a sample that was answered before (left out, like in the reference); an accuracy test " +
			"asks each sample once, so this is the log of another test or of several tests",
		"2 answers were scored; a submission needs 13368",
	}, r.Unclaimed)
	require.Empty(t, r.Notes)

	_, err = b.References(&datasets.Dataset{Path: "set.json", Samples: make([]datasets.Sample, 1)})
	require.EqualError(t, err, "scoring with the data set set.json: its columns output were not kept; "+
		"read it with the options of the benchmark llama3.1-8b")

	var js strings.Builder
	require.NoError(t, r.WriteJSON(&js))
	require.True(t, json.Valid([]byte(js.String())))
	require.Contains(t, js.String(), `"scores":{"rouge1":100,"rouge2":100,"rougeL":100,"rougeLsum":100}`)
	require.Contains(t, js.String(), `"pass":null,"unclaimed":["1 entry`)
}

func TestAnswersCountTokens(t *testing.T) {
	_, text := scored(t, Input{Benchmark: "llama2-70b-99", References: []Reference{{Target: "one two"}},
		Punkt: plainPunkt(), Decoder: byteDecoder{},
		Log: writeLog(t, true, answer{0, "one\x00"})})
	require.Equal(t, "Results\n\n{'rouge1': 66.6667, 'rouge2': 0.0, 'rougeL': 66.6667, 'rougeLsum': 66.6667, 'gen_len': "+
		"3, 'gen_num': 1, 'gen_tok_len': 4, 'tokens_per_sample': 4.0}\n", text)
}

func TestLongContext(t *testing.T) {
	refs := []Reference{{Target: "Paris|London", Metric: "qa_em", Subset: "a"},
		{Target: "one two", Metric: "rouge", Subset: "b"}, {Target: "x", Metric: "f1"}}
	in := Input{Benchmark: "llama3.1-405b", References: refs, Punkt: plainPunkt(), Decoder: byteDecoder{},
		Log: writeLog(t, true, answer{0, "Answer: london"}, answer{1, "two"})}
	r, text := scored(t, in)
	require.Equal(t, "Results\n\n{'exact_match': 100.0, 'rougeL': 66.66666666666666, 'gen_len': 17, 'gen_num': 2, "+
		"'gen_tok_len': 17, 'tokens_per_sample': 8.5}\n", text)
	require.Equal(t, []Subset{{Name: "a", Samples: 1, Means: map[string]float64{"exact_match": 100}},
		{Name: "b", Samples: 1, Means: map[string]float64{"rougeL": 66.66666666666666}}}, r.Subsets)
	require.Contains(t, r.Unclaimed, "1 of the data set's 3 samples has no answer")
	require.Nil(t, r.Pass, "nothing is claimed while answers are missing")
	in.Log = writeLog(t, true, answer{2, "x"})
	_, err := Score(context.Background(), in)
	require.ErrorContains(t, err, `the answer to sample 2: its metric in the data set is "f1", expected rouge, niah_em or qa_em`)
}

// judged is a judge that accepts programs that contain this word.
type judged string

func (j judged) JudgeCode(_ context.Context, task CodeTask) (bool, error) {
	return strings.Contains(task.Code, string(j)), nil
}

func TestMixture(t *testing.T) {
	refs := []Reference{{Target: "one two", Subset: "OpenOrca"}, {Target: "12", Subset: "GSM8K"},
		{Target: "assert", Subset: "MBXP", ID: "python_f"}, {Subset: "MBXP", ID: "go_f"}}
	in := Input{Benchmark: "mixtral-8x7b", References: refs, Punkt: plainPunkt(), Decoder: byteDecoder{},
		Log: writeLog(t, true, answer{0, "one two"}, answer{1, "The answer is 12."}, answer{2, " good```"}, answer{3, "x"},
			answer{3, "x"}), Rehearsal: true}
	r, text := scored(t, in)
	require.Nil(t, r.Pass, "nothing is claimed while programs are not judged")
	require.Equal(t, "Results\n\n{'rouge1': 100.0, 'rouge2': 100.0, 'rougeL': 100.0, 'rougeLsum': 100.0, 'gsm8k': "+
		"100.0, 'gen_len': 7, 'gen_num': 5, 'gen_tok_len': 33, 'tokens_per_sample': 6.6}\n"+
		"\nnot scored: 1 sample of MBXP: the answers are programs, but no judge was given to run them in a sandbox\n", text)
	in.Code = judged("good")
	r, text = scored(t, in)
	require.Contains(t, text, "'gsm8k': 100.0, 'mbxp': 100.0, ")
	require.Nil(t, r.Pass, "a sample was answered twice")

	// A subset without rows has no metric, so its target is not reached.
	for part, lacks := range map[int][]string{0: {"gsm8k", "mbxp"}, 1: {"rouge1", "mbxp"}, 2: {"rouge1", "gsm8k"}} {
		in.References, in.Log = refs[part:part+1], writeLog(t, true, answer{0, "The answer is 12. good"})
		r, _ = scored(t, in)
		for _, name := range lacks {
			_, there := r.Metric(name)
			require.False(t, there, "%s of %s alone", name, refs[part].Subset)
		}
		require.False(t, *r.Pass)
	}
}

func TestReasoning(t *testing.T) {
	refs := []Reference{{Target: "B", Subset: "GPQA_diamond"}, {Target: "\\frac12", Subset: "math500"},
		{Target: "7", Subset: "aime1983"}, {Target: "abc", Subset: "livecodebench"}}
	answers := []answer{{0, "ANSWER: B"}, {1, `\boxed{0.50}`}, {2, `\boxed{8}`}}
	in := Input{Benchmark: "deepseek-r1", References: refs, Decoder: byteDecoder{}, Log: writeLog(t, true, answers...),
		PerSample: true}
	r, text := scored(t, in)
	require.Equal(t, "Results\n\n{'exact_match': 66.66666666666667, 'tokens_per_sample': 10.0, 'num-samples': 3}\n", text)
	require.Zero(t, r.Fallbacks, "rational numbers need no algebra")
	require.Equal(t, "8", r.PerSample[2].Answer)

	in.Log = writeLog(t, true, append(answers, answer{3, "```python\nx\n```"}, answer{9, "beyond"})...)
	r, text = scored(t, in)
	require.NotContains(t, text, "exact_match")
	require.Nil(t, r.Pass)
	require.Equal(t, []Unscored{{"livecodebench", 1,
		"the answers are programs, but no judge was given to run them in a sandbox"}}, r.Unscored)
	require.Contains(t, r.Unclaimed, "1 entry is for samples beyond the data set's 4 (left out, like in the "+
		"reference); the log belongs to another data set")
	in.Code = judged("x")
	_, text = scored(t, in)
	require.Contains(t, text, "{'exact_match': 75.0, ")
}

// TestDamagedLogs checks that Score reads a log that is not a complete array line by line, like the benchmark's
// reference.
func TestDamagedLogs(t *testing.T) {
	refs := []Reference{{Target: "7", Subset: "aime1983"}, {Target: "8", Subset: "aime1983"}}
	in := Input{Benchmark: "deepseek-r1", References: refs, Decoder: byteDecoder{}, Rehearsal: true}
	whole := writeLog(t, true, answer{0, `\boxed{7}`}, answer{1, `\boxed{7}`})
	text, err := os.ReadFile(whole)
	require.NoError(t, err)
	lines := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(text)), "["), "]")
	for name, log := range map[string]string{
		"one object a line": strings.ReplaceAll(strings.TrimSpace(lines), ",\n", "\n"),
		"no opening":        lines + "]",
		"a bad line":        "[\n{\"seq_id\": 1, oops\n" + lines + "\n",
	} {
		require.NoError(t, os.WriteFile(whole, []byte(log), 0o644))
		in.Log = whole
		r, text := scored(t, in)
		require.Contains(t, text, "{'exact_match': 50.0,", name)
		require.Equal(t, name == "a bad line", r.Pass == nil, "what could not be read is no whole result")
		other := in
		other.Benchmark = "gpt-oss-120b"
		_, err := Score(context.Background(), other)
		require.Error(t, err, "%s: only one reference reads it", name)
	}
}

func TestHarmonyRepeats(t *testing.T) {
	refs := []Reference{{Target: "C", Subset: "gpqa_diamond"}, {Target: "7", Subset: "aime25"}}
	final := "<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>"
	in := Input{Benchmark: "gpt-oss-120b", References: refs, Decoder: byteDecoder{},
		Log: writeLog(t, true, answer{0, final + "**C**<|return|>"}, answer{0, final + "B"}, answer{1, final + `\boxed{7}`})}
	r, text := scored(t, in)
	require.Equal(t, "Results\n\n'exact_match': 61.905\n", text)
	require.Equal(t, 3, r.Samples, "the reference counts every entry")
	require.Equal(t, 1, r.Duplicates)
	require.Nil(t, r.Pass, "and so a log with a right answer many times would do for a whole one")
}

func TestCatalogue(t *testing.T) {
	refs := []Reference{{Target: "A > B", Brand: "x", Secondhand: "true"},
		{Target: "A > C", Brand: "y", Secondhand: "false"}}
	in := Input{Benchmark: "qwen3-vl-235b-a22b", References: refs, Scenario: models.Interactive,
		Log: writeLog(t, false, answer{0, `{"category":"A > B","brand":"X","is_secondhand":true}`},
			answer{1, "I do not know"})}
	r, text := scored(t, in)
	require.True(t, strings.HasPrefix(text, "Results\n\n{\"f1\": 0.5}\n\nhash="))
	f1, _ := r.Metric("f1")
	require.Equal(t, 0.7799219999999999, f1.Min)
	require.Contains(t, r.Unclaimed, "2 answers were scored; a submission needs 8000")
	invalid, _ := r.Metric("invalid_answers")
	require.Equal(t, 1.0, invalid.Value)
	brand, _ := r.Metric("brand")
	require.Equal(t, 0.5, brand.Value)
}

func TestFunctionCallScores(t *testing.T) {
	describe := `[{"name":"get.x","parameters":{"type":"dict","properties":{"a":{"type":"integer"}},"required":["a"]}}]`
	refs := []Reference{{Target: `[{"get.x":{"a":[1]}}]`, Function: describe, Subset: "simple_python"},
		{Target: `[]`, Function: describe, Subset: "irrelevance"}}
	in := Input{Benchmark: "qwen3.6-27b", References: refs, Rehearsal: true,
		Log: writeLog(t, false, answer{0, `[{"function":{"name":"get_x","arguments":"{\"a\": 1}"}}]`},
			answer{1, "No function fits."})}
	r, text := scored(t, in)
	require.True(t, strings.HasPrefix(text, "Results\n\nmAP=100.00\n{'mAP': 100.00, "), text)
	require.True(t, *r.Pass)
}

func TestScoreRefuses(t *testing.T) {
	refs := []Reference{{Target: "x"}}
	log := writeLog(t, true, answer{0, "x"})
	odd := filepath.Join(t.TempDir(), "odd.json")
	require.NoError(t, os.WriteFile(odd, []byte(`[{"seq_id":0,"qsl_idx":0,"data":"010203"}]`), 0o644))
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("[]"), 0o644))
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"no references", Input{Log: log}, "no references in the data set; name the benchmark's data set file"},
		{"no tokenizer", Input{Log: log, References: refs},
			"the log contains token ids but no tokenizer was given; name the model's tokenizer.json"},
		{"no sentences", Input{Log: log, References: refs, Decoder: byteDecoder{}},
			"no sentence parameters given; name the folder english of NLTK's punkt_tab data"},
		{"token type", Input{Log: log, References: refs, Decoder: byteDecoder{}, Punkt: plainPunkt(), DType: "int8"},
			`unknown token type "int8"; use int32, int64 or float`},
		{"odd bytes", Input{Log: odd, References: refs, Decoder: byteDecoder{}, Punkt: plainPunkt()},
			"the answer to sample 0: its 3 bytes are not a multiple of 4-byte tokens; the log was written with another token " +
				"type, so try --dtype"},
		{"empty", Input{Log: empty, References: refs, Decoder: byteDecoder{}, Punkt: plainPunkt()},
			"no answers in the log; run the test in accuracy mode and name its mlperf_log_accuracy.json"},
		{"other data set", Input{Log: writeLog(t, true, answer{5, "x"}), References: refs, Decoder: byteDecoder{},
			Punkt: plainPunkt()}, "the log has an answer to sample 5, but the data set has only 1 sample; it belongs to " +
			"another data set"},
		{"no log", Input{Log: filepath.Join(t.TempDir(), "none.json"), References: refs, Decoder: byteDecoder{},
			Punkt: plainPunkt()}, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.Benchmark = "llama3.1-8b"
			_, err := Score(context.Background(), c.in)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "as llama3.1-8b")
		})
	}
}

// Comparing one very long sentence with another would take gigabytes.
func TestEndlessSentenceIsRefused(t *testing.T) {
	long := strings.Repeat("a ", 20000)
	_, err := Score(context.Background(), Input{Benchmark: "llama3.1-8b", Log: writeLog(t, true, answer{0, long}),
		References: []Reference{{Target: long}}, Decoder: byteDecoder{}, Punkt: plainPunkt()})
	require.ErrorContains(t, err, "the answer to sample 0: a sentence in it is too long (20000 words in total): "+
		"comparing it would take more than 128 MiB")
}

func TestTruncatedLogIsScoredInPart(t *testing.T) {
	log := writeLog(t, true, answer{0, "one two"}, answer{0, "x"})
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, data[:len(data)-20], 0o644))
	r, _ := scored(t, Input{Benchmark: "llama3.1-8b", Log: log, References: []Reference{{Target: "one two"}},
		Decoder: byteDecoder{}, Punkt: plainPunkt()})
	require.Contains(t, r.Unclaimed, "the log is truncated; the answers before its end were scored")
}

var errStop = errors.New("stopped by the test")

func TestScoreStops(t *testing.T) {
	var answers []answer
	for range 2000 {
		answers = append(answers, answer{0, "one two"})
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := Score(ctx, Input{Benchmark: "gpt-oss-120b", Log: writeLog(t, true, answers...),
		References: []Reference{{Target: "A", Subset: "gpqa"}}, Decoder: byteDecoder{},
		Progress: func(int, int) { cancel(errStop) }})
	require.ErrorIs(t, err, errStop)
}

func TestTokenTypes(t *testing.T) {
	ids, err := tokenIDs(binary.LittleEndian.AppendUint32(nil, math.Float32bits(128000)), Float32)
	require.NoError(t, err)
	require.Equal(t, []int32{128000}, ids)
	_, err = tokenIDs(binary.LittleEndian.AppendUint64(nil, 1<<40), Int64)
	require.EqualError(t, err, "its token 0 is 1099511627776, which is not a token id; the log was written with another "+
		"token type, so try --dtype")
	_, err = tokenIDs(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN()))), Float32)
	require.ErrorContains(t, err, "NaN, which is not a token id")
}
