package compare

import (
	"fmt"
	"math"
)

// keptUp is the share of the scheduled rate above which a server kept up with its load. The last answers, after the
// last query, take the rest of the time.
const keptUp = 0.9

// leastLonger is the share above which a difference in the length of answers is noted.
const leastLonger = 0.01

// answered contains the rates of a Server test, from LoadGen's keys.
type answered struct{ target, scheduled, completed float64 } // queries/s

// load returns the rates of a Server test; false: it is not such a test, or they are unknown.
func (r *Result) load() (s answered, ok bool) {
	if r.point != nil {
		return r.point.rates, r.point.rates != answered{}
	}
	for key, to := range map[string]*float64{"effective_target_qps": &s.target,
		"result_scheduled_samples_per_sec": &s.scheduled, "result_completed_samples_per_sec": &s.completed} {
		if *to, ok = number(r.loadgen[key]); !ok || !(*to > 0) {
			return s, false
		}
	}
	return s, r.Mode == "performance"
}

// noteLoad notes what a Server result depends on. It reports whether both servers kept up. If so, their results follow
// from the target rate, and show no limit of a server.
func (p *Pair) noteLoad() (asked bool) {
	a, okA := p.Base.load()
	b, okB := p.Other.load()
	if !okA || !okB {
		return false
	}
	rates := fmt.Sprintf("%s answered %.4g queries/s at a target of %.4g, %s %.4g at %.4g", p.BaseLabel, a.completed,
		a.target, p.OtherLabel, b.completed, b.target)
	behindA, behindB := a.completed < keptUp*a.scheduled, b.completed < keptUp*b.scheduled
	switch {
	case !behindA && !behindB && a.target == b.target:
		rates += ": both met the same target, so the result shows no difference in speed; look at the latencies"
	case !behindA && !behindB:
		rates += ": both met their own target, and the result follows from it; it compares the servers only if each " +
			"target is the highest that its server sustains, as after a tune"
	case behindA && behindB:
		rates += ": both were slower than their target"
	case behindA:
		rates += ": only " + p.BaseLabel + " was slower than its target"
	default:
		rates += ": only " + p.OtherLabel + " was slower than its target"
	}
	p.Notes = append(p.Notes, rates)
	return !behindA && !behindB
}

// lowerTarget reports whether the other server had a lower target rate than the base.
func (p *Pair) lowerTarget() bool {
	a, okA := p.Base.load()
	b, okB := p.Other.load()
	return okA && okB && b.target < a.target
}

// answerTokens returns the mean length of the answers in tokens; 0: unknown.
func (r *Result) answerTokens() float64 {
	if r.point != nil {
		return r.point.answer
	}
	for _, keys := range [][2]string{{"result_completed_tokens_per_second", "result_completed_samples_per_sec"},
		{"result_tokens_per_second", "result_samples_per_second"}} {
		tokens, hasTokens := number(r.loadgen[keys[0]])
		answers, hasAnswers := number(r.loadgen[keys[1]])
		if hasTokens && hasAnswers && tokens > 0 && answers > 0 {
			return tokens / answers
		}
	}
	return 0
}

// noteAnswers notes a difference in the length of answers, because it changes tokens per second by itself.
func (p *Pair) noteAnswers() {
	a, b := p.Base.answerTokens(), p.Other.answerTokens()
	if a == 0 || b == 0 || math.Abs(b/a-1) < leastLonger {
		return
	}
	than := "longer"
	if b < a {
		than = "shorter"
	}
	p.Notes = append(p.Notes, fmt.Sprintf("answers of %s are %.1f %% %s (%.4g and %.4g tokens on average)", p.OtherLabel,
		100*math.Abs(b/a-1), than, a, b))
}
