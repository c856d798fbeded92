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
