package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// question holds the row of the data set that the simulated model answers.
type question struct {
	models.Reference
	output  string // the data set's reference output, if it differs from the target
	program string // a program that passes, if the answer is a program
	filler  *filler
	seed    uint64 // of the row
}

// form writes a right or wrong answer in the form of a benchmark.
type form func(q *question, right bool) string

// forms maps models.Scoring.Scorer to the form of answers. Other benchmarks get their reference outputs.
var forms = map[string]form{
	models.ScoreSummaries:     summary,
	models.ScoreAnswers:       summary,
	models.ScoreLongContext:   longContext,
	models.ScoreMixture:       mixture,
	models.ScoreReasoning:     reasoning,
	models.ScoreHarmony:       harmony,
	models.ScoreCatalogue:     product,
	models.ScoreFunctionCalls: functionCalls,
}

// summary returns the reference or as many unrelated words: with a share q of right answers every ROUGE figure is q.
func summary(q *question, right bool) string {
	if right {
		return q.Target
	}
	return q.filler.unlike(q.Target, q.seed)
}

// longContext answers according to the metric of the row.
func longContext(q *question, right bool) string {
	switch {
	case q.Metric == "qa_em" && right:
		entry, _, _ := strings.Cut(q.Target, "|")
		return "Answer: " + entry
	case right:
		return q.Target
	case q.Metric == "qa_em":
		return "Answer: " + q.filler.unlike(q.Target, q.seed)
	}
	return q.filler.unlike(q.Target, q.seed)
}

// mixture answers with words, a number or a program, depending on the subset.
func mixture(q *question, right bool) string {
	switch {
	case q.Subset == "OpenOrca":
		return summary(q, right)
	case q.Subset == "GSM8K":
		return "The answer is " + numberFor(q.Target, right) + "."
	case right && q.program != "":
		return q.program + "\n```"
	}
	return ")(\n```"
}

// numberFor returns the number in a text, or another number if the answer is wrong.
func numberFor(text string, right bool) string {
	if right {
		return text
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return "0"
	}
	return strconv.FormatFloat(n+1, 'f', -1, 64)
}

// subsetForm is the form of answers to a subset of a reasoning set whose name contains key.
type subsetForm struct {
	key  string
	form form
}

// subsetForms is searched in this order (docs/reference/scoring-rules.md#reasoning-sets).
var subsetForms = []subsetForm{
	{"gpqa", letter("ABCD")}, {"mmlu_pro", letter("ABCDEFGHIJ")}, {"math500", boxed}, {"aime", boxed},
	{"livecodebench", codeBlock}, {"mmlu", letter("ABCDEFGHIJ")},
}

// thoughts returns as many words as the reference output has, or a few without one.
func (q *question) thoughts() string {
	return q.filler.sentence(q.seed, max(len(strings.Fields(q.output)), 12))
}

// reasoning writes thoughts before the answer.
func reasoning(q *question, right bool) string { return q.thoughts() + ".\n" + reasoned(q, right) }

func reasoned(q *question, right bool) string {
	name := strings.ToLower(q.Subset)
	for _, s := range subsetForms {
		if strings.Contains(name, s.key) {
			return s.form(q, right)
		}
	}
	return summary(q, right)
}

// letter answers a multiple-choice question.
func letter(options string) form {
	return func(q *question, right bool) string {
		answer := strings.ToUpper(strings.TrimSpace(q.Target))
		if !right {
			answer = string(options[(strings.Index(options, answer)+1)%len(options)])
		}
		return "Answer: " + answer
	}
}

// boxed answers with a boxed expression; wrong answers are numbers that no such set contains.
func boxed(q *question, right bool) string {
	if right {
		return `The result is \boxed{` + strings.TrimSpace(q.Target) + `}.`
	}
	for _, n := range []string{"997", "991"} {
		if strings.TrimLeft(strings.TrimSpace(q.Target), "0") != n {
			return `The result is \boxed{` + n + `}.`
		}
	}
	return ""
}

// codeBlock answers with a Python program: that of the row, that in its reference output, or one that fails.
func codeBlock(q *question, right bool) string {
	const fence = "```python\n"
	if !right {
		return fence + "raise SystemExit(1)\n```"
	}
	if q.program != "" {
		return fence + q.program + "\n```"
	}
	if _, code, ok := strings.Cut(q.output, fence); ok {
		code, _, _ = strings.Cut(code, "```")
		return fence + code + "```"
	}
	return fence + "pass\n```"
}

// harmony wraps an answer in the sections of the harmony format; the engine adds the end token.
func harmony(q *question, right bool) string {
	return "<|channel|>analysis<|message|>" + q.thoughts() + "<|end|><|start|>assistant<|channel|>final<|message|>" +
		reasoned(q, right)
}

// product answers with the catalogue's JSON object. A wrong answer shares no level of the category.
func product(q *question, right bool) string {
	secondhand, _ := strconv.ParseBool(strings.ToLower(q.Secondhand))
	p := struct {
		Category   string `json:"category"`
		Brand      string `json:"brand"`
		Secondhand bool   `json:"is_secondhand"`
	}{q.Target, q.Brand, secondhand}
	if !right {
		levels := strings.Split(q.Target, " > ")
		for i := range levels {
			levels[i] = fmt.Sprintf("No such category %d", i+1)
		}
		p.Category, p.Brand, p.Secondhand = strings.Join(levels, " > "), "No brand", !secondhand
	}
	text, _ := json.Marshal(p) // two strings and a truth value
	return string(text)
}
