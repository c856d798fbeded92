package record

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/metrics/series"
)

// ServerMetrics summarizes the servers' own metrics during the test (--metrics).
type ServerMetrics struct {
	File      string                 `json:"file"` // path of the file in the run's folder
	IntervalS float64                `json:"interval_s"`
	Targets   []MetricsTarget        `json:"targets"`
	Signals   map[string]SignalStats `json:"signals"` // by series.Signal.Key, all targets together
	// EnergyJ is the energy that the GPUs of this machine used, in joules; 0: unknown.
	EnergyJ        float64 `json:"energy_j,omitempty"`
	TokensPerJoule float64 `json:"tokens_per_j,omitempty"` // output tokens per joule; 0: unknown
}

// MetricsTarget is how often one metrics page was read.
type MetricsTarget struct {
	Target  string `json:"target"`
	Scrapes int    `json:"scrapes"`
	Failed  int    `json:"failed"`
	Error   string `json:"error,omitempty"` // error of the first failed reading
	Series  int    `json:"series"`
}

// SignalStats are the figures of a signal over the test, in its unit.
type SignalStats struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
	Last float64 `json:"last"`
}

// ReadServerMetrics summarizes a file of metrics for the record, and returns notes about pages that could not be read.
func ReadServerMetrics(path string, outcomes []scrape.Outcome) (*ServerMetrics, []string) {
	set, err := series.Read(path, func(s *series.Series) bool { return series.IsSignal(s) || series.IsEnergy(s) })
	if err != nil {
		return nil, []string{"the servers' metrics cannot be summarized: " + err.Error()}
	}
	m := &ServerMetrics{File: MetricsName, IntervalS: set.IntervalS, Signals: Signals(set),
		EnergyJ: series.Energy(set)}
	var notes []string
	for _, o := range outcomes {
		m.Targets = append(m.Targets, MetricsTarget(o))
		if o.Failed > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d readings of the metrics of %s failed, the first because %s",
				o.Failed, o.Scrapes, o.Target, o.Error))
		}
	}
	return m, notes
}

// Signals returns the figures of each signal of all targets together, by its key.
func Signals(set *series.Set) map[string]SignalStats {
	signals := map[string]SignalStats{}
	for i := range series.Signals {
		line := series.Signals[i].Total(set)
		if stats, ok := line.Stats(); ok {
			signals[series.Signals[i].Key] = SignalStats(stats)
		}
	}
	return signals
}

// Yield computes the tokens per joule of a test with the given number of output tokens. It may be called on nil.
func (m *ServerMetrics) Yield(outputTokens int64) {
	if m != nil && m.EnergyJ > 0 {
		m.TokensPerJoule = float64(outputTokens) / m.EnergyJ
	}
}
