package ledger

const nsPerS = 1e9

// Stats are the figures of one metric in seconds (run.json's latency_s).
type Stats struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// LagUS are the figures of a lag in µs (run.json's client.issue_lag_us).
type LagUS struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// LagUS returns s converted to µs; zeros if s is nil.
func (s *Stats) LagUS() LagUS {
	if s == nil {
		return LagUS{}
	}
	const us = 1e6
	return LagUS{P50: s.P50 * us, P99: s.P99 * us, P999: s.P999 * us, Max: s.Max * us}
}

// Origin is the time from which a sample's latency counts.
type Origin int

// The origins of the scenarios.
const (
	FromSchedule Origin = iota // Server, Interactive: t0 + schedule[seq]
	FromIssue                  // SingleStream: the time of issue
	FromStart                  // Offline: t0 for every sample
)

// Options of Compute.
type Options struct{ Origin Origin }

// Throughput is measured between the first issue and the last completion.
type Throughput struct {
	Requests     float64 `json:"requests_per_s"`
	InputTokens  float64 `json:"input_tokens_per_s"`
	OutputTokens float64 `json:"output_tokens_per_s"`
}

// Metrics are the figures of a test, from successful samples only. A Stats is nil if it has no values.
type Metrics struct {
	TTFT  *Stats `json:"ttft,omitempty"`  // time from origin to first token
	TPOT  *Stats `json:"tpot,omitempty"`  // (time of last token − time of first token)/(n−1), samples with n > 1 tokens
	E2E   *Stats `json:"e2e,omitempty"`   // time from origin to completion
	NTPOT *Stats `json:"ntpot,omitempty"` // E2E/n, samples with n > 0 tokens

	IssueLag    *Stats `json:"issue_lag,omitempty"`    // from scheduled to issued, all samples
	DispatchLag *Stats `json:"dispatch_lag,omitempty"` // from scheduled to sent, all samples that were sent
	ReportLag   *Stats `json:"report_lag,omitempty"`   // from the earliest arrival of the last token to its report

	Throughput   Throughput `json:"throughput"`
	InputTokens  int64      `json:"input_tokens"`
	OutputTokens int64      `json:"output_tokens"`
	Successes    int64      `json:"successes"`
	FirstIssueNS int64      `json:"first_issue_ns"` // first issue as ns since 1970; 0 if there are no entries
	LastDoneNS   int64      `json:"last_done_ns"`   // last completion as ns since 1970; 0 if no sample ended
	DurationS    float64    `json:"duration_s"`     // time from first issue to last completion, in seconds
}

// EstimateStart returns when LoadGen started the clock of a series. No query is issued before it is due, so
// EstimateStart returns the smallest difference between issue and schedule. The estimate is late by the smallest issue
// lag. Without a schedule it is the first issue.
func EstimateStart(entries []Entry, schedule []int64) int64 {
	t0 := int64(0)
	for i := range entries {
		at := entries[i].IssuedNS
		if seq := int(entries[i].Seq); seq < len(schedule) {
			at -= schedule[seq]
		}
		if i == 0 || at < t0 {
			t0 = at
		}
	}
	return t0
}

// ScheduledNS returns the wall clock time from which the latency of e counts: its issue if the schedule does not
// contain it.
func ScheduledNS(e *Entry, schedule []int64, t0 int64, o Origin) int64 {
	switch {
	case o == FromStart:
		return t0
	case o == FromSchedule && int(e.Seq) < len(schedule):
		return t0 + schedule[e.Seq]
	}
	return e.IssuedNS
}

// due returns ScheduledNS of e in this test.
func (t *Test) due(e *Entry) int64 { return ScheduledNS(e, t.Schedule, t.T0NS, t.Origin) }

// Compute returns the figures of a test. schedule contains each sample's offset from t0 in ns, by Seq; t0 is wall clock
// ns. A percentile is element trunc(n·p) of the sorted values.
func Compute(entries []Entry, schedule []int64, t0 int64, o Options) Metrics {
	t := Test{Entries: entries, Schedule: schedule, T0NS: t0, Origin: o.Origin}
	return t.Metrics()
}

// Metrics returns the figures of the test.
func (t *Test) Metrics() Metrics {
	var m Metrics
	for i := range t.Entries {
		e := &t.Entries[i]
		m.extent(e)
		if !e.Succeeded() {
			continue
		}
		m.Successes++
		m.InputTokens += int64(e.InputTokens)
		m.OutputTokens += int64(e.OutputTokens)
	}
	f := t.figures()
	m.TTFT, m.TPOT, m.E2E, m.NTPOT = f.ns(ttft).stats(), f.quotients(tpot).stats(), f.ns(e2e).stats(),
		f.quotients(ntpot).stats()
	m.IssueLag, m.DispatchLag, m.ReportLag = f.ns(issueLag).stats(), f.ns(dispatchLag).stats(), f.ns(reportLag).stats()
	m.rates()
	return m
}

// extent widens the span from the first issue to the last completion by e.
func (m *Metrics) extent(e *Entry) {
	if m.FirstIssueNS == 0 || e.IssuedNS < m.FirstIssueNS {
		m.FirstIssueNS = e.IssuedNS
	}
	m.LastDoneNS = max(m.LastDoneNS, e.DoneNS)
}

func (m *Metrics) rates() {
	if m.LastDoneNS <= m.FirstIssueNS {
		return
	}
	s := seconds(m.LastDoneNS - m.FirstIssueNS)
	m.DurationS = s
	m.Throughput = Throughput{
		Requests:     float64(m.Successes) / s,
		InputTokens:  float64(m.InputTokens) / s,
		OutputTokens: float64(m.OutputTokens) / s,
	}
}

// Percentiles contains percentiles of each latency in seconds, in the requested order. A list is nil if the latency has
// no values.
type Percentiles struct {
	TTFT  []float64 `json:"ttft"`
	TPOT  []float64 `json:"tpot"`
	E2E   []float64 `json:"e2e"`
	NTPOT []float64 `json:"ntpot"`
}

// Percentiles returns percentiles such as 99.9 of the test, by the rule of Compute.
func (t *Test) Percentiles(percents []float64) Percentiles {
	f := t.figures()
	return Percentiles{f.ns(ttft).percentiles(percents), f.quotients(tpot).percentiles(percents),
		f.ns(e2e).percentiles(percents), f.quotients(ntpot).percentiles(percents)}
}
