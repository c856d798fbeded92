package accuracy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// verdict is what an exact-match set says about one answer.
type verdict struct {
	answer   string // extracted; empty: none
	correct  bool
	unscored string // why the answer could not be scored
	fallback bool
}

// exactSet is how the answers of a part of the data set are compared.
type exactSet struct {
	key   string // found inside the lower-case name of the part
	score func(ctx context.Context, in *Input, text string, ref *Reference) (verdict, error)
}

// extraction is what differs between the two families: where in the text an answer is looked for.
type extraction struct {
	choice    func(text string, last byte) (string, bool)
	code      func(text string) (string, bool)
	codeJudge string // CodeTask.Benchmark of its programs
}

// exactSets are the parts in the order in which their names are tried (docs/reference/scoring-rules.md#reasoning-sets).
func exactSets(from extraction) []exactSet {
	choices := func(last byte) func(context.Context, *Input, string, *Reference) (verdict, error) {
		return func(_ context.Context, _ *Input, text string, ref *Reference) (verdict, error) {
			c, ok := from.choice(text, last)
			return verdict{answer: c, correct: ok && ChoiceCorrect(c, ref.Target, last)}, nil
		}
	}
	return []exactSet{
		{"gpqa", choices(FourOptions)},
		{"mmlu_pro", choices(TenOptions)},
		{"math500", scoreMath},
		{"aime", scoreAIME},
		{"livecodebench", func(ctx context.Context, in *Input, text string, ref *Reference) (verdict, error) {
			code, ok := from.code(text)
			if !ok || code == "" || ref.Target == "" {
				return verdict{}, nil
			}
			return judgeCode(ctx, in, CodeTask{Benchmark: from.codeJudge, Question: ref.Target, Code: code, Tests: ref.Tests})
		}},
		{"mmlu", choices(TenOptions)},
	}
}

func scoreAIME(_ context.Context, _ *Input, text string, ref *Reference) (verdict, error) {
	n, ok := AIMEAnswer(text)
	if !ok {
		return verdict{}, nil
	}
	want, known := pyIntOf(ref.Target)
	return verdict{answer: fmt.Sprint(n), correct: known && n == want}, nil
}

func scoreMath(ctx context.Context, in *Input, text string, ref *Reference) (verdict, error) {
	given, ok := Boxed(text)
	if !ok || given == "" || ref.Target == "" {
		return verdict{answer: given}, nil
	}
	v := verdict{answer: given}
	var err error
	v.correct, v.fallback, err = gradeMath(ctx, in.Math, given, ref.Target)
	return v, err
}

// judgeCode asks the user's judge. Without one the answer stays unscored: model-written code is never run here.
func judgeCode(ctx context.Context, in *Input, task CodeTask) (verdict, error) {
	v := verdict{answer: task.Code}
	if in.Code == nil {
		v.unscored = "the answers are programs, and there is no judge to run them in a sandbox"
		return v, nil
	}
	var err error
	v.correct, err = in.Code.JudgeCode(ctx, task)
	var u *Unjudged
	if errors.As(err, &u) {
		v.unscored = u.Why
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("judging the program for question %s: %w", task.Question, err)
	}
	return v, nil
}

// answerShown is the longest extract that a sample's score keeps.
const answerShown = 200

// record writes a verdict into a sample's score.
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
				return fmt.Errorf("its part of the data set is %q, and only gpqa, mmlu_pro, math500, aime, livecodebench and "+
					"mmlu are known", s.ref.Subset)
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
		worker: exactWorker(exactSets(extraction{Choice, PythonBlock, LiveCodeBench})),
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
		worker: exactWorker(exactSets(extraction{HarmonyChoice, HarmonyCode, LiveCodeBenchQuick})),
		finish: func(t *tally) []Metric {
			if !t.complete() {
				return nil
			}
			total := t.weighted()
			m := floatMetric("exact_match", pyRound(total.Percent, 3))
			m.Text = strings.TrimPrefix(total.Line(), "'exact_match': ")
			return []Metric{m}
		},
		line: func(r *Result) string {
			m, ok := r.Metric("exact_match")
			if !ok {
				return "no exact_match: not every answer is scored\n"
			}
			return "'exact_match': " + m.Text + "\n"
		},
	}
}

func (t *tally) weighted() HarmonyTotal {
	sets := map[string]Count{}
	for _, s := range t.scores {
		name := strings.ToLower(s.Subset)
		c := sets[name]
		c.Total++
		if s.Scores[0] > 0 {
			c.Correct++
		}
		sets[name] = c
	}
	return WeightedScore(sets)
}

// Places of the mixture's scores behind the ROUGE ones.
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
					n := GSM8KNumber(s.text)
					verdict{answer: n, correct: GSM8KCorrect(n, s.ref.Target)}.record(out, mixtureGSM8K)
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
			} else if t.complete() && t.has(isProgram) { // a set without programs, as a rehearsal's, claims nothing about them
				out = append(out, countMetric("mbxp", 0))
			}
			return append(out, tokenMetrics(t)...)
		},
	}
}

// isProgram tells whether a sample of the mixture asks for a program.
func isProgram(ref *Reference) bool { return ref.Subset != "OpenOrca" && ref.Subset != "GSM8K" }

func scoreMBXP(ctx context.Context, in *Input, s *sample, out *SampleScore) error {
	language, _, _ := strings.Cut(s.ref.ID, "_")
	if !slices.Contains(codeLanguages, language) {
		return nil
	}
	v, err := judgeCode(ctx, in, CodeTask{Benchmark: MBXP, Question: s.ref.ID, Code: MBXPSolution(language, s.text),
		Tests: s.ref.Target})
	v.record(out, mixtureMBXP)
	return err
}
