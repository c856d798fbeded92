package datasets

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/models"

	"github.com/mlperf-go/mlperf-go/datasets/internal/jsontext"
)

// synthForms maps models.Scoring.Scorer to the function that generates the values with which the scorer compares
// answers. For other benchmarks the reference output is a summary of the prompt.
var synthForms = map[string]func(g *generator, i int, s SynthSet, r *SynthRecord){
	models.ScoreLongContext:   longContextRow,
	models.ScoreMixture:       mixtureRow,
	models.ScoreReasoning:     reasoningRow,
	models.ScoreHarmony:       reasoningRow,
	models.ScoreCatalogue:     catalogueRow,
	models.ScoreFunctionCalls: functionCallRow,
}

// set sets a column to a text.
func (r *SynthRecord) set(column, text string) {
	if column != "" {
		r.Fields[column] = string(jsontext.AppendQuoted(nil, text))
	}
}

// words returns n invented words.
func (g *generator) words(n int) string {
	list := make([]int, n)
	for i := range list {
		list[i] = g.word()
	}
	return joinWords(list)
}

// longContextRow generates a question whose answer is scored by ROUGE, by ids to find, or by words that it must contain
// (docs/reference/scoring-rules.md#long-context).
func longContextRow(g *generator, i int, s SynthSet, r *SynthRecord) {
	metric, part := "rouge", "synthetic_reports"
	switch i % 3 {
	case 1:
		metric, part = "niah_em", "synthetic_needles"
		r.Output = g.uuid() + ", " + g.uuid()
	case 2:
		metric, part = "qa_em", "synthetic_questions"
		r.Output = g.words(2) + "|" + g.words(1)
	}
	c := &s.Row.Scoring.Columns
	r.set(c.Metric, metric)
	r.set(c.Subset, part)
	r.set(c.Target, r.Output)
}

// uuid returns a random id in the format that the scorer looks for.
func (g *generator) uuid() string {
	a, b := g.next(), g.next()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", uint32(a>>32), uint16(a>>16), uint16(a), uint16(b>>48), b&(1<<48-1))
}

// mixtureRow generates a question that asks for a summary, a number or a program
// (docs/reference/scoring-rules.md#mixture).
func mixtureRow(g *generator, i int, s SynthSet, r *SynthRecord) {
	parts := []string{"OpenOrca", "GSM8K", "MBXP"}
	if !s.Code {
		parts = parts[:2]
	}
	c := &s.Row.Scoring.Columns
	part := parts[i%len(parts)]
	r.set(c.Subset, part)
	switch part {
	case "GSM8K":
		r.Output = strconv.Itoa(g.between(1, 5000))
	case "MBXP":
		name, n := fmt.Sprintf("add_%d", i), g.between(2, 99)
		r.set(c.ID, fmt.Sprintf("python_%s", name))
		r.set(s.Row.Scoring.Solution, fmt.Sprintf("def %s(x):\n    return x + %d\n", name, n))
		r.Output = fmt.Sprintf("\ndef check(candidate):\n    assert candidate(1) == %d\n    assert candidate(-5) == %d\n",
			n+1, n-5)
	}
	r.set(c.Target, r.Output)
}

// synthAnswer contains the ground truth of a question and a correct answer.
type synthAnswer struct {
	truth, text string
	tests       string // tests of a program: a line of LiveCodeBench's file
}

// synthSubset is a part of a reasoning set: its name and how its answers are generated.
type synthSubset struct {
	name   string
	answer func(g *generator, i int) synthAnswer
	code   bool
}

// synthSubsets are the parts of the reasoning sets (docs/reference/scoring-rules.md#reasoning-sets).
var synthSubsets = map[string][]synthSubset{
	models.ScoreReasoning: {
		{name: "gpqa", answer: letterOf("ABCD")}, {name: "mmlu_pro", answer: letterOf("ABCDEFGHIJ")},
		{name: "math500", answer: expression},
		{name: "aime1983", answer: smallNumber}, {name: "livecodebench", answer: program, code: true},
	},
	models.ScoreHarmony: {
		{name: "gpqa_diamond", answer: letterOf("ABCD")}, {name: "aime25", answer: smallNumber},
		{name: "livecodebench_v6", answer: program, code: true},
	},
}

// AsksForPrograms reports whether a part of a benchmark's data set asks for programs. Synthetic sets contain that part
// only if SynthSet.Code is set.
func AsksForPrograms(row *models.Row) bool {
	for _, part := range synthSubsets[row.Scoring.Scorer] {
		if part.code {
			return true
		}
	}
	return row.Scoring.Scorer == models.ScoreMixture
}

// reasoningRow generates a question with one correct answer.
func reasoningRow(g *generator, i int, s SynthSet, r *SynthRecord) {
	var parts []synthSubset
	for _, p := range synthSubsets[s.Row.Scoring.Scorer] {
		if s.Code || !p.code {
			parts = append(parts, p)
		}
	}
	part := parts[i%len(parts)]
	a := part.answer(g, i)
	c := &s.Row.Scoring.Columns
	r.set(c.Subset, part.name)
	r.set(c.Target, a.truth)
	metric := "exact_match"
	if part.code {
		metric = "code_execute_verify"
		r.set(c.Tests, a.tests)
	}
	r.set("metric", metric)
	r.set("ref_extracted_answer", a.truth)
	thoughts := r.Output
	r.Output = thoughts + "\n" + a.text
	if s.Row.Scoring.Scorer == models.ScoreHarmony {
		r.Output = "<|channel|>analysis<|message|>" + thoughts + "<|end|><|start|>assistant<|channel|>final<|message|>" +
			a.text
	}
}

func letterOf(options string) func(*generator, int) synthAnswer {
	return func(g *generator, _ int) synthAnswer {
		at := g.between(0, len(options)-1)
		return synthAnswer{truth: options[at : at+1], text: "Answer: " + options[at:at+1]}
	}
}

func inABox(truth string) synthAnswer {
	return synthAnswer{truth: truth, text: `\boxed{` + truth + `}`}
}

func smallNumber(g *generator, _ int) synthAnswer { return inABox(strconv.Itoa(g.between(0, 900))) }

// expression generates an answer that is a number or a fraction in lowest terms.
func expression(g *generator, i int) synthAnswer {
	truth := strconv.Itoa(g.between(-500, 900))
	if i%2 == 0 {
		n := g.between(2, 60)
		truth = fmt.Sprintf(`\frac{%d}{%d}`, n, n+1)
	}
	return inABox(truth)
}

// program generates an answer that is a program, which adds a constant to the number that it reads. The ground truth is
// the question's id, as in LiveCodeBench's rows; the tests contain the expected output.
func program(g *generator, i int) synthAnswer {
	n := g.between(1, 99)
	type test struct {
		Input  string `json:"input"`
		Output string `json:"output"`
	}
	cases := func(inputs ...int) string {
		var list []test
		for _, x := range inputs {
			list = append(list, test{strconv.Itoa(x), strconv.Itoa(x + n)})
		}
		text, _ := json.Marshal(list) // texts
		return string(text)           // texts
	}
	tests, _ := json.Marshal(map[string]string{"public_test_cases": cases(1), "private_test_cases": cases(-5, 400),
		"metadata": "{}"})
	return synthAnswer{fmt.Sprintf("synth-%d", i), fmt.Sprintf("```python\nprint(int(input()) + %d)\n```", n),
		string(tests)}
}
