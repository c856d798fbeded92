package peers

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// perfPercentiles are the default percentiles of inference-perf's reports.
var perfPercentiles = []float64{0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// perf is a log with the percentiles of its reports.
type perf struct {
	*Log
	percentiles []float64
}

// perfPart is a part of a run that has a report.
type perfPart struct {
	name     string
	requests []*Request
	load     *Stage // nil: the whole run
	adapter  string // whose requests these are; empty: those of all
}

// writeInferencePerf writes the summary and the report of each stage: seconds, rates per second of the time from the
// first sending to the last end of all requests, percentiles as numpy's (inference_perf/reportgen/base.py).
func writeInferencePerf(l *Log, e *Export) error {
	p := &perf{l, l.Asked.Percentiles}
	if len(p.percentiles) == 0 {
		p.percentiles = perfPercentiles
	}
	for _, part := range p.parts() {
		if len(part.requests) == 0 {
			continue
		}
		if err := e.indent(part.name+"_lifecycle_metrics.json", p.report(part.requests, part.load)); err != nil {
			return err
		}
		if sessions := sessionsOf(part.requests); len(sessions) > 0 && part.adapter == "" {
			if err := e.indent(part.name+"_session_lifecycle_metrics.json", p.sessions(sessions, &part)); err != nil {
				return err
			}
		}
	}
	p.writeRequests(e)
	e.noteTokenTimes(l, "inter_token_latency is null")
	e.note("the log has no second count of tokens: token_count_mismatches and client_fallback_requests are left out")
	if !slices.ContainsFunc(l.Requests, func(r Request) bool { return r.RequestBytes > 0 }) {
		e.note("the log has no sizes of requests: request_size_bytes is null")
	}
	if !l.hasCached() {
		e.note("the server reported no cached tokens: cached and uncached are left out")
	}
	return nil
}

// parts returns the whole run, its stages and its adapters. inference-perf reports no preprocessing, and counts stages
// after it.
func (p *perf) parts() []perfPart {
	parts := []perfPart{{name: "summary", requests: p.which(func(r *Request) bool { return !r.LeftOut })}}
	for i := range p.Stages {
		if p.Stages[i].Probe == "" {
			parts = append(parts, perfPart{name: fmt.Sprintf("stage_%d", p.number(i)),
				requests: p.which(func(r *Request) bool { return r.Stage == i }), load: &p.Stages[i]})
		}
	}
	whole := parts
	for _, name := range p.adapters() {
		for i, part := range whole {
			if i > 0 && !p.Asked.AdapterStages {
				break
			}
			own := perfPart{name: "adapter_" + url.PathEscape(name), load: part.load, adapter: name}
			if i > 0 {
				own.name += "_" + part.name
			}
			for _, r := range part.requests {
				if r.Adapter == name {
					own.requests = append(own.requests, r)
				}
			}
			parts = append(parts, own)
		}
	}
	return parts
}

// adapters returns the names of the adapters of all requests.
func (p *perf) adapters() []string {
	names := map[string]bool{}
	for i := range p.Requests {
		if name := p.Requests[i].Adapter; name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// number returns inference-perf's number of a stage.
func (p *perf) number(stage int) (n int) {
	for i := range stage {
		if p.Stages[i].Probe == "" {
			n++
		}
	}
	return n
}

// indent adds a file of JSON.
func (e *Export) indent(name string, v any) error {
	data, err := indented(v)
	e.Files = append(e.Files, File{Name: name, Data: data})
	return err
}

func (p *perf) report(requests []*Request, stage *Stage) object {
	start, end := extent(requests)
	duration := seconds(end - start)
	var answered, failed []*Request
	for _, r := range requests {
		if r.ok() {
			answered = append(answered, r)
		} else {
			failed = append(failed, r)
		}
	}
	o := object{
		{"benchmark_time_seconds", duration}, {"load_summary", p.load(requests, stage)},
		{"successes", append(p.successes(answered, duration), perfGoodput(p.Log, answered)...)},
		{"failures", object{
			{"count", len(failed)}, {"request_latency", p.stats(newSample(failed, requestTime))},
			{"prompt_len", p.stats(newSample(failed, inputTokens))},
			{"prompt_tokens", p.promptTokens(failed)}, {"by_label", perfLabels(failed)},
		}},
	}
	if repeats := perfRepeats(requests); repeats != nil {
		o.add("retries", repeats)
	}
	return o
}

// perfRepeats returns nil if no request was repeated, as inference-perf then writes no key.
func perfRepeats(requests []*Request) object {
	repeated, attempts, recovered := 0, 0, 0
	for _, r := range requests {
		if !r.isRepeated() {
			continue
		}
		repeated++
		attempts += r.Retries
		if r.ok() {
			recovered++
		}
	}
	if repeated == 0 {
		return nil
	}
	return object{{"requests_retried", repeated}, {"attempts", attempts}, {"recovered", recovered},
		{"failed_after_retry", repeated - recovered}}
}

// load compares the sending with the schedule.
func (p *perf) load(requests []*Request, stage *Stage) object {
	delays := newSample(requests, func(r *Request) (float64, bool) { return seconds(r.startNS() - r.DueNS), true })
	o := object{{"count", len(requests)}, {"schedule_delay", p.stats(delays)}}
	if stage == nil {
		return o
	}
	first, last := requests[0].startNS(), requests[0].startNS()
	for _, r := range requests {
		first, last = min(first, r.startNS()), max(last, r.startNS())
	}
	sending := seconds(last - first)
	o.add("send_duration", sending)
	o.add("requested_rate", stage.RatePerS)
	o.add("achieved_rate", ratio(float64(len(requests)), sending))
	if stage.Concurrency > 0 {
		o.add("concurrency", stage.Concurrency)
	}
	return o
}

func (p *perf) successes(answered []*Request, duration float64) object {
	input, output := perfTokens(answered)
	var itl sample
	if p.hasTokenTimes() {
		for _, r := range answered {
			itl = append(itl, perfGaps(r)...)
		}
		slices.Sort(itl)
	}
	perS := func(n int) float64 { return ratio(float64(n), duration) }
	none := func(keys ...string) object {
		var o object
		for _, key := range keys {
			o.add(key, nil)
		}
		return o
	}
	return object{
		{"count", len(answered)},
		{"latency", object{
			{"request_latency", p.stats(newSample(answered, requestTime))},
			{"normalized_time_per_output_token", p.stats(newSample(answered, perfNTPOT))},
			{"time_per_output_token", p.stats(newSample(answered, perfTPOT))},
			{"time_to_first_token", p.stats(newSample(answered, perfTTFT))},
			{"inter_token_latency", p.stats(itl)},
		}},
		{"throughput", object{
			{"input_tokens_per_sec", perS(input)}, {"output_tokens_per_sec", perS(output)},
			{"total_tokens_per_sec", perS(input + output)}, {"requests_per_sec", perS(len(answered))},
			{"images_per_sec", 0.0}, {"videos_per_sec", 0.0}, {"audios_per_sec", 0.0},
		}},
		{"request_size_bytes", p.stats(newSample(answered, requestBytes))},
		{"image", none("count", "pixels", "bytes", "aspect_ratio")},
		{"video", none("count", "frames", "pixels", "bytes", "aspect_ratio")},
		{"audio", none("count", "seconds", "bytes")},
		// Readers of files up to version 0.6.1, such as llm-d-benchmark's converter, use prompt_len; newer ones use
		// prompt_tokens.
		{"prompt_len", p.stats(newSample(answered, inputTokens))},
		{"prompt_tokens", p.promptTokens(answered)},
		{"output_len", p.stats(newSample(answered, contentTokens))},
		{"output_tokens", p.tokens(answered, outputTokens)},
	}
}

func requestTime(r *Request) (float64, bool) { return seconds(r.endNS() - r.startNS()), true }

// requestBytes is 0 for requests of other records than the event log.
func requestBytes(r *Request) (float64, bool) { return float64(r.RequestBytes), r.RequestBytes > 0 }

func inputTokens(r *Request) (float64, bool) { return float64(r.InputTokens), true }

func outputTokens(r *Request) (float64, bool) { return float64(r.OutputTokens), true }

// contentTokens is the number of output tokens by inference-perf's own count: it counts the tokens of the text, which
// has no reasoning (inference_perf/apis/chat.py). Its times of tokens are those of the text too.
func contentTokens(r *Request) (float64, bool) {
	_, n := r.content()
	return float64(n), true
}

func perfTokens(requests []*Request) (input, output int) {
	for _, r := range requests {
		_, n := r.content()
		input, output = input+r.InputTokens, output+n
	}
	return input, output
}

// perfNTPOT counts an answer without tokens as 0.
func perfNTPOT(r *Request) (float64, bool) {
	_, n := r.content()
	return ratio(seconds(r.endNS()-r.startNS()), float64(n)), true
}

// perfTTFT omits answers of one token, which are not streams for inference-perf.
func perfTTFT(r *Request) (float64, bool) {
	first, n := r.content()
	return seconds(first - r.startNS()), first != 0 && n > 1
}

func perfTPOT(r *Request) (float64, bool) {
	first, n := r.content()
	if first == 0 || n < 2 {
		return 0, false
	}
	return seconds(r.lastNS()-first) / float64(n-1), true
}

// perfTokenNS returns the time of each token: those of an event have the same one, as with a tokenizer in
// inference-perf's configuration.
func perfTokenNS(r *Request) (list []int64) {
	for i := r.reasoning(); i < len(r.TokenNS); i++ {
		for range r.tokensOf(i) {
			list = append(list, r.TokenNS[i])
		}
	}
	return list
}

// perfGaps returns the times between tokens.
func perfGaps(r *Request) []float64 {
	list, at := []float64{}, perfTokenNS(r)
	for i := 1; i < len(at); i++ {
		list = append(list, seconds(at[i]-at[i-1]))
	}
	return list
}

// stats returns null for an empty sample.
func (p *perf) stats(s sample) any {
	if len(s) == 0 {
		return nil
	}
	o := object{{"mean", s.mean()}, {"min", s[0]}, {"max", s[len(s)-1]}}
	for _, percent := range p.percentiles {
		key := fmt.Sprintf("p%g", percent)
		if percent == 50 {
			key = "median"
		}
		o.add(key, s.percentile(percent))
	}
	return o
}

func (p *perf) tokens(requests []*Request, of func(*Request) (float64, bool)) object {
	s := newSample(requests, of)
	o := object{{"total", s.sum()}}
	if stats, ok := p.stats(s).(object); ok {
		o = append(o, stats...)
	}
	return o
}

// promptTokens returns the tokens of prompts, and how many the server had in its cache, if it reported this for any
// request. As in inference-perf, requests without such a report count as not cached.
func (p *perf) promptTokens(requests []*Request) object {
	o := p.tokens(requests, inputTokens)
	if !p.hasCached() {
		return o
	}
	input, _ := tokens(requests)
	cached := cachedTokens(requests)
	return append(object{o[0], {"cached", float64(cached)}, {"uncached", float64(input - cached)}}, o[1:]...)
}

// cachedTokens returns how many prompt tokens the server had in its cache.
func cachedTokens(requests []*Request) (n int) {
	for _, r := range requests {
		n += r.CachedTokens
	}
	return n
}

// perfStatus are the labels of HTTP statuses.
var perfStatus = map[string]string{"429": "Rate Limit", "500": "Internal Server Error", "502": "Bad Gateway",
	"503": "Service Unavailable", "504": "Gateway Timeout"}

// perfLabel returns the label of a failure: for an HTTP status, a timeout, a connection, or its own code.
func perfLabel(failure string) string {
	status, isStatus := strings.CutPrefix(failure, "http_")
	switch {
	case isStatus:
		return status + " - " + cmp.Or(perfStatus[status], "other")
	case strings.HasPrefix(failure, "timeout"):
		return "Timeout"
	case strings.HasPrefix(failure, "connect"):
		return "Connection Error"
	}
	return strings.ToLower(cmp.Or(failure, cancelled))
}

func perfLabels(failed []*Request) object {
	counts := map[string]int{}
	for _, r := range failed {
		counts[perfLabel(r.Failure)]++
	}
	names := slices.Sorted(maps.Keys(counts))
	ordering.Sort(names, func(a, b string) int { return counts[b] - counts[a] })
	o := object{}
	for _, name := range names {
		o.add(name, object{{"count", counts[name]}, {"messages", []string{}}})
	}
	return o
}
