package accuracy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// Each reason not to claim a score, alone and at its smallest.
func TestEachDoubtAlone(t *testing.T) {
	refs := make([]Reference, 5)
	for name, c := range map[string]struct {
		change func(p *pipeline, r *Result)
		want   string
	}{
		"none":      {func(*pipeline, *Result) {}, ""},
		"truncated": {func(p *pipeline, _ *Result) { p.truncated = true }, "the log is truncated; "},
		"line":      {func(p *pipeline, _ *Result) { p.unreadable = 1 }, "1 line of the log is unreadable (left out, "},
		"lines":     {func(p *pipeline, _ *Result) { p.unreadable = 2 }, "2 lines of the log are unreadable (left out, "},
		"missing":   {func(_ *pipeline, r *Result) { r.Missing = 1 }, "1 of the data set's 5 samples has no answer"},
		"outside": {func(p *pipeline, _ *Result) { p.outside = 1 },
			"1 entry is for samples beyond the data set's 5 (left"},
		"double": {func(_ *pipeline, r *Result) { r.Duplicates = 1 },
			"1 entry is for a sample that was answered before (left"},
		"counted": {func(p *pipeline, r *Result) { r.Duplicates, p.sc.repeats = 2, true },
			"2 entries are for a sample that was answered before (counted"},
		"empty": {func(_ *pipeline, r *Result) { r.Empty = 1 }, "1 answer is empty; its sample failed"},
		"credit": {func(p *pipeline, _ *Result) { p.scores = []SampleScore{{credit: true}} },
			"1 answer is blank and counts"},
		"no byte": {func(p *pipeline, _ *Result) { p.scores = []SampleScore{{credit: true, Empty: true}, {}} }, ""},
		"foreign": {func(p *pipeline, _ *Result) { p.foreign, p.firstForeign = 1, foreignID{0, 3, 99} },
			"1 answer has token ids outside of the model's vocabulary (sample 3: 99)"},
		"part": {func(_ *pipeline, r *Result) { r.Samples = 6 },
			"6 answers were scored; a submission needs 7"},
		"more": {func(_ *pipeline, r *Result) { r.Samples = 8 },
			"8 answers were scored; a submission needs 7"},
		"part of a rehearsal": {func(p *pipeline, r *Result) { r.Samples, p.in.Rehearsal = 6, true }, ""},
	} {
		p, r := &pipeline{in: &Input{References: refs}, sc: &scorer{}}, &Result{Samples: 7}
		c.change(p, r)
		got := p.doubts(r, 7)
		if c.want == "" {
			require.Empty(t, got, name)
			continue
		}
		require.Len(t, got, 1, name)
		require.True(t, strings.HasPrefix(got[0], c.want), "%s: %s", name, got[0])
	}
	p := &pipeline{in: &Input{References: refs}, sc: &scorer{}}
	require.Empty(t, p.doubts(&Result{Samples: 3}, 0), "the size of the whole set is unknown")
}

func TestIDsOutsideOfAVocabulary(t *testing.T) {
	for _, c := range []struct {
		ids        []int32
		vocabulary int
		id         int32
		found      bool
	}{{nil, 5, 0, false}, {[]int32{0, 4}, 5, 0, false}, {[]int32{0, 5, 6}, 5, 5, true}, {[]int32{-1}, 5, -1, true},
		{[]int32{-1, 99}, 0, 0, false}} {
		id, found := foreignIn(c.ids, c.vocabulary)
		require.Equal(t, []any{c.id, c.found}, []any{id, found}, c)
	}
	p := &pipeline{vocabulary: 5}
	for slot, c := range []struct {
		ids    []int32
		tokens int64
	}{{[]int32{1}, 1}, {[]int32{1}, -1}, {[]int32{1}, 0}, {[]int32{7}, 1}, {[]int32{8, 9}, 3}} {
		p.look(c.ids, &entry{slot: 10 - slot, qsl: slot, tokens: c.tokens})
	}
	require.Equal(t, []int{2, 2}, []int{p.foreign, p.miscounted})
	require.Equal(t, foreignID{6, 4, 8}, p.firstForeign, "the first of the log, whichever worker sees it first")
}

func TestInputsOfAScore(t *testing.T) {
	b := &Benchmark{}
	whole := func() *Input {
		return &Input{References: make([]Reference, 1), Decoder: byteDecoder{}, Punkt: plainPunkt()}
	}
	for want, c := range map[string]struct {
		sc     scorer
		change func(*Input)
	}{
		"no references in the data set": {scorer{}, func(in *Input) { in.References = nil }},
		"no tokenizer was given":        {scorer{}, func(in *Input) { in.Decoder = nil }},
		"no sentence parameters given":  {scorer{sentences: true}, func(in *Input) { in.Punkt = nil }},
		`unknown token type "int5"`:     {scorer{}, func(in *Input) { in.DType = "int5" }},
	} {
		in := whole()
		require.NoError(t, c.sc.check(b, in))
		c.change(in)
		require.ErrorContains(t, c.sc.check(b, in), want)
	}
	in := whole()
	in.Decoder, in.Punkt = nil, nil
	require.NoError(t, (&scorer{text: utf8Text}).check(b, in), "the log has text")
	for _, dtype := range []DType{"", Int32, Int64, Float32} {
		in := whole()
		in.DType = dtype
		require.NoError(t, (&scorer{}).check(b, in))
	}
}

// The checker's verdict on each target at its edge, in both divisions.
func TestWhatTheCheckerFinds(t *testing.T) {
	targets := []Target{{Metric: "rouge1", Min: 38.5}, {Metric: "gen_len", Min: 10, Max: 20}, {Metric: "unknown", Min: 1},
		{Metric: "gsm8k", Min: 70, Optional: true}}
	text := func(rouge, length string) string { return "'rouge1': " + rouge + ", 'gen_len': " + length + "\n" }
	for _, c := range []struct {
		text        string
		valid, open bool
		why         string
	}{
		{text("38.5", "10") + "hash=a", true, true, ""}, {text("'38.5'", "20") + "hash=a", true, true, ""},
		{text("38.4", "10") + "hash=a", false, true, "ROUGE1 is 38.4, below the target 38.5"},
		{text("38.5", "21") + "hash=a", false, true, "GEN_LEN is 21, above the limit 20.0"},
		{text("38.5", "9.9") + "hash=a", false, true, "GEN_LEN is 9.9, below the target 10.0"},
		{text("3.8.5", "10") + "hash=a", false, true, "ROUGE1 is 3.8.5, which is not a number"},
		{text("38.5", "10"), false, false, "no hash line (truncation adds it)"},
		{"'rouge1': 39\nhash=a", false, true, "GEN_LEN was not found"},
		{text("39", "15") + "'gsm8k': 69\nhash=a", false, true, "gsm8k_accuracy is 69, below the target 70.0"},
		{text("39", "15") + "'gsm8k': 70\nhash=a", true, true, ""},
		{text("39", "15") + "hash=a\n'gsm8k': 69", true, true, ""}, // the checker has stopped reading
		{text("39", "15") + "hash=a b", false, false, "no hash line (truncation adds it)"},
	} {
		for _, open := range []bool{false, true} {
			checked, err := CheckText(strings.NewReader(c.text), targets, open)
			require.NoError(t, err)
			require.Equal(t, map[bool]bool{false: c.valid, true: c.open}[open], checked.Valid, c)
			require.Equal(t, c.why, strings.Join(checked.Why, "; "), c)
		}
	}
	broken := errors.New("broken")
	_, err := CheckText(iotest.ErrReader(broken), targets, false)
	require.ErrorIs(t, err, broken)
	_, err = CheckText(strings.NewReader(strings.Repeat("x", maxAccuracyLine)), targets, false)
	require.ErrorContains(t, err, "token too long")
}

// The words of a metric, and which of them count in a rehearsal.
func TestWordsOfMetrics(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		m               Metric
		word, rehearsal string
		short, shortly  int // metrics below their target, outside of a rehearsal and in one
	}{
		{Metric{}, "-", "-", 0, 0}, {Metric{Min: 1}, "not judged", "not judged", 0, 0},
		{Metric{Max: 1}, "not judged", "not judged", 0, 0}, {Metric{Min: 1, Pass: &yes}, "pass", "pass", 0, 0},
		{Metric{Min: 1, Pass: &no}, "FAIL", "FAIL", 1, 1},
		{Metric{Name: sumOfLengths, Pass: &no}, "FAIL", "not judged in a rehearsal: a total of the whole data set", 1, 0},
		{Metric{Name: tokensPerSample, Pass: &no}, "FAIL", "not judged in a rehearsal: a total of the whole data set", 1,
			0},
		{Metric{Name: sumOfLengths, Pass: &yes}, "pass", "pass", 0, 0},
	} {
		require.Equal(t, []string{c.word, c.rehearsal}, []string{c.m.Word(false), c.m.Word(true)}, c)
		r := &Result{Metrics: []Metric{c.m}}
		require.Equal(t, []int{c.short, c.shortly}, []int{len(r.Short(false)), len(r.Short(true))}, c)
		require.Equal(t, c.shortly == 0, r.Reached(true), c)
		r.Unscored = []Unscored{{}}
		require.False(t, r.Reached(true), c)
	}
	r := &Result{Metrics: []Metric{{Name: "a", Value: 1}, {Name: "b", Value: math.Inf(1)}}}
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "": false} {
		m, found := r.Metric(name)
		require.Equal(t, want, found, name)
		require.Equal(t, want, m.Name != "")
	}
}

// The note on the sum of lengths is for another number of samples alone.
func TestNoteOnTheSumOfLengths(t *testing.T) {
	for samples, noted := range map[int]bool{6: true, 7: false, 8: true} {
		r := &Result{Samples: samples, Metrics: []Metric{{Name: sumOfLengths, Value: 5}, {Name: "rouge1", Value: 5}}}
		r.judge([]Target{{Metric: sumOfLengths, Min: 4}, {Metric: "rouge1", Min: 4}}, 7)
		require.Equal(t, []bool{noted, false}, []bool{r.Metrics[0].Note != "", r.Metrics[1].Note != ""}, samples)
		require.True(t, *r.Pass)
	}
	text := func(r *Result) string {
		var b strings.Builder
		r.line = func(*Result) string { return "line\n" }
		require.NoError(t, r.WriteText(&b))
		return b.String()
	}
	require.Equal(t, "Results\n\nline\n", text(&Result{}))
	require.Equal(t, "Results\n\nline\n\nnot scored: 1 sample of a: why\n\nnot judged: synthetic\n",
		text(&Result{Unscored: []Unscored{{"a", 1, "why"}}, NotJudged: "synthetic"}))
	broken := errors.New("broken")
	r := &Result{line: func(*Result) string { return "" }}
	require.ErrorIs(t, r.WriteText(failing{broken}), broken)
	require.ErrorIs(t, r.WriteJSON(failing{broken}), broken)
}

// failing is a writer that returns its error.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
