package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

// Metric is a latency that LoadGen limits in Server.
type Metric string

// The metrics.
const (
	TTFT   Metric = "time to first token"
	TPOT   Metric = "time per output token"
	Answer Metric = "latency"
)

// Limit is one latency limit of a Server run.
type Limit struct {
	Metric Metric        `json:"metric"`
	Limit  time.Duration `json:"limit_ns"`
}

// Goal is what a run of the full length must meet to be VALID.
type Goal struct {
	Offline    bool          `json:"offline,omitempty"`   // there are no limits: the tune seeks the highest throughput
	InFlight   int           `json:"in_flight,omitempty"` // in Offline: requests in flight; 0: the search finds the number
	Percentile float64       `json:"percentile"`          // of the queries that must meet each limit
	Limits     []Limit       `json:"limits"`
	Load       schedule.Load `json:"load"`       // of the full-length run; the search chooses QPS
	Confidence float64       `json:"confidence"` // of each decision, and of the interval
}

// Queries returns the number of queries of a full-length run at a rate.
func (g *Goal) Queries(rate float64) int {
	if g.Offline {
		return max(g.Load.MinQueries, int(math.Ceil(slack*rate*g.Load.MinDuration.Seconds())))
	}
	l := g.Load
	l.QPS = rate
	return schedule.ServerCount(l)
}

// Duration returns the length of a full-length run at a rate, without its last answers.
func (g *Goal) Duration(rate float64) time.Duration {
	return time.Duration(float64(g.Queries(rate)) / rate * float64(time.Second))
}

// equal reports whether two goals are the same.
func (g *Goal) equal(o *Goal) bool {
	return g.Offline == o.Offline && g.InFlight == o.InFlight && g.Percentile == o.Percentile &&
		slices.Equal(g.Limits, o.Limits) && g.Load == o.Load && g.Confidence == o.Confidence
}

// same reports whether two tunes have the same terms.
func (s *State) same(o *State) bool {
	return s.Model == o.Model && s.Scenario == o.Scenario && s.Dataset == o.Dataset &&
		slices.Equal(s.Settings, o.Settings) && s.Goal.equal(&o.Goal)
}

// terms returns the settings that a continued tune must share with the earlier one, as flags where possible.
func (s *State) terms() []string {
	g, load := &s.Goal, s.Goal.Load
	list := append(slices.Clone(s.Settings), "--model="+s.Model, "--scenario="+s.Scenario,
		fmt.Sprintf("--confidence=%v", g.Confidence), fmt.Sprintf("--latency-percentile=%g", percent*g.Percentile),
		fmt.Sprintf("--min-duration=%v", load.MinDuration), fmt.Sprintf("--min-queries=%d", load.MinQueries),
		fmt.Sprintf("rows=%d", load.Set), fmt.Sprintf("schedule seed=%d", load.Seed))
	if s.Dataset != "" {
		list = append(list, "SHA-256 of the data set="+s.Dataset)
	}
	if g.InFlight > 0 {
		list = append(list, fmt.Sprintf("--concurrency=%d", g.InFlight))
	}
	for _, l := range g.Limits {
		name := map[Metric]string{TTFT: "--ttft-limit", TPOT: "--tpot-limit"}[l.Metric]
		list = append(list, fmt.Sprintf("%s=%v", cmp.Or(name, "limit of the "+string(l.Metric)), l.Limit))
	}
	return list
}

// missed reports whether a load has exceeded a limit so often that no lower percentile could meet it: with more than
// half of its queries, and more than a run may have.
func (g *Goal) missed(c Count) bool {
	const half = 0.5
	return float64(c.Late) > max(half, 1-g.Percentile)*float64(c.Queries)
}

// maxLimits is how many limits a meter can track.
const maxLimits = 8

// check rejects a goal that is invalid for a search.
func (g *Goal) check() error {
	switch {
	case !(g.Percentile > 0 && g.Percentile < 1):
		return fmt.Errorf("the percentile %v is not between 0 and 1", g.Percentile)
	case !(g.Confidence >= 0.5 && g.Confidence < 1):
		return fmt.Errorf("the confidence %v is not between 0.5 and 1", g.Confidence)
	case (len(g.Limits) == 0) != g.Offline || len(g.Limits) > maxLimits:
		return errors.New("a goal has 1 to 8 limits")
	case g.Load.MinDuration < 0 || g.Load.MinDuration > maxDuration || g.Load.MinQueries < 0 ||
		g.Load.MinQueries > maxQueries || g.Load.Set < 0 || g.Load.Set > maxQueries:
		return errors.New("its full-length run is too long")
	}
	return nil
}

// Bounds of a full-length run.
const (
	maxDuration = 30 * 24 * time.Hour
	maxQueries  = 1 << 27
)
