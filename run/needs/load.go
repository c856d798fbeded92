package needs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// Load is how much a test has to do, as far as this is known in advance.
type Load struct {
	Samples     int           // answers to receive
	PerS        float64       // rate of the schedule, or expected, in samples per second; 0: as fast as the server answers
	MinDuration time.Duration // of the test
	OneQuery    bool          // Offline: the test ends with its samples, also before MinDuration
}

// rateGiven reports whether the user set the target QPS.
func rateGiven(p *plan.Plan) bool {
	return p.Config.IsSet("target-qps") && p.Config.Origin("target-qps").Layer > config.FromRegistry
}

// LoadOf returns how much a bound plan's test has to do.
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
	word := "about"
	if !sure {
		if d.Round(time.Second) == 0 {
			return "an unknown time"
		}
		word = "at least"
	}
	return fmt.Sprintf("%s %v", word, d.Round(time.Second))
}

// offered reports the rates of the schedules. A real server may not keep up with a rate that the user did not choose.
func (s *Survey) offered(context.Context) Check {
	var given, chosen []string
	for _, p := range s.Tests {
		from := p.Config.Origin("target-qps")
		if p.Scenario.LoadGen != models.Server {
			continue
		}
		if from == plan.NoRate {
			return Check{State: Unknown, Found: "no --target-qps given", Do: chooseRate}
		}
		text := fmt.Sprintf("%s %g queries/s", p.Scenario.Scenario, p.Config.Float("target-qps"))
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
	if total == 0 {
		return unknown("as long as the server needs for its answers")
	}
	text := About(total, all)
	if len(s.Tests) == 1 {
		text += LoadOf(s.Tests[0]).decides()
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
