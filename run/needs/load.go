package needs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// Load is the amount of work of a test, as far as it is known in advance.
type Load struct {
	Samples     int           // number of answers to receive
	PerS        float64       // rate of the schedule, or expected, in samples per second; 0: as fast as the server answers
	MinDuration time.Duration // minimum duration of the test
	OneQuery    bool          // whether the test ends with its one query (Offline), even before MinDuration
}

// rateGiven reports whether the user set the target QPS.
func rateGiven(p *plan.Plan) bool {
	return p.Config.IsSet("target-qps") && p.Config.Origin("target-qps").Layer > config.FromRegistry
}

// LoadOf returns the load of a bound plan's test.
func LoadOf(p *plan.Plan) Load {
	c := p.Config
	l := Load{Samples: c.Int("min-queries"), MinDuration: c.Duration("min-duration")}
	switch p.Scenario.LoadGen {
	case models.Server:
		l.PerS = c.Float("target-qps")
	case models.Offline:
		l.OneQuery = true
		// LoadGen issues enough samples for the duration at the expected rate
		l.Samples = max(l.Samples, int(plan.OfflineSlack*c.Float("target-qps")*l.MinDuration.Seconds()))
		if rateGiven(p) {
			l.PerS = c.Float("target-qps")
		}
	case models.SingleStream:
		if d := c.Duration("expected-latency"); d > 0 {
			l.PerS = 1 / d.Seconds()
		}
	}
	if set := p.EqualIssueSet(); set > 0 {
		if p.Scenario.LoadGen == models.Server { // whole sets until the duration is reached
			l.Samples = max(l.Samples, int(l.PerS*l.MinDuration.Seconds()))
		}
		l.Samples = (l.Samples + set - 1) / set * set
	}
	if p.Mode == models.Accuracy {
		l.Samples, l.MinDuration = p.OfficialRows(), 0
		if n := c.Int("samples"); n > 0 {
			l.Samples = n
		}
	}
	return l
}

// queries returns how many queries a test with a schedule has: what its rate makes of the duration, but not fewer than
// the minimum.
func (l Load) queries() int { return max(l.Samples, int(l.PerS*l.MinDuration.Seconds())) }

// Takes returns how long the test takes. Where this depends on the server's speed, which is not known, sure is false
// and the time is a lower bound.
func (l Load) Takes() (d time.Duration, sure bool) {
	shortest := l.MinDuration
	if l.OneQuery {
		shortest = 0
	}
	if l.PerS <= 0 {
		return shortest, false
	}
	return max(shortest, time.Duration(float64(l.Samples)/l.PerS*float64(time.Second))), true
}

// About returns an estimate in words.
func About(d time.Duration, sure bool) string {
	word, short := "about", d.Round(time.Second) == 0
	switch {
	case sure && short:
		return "less than 1s"
	case short:
		return "an unknown time"
	case !sure:
		word = "at least"
	}
	return fmt.Sprintf("%s %v", word, d.Round(time.Second))
}

// simulatedTokens is about the length of the simulator's answers, which are those of a synthetic data set or shorter.
const simulatedTokens = 128

// LongestAnswer returns the maximum number of tokens of an answer of a test.
func LongestAnswer(p *plan.Plan) int {
	tokens := p.Config.Int("max-tokens")
	if p.UsesSimulator() {
		tokens = min(tokens, simulatedTokens)
	}
	return tokens
}

// AnswerTime estimates from the preflight's short answer how long the slowest server takes for the longest answer
// of a test without other load; 0: unknown.
func AnswerTime(servers *run.Preflight, p *plan.Plan) (longest time.Duration) {
	if servers == nil {
		return 0
	}
	tokens := time.Duration(LongestAnswer(p))
	for _, e := range servers.Endpoints {
		switch n := time.Duration(e.OutputTokens); {
		case n > 1 && e.TTFT > 0 && e.Latency > e.TTFT:
			longest = max(longest, e.TTFT+(tokens-1)*(e.Latency-e.TTFT)/(n-1))
		case n > 1: // not streamed
			longest = max(longest, tokens*e.Latency/n)
		}
	}
	return longest
}

// Between returns an estimate that depends on how many answers a server can compute at once, in words.
func Between(low, high, answer time.Duration) string {
	least := low.Round(time.Second).String()
	if low < time.Second {
		least = "less than 1s"
	}
	return fmt.Sprintf("%s to %v: one answer alone takes up to %.2g s; how many the server can compute at once decides",
		least, high.Round(time.Second), answer.Seconds())
}

// offered reports the rates of the schedules. A real server may not keep up with a rate that the user did not choose.
func (s *Survey) offered(context.Context) Check {
	var given, chosen []string
	short := 0 // queries that early stopping needs and a test does not have
	for _, p := range s.Tests {
		from := p.Config.Origin("target-qps")
		if p.Scenario.LoadGen != models.Server {
			continue
		}
		if from == plan.NoRate {
			return Check{State: Unknown, Found: "no --target-qps given", Do: chooseRate}
		}
		text := fmt.Sprintf("%s %g queries/s", p.Scenario.Scenario, p.Config.Float("target-qps"))
		if least, n := p.LeastQueries(), LoadOf(p).queries(); n < least {
			short = max(short, least)
			text += fmt.Sprintf(", about %d queries", n)
		}
		if why := p.RateOfRehearsal(); why != "" && !p.UsesSimulator() {
			chosen = appendNew(chosen, text+", the "+why)
			continue
		} else if why == "" && from.Layer == config.FromProgram {
			text = fmt.Sprintf("%s: %s", p.Scenario.Scenario, from.Where)
		}
		given = appendNew(given, text)
	}
	if len(chosen) > 0 {
		return Check{State: Warning, Found: "no --target-qps given: " + strings.Join(append(chosen, given...), "; ") +
			"; the server may not keep up", Do: chooseRate}
	}
	if len(given) == 0 {
		return notNeeded("no test has a rate")
	}
	if short > 0 {
		return Check{State: Warning, Found: fmt.Sprintf("%s; with fewer than %d, LoadGen's early stopping makes every test "+
			"INVALID", strings.Join(given, "; "), short), Do: fmt.Sprintf("Pass --min-queries %d, or a longer --min-duration",
			short)}
	}
	return found(strings.Join(given, "; "))
}

const chooseRate = "Pass --target-qps QUERIES_PER_SECOND; `mlperf-go tune` finds the highest valid rate"

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// duration reports how long the tests take. Without words of the caller's it is the sum of the tests.
func (s *Survey) duration(context.Context) Check {
	if s.Takes != "" {
		return found(s.Takes)
	}
	if c, ok := s.mayBeShort(); ok {
		return c
	}
	var total time.Duration
	all := true
	for _, p := range s.Tests {
		if p.Scenario.LoadGen == models.Server && p.Config.Origin("target-qps") == plan.NoRate {
			return unknown("it follows from --target-qps")
		}
		d, sure := LoadOf(p).Takes()
		total, all = total+d, all && sure
	}
	answer := AnswerTime(s.Servers, s.Tests[0])
	if l := LoadOf(s.Tests[0]); !all && len(s.Tests) == 1 && answer > 0 {
		return found(Between(max(total, answer), max(total, time.Duration(l.Samples)*answer), answer))
	}
	if total == 0 {
		return unknown("as long as the server needs for its answers")
	}
	text := About(total, all)
	if len(s.Tests) == 1 {
		text += LoadOf(s.Tests[0]).decides()
		if s.Tests[0].Scenario.LoadGen == models.Server && answer >= time.Second {
			text += fmt.Sprintf(", and up to %v for the last answers", answer.Round(time.Second))
		}
	}
	return found(text)
}

// decides returns which of queries and duration decides how long a test with a schedule takes.
func (l Load) decides() string {
	if l.PerS <= 0 || l.MinDuration <= 0 {
		return ""
	}
	queries := fmt.Sprintf("%d samples at %g/s", l.Samples, l.PerS)
	if float64(l.Samples)/l.PerS >= l.MinDuration.Seconds() {
		return fmt.Sprintf(" for %s (min-duration %v)", queries, l.MinDuration)
	}
	return fmt.Sprintf(" by min-duration (%s may take less)", queries)
}

// mayBeShort reports an Offline test without a rate from the user: LoadGen makes its one query long enough for the
// minimum duration only at the expected rate.
func (s *Survey) mayBeShort() (Check, bool) {
	for _, p := range s.Tests {
		l := LoadOf(p)
		if p.Scenario.LoadGen == models.Offline && l.MinDuration > 0 && !rateGiven(p) {
			return Check{State: Warning, Found: fmt.Sprintf("%d samples as fast as the server answers; INVALID if that "+
				"takes less than %v", l.Samples, l.MinDuration),
				Do: "Pass --target-qps SAMPLES_PER_SECOND, from which the length of an Offline test follows"}, true
		}
	}
	return Check{}, false
}
