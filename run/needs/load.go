package needs

import (
	"context"
	"fmt"
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
}

// LoadOf returns how much a bound plan's test has to do.
func LoadOf(p *plan.Plan) Load {
	c := p.Config
	l := Load{Samples: c.Int("min-queries"), MinDuration: c.Duration("min-duration")}
	given := c.IsSet("target-qps") && c.Origin("target-qps").Layer > config.FromRegistry
	switch p.Scenario.LoadGen {
	case models.Server:
		l.PerS = c.Float("target-qps")
	case models.Offline:
		// LoadGen issues enough samples for the duration at the expected rate
		l.Samples = max(l.Samples, int(plan.OfflineSlack*c.Float("target-qps")*l.MinDuration.Seconds()))
		if given {
			l.PerS = c.Float("target-qps")
		}
	case models.SingleStream:
		if d := c.Duration("expected-latency"); d > 0 {
			l.PerS = 1 / d.Seconds()
		}
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
	if l.PerS <= 0 {
		return l.MinDuration, false
	}
	return max(l.MinDuration, time.Duration(float64(l.Samples)/l.PerS*float64(time.Second))), true
}

// About returns an estimate in words.
func About(d time.Duration, sure bool) string {
	word := "about"
	if !sure {
		word = "at least"
	}
	return fmt.Sprintf("%s %v", word, d.Round(time.Second))
}

// duration reports how long the tests take. Without words of the caller's it is the sum of the tests.
func (s *Survey) duration(context.Context) Check {
	if s.Takes != "" {
		return found(s.Takes)
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
	return found(About(total, all))
}
