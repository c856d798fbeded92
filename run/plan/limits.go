package plan

import (
	"time"

	"github.com/mlperf-go/mlperf-go/models"
)

// Limits are the latency limits of a test.
type Limits struct{ *Test }

// noLimit stands in user.conf where a benchmark has no latency limit: LoadGen's own default of 100 ms would be one.
const noLimit = 24 * time.Hour

// latencyLimit is what LoadGen is to hold the whole answer against in Server; 0: the benchmark has limits per token
// instead, or none.
func (l *Limits) latencyLimit() time.Duration {
	if l.Scenario.LoadGen != models.Server || l.Row.UseTokenLatencies {
		return 0
	}
	return l.Scenario.TargetLatency
}

func (l *Limits) limit(setting string) time.Duration {
	if d := l.Config.Duration(setting); d > 0 {
		return d
	}
	return noLimit
}
