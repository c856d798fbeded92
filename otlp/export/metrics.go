package export

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	data "go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
)

// Steps of the metrics over a run. Each step is a point of every metric.
const (
	mostSteps  = 240
	leastStepS = 1.0
	stepBatch  = 24 // steps in one message
	targetMost = 64 // servers, each with its own signals
)

// bounds of the histograms in seconds: ten in each decade from 1 ms to 1,000 s.
var bounds = func() (list []float64) {
	for i := range 61 {
		list = append(list, math.Round(1e7*math.Pow(10, float64(i)/10-3))/1e7)
	}
	return list
}()

// latency is a histogram of a duration.
type latency struct {
	name, help string
	of         func(*ledger.Times) float64
}

var latencies = []latency{
	{"mlperf_go.ttft", "time to first token", func(t *ledger.Times) float64 { return t.TTFT }},
	{"mlperf_go.tpot", "time per output token after the first", func(t *ledger.Times) float64 { return t.TPOT }},
	{"mlperf_go.e2e", "time per request", func(t *ledger.Times) float64 { return t.E2E }},
}

// moment is the beginning or the end of a request.
type moment struct {
	atS    float64
	change int // of the requests in flight
	reason string
	in     int64
	out    int64
	took   []float64 // latencies by index; nil: the request did not succeed
	ended  bool
}

// state is the counts up to a step.
type state struct {
	outcomes map[string]int64 // by reason
	flight   int64
	in, out  int64
	hist     []data.HistogramDataPoint[float64]
}

func newState() *state {
	s := &state{outcomes: map[string]int64{"": 0}, hist: make([]data.HistogramDataPoint[float64], len(latencies))}
	for i := range s.hist {
		s.hist[i] = data.HistogramDataPoint[float64]{Bounds: bounds, BucketCounts: make([]uint64, len(bounds)+1)}
	}
	return s
}

func (s *state) add(m *moment) {
	s.flight += int64(m.change)
	if !m.ended {
		return
	}
	s.outcomes[m.reason]++
	s.in, s.out = s.in+m.in, s.out+m.out
	for i, v := range m.took {
		if math.IsNaN(v) {
			continue
		}
		h := &s.hist[i]
		h.Count++
		h.Sum += v
		h.BucketCounts[sort.SearchFloat64s(bounds, v)]++
		if low, ok := h.Min.Value(); !ok || v < low {
			h.Min = data.NewExtrema(v)
		}
		if high, ok := h.Max.Value(); !ok || v > high {
			h.Max = data.NewExtrema(v)
		}
	}
}

// moments returns the beginnings and ends of all requests in their order.
func (r *Run) moments() []moment {
	list := make([]moment, 0, 2*len(r.Requests.Entries))
	at := func(ns int64) float64 { return r.WallClock(ns).Sub(r.start).Seconds() }
	r.EachRequest(func(e *ledger.Entry, _ int64, t ledger.Times) {
		list = append(list, moment{atS: at(e.IssuedNS), change: 1})
		if e.DoneNS == 0 {
			return
		}
		m := moment{atS: at(e.DoneNS), change: -1, reason: r.reason(e), ended: true}
		if e.Succeeded() {
			m.in, m.out = int64(e.InputTokens), int64(e.OutputTokens)
			for _, l := range latencies {
				m.took = append(m.took, l.of(&t))
			}
		}
		list = append(list, m)
	})
	slices.SortStableFunc(list, func(a, b moment) int {
		switch {
		case a.atS < b.atS:
			return -1
		case a.atS > b.atS:
			return 1
		}
		return 0
	})
	return list
}

// steps returns the seconds at which the metrics have points. The last is the end of the run.
func (r *Run) steps() []float64 {
	end := r.end.Sub(r.start).Seconds()
	step := max(leastStepS, end/mostSteps)
	var list []float64
	for at := step; at < end-step/2; at += step {
		list = append(list, at)
	}
	return append(list, end)
}

// figures sends the metrics of a run, and returns the number of their points.
func (c *Collector) figures(ctx context.Context, r *Run) (int, error) {
	moments, now, points := r.moments(), newState(), 0
	about, signals := c.resource(r), r.signals()
	for steps := range slices.Chunk(r.steps(), stepBatch) {
		m := newMessage(r.start)
		for _, at := range steps {
			for len(moments) > 0 && (moments[0].atS <= at || at == r.end.Sub(r.start).Seconds()) {
				now.add(&moments[0])
				moments = moments[1:]
			}
			m.add(now, r.since(at))
		}
		r.addSignals(m, signals, steps)
		rm := data.ResourceMetrics{Resource: about, ScopeMetrics: []data.ScopeMetrics{
			{Scope: instrumentation.Scope{Name: scope}, Metrics: m.list()}}}
		if err := c.metrics.Export(ctx, &rm); err != nil {
			return points, err
		}
		points += m.points
	}
	return points, nil
}

// message gathers the points of some steps.
type message struct {
	start   time.Time
	sums    map[string][]data.DataPoint[int64]
	gauges  map[string][]data.DataPoint[float64]
	hist    [][]data.HistogramDataPoint[float64]
	points  int
	signals []*series.Signal
}

func newMessage(start time.Time) *message {
	return &message{start: start, sums: map[string][]data.DataPoint[int64]{},
		gauges: map[string][]data.DataPoint[float64]{},
		hist:   make([][]data.HistogramDataPoint[float64], len(latencies))}
}

// The names of counters and gauges.
const (
	requestsName = "mlperf_go.requests"
	tokensName   = "mlperf_go.tokens"
	flightName   = "mlperf_go.in_flight"
	signalPrefix = "mlperf_go.server."
)

func (m *message) add(s *state, at time.Time) {
	for reason, n := range s.outcomes {
		set := *attribute.EmptySet()
		if reason != "" {
			set = attribute.NewSet(attribute.String("error.type", reason))
		}
		m.sum(requestsName, at, n, set)
	}
	m.sum(tokensName, at, s.in, attribute.NewSet(attribute.String("gen_ai.token.type", "input")))
	m.sum(tokensName, at, s.out, attribute.NewSet(attribute.String("gen_ai.token.type", "output")))
	m.gauge(flightName, at, float64(s.flight), *attribute.EmptySet())
	for i, h := range s.hist {
		h.StartTime, h.Time, h.BucketCounts = m.start, at, slices.Clone(h.BucketCounts)
		m.hist[i] = append(m.hist[i], h)
		m.points++
	}
}

func (m *message) sum(name string, at time.Time, n int64, set attribute.Set) {
	m.sums[name] = append(m.sums[name], data.DataPoint[int64]{Attributes: set, StartTime: m.start, Time: at, Value: n})
	m.points++
}

func (m *message) gauge(name string, at time.Time, v float64, set attribute.Set) {
	m.gauges[name] = append(m.gauges[name], data.DataPoint[float64]{Attributes: set, Time: at, Value: v})
	m.points++
}

// list returns the metrics that have points.
func (m *message) list() (list []data.Metrics) {
	for _, c := range []struct{ name, unit, help string }{
		{requestsName, "{request}", "ended requests; failed ones have error.type"},
		{tokensName, "{token}", "tokens of successful requests"}} {
		list = append(list, data.Metrics{Name: c.name, Unit: c.unit, Description: c.help, Data: data.Sum[int64]{
			DataPoints: m.sums[c.name], Temporality: data.CumulativeTemporality, IsMonotonic: true}})
	}
	list = append(list, data.Metrics{Name: flightName, Unit: "{request}", Description: "requests without an outcome",
		Data: data.Gauge[float64]{DataPoints: m.gauges[flightName]}})
	for i, l := range latencies {
		if m.hist[i][len(m.hist[i])-1].Count == 0 {
			continue
		}
		list = append(list, data.Metrics{Name: l.name, Unit: "s", Description: l.help, Data: data.Histogram[float64]{
			DataPoints: m.hist[i], Temporality: data.CumulativeTemporality}})
	}
	for _, g := range m.signals {
		list = append(list, data.Metrics{Name: signalPrefix + g.Key, Unit: signalUnit(g.Unit), Description: g.Title,
			Data: data.Gauge[float64]{DataPoints: m.gauges[signalPrefix+g.Key]}})
	}
	return list
}

// signalUnit returns a unit of a signal as UCUM writes it.
func signalUnit(unit string) string {
	known := map[string]string{"fraction": "1", "requests": "{request}", "tokens/s": "{token}/s", "GB": "GBy"}
	return cmp.Or(known[unit], unit)
}

// signalLine is a signal of one server.
type signalLine struct {
	*series.Signal
	server attribute.Set
	line   series.Line
}

// signals returns the signals that the servers published.
func (r *Run) signals() (list []signalLine) {
	if r.Metrics == nil {
		return nil
	}
	for i := range series.Signals {
		for target, name := range r.Metrics.Targets[:min(len(r.Metrics.Targets), targetMost)] {
			if line := series.Signals[i].Of(r.Metrics, target); len(line.TimesS) > 0 {
				set := attribute.NewSet(attribute.String("server.address", text(address(name))))
				list = append(list, signalLine{&series.Signals[i], set, line})
			}
		}
	}
	return list
}

// addSignals adds the servers' signals at some steps: the last value that was read before each.
func (r *Run) addSignals(m *message, signals []signalLine, steps []float64) {
	for _, s := range signals {
		shift := r.Metrics.Started.Sub(r.start).Seconds()
		for _, at := range steps {
			if v := s.line.At(at-shift, r.Metrics.IntervalS); !math.IsNaN(v) {
				m.gauge(signalPrefix+s.Key, r.since(at), v, s.server)
			}
		}
		if len(m.gauges[signalPrefix+s.Key]) > 0 && !slices.Contains(m.signals, s.Signal) {
			m.signals = append(m.signals, s.Signal)
		}
	}
}
