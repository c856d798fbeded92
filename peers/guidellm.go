package peers

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// guideReport is the version of guidellm's report whose keys are written (guidellm/benchmark/schemas/report.py).
const guideReport = 2

// guideStatus are guidellm's groups of requests, and their sum.
var guideStatus = []struct {
	name string
	is   func(*Request) bool
}{
	{"successful", (*Request).ok}, {"errored", func(r *Request) bool { return !r.ok() && !r.incomplete() }},
	{"incomplete", (*Request).incomplete}, {"total", all},
}

// guideMetric is a distribution of each group.
type guideMetric struct {
	key         string
	group, unit string // columns of the CSV; no group: it has none
	of          func([]*Request) distribution
	groups      [4]distribution // in the order of guideStatus
}

// writeGuideLLM writes benchmarks.json and benchmarks.csv, with an entry per stage.
func writeGuideLLM(l *Log, e *Export) error {
	var benchmarks, profiles []object
	var table guideTable
	for i := range l.Stages {
		isProbe := l.Stages[i].isGuideProbe()
		if l.Stages[i].Warmup && !isProbe {
			continue
		}
		profiles = append(profiles, l.profile(i))
		sent := l.which(func(r *Request) bool { return r.Stage == i })
		requests := sent
		if !isProbe {
			requests = slices.DeleteFunc(slices.Clone(sent), func(r *Request) bool { return r.LeftOut })
		}
		if len(requests) == 0 {
			continue
		}
		b := newGuideBenchmark(l, e, i, requests)
		b.sent = sent
		benchmarks = append(benchmarks, b.object(e))
		table.add(b)
	}
	data, err := indented(object{{"metadata", object{{"version", guideReport}, {"guidellm_version", l.Tool}}},
		{"config", guideScenario(l, profiles)}, {"benchmarks", benchmarks}})
	if err != nil {
		return err
	}
	text, err := table.text()
	e.Files = append(e.Files, File{Name: "benchmarks.json", Data: data}, File{Name: "benchmarks.csv", Data: text})
	if !l.HasVisible {
		e.note("time_to_first_output_token_ms has no values: the log does not distinguish reasoning from answers")
	}
	e.note("the requests have no prompts and answers (sample_size 0): the log has none")
	return err
}

// guideBenchmark is one entry of benchmarks.
type guideBenchmark struct {
	log        *Log
	index      int
	stage      Stage
	sent       []*Request // warm-up and cool-down included
	requests   []*Request // those that count
	start, end float64    // of the requests that count, in s since 1970
	metrics    []guideMetric
	good       guideGoodput
}

func newGuideBenchmark(l *Log, e *Export, index int, requests []*Request) *guideBenchmark {
	first, last := extent(requests)
	b := &guideBenchmark{log: l, index: index, stage: l.Stages[index], requests: requests, start: seconds(first),
		end: seconds(last)}
	b.good = b.goodput(e)
	b.metrics = b.timed()
	b.metrics = append(b.metrics, b.rates(e)...)
	for i := range b.metrics {
		for k, status := range guideStatus {
			var group []*Request
			for _, r := range requests {
				if status.is(r) {
					group = append(group, r)
				}
			}
			b.metrics[i].groups[k] = b.metrics[i].of(group)
		}
	}
	return b
}

// each returns a distribution with one value per request, 0 for requests without a value, as guidellm counts.
func each(of func(*Request) float64) func([]*Request) distribution {
	return func(group []*Request) distribution {
		list := make([]weighted, len(group))
		for i, r := range group {
			list[i] = weighted{of(r), 1}
		}
		return fromValues(list, -1)
	}
}

// timed returns the metrics of single requests.
func (b *guideBenchmark) timed() []guideMetric {
	latency := func(r *Request) float64 { return seconds(r.endNS() - r.startNS()) }
	list := []guideMetric{{key: "request_latency", group: "Request Latency", unit: "Sec", of: each(latency)}}
	if b.stage.RatePerS > 0 {
		late := each(func(r *Request) float64 { return seconds(r.startNS() - r.DueNS) })
		list = append(list, guideMetric{key: "request_dispatch_delay", group: "Dispatch Delay", unit: "Sec", of: late})
		if !slices.ContainsFunc(b.requests, (*Request).follows) {
			list = append(list, guideMetric{key: "turn_predecessor_delay", group: "Turn Predecessor Delay", unit: "Sec",
				of: each(func(*Request) float64 { return 0 })},
				guideMetric{key: "turn_scheduling_delay", group: "Turn Scheduling Delay", unit: "Sec", of: late})
		}
		list = append(list, guideMetric{key: "request_scheduled_latency", group: "Scheduled Latency", unit: "Sec",
			of: each(func(r *Request) float64 { return seconds(r.endNS() - r.DueNS) })})
	}
	list = append(list,
		guideMetric{key: "request_streaming_iterations_count", group: "Streaming Iterations", unit: "Count",
			of: each(func(r *Request) float64 { return float64(r.events()) })},
		guideMetric{key: "time_to_first_token_ms", group: "Time to First Token", unit: "ms", of: guideFirst(firstToken)})
	if b.log.HasVisible {
		list = append(list, guideMetric{key: guideTTFO, group: "Time to First Output Token", unit: "ms",
			of: guideFirst(firstVisible)})
	}
	return append(list,
		guideMetric{key: "time_per_output_token_ms", group: "Time per Output Token", unit: "ms", of: guideTPOT},
		guideMetric{key: "inter_token_latency_ms", group: "Inter Token Latency", unit: "ms", of: guideITL})
}

// follows reports whether the request may have waited for an earlier one of its session.
func (r *Request) follows() bool { return r.Turn > 0 }

// guideFirst omits requests whose first token is unknown.
func guideFirst(of func(*Request) (float64, bool)) func([]*Request) distribution {
	return func(group []*Request) distribution {
		var list []weighted
		for _, r := range group {
			if v, ok := of(r); ok {
				list = append(list, weighted{v * 1e3, 1})
			}
		}
		return fromValues(list, -1)
	}
}

// firstVisible returns the time to the first token that is not reasoning.
func firstVisible(r *Request) (float64, bool) {
	return seconds(r.VisibleNS - r.startNS()), r.VisibleNS != 0
}

// guideTPOT starts at the sending, so that it includes the first token, and is weighted by the number of tokens.
func guideTPOT(group []*Request) distribution {
	list := make([]weighted, len(group))
	for i, r := range group {
		n := float64(r.OutputTokens)
		list[i] = weighted{ratio(seconds(r.lastNS()-r.startNS())*1e3, n), n}
	}
	return fromValues(list, -1)
}

// guideITL is the metric that others call TPOT, weighted by the number of gaps.
func guideITL(group []*Request) distribution {
	list := make([]weighted, len(group))
	for i, r := range group {
		v, _ := vllmTPOT(r)
		list[i] = weighted{v * 1e3, float64(max(r.OutputTokens, 1) - 1)}
	}
	return fromValues(list, -1)
}

// rates returns the metrics over time, and the counts of tokens.
func (b *guideBenchmark) rates(e *Export) []guideMetric {
	timings := 0
	for _, r := range b.requests {
		timings += r.events() + 1
	}
	over := func(events func(*Request, []weighted) []weighted) func([]*Request) distribution {
		return func(group []*Request) distribution {
			var list []weighted
			for _, r := range group {
				list = events(r, list)
			}
			return ratesOf(list, b.start, b.end)
		}
	}
	list := []guideMetric{
		{key: "requests_per_second", group: "Server Throughput", unit: "Requests/Sec",
			of: over(func(r *Request, list []weighted) []weighted { return append(list, weighted{seconds(r.endNS()), 1}) })},
		{key: "request_concurrency", group: "Server Throughput", unit: "Concurrency", of: b.concurrency},
		{key: "prompt_token_count", group: "Token Metrics", unit: "Input Tokens", of: each(func(r *Request) float64 {
			return float64(r.InputTokens)
		})},
		{key: "output_token_count", group: "Token Metrics", unit: "Output Tokens", of: each(func(r *Request) float64 {
			return float64(r.OutputTokens)
		})},
		{key: "total_token_count", group: "Token Metrics", unit: "Total Tokens", of: each(func(r *Request) float64 {
			return float64(r.InputTokens + r.OutputTokens)
		})},
		{key: "prompt_tokens_per_second", group: "Token Throughput", unit: "Input Tokens/Sec", of: over(promptTiming)},
	}
	if timings > mostTimings {
		e.note("the log has %d events with tokens, more than %d: the rates of output tokens have no values", timings,
			mostTimings)
		return list
	}
	return append(list,
		guideMetric{key: "output_tokens_per_second", group: "Token Throughput", unit: "Output Tokens/Sec",
			of: over(outputTimings)},
		guideMetric{key: "tokens_per_second", group: "Token Throughput", unit: "Total Tokens/Sec",
			of: over(func(r *Request, list []weighted) []weighted { return outputTimings(r, promptTiming(r, list)) })},
		guideMetric{key: "output_tokens_per_iteration", group: "Token Streaming", unit: "Output Tokens/Iter",
			of: perIteration(0)},
		guideMetric{key: "iter_tokens_per_iteration", group: "Token Streaming", unit: "Iter Tokens/Iter",
			of: perIteration(1)})
}

func (b *guideBenchmark) concurrency(group []*Request) distribution {
	intervals := make([][2]float64, len(group))
	for i, r := range group {
		intervals[i] = [2]float64{seconds(r.startNS()), seconds(r.endNS())}
	}
	return concurrencyOf(intervals, b.start, b.end)
}

// perIteration returns how many tokens the events of streams contained, from the event at a position on: the first
// event has one token, and the others the same number of each request, as in outputTimings.
func perIteration(from int) func([]*Request) distribution {
	return func(group []*Request) distribution {
		var list []weighted
		for _, r := range group {
			events, n := r.events(), float64(r.OutputTokens)
			switch isSpread := events > 1 && n > 1; {
			case isSpread && from == 0:
				list = append(list, weighted{1, 1}, weighted{(n - 1) / float64(events-1), float64(events - 1)})
			case isSpread:
				list = append(list, weighted{(n - 1) / float64(events-1), float64(events - 1)})
			case from == 0:
				list = append(list, weighted{n, 1})
			}
		}
		return fromValues(list, -1)
	}
}

// promptTiming counts a prompt at its first token.
func promptTiming(r *Request, list []weighted) []weighted {
	at := r.FirstTokenNS
	if at == 0 {
		at = r.endNS()
	}
	return append(list, weighted{seconds(at), float64(r.InputTokens)})
}

// outputTimings spreads the tokens after the first evenly over the later events, in time and number. guidellm does the
// same, because it keeps no time of each event.
func outputTimings(r *Request, list []weighted) []weighted {
	events := r.events()
	if events <= 1 || r.OutputTokens <= 1 {
		return append(list, weighted{seconds(r.lastNS()), float64(r.OutputTokens)})
	}
	first, last := seconds(r.FirstTokenNS), seconds(r.lastNS())
	list = append(list, weighted{first, 1})
	for i := 1; i < events; i++ {
		list = append(list, weighted{first + (last-first)*float64(i)/float64(events-1),
			float64(r.OutputTokens-1) / float64(events-1)})
	}
	return list
}

// guideCounts returns the number of requests of each group.
func guideCounts(requests []*Request) object {
	var o object
	for _, status := range guideStatus {
		n := 0
		for _, r := range requests {
			if status.is(r) {
				n++
			}
		}
		o.add(status.name, n)
	}
	return o
}

func (b *guideBenchmark) object(e *Export) object {
	metrics := object{{"request_totals", guideCounts(b.requests)}}
	for i := range b.metrics {
		var groups object
		for k, status := range guideStatus {
			groups.add(status.name, b.metrics[i].groups[k].object())
		}
		metrics.add(b.metrics[i].key, groups)
	}
	b.addUnmeasured(&metrics)
	metrics = append(metrics, b.good.members()...)
	first, last := b.extent()
	return object{
		{"type_", "generative_benchmark"}, {"config", b.config()}, {"scheduler_state", b.state()},
		{"scheduler_metrics", b.scheduler()}, {"metrics", metrics},
		{"requests", b.lists(e)},
		{"start_time", b.start}, {"end_time", b.end}, {"duration", b.end - b.start},
		{"warmup_duration", b.start - first}, {"cooldown_duration", last - b.end},
	}
}

// extent returns when the requests began and ended, warm-up and cool-down included, in s since 1970.
func (b *guideBenchmark) extent() (first, last float64) {
	from, to := extent(b.sent)
	return seconds(from), seconds(to)
}

func (b *guideBenchmark) id() string { return b.log.ID + "-" + strconv.Itoa(b.index) }

// scheduler returns the log's figures about the client.
func (b *guideBenchmark) scheduler() object {
	var late, times float64
	first, last := b.extent()
	for _, r := range b.requests {
		late += seconds(r.startNS() - r.DueNS)
		times += seconds(r.endNS() - r.startNS())
	}
	n := float64(len(b.requests))
	o := object{
		{"start_time", first}, {"request_start_time", first}, {"measure_start_time", b.start},
		{"measure_end_time", b.end}, {"request_end_time", last}, {"end_time", last},
		{"requests_made", guideCounts(b.sent)},
		{"request_targeted_start_delay_avg", late / n}, {"request_time_avg", times / n},
	}
	for _, key := range guideUntimed {
		o.add(key, -1.0) // as guidellm writes an average of nothing
	}
	return o
}

// percentileList is the cell of a distribution's percentiles.
func (d *distribution) percentileList() string {
	low, high := d.extremes()
	text := "[" + pyrepr.Float(low)
	for _, p := range guidePercentiles {
		if p.key != "p50" && p.key != "p999" {
			text += ", " + pyrepr.Float(d.at(p.share))
		}
	}
	return fmt.Sprintf("%s, %s]", text, pyrepr.Float(high))
}
