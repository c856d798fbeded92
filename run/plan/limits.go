package plan

import (
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

// Limits are the latency limits of a test.
type Limits struct{ *Test }

// NoLimit is the limit in user.conf of a benchmark without one. LoadGen's own default of 100 ms would be a limit.
const NoLimit = 24 * time.Hour

// latencyLimit returns the limit of the whole answer in Server; 0: the benchmark limits tokens, or nothing.
func (l *Limits) latencyLimit() time.Duration {
	if l.Scenario.LoadGen != models.Server || l.Row.UseTokenLatencies {
		return 0
	}
	return l.Scenario.TargetLatency
}

// Limited reports whether a test may have a latency limit in Server, as far as it is known before the data set is read.
// A user.conf may contain one.
func (l *Limits) Limited() bool {
	c, s := l.Config, l.Scenario
	return s.TTFTLimit > 0 || s.TPOTLimit > 0 || s.TargetLatency > 0 || c.Duration("ttft-limit") > 0 ||
		c.Duration("tpot-limit") > 0 || c.Has("user-conf")
}

func (l *Limits) limit(setting string) time.Duration {
	if d := l.Config.Duration(setting); d > 0 {
		return d
	}
	return NoLimit
}
