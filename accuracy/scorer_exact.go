package accuracy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// verdict is the result for one answer of an exact-match set.
type verdict struct {
	answer   string // extracted answer; may be empty
	correct  bool
	unscored string // why the answer could not be scored
	fallback bool
}

// exactSet describes how the answers of a part of the data set are compared.
type exactSet struct {
	key   string // substring that identifies the subset by its lower-case name
	score func(ctx context.Context, in *Input, text string, ref *Reference) (verdict, error)
}

// extraction is the difference between the two families: how an answer is found in the text.
type extraction struct {
	choice    func(text string, last byte) (string, bool)
	code      func(text string) (string, bool)
	codeJudge string // value of CodeTask.Benchmark for the programs
}

// exactSets returns the parts in the order their names are tried (docs/reference/scoring-rules.md#reasoning-sets).
func exactSets(from extraction) []exactSet {
	choices := func(last byte) func(context.Context, *Input, string, *Reference) (verdict, error) {
		return func(_ context.Context, _ *Input, text string, ref *Reference) (verdict, error) {
			c, ok := from.choice(text, last)
			return verdict{answer: c, correct: ok && choiceCorrect(c, ref.Target, last)}, nil
		}
	}
	return []exactSet{
		{"gpqa", choices(fourOptions)},
		{"mmlu_pro", choices(tenOptions)},
		{"math500", scoreMath},
		{"aime", scoreAIME},
		{"livecodebench", func(ctx context.Context, in *Input, text string, ref *Reference) (verdict, error) {
			code, ok := from.code(text)
			if !ok || code == "" || ref.Target == "" {
				return verdict{}, nil
			}
			return judgeCode(ctx, in, CodeTask{Benchmark: from.codeJudge, Question: ref.Target, Code: code, Tests: ref.Tests})
		}},
		{"mmlu", choices(tenOptions)},
	}
}

func scoreAIME(_ context.Context, _ *Input, text string, ref *Reference) (verdict, error) {
	n, ok := aimeAnswer(text)
	if !ok {
		return verdict{}, nil
	}
	want, known := pyIntOf(ref.Target)
	return verdict{answer: fmt.Sprint(n), correct: known && n == want}, nil
}

func scoreMath(ctx context.Context, in *Input, text string, ref *Reference) (verdict, error) {
	given, ok := boxedAnswer(text)
	if !ok || given == "" || ref.Target == "" {
		return verdict{answer: given}, nil
	}
	v := verdict{answer: given}
	var err error
	v.correct, v.fallback, err = gradeMath(ctx, in.Math, given, ref.Target)
	return v, err
}

// judgeCode asks the user's judge. Without one the answer stays unscored: this package never runs model-written code.
func judgeCode(ctx context.Context, in *Input, task CodeTask) (verdict, error) {
	v := verdict{answer: task.Code}
	if in.Code == nil {
		v.unscored = "the answers are programs, but no judge was given to run them in a sandbox"
		return v, nil
	}
	var err error
	v.correct, err = in.Code.JudgeCode(ctx, task)
	if u, ok := errors.AsType[*Unjudged](err); ok {
		v.unscored = u.Why
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("judging the program for question %s: %w", task.Question, err)
	}
	return v, nil
}

// answerShown is the maximum length of the extract in a sample's score.
const answerShown = 200

// record stores a verdict in a sample's score.
func (v verdict) record(out *SampleScore, score int) {
	out.Answer, out.Fallback, out.Unscored = shortened(v.answer), v.fallback, v.unscored
	if v.unscored != "" {
		return
	}
	out.Scores[score] = 0
	if v.correct {
		out.Scores[score] = 100
	}
}

func shortened(s string) string {
	if r := []rune(s[:min(len(s), 4*answerShown)]); len(r) > answerShown || len(s) > 4*answerShown {
		return string(r[:min(len(r), answerShown)]) + "…"
	}
	return s
}

func exactWorker(sets []exactSet) func(in *Input) scoreFunc {
	return func(in *Input) scoreFunc {
		return func(ctx context.Context, s *sample, out *SampleScore) error {
			name := strings.ToLower(s.ref.Subset)
			i := slices.IndexFunc(sets, func(e exactSet) bool { return strings.Contains(name, e.key) })
			if i < 0 {
				return fmt.Errorf("its part of the data set is %q, expected gpqa, mmlu_pro, math500, aime, livecodebench or "+
					"mmlu", s.ref.Subset)
			}
			v, err := sets[i].score(ctx, in, s.text, s.ref)
			v.record(out, 0)
			return err
		}
	}
}

var exactScores = []string{"exact_match"}

func reasoning() *scorer {
	return &scorer{
		damagedLogs: true, dropsOutside: true, scores: exactScores, line: dictLine,
		worker: exactWorker(exactSets(extraction{finalChoice, pythonBlock, LiveCodeBench})),
		finish: func(t *tally) []Metric {
			var out []Metric
			if mean, _ := t.mean(0); t.complete() {
				out = append(out, floatMetric("exact_match", mean))
			}
			n := len(t.scores)
			return append(out, floatMetric(tokensPerSample, float64(t.tokens())/float64(max(n, 1))),
				countMetric("num-samples", n))
		},
	}
}

func harmony() *scorer {
	return &scorer{
		text: specialText, repeats: true, dropsOutside: true, scores: exactScores,
		worker: exactWorker(exactSets(extraction{harmonyChoice, harmonyCode, LiveCodeBenchQuick})),
		finish: func(t *tally) []Metric {
			if !t.complete() {
				return nil
			}
			total := t.weighted()
			m := floatMetric("exact_match", pyRound(total.Percent, 3))
			m.Text = total.text()
			return []Metric{m}
		},
		line: func(r *Result) string {
			m, ok := r.Metric("exact_match")
			if !ok {
				return "no exact_match: some answers are not scored\n"
			}
			return "'exact_match': " + m.Text + "\n"
		},
	}
}

func (t *tally) weighted() harmonyTotal {
	sets := map[string]correctCount{}
	for _, s := range t.scores {
		name := strings.ToLower(s.Subset)
		c := sets[name]
		c.Total++
		if s.Scores[0] > 0 {
			c.Correct++
		}
		sets[name] = c
	}
	return weightedScore(sets)
}

// Indices of the mixture's scores, after the ROUGE scores.
const (
	mixtureGSM8K = 4
	mixtureMBXP  = 5
)

func mixture() *scorer {
	return &scorer{
		sentences: true, countsAll: true, line: dictLine,
		scores: append(slices.Clone(rougeNames), "gsm8k", "mbxp"),
		worker: func(in *Input) scoreFunc {
			rouge := rougeWorker(in)
			return func(ctx context.Context, s *sample, out *SampleScore) error {
				switch s.ref.Subset {
				case "OpenOrca":
					return rouge(ctx, s, out)
				case "GSM8K":
					n := gsm8kNumber(s.text)
					verdict{answer: n, correct: gsm8kCorrect(n, s.ref.Target)}.record(out, mixtureGSM8K)
					return nil
				}
				return scoreMBXP(ctx, in, s, out)
			}
		},
		finish: func(t *tally) []Metric {
			var out []Metric
			if _, n := t.mean(0); n > 0 {
				out = rougeMetrics(t, "")
			}
			if gsm8k, n := t.mean(mixtureGSM8K); n > 0 {
				out = append(out, floatMetric("gsm8k", gsm8k))
			}
			if mbxp, n := t.mean(mixtureMBXP); t.complete() && n > 0 {
				out = append(out, floatMetric("mbxp", mbxp))
			} else if t.complete() && slices.ContainsFunc(t.refs, isProgram) {
				out = append(out, countMetric("mbxp", 0))
			}
			return append(out, tokenMetrics(t)...)
		},
	}
}

// isProgram reports whether a sample of the mixture asks for a program. A rehearsal's data set may contain no programs;
// the result then claims nothing about programs.
func isProgram(ref Reference) bool { return ref.Subset != "OpenOrca" && ref.Subset != "GSM8K" }

func scoreMBXP(ctx context.Context, in *Input, s *sample, out *SampleScore) error {
	language, _, _ := strings.Cut(s.ref.ID, "_")
	if !slices.Contains(codeLanguages, language) {
		return nil
	}
	v, err := judgeCode(ctx, in, CodeTask{Benchmark: MBXP, Question: s.ref.ID, Code: mbxpSolution(language, s.text),
		Tests: s.ref.Target})
	v.record(out, mixtureMBXP)
	return err
}
