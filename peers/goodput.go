package peers

import (
	"slices"
	"strings"
	"time"
)

// goodputMetric is the figure of a request that a client compares with a limit.
type goodputMetric struct {
	limit string // Limit.Metric
	key   string // the client's name of it
	of    func(*Request) (float64, bool)
}

// vllmGoodputs: an answer without a figure, such as tpot of one token, counts as 0 (vllm/benchmarks/serve.py).
var vllmGoodputs = []goodputMetric{{"ttft", "ttft", firstToken}, {"tpot", "tpot", vllmTPOT},
	{"e2e", "e2el", aiperfLatency}}

// perfGoodputs: an answer without a figure is not good (inference_perf/reportgen/base.py).
var perfGoodputs = []goodputMetric{{"ttft", "ttft", perfTTFT}, {"tpot", "tpot", perfTPOT}, {"itl", "itl", meanGap},
	{"ntpot", "ntpot", perfNTPOT}, {"e2e", "request_latency", requestTime}}

// guideGoodputs: tpot is compared with inter_token_latency_ms (guidellm/schemas/benchmark/goodput.py).
var guideGoodputs = []goodputMetric{{"ttft", "ttft_ms", firstToken}, {"tpot", "tpot_ms", guideGap},
	{"e2e", "e2el_ms", requestTime}}

// aiperfGoodputs: a success without a figure is not good, and its limits are those of metrics of aiperf
// (aiperf/metrics/types/good_request_count_metric.py).
var aiperfGoodputs = []goodputMetric{{"ttft", "time_to_first_token", firstToken},
	{"tpot", "inter_token_latency", vllmTPOT}, {"e2e", "request_latency", aiperfLatency}}

// guideGap returns the mean time of a token after the first one of a stream.
func guideGap(r *Request) (float64, bool) {
	v, ok := vllmTPOT(r)
	return v, ok && r.LastTokenNS != 0
}

// meanGap returns the mean time between the tokens of a stream.
func meanGap(r *Request) (float64, bool) {
	at := perfTokenNS(r)
	n := len(at)
	if n < 2 {
		return 0, false
	}
	return seconds(at[n-1]-at[0]) / float64(n-1), true
}

// limited returns the metrics that have a limit with it, and the names of limits without a metric.
func (l *Log) limited(metrics []goodputMetric) (list []goodputMetric, below []time.Duration, unknown []string) {
	for _, limit := range l.Limits {
		i := slices.IndexFunc(metrics, func(m goodputMetric) bool { return m.limit == limit.Metric })
		if i < 0 {
			unknown = append(unknown, limit.Metric)
			continue
		}
		list, below = append(list, metrics[i]), append(below, limit.Below)
	}
	return list, below, unknown
}

// vllmGoodput returns the good requests per second; nil: there is no limit.
func vllmGoodput(l *Log, e *Export, answered []*Request, duration float64) any {
	metrics, below, unknown := l.limited(vllmGoodputs)
	if len(unknown) > 0 {
		e.note("request_goodput ignores the limits of %s, which vllm does not have", strings.Join(unknown, ", "))
	}
	if len(metrics) == 0 {
		return nil
	}
	good := 0
	for _, r := range answered {
		isGood := true
		for i, m := range metrics {
			v, ok := m.of(r)
			isGood = isGood && (!ok || v <= below[i].Seconds())
		}
		if isGood {
			good++
		}
	}
	return ratio(float64(good), duration)
}

// perfGoodput returns goodput_metrics; nothing without limits or answers. Failures enter neither the number of requests
// nor the time, as in inference-perf.
func perfGoodput(l *Log, answered []*Request) object {
	metrics, below, _ := l.limited(perfGoodputs)
	if len(metrics) == 0 || len(answered) == 0 {
		return nil
	}
	good, goodTokens := 0, 0
	within := make([]int, len(metrics))
	for _, r := range answered {
		isGood := true
		for i, m := range metrics {
			if v, ok := m.of(r); ok && v <= below[i].Seconds() {
				within[i]++
			} else {
				isGood = false
			}
		}
		if isGood {
			good++
			_, n := r.content()
			goodTokens += r.InputTokens + n
		}
	}
	start, end := extent(answered)
	n, duration := float64(len(answered)), seconds(end-start)
	o := object{{"goodput_percentage", 100 * float64(good) / n}, {"request_goodput", ratio(float64(good), duration)},
		{"token_goodput", ratio(float64(goodTokens), duration)}, {"good_requests", good}, {"total_requests", len(answered)}}
	for i, m := range metrics {
		o.add(m.key+"_attainment_percentage", 100*float64(within[i])/n)
	}
	return object{{"goodput_metrics", o}}
}

// guideSLO returns the limits as guidellm's configuration has them, in ms; nil: it has none of them.
func (l *Log) guideSLO() any {
	metrics, below, _ := l.limited(guideGoodputs)
	if len(metrics) == 0 {
		return nil
	}
	least := map[string]float64{}
	for i, m := range metrics {
		v := below[i].Seconds() * 1e3
		if old, ok := least[m.key]; !ok || v < old {
			least[m.key] = v
		}
	}
	var o object
	for _, m := range guideGoodputs {
		v, ok := least[m.key]
		o.add(m.key, known(v, ok))
	}
	return o
}

// guideGoodput is the requests within all limits (GenerativeMetrics._compile_goodput).
type guideGoodput struct {
	hasLimits  bool
	determined int           // successes that have every limited figure, and errors
	attainment float64       // good requests / determined
	rates      *distribution // of good requests; nil: nothing is determined
	nothing    distribution  // of the groups of failures
}

// goodput compares the requests with the limits. A success without one of the figures is left out, as is a request that
// the client ended. An error is not good.
func (b *guideBenchmark) goodput(e *Export) (g guideGoodput) {
	metrics, below, unknown := b.log.limited(guideGoodputs)
	if g.hasLimits = len(metrics) > 0; !g.hasLimits {
		return g
	}
	if len(unknown) > 0 {
		e.note("slo_attainment ignores the limits of %s, which guidellm does not have", strings.Join(unknown, ", "))
	}
	var ends []weighted
	for _, r := range b.requests {
		if r.incomplete() {
			continue
		}
		isGood, isDetermined := r.ok(), true
		for i, m := range metrics {
			v, ok := m.of(r)
			isDetermined = isDetermined && (ok || !r.ok())
			isGood = isGood && v <= below[i].Seconds()
		}
		if !isDetermined {
			continue
		}
		if g.determined++; isGood {
			ends = append(ends, weighted{seconds(r.endNS()), 1})
		}
	}
	if g.determined == 0 {
		return g
	}
	g.attainment = float64(len(ends)) / float64(g.determined)
	rates := ratesOf(ends, b.start, b.end)
	g.rates, g.nothing = &rates, ratesOf(nil, b.start, b.end)
	return g
}

// members returns the goodput as members of metrics; null: there are no limits, or nothing is determined.
func (g *guideGoodput) members() object {
	rates := any(nil)
	if g.rates != nil {
		rates = object{{"successful", g.rates.object()}, {"errored", g.nothing.object()},
			{"incomplete", g.nothing.object()}, {"total", g.rates.object()}}
	}
	return object{{"slo_attainment", known(g.attainment, g.rates != nil)}, {"slo_determined_requests", g.determined},
		{"request_goodput", rates}}
}

// aiperfGoodput adds the requests within all limits, if there are any: their number, their rate and their share of the
// requests that ended, in which failures are not good.
func aiperfGoodput(l *Log, e *Export, results map[string]aiperfResult, answered, failed []*Request) {
	metrics, below, unknown := l.limited(aiperfGoodputs)
	if len(unknown) > 0 {
		e.note("good_request_count ignores the limits of %s, which aiperf does not have", strings.Join(unknown, ", "))
	}
	ended := len(answered) + len(failed)
	if len(metrics) == 0 || ended == 0 {
		return
	}
	good := 0
	for _, r := range answered {
		within := true
		for i, m := range metrics {
			v, ok := m.of(r)
			within = within && ok && v <= below[i].Seconds()
		}
		if within {
			good++
		}
	}
	n := float64(good)
	results["good_request_count"] = aiperfResult{header: "Good Request Count", unit: "requests", scalar: n}
	results["good_request_fraction"] = aiperfResult{header: "GoodRequestFraction", unit: "ratio",
		scalar: n / float64(ended)}
	if took, ok := results["benchmark_duration"]; ok {
		results["goodput"] = aiperfResult{header: "Goodput", unit: "requests/sec", scalar: n / took.scalar}
	}
}
