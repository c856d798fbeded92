package peers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"time"
)

// vllmPercentiles are written for each metric if no others were asked for. vLLM's default is p99 alone.
var vllmPercentiles = []float64{50, 90, 95, 99}

// writeVLLM writes the result file of `vllm bench serve --save-result`: scalars in ms, rates per second of the time
// from the first request's due time to the last answer, percentiles as numpy's (vllm/benchmarks/serve.py).
func writeVLLM(l *Log, e *Export) error {
	l = l.fromChoices()
	stages := map[int]bool{}
	for i := range l.Requests {
		stages[l.Requests[i].Stage] = true
	}
	stage := l.Stages[slices.Min(slices.Collect(maps.Keys(stages)))]
	if len(stages) > 1 {
		e.note("the run has %d stages, and the file one request_rate: that of the first", len(stages))
	}
	answered := l.which((*Request).ok)
	endNS, dueNS := int64(0), int64(math.MaxInt64)
	for i := range l.Requests {
		r := &l.Requests[i]
		endNS, dueNS = max(endNS, r.endNS()), min(dueNS, r.DueNS)
	}
	duration := seconds(endNS - dueNS)
	input, output := tokens(answered)
	o := object{
		{"date", l.Started.UTC().Format("20060102-150405")},
		{"endpoint_type", l.Backend}, {"backend", l.Backend}, {"label", nil},
		{"model_id", l.Model}, {"tokenizer_id", nil}, {"num_prompts", len(l.Requests)},
		{"request_rate", rateText(stage)}, {"burstiness", burstiness(stage)}, {"max_concurrency", orNull(stage.Concurrency)},
		{"duration", duration}, {"completed", len(answered)}, {"failed", len(l.Requests) - len(answered)},
		{"total_input_tokens", input}, {"total_output_tokens", output},
		{"request_throughput", ratio(float64(len(answered)), duration)},
		{"request_goodput", vllmGoodput(l, e, answered, duration)},
		{"output_throughput", ratio(float64(output), duration)},
		{"total_token_throughput", ratio(float64(input+output), duration)},
	}
	if l.hasTokenTimes() {
		o.add("max_output_tokens_per_s", busiestSecond(answered))
	}
	o.add("max_concurrent_requests", mostAtOnce(answered))
	for _, m := range vllmMetrics {
		isDefault := len(l.Asked.Metrics) == 0 && !m.onRequest
		if (isDefault || slices.Contains(l.Asked.Metrics, m.name)) && m.has(l, &stage) {
			vllmMetric(&o, m.name, m.of(answered), l.Asked.Percentiles)
		}
	}
	e.noteTokenTimes(l, "the keys of itl and max_output_tokens_per_s are left out")
	o = append(o, vllmRequests(l, e)...)
	e.Files = append(e.Files, File{Name: vllmName(l, stage), stream: o.stream})
	return nil
}

// vllmQueue returns how long the client kept a request back after it was due.
func vllmQueue(r *Request) (float64, bool) { return seconds(r.startNS() - r.DueNS), true }

// vllmRequests returns the arrays with a value for each request, in the order in which they were due. Times are in s.
// Without save-detailed, vllm keeps only latencies and queue_times. A failed request has zeros and its error.
func vllmRequests(l *Log, e *Export) object {
	order := make([]*Request, len(l.Requests))
	for i := range l.Requests {
		order[i] = &l.Requests[i]
	}
	slices.SortStableFunc(order, func(a, b *Request) int { return cmp.Compare(a.DueNS, b.DueNS) })
	each := func(of func(r *Request) any) array {
		return array{len(order), func(i int) any { return of(order[i]) }}
	}
	number := func(of func(*Request) (float64, bool)) array {
		return each(func(r *Request) any {
			if v, ok := of(r); ok && r.ok() {
				return v
			}
			return 0.0
		})
	}
	arrays := object{{"latencies", number(aiperfLatency)}, {"queue_times", number(vllmQueue)}}
	if !l.Asked.Requests {
		return arrays
	}
	arrays = append(arrays, object{
		{"input_lens", each(func(r *Request) any { return r.InputTokens })},
		{"output_lens", each(func(r *Request) any {
			if !r.ok() {
				return 0
			}
			return r.OutputTokens
		})},
		{"ttfts", number(firstToken)},
		{"start_times", each(func(r *Request) any { return seconds(r.startNS()) })},
		{"errors", each(func(r *Request) any {
			if r.ok() {
				return ""
			}
			return cmp.Or(r.Failure, cancelled)
		})},
	}...)
	if l.hasTokenTimes() {
		arrays.add("itls", each(func(r *Request) any {
			if !r.ok() {
				return []float64{}
			}
			return gapsOf(r, 1)
		}))
	}
	e.note("the log has no answers: generated_texts is left out")
	return arrays
}

// vllmMetrics are the values of percentile-metrics, in the order of the file.
var vllmMetrics = []struct {
	name      string
	onRequest bool // only if percentile-metrics has it
	has       func(*Log, *Stage) bool
	of        func([]*Request) sample
}{
	{"ttft", false, func(l *Log, _ *Stage) bool { return l.isStream() }, valuesOf(firstToken)},
	{"tpot", false, func(l *Log, _ *Stage) bool { return l.isStream() }, valuesOf(vllmTPOT)},
	{"itl", false, func(l *Log, _ *Stage) bool { return l.hasTokenTimes() }, gaps},
	{"e2el", false, func(*Log, *Stage) bool { return true }, valuesOf(aiperfLatency)},
	{"client_queue_time", true, func(_ *Log, s *Stage) bool { return s.Concurrency > 0 }, valuesOf(vllmQueue)},
	{"e2el_including_client_queue", true, func(_ *Log, s *Stage) bool { return s.Concurrency > 0 && s.RatePerS > 0 },
		valuesOf(func(r *Request) (float64, bool) { return seconds(r.lastNS() - r.DueNS), true })},
}

// valuesOf returns the function that computes a figure of each request.
func valuesOf(of func(*Request) (float64, bool)) func([]*Request) sample {
	return func(requests []*Request) sample { return newSample(requests, of) }
}

func vllmMetric(o *object, name string, s sample, percentiles []float64) {
	if len(percentiles) == 0 {
		percentiles = vllmPercentiles
	}
	o.add("mean_"+name+"_ms", s.mean()*1e3)
	o.add("median_"+name+"_ms", s.percentile(50)*1e3)
	o.add("std_"+name+"_ms", s.deviation()*1e3)
	for _, p := range percentiles {
		o.add(fmt.Sprintf("p%g_%s_ms", p, name), s.percentile(p)*1e3)
	}
}

// fromChoices returns the log as vLLM's client counts: the first event that has a choice is the first token, even if it
// has no text (vllm/benchmarks/lib/endpoint_request_func.py).
func (l *Log) fromChoices() *Log {
	own := *l
	own.Requests = slices.Clone(l.Requests)
	for i := range own.Requests {
		r := &own.Requests[i]
		if r.ChoiceNS == 0 {
			continue
		}
		r.FirstTokenNS = r.ChoiceNS
		if r.TokenNS != nil {
			r.TokenNS = append([]int64{r.ChoiceNS}, r.TokenNS...)
		}
	}
	return &own
}

// firstToken returns the time from the sending to the first token.
func firstToken(r *Request) (float64, bool) {
	return seconds(r.FirstTokenNS - r.startNS()), r.FirstTokenNS != 0
}

// vllmTPOT omits answers of one token. The time ends with the last event that contained tokens.
func vllmTPOT(r *Request) (float64, bool) {
	if r.FirstTokenNS == 0 || r.OutputTokens < 2 {
		return 0, false
	}
	return seconds(r.lastNS()-r.FirstTokenNS) / float64(r.OutputTokens-1), true
}

func tokens(requests []*Request) (input, output int) {
	for _, r := range requests {
		input, output = input+r.InputTokens, output+r.OutputTokens
	}
	return input, output
}

// busiestSecond returns the largest number of events in a second, counted from the first start.
func busiestSecond(requests []*Request) int {
	start, _ := extent(requests)
	counts, most := map[int64]int{}, 0
	for _, r := range requests {
		for _, at := range r.TokenNS {
			second := (at - start) / int64(time.Second)
			counts[second]++
			most = max(most, counts[second])
		}
	}
	return most
}

// mostAtOnce returns the largest number of requests that overlap the same second, counted from the first start.
func mostAtOnce(requests []*Request) int {
	start, _ := extent(requests)
	changes := map[int64]int{} // by second
	for _, r := range requests {
		changes[(r.startNS()-start)/int64(time.Second)]++
		changes[(r.lastNS()-start)/int64(time.Second)+1]--
	}
	now, most := 0, 0
	for _, second := range slices.Sorted(maps.Keys(changes)) {
		now += changes[second]
		most = max(most, now)
	}
	return most
}

// rateText returns the rate, or "inf" for no limit, because JSON has no infinity.
func rateText(s Stage) any {
	if s.RatePerS == 0 {
		return "inf"
	}
	return s.RatePerS
}

// burstiness returns the shape of random gaps, which is 1 for a Poisson process and without a rate.
func burstiness(s Stage) any {
	if s.Poisson || s.RatePerS == 0 {
		return cmp.Or(s.Burstiness, 1)
	}
	return "inf"
}

func orNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func vllmName(l *Log, s Stage) string {
	rate := "inf"
	if s.RatePerS != 0 {
		rate = strconv.FormatFloat(s.RatePerS, 'f', -1, 64)
		if s.RatePerS == math.Trunc(s.RatePerS) {
			rate += ".0"
		}
	}
	concurrency := ""
	if s.Concurrency > 0 {
		concurrency = fmt.Sprintf("-concurrency%d", s.Concurrency)
	}
	return fmt.Sprintf("%s-%sqps%s-%s-%s.json", fileWord(l.Backend), rate, concurrency, fileWord(path.Base(l.Model)),
		l.Started.UTC().Format("20060102-150405"))
}
