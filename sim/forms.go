package sim

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// question is what the simulated model knows of one row of the data set.
type question struct {
	models.Reference
	output  string // the data set's reference output, where it is another than the target
	program string // a program that passes, where the answer is one
	filler  *filler
	seed    uint64 // of the row
}

// form writes an answer as a benchmark's models do, right or wrong.
type form func(q *question, right bool) string

// forms are the ways in which answers are written, by models.Scoring.Scorer. A benchmark without one gets its reference
// outputs.
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

// summary is the reference, or as many words that it does not have: of a share q of right answers every ROUGE figure is
// q.
func summary(q *question, right bool) string {
	if right {
		return q.Target
	}
	return q.filler.unlike(q.Target, q.seed)
}

// longContext answers by the metric that the row names.
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

// mixture answers by the part of the data set: words, a number or a program.
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

// numberFor is the number of a text, or another one.
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

// subsetForm is how answers to a part of a reasoning set are written; key is found inside the part's name.
type subsetForm struct {
	key  string
	form form
}

// subsetForms are in the order in which names are tried (spec/accuracy.md §6, §7).
var subsetForms = []subsetForm{
	{"gpqa", letter("ABCD")}, {"mmlu_pro", letter("ABCDEFGHIJ")}, {"math500", boxed}, {"aime", boxed},
	{"livecodebench", codeBlock}, {"mmlu", letter("ABCDEFGHIJ")},
}

// thoughts are as many words as the reference output has, and some where there is none.
func (q *question) thoughts() string {
	return q.filler.sentence(q.seed, max(len(strings.Fields(q.output)), 12))
}

// reasoning thinks before it answers.
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

// letter answers a question of several options.
func letter(options string) form {
	return func(q *question, right bool) string {
		answer := strings.ToUpper(strings.TrimSpace(q.Target))
		if !right {
			answer = string(options[(strings.Index(options, answer)+1)%len(options)])
		}
		return "Answer: " + answer
	}
}

// boxed answers with a boxed expression; a wrong one is a number that no such set has.
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

// codeBlock answers with a Python program: the row's own, the one inside its reference output, or one that fails.
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

// harmony puts an answer into the sections of the harmony format; the end token is the engine's.
func harmony(q *question, right bool) string {
	return "<|channel|>analysis<|message|>" + q.thoughts() + "<|end|><|start|>assistant<|channel|>final<|message|>" +
		reasoned(q, right)
}

// product answers with the catalogue's JSON object. A wrong one has no level of the category in common.
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
