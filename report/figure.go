package report

import (
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Figure is one chart of a report.
type Figure struct {
	ID     string
	Title  string
	Look   string  // what to look for
	X, Y   string  // axes with their units
	Time   bool    // X is the time of the run; such figures are zoomed together
	From   float64 // the range of X; not above From: that of the values
	To     float64
	Curves []Curve
	Limits []Limit
}

// Curve is a line, in the order of X. NaN in Y leaves a gap.
type Curve struct {
	Name string
	X, Y []float64
}

// Limit is a value that is drawn across a chart: of Y, or of X in a distribution.
type Limit struct {
	Name  string
	Value float64
	OnX   bool
	Far   bool // it is so far above every value that the chart only names it
}

// farAbove is the ratio of a limit to the largest value above which a limit is not drawn, because it would flatten the
// curves.
const farAbove = 4

// duration is a kind of latency that has a chart.
type duration struct {
	id, name string
	unit     string
	scale    float64 // units per second
	of       func(*times) float64
	limit    string // the name of its limit in record.Tail
}

var durations = []duration{
	{"ttft", "TTFT", "ms", 1e3, func(t *times) float64 { return t.TTFT }, "time to first token"},
	{"tpot", "TPOT", "ms per token", 1e3, func(t *times) float64 { return t.TPOT }, "time per output token"},
	{"e2e", "Time per request", "s", 1, func(t *times) float64 { return t.E2E }, "latency"},
}

// longestGap has a chart for workloads only: the log of a LoadGen test has no time of each token.
var longestGap = duration{"itl", "Longest gap between tokens", "ms", 1e3, func(t *times) float64 { return t.Gap }, ""}

// durations returns the latencies that the run's log contains.
func (r *Run) durations() []duration {
	if r.Workload == nil {
		return durations
	}
	return append(slices.Clone(durations), longestGap)
}

const (
	timeAxis  = "seconds since the first query was due"
	shareAxis = "% of the requests"
)

// The charts over time of the report and of the live page, without their curves.
var (
	ratesFigure = Figure{ID: "rates", Title: "Scheduled and answered requests", X: timeAxis, Y: "requests/s", Time: true,
		Look: "Answers and failures that together stay below the schedule mean that a queue grows."}
	tokensFigure = Figure{ID: "tokens", Title: "Output tokens per second", X: timeAxis, Y: "tokens/s", Time: true,
		Look: "Throughput as the client sees it. A dip at the same time as a peak of the client's lag is a pause of the " +
			"client; other dips are pauses of the server."}
	inFlightFigure = Figure{ID: "inflight", Title: "Requests in flight", X: timeAxis, Y: "requests", Time: true,
		Look: "A number that grows through the run means that the server does not keep up."}
	lagFigure = Figure{ID: "lag", Title: "Lag of the client", X: timeAxis, Y: "ms, p99", Time: true,
		Look: "What the client itself adds: due until sent, and bytes readable until reported. It explains a peak of TTFT " +
			"or TPOT that is as high as the peak here. A higher one is the server's or the network's, unless the client " +
			"stood still: it then reads late what had arrived, and cannot tell since when."}
)

// Figures returns the charts of a run in the order of the page.
func (r *Run) Figures() []Figure {
	if r.Requests == nil {
		return r.figures(nil)
	}
	return r.figures(newTimeline(r))
}

// figures is Figures with the timeline of the requests; nil: no request log.
func (r *Run) figures(l *timeline) []Figure { return drawing{r, l}.all() }

// drawing makes the charts of a run.
type drawing struct {
	*Run
	*timeline // of the requests; nil: no request log
}

// all returns the charts in the order of the page.
func (r drawing) all() []Figure {
	var list []Figure
	if r.timeline != nil {
		for _, d := range r.durations() {
			list = append(list, r.overTime(d))
		}
		list = append(list, lags(r.timeline), inFlight(r.timeline), r.rates(), r.failedByServer(), r.tokens())
		list = append(list, r.signals()...)
		for _, d := range r.durations() {
			list = append(list, r.distributed(d))
		}
		list = append(list, lengths(r.timeline)...)
	} else {
		list = r.signals()
	}
	if r.Workload != nil && r.timeline != nil {
		r.Workload.mark(list, r.timeline)
	}
	list = withValues(list)
	shareTime(list)
	return list
}

// shareTime sets one range of the charts over time, so that the same second is at the same place.
func shareTime(list []Figure) {
	low, high := 0.0, 0.0
	each := func(do func(f *Figure)) {
		for i := range list {
			if list[i].Time {
				do(&list[i])
			}
		}
	}
	each(func(f *Figure) {
		for _, c := range f.Curves {
			for _, x := range c.X {
				low, high = min(low, x), max(high, x)
			}
		}
		for _, l := range f.Limits {
			if l.OnX {
				high = max(high, l.Value)
			}
		}
	})
	each(func(f *Figure) { f.From, f.To = low, high })
}

// withValues drops figures without any value.
func withValues(list []Figure) []Figure {
	var kept []Figure
	for _, f := range list {
		var curves []Curve
		for _, c := range f.Curves {
			for _, v := range c.Y {
				if !math.IsNaN(v) {
					curves = append(curves, c)
					break
				}
			}
		}
		if f.Curves = curves; len(curves) > 0 {
			f.nameLimits()
			kept = append(kept, f)
		}
	}
	return kept
}

// nameLimits adds the values to the names of limits, and marks the far ones.
func (f *Figure) nameLimits() {
	for i := range f.Limits {
		l := &f.Limits[i]
		highest, unit := 0.0, f.Y
		for _, c := range f.Curves {
			for k, v := range c.Y {
				switch {
				case math.IsNaN(v):
				case l.OnX:
					highest = max(highest, c.X[k])
				default:
					highest = max(highest, v)
				}
			}
		}
		if l.OnX && f.Time {
			unit = "s"
		} else if l.OnX {
			unit = f.X[strings.LastIndex(f.X, " in ")+len(" in "):]
		}
		l.Name += " " + short(l.Value) + " " + unit
		if l.Far = l.Value > farAbove*highest; l.Far && l.OnX {
			l.Name += ", to the right of the chart"
		} else if l.Far {
			l.Name += ", above the chart"
		}
	}
}

// overTime returns the chart of a duration without its curves, which are named by percentileNames.
func (d duration) overTime(tails []record.Tail) Figure {
	return Figure{ID: d.id, Title: d.name + " over time", X: timeAxis, Y: d.unit, Time: true,
		Look: "Curves that rise through the run mean that the rate is above what the server sustains; a single peak is an " +
			"event. Compare it with the requests in flight and the client's lag at the same time.",
		Limits: d.limits(tails, false)}
}

// byDue explains at which time charts of percentiles show a request, and what percentiles of few requests mean.
const byDue = " A request is where it was due. Of less than 100 requests in a bin, p99 is the highest."

var percentileNames = []string{"p50", "p90", "p99"}

func (r drawing) overTime(d duration) Figure {
	lines := r.percentiles(d.of, 0.5, 0.9, 0.99)
	f := d.overTime(r.Record.Tails)
	f.Look += byDue
	for i, name := range percentileNames {
		f.Curves = append(f.Curves, Curve{name, r.middles(), scaled(lines[i], d.scale)})
	}
	return f
}

func (r drawing) distributed(d duration) Figure {
	values, shares := r.distribution(d.of)
	f := Figure{ID: d.id + "-cdf", Title: "Distribution of " + d.name, X: d.name + " in " + d.unit, Y: shareAxis,
		Look:   "The share of the requests that were at or below a value.",
		Curves: []Curve{{"requests", scaled(values, d.scale), shares}}, Limits: d.limits(r.Record.Tails, true)}
	if len(f.Limits) > 0 {
		f.Look += " The curve must reach 99 % before the limit."
	}
	return f
}

// limits returns the limit of a duration that the verdict uses.
func (d duration) limits(tails []record.Tail, onX bool) []Limit {
	for _, tail := range tails {
		if tail.What == d.limit {
			return []Limit{{Name: "limit of p99", Value: tail.Limit.Seconds() * d.scale, OnX: onX}}
		}
	}
	return nil
}

func (r drawing) rates() Figure {
	due := r.rate(func(add func(at, w float64)) {
		for i := range r.samples {
			add(r.at(r.samples[i].dueNS), 1)
		}
	})
	done := r.rate(func(add func(at, w float64)) {
		for i := range r.samples {
			if e := r.samples[i].entry; e.Succeeded() {
				add(r.at(e.DoneNS), 1)
			}
		}
	})
	failed := r.rate(func(add func(at, w float64)) {
		for i := range r.samples {
			if e := r.samples[i].entry; e.DoneNS != 0 && !e.Succeeded() {
				add(r.at(e.DoneNS), 1)
			}
		}
	})
	f := ratesFigure
	f.Curves = []Curve{{"scheduled", r.middles(), due}, {"answered", r.middles(), done}}
	if r.Record.Samples.Failed > 0 {
		f.Curves = append(f.Curves, Curve{failedCurve, r.middles(), failed})
	}
	return f
}

// mostServers limits the servers with a curve of their own in the chart of failures.
const mostServers = colours

// failedByServer returns the failed requests of each of several servers. It has no curve without failures.
func (r drawing) failedByServer() Figure {
	f := Figure{ID: "failed-servers", Title: "Failed requests by server", X: timeAxis, Y: "requests/s", Time: true,
		Look: "One server alone points to its machine or process; all at the same time to what they share, or to the client."}
	n := len(r.Record.Endpoints)
	if r.Record.Samples.Failed == 0 || n < 2 || n > mostServers {
		return f
	}
	for number, server := range r.Record.Endpoints {
		failed := r.rate(func(add func(at, w float64)) {
			for i := range r.samples {
				if e := r.samples[i].entry; int(e.Endpoint) == number && e.DoneNS != 0 && !e.Succeeded() {
					add(r.at(e.DoneNS), 1)
				}
			}
		})
		f.Curves = append(f.Curves, Curve{server.URL, r.middles(), failed})
	}
	return f
}

// tokens spreads the tokens of an answer evenly from its first token to its end, because the log has no time for each.
func (r drawing) tokens() Figure {
	out := make([]float64, r.bins)
	for i := range r.samples {
		e := r.samples[i].entry
		if !e.Succeeded() {
			continue
		}
		from := e.FirstTokenNS
		if from == 0 {
			from = e.IssuedNS
		}
		r.spread(out, r.at(from), r.at(e.DoneNS), float64(e.OutputTokens))
	}
	f := tokensFigure
	f.Curves = []Curve{{"output", r.middles(), out}}
	return f
}

func inFlight(l *timeline) Figure {
	f := inFlightFigure
	f.Look += " The highest number in each bin."
	f.Curves = []Curve{{"in flight", l.middles(), l.inFlight()}}
	return f
}

func lags(l *timeline) Figure {
	f := lagFigure
	f.Look += byDue
	for _, d := range []struct {
		name string
		of   func(*times) float64
	}{{"due to sent", func(t *times) float64 { return t.DispatchLag }},
		{"readable to reported", func(t *times) float64 { return t.ReportLag }}} {
		f.Curves = append(f.Curves, Curve{d.name, l.middles(), scaled(l.percentiles(d.of, 0.99)[0], 1e3)})
	}
	return f
}

// signals returns a figure for each signal of the servers' metrics, with a curve per page.
func (r drawing) signals() []Figure {
	if r.Metrics == nil {
		return nil
	}
	shift := r.metricsShift()
	stood := r.timeline != nil && len(r.clientStalls()) > 0
	var list []Figure
	for i := range series.Signals {
		signal := &series.Signals[i]
		_, scale := SignalUnit(signal)
		f, missed := signalFigure(signal), false
		for target, name := range r.Metrics.Targets {
			line := signal.Of(r.Metrics, target)
			if signal.Key == "client_cpu" {
				name = "this program"
			}
			c, gaps := curveOf(name, &line, shift, r.Metrics.IntervalS, signal.OfInterval())
			c.Y, missed = scaled(c.Y, scale), missed || gaps
			f.Curves = append(f.Curves, c)
		}
		if n := r.Record.Host.CPUsAllowed; signal.Key == "client_cpu" && n > 0 {
			f.Limits = []Limit{{Name: "it may use", Value: float64(n)}}
		}
		f.Look += missedNote(signal, missed, stood)
		list = append(list, f)
	}
	return list
}

// missedNote explains missed readings in a chart.
func missedNote(g *series.Signal, missed, stood bool) (text string) {
	switch {
	case !missed:
		return ""
	case g.OfInterval():
		text = " Readings are missing: a flat part is of the whole time between two."
	default:
		text = " Readings are missing where there is no line."
	}
	if stood && !g.Client {
		text += " The client stood still then, so that a burst after it may be what the client sent late at once."
	}
	return text
}

// curveOf returns a signal as a curve, and whether it has gaps. There is a gap between readings that are far apart,
// because the value between them is unknown. A signal that is a mean over the interval has no gaps.
func curveOf(name string, line *series.Line, shift, intervalS float64, ofInterval bool) (c Curve, gaps bool) {
	c.Name = name
	add := func(x, y float64) { c.X, c.Y = append(c.X, x+shift), append(c.Y, y) }
	for k, at := range line.TimesS {
		if k > 0 && intervalS > 0 && at-line.TimesS[k-1] > series.StaleIntervals*intervalS {
			before, gap := line.TimesS[k-1], at-line.TimesS[k-1]
			if gaps = true; ofInterval {
				add(before+gap/1000, math.NaN())
				add(before+gap/500, line.Values[k])
			} else {
				add(before+gap/2, math.NaN())
			}
		}
		add(at, line.Values[k])
	}
	return c, gaps
}

// chartUnits are the units of charts for those of signals, so that they are those of the client's charts.
var chartUnits = map[string]struct {
	unit  string
	scale float64
}{"s": {"ms", 1e3}, "fraction": {"%", 100}}

// SignalUnit returns the unit of a signal's chart, and how many of it one of the signal's own unit has.
func SignalUnit(g *series.Signal) (unit string, scale float64) {
	if u, ok := chartUnits[g.Unit]; ok {
		return u.unit, u.scale
	}
	return g.Unit, 1
}

// signalFigure returns the chart of a signal without its curves.
func signalFigure(g *series.Signal) Figure {
	unit, _ := SignalUnit(g)
	f := Figure{ID: SignalFigure(g.Key), Title: g.Title, X: timeAxis, Y: unit, Time: true, Look: signalLooks[g.Key]}
	if !g.Client {
		f.Title += ", as the server reports"
	}
	return f
}

// metricsShift is the time of the metrics' zero on the axis of the figures.
func (r *Run) metricsShift() float64 {
	zero := r.Record.FirstIssue
	if zero.IsZero() {
		zero = r.Record.Started
	}
	return r.Metrics.Started.Sub(zero).Seconds()
}

// signalLooks explain what to look for in the servers' signals.
var signalLooks = map[string]string{
	"running":       "Requests that the engine computes at the same time. A flat top while others wait is its limit.",
	"waiting":       "Requests that the engine has not begun. Growth means that the rate is above what it sustains.",
	"kv_cache":      "Near 100 % the engine waits for memory, or drops and repeats work.",
	"output_tokens": "The engine's own count, to compare with the client's.",
	"input_tokens":  "Prompt tokens that the engine processed.",
	"preemptions":   "Requests whose work was dropped for lack of memory. Any is lost work.",
	"prefix_hits":   "Share of prompt tokens that the engine had computed before.",
	"ttft_p99": "The engine's own measure since the reading before, within a bucket of its histogram: it moves in steps " +
		"and may be above the client's. What the client sees far above it is network, gateway and client.",
	"itl_p99": "The engine's own measure of the time between tokens since the reading before, as coarse as its buckets.",
	"machine_cpu": "Of all programs. Near 100 % no CPU was left: the client may be late then, and a server on the same " +
		"machine. Compare it with the client's lag.",
	"client_cpu": "What this program used. A client at its limit uses as many CPUs as the machine has.",
	"gpu_power":  "Of all GPUs of this machine. Low power under load means that the GPUs wait.",
	"gpu_utilization": "Share of the time in which a GPU worked at all. Low while requests wait: the server's CPU " +
		"part is the bottleneck.",
	"gpu_memory": "Weights and KV cache. Engines reserve most of it when they start.",
	"gpu_clock":  "A clock that falls while the power is at its limit is a thermal or power limit of the machine.",
}

func lengths(l *timeline) []Figure {
	var input, output, ratio []float64
	for i := range l.samples {
		e := l.samples[i].entry
		if !e.Succeeded() {
			continue
		}
		if e.InputTokens > 0 {
			input = append(input, float64(e.InputTokens))
			ratio = append(ratio, float64(e.OutputTokens)/float64(e.InputTokens))
		}
		output = append(output, float64(e.OutputTokens))
	}
	var list []Figure
	for _, h := range []struct {
		id, title, axis, look string
		values                []float64
	}{
		{"input", "Input lengths", "input tokens", "Long prompts cost prefill time, which is TTFT.", input},
		{"output", "Output lengths", "output tokens", "A peak at the largest length: answers reached their limit.", output},
		{"ratio", "Output per input", "output tokens per input token", "Whether prefill or decode is the larger part.",
			ratio},
	} {
		x, y := histogram(h.values)
		list = append(list, Figure{ID: "length-" + h.id, Title: h.title, Look: h.look, X: h.axis, Y: "requests",
			Curves: []Curve{{"requests", x, y}}})
	}
	return list
}

func scaled(values []float64, by float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = v * by
	}
	return out
}
