package peers

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// aiperfSchema is the schema_version of the JSON (aiperf/common/models/export_models.py).
const aiperfSchema = "1.4"

// aiperfStats are the statistics of a metric in the order of the CSV (aiperf/common/constants.py).
var aiperfStats = []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99",
	"std"}

// aiperfMetric is a metric of requests.
type aiperfMetric struct {
	tag, header, unit string
	scale             float64 // units per unit that of returns
	of                func(*Request) (float64, bool)
}

// Units of aiperf.
const (
	aiperfMS      = "ms"
	aiperfTokens  = "tokens"
	aiperfPerUser = "tokens/sec/user"
)

// aiperfMetrics are computed per request (aiperf/metrics/types). Its "inter token latency" is what others call TPOT.
var aiperfMetrics = []aiperfMetric{
	{"request_latency", "Request Latency", aiperfMS, 1e3, aiperfLatency},
	{"time_to_first_token", "Time to First Token", aiperfMS, 1e3, firstToken},
	{"time_to_second_token", "Time to Second Token", aiperfMS, 1e3, func(r *Request) (float64, bool) {
		if len(r.TokenNS) < 2 {
			return 0, false
		}
		return seconds(r.TokenNS[1] - r.TokenNS[0]), true
	}},
	{"inter_token_latency", "Inter Token Latency", aiperfMS, 1e3, vllmTPOT},
	{"output_token_throughput_per_user", "Output Token Throughput Per User", aiperfPerUser, 1,
		func(r *Request) (float64, bool) { return inverse(vllmTPOT(r)) }},
	{"output_sequence_length", "Output Sequence Length", aiperfTokens, 1, outputTokens},
	{"output_token_count", "Output Token Count", aiperfTokens, 1, func(r *Request) (float64, bool) {
		_, n := r.content()
		return float64(n), n > 0
	}},
	{"reasoning_token_count", "Reasoning Token Count", aiperfTokens, 1, func(r *Request) (float64, bool) {
		_, n := r.content()
		return float64(r.OutputTokens - n), r.OutputTokens > n
	}},
	{"input_sequence_length", "Input Sequence Length", aiperfTokens, 1, func(r *Request) (float64, bool) {
		return float64(r.InputTokens), r.InputTokens > 0
	}},
	{"usage_prompt_cache_read_tokens", "Usage Prompt Cache Read Tokens", aiperfTokens, 1,
		func(r *Request) (float64, bool) { return float64(r.CachedTokens), r.HasCached }},
	{"e2e_output_token_throughput", "E2E Output Token Throughput", aiperfPerUser, 1, func(r *Request) (float64, bool) {
		latency, _ := aiperfLatency(r)
		return ratio(float64(r.OutputTokens), latency), latency > 0
	}},
	{"prefill_throughput_per_user", "Prefill Throughput Per User", aiperfPerUser, 1, func(r *Request) (float64, bool) {
		ttft, ok := firstToken(r)
		return ratio(float64(r.InputTokens), ttft), ok && ttft > 0 && r.InputTokens > 0
	}},
	{"decode_duration", "Decode Duration", aiperfMS, 1e3, func(r *Request) (float64, bool) {
		return seconds(r.lastNS() - r.FirstTokenNS), r.FirstTokenNS != 0
	}},
}

// aiperfTTFO is a metric of logs that record the first token that is not reasoning.
var aiperfTTFO = aiperfMetric{"time_to_first_output_token", "Time to First Output Token", aiperfMS, 1e3, firstVisible}

// aiperfMetrics returns the metrics of requests that the log has.
func (l *Log) aiperfMetrics() []aiperfMetric {
	if l.HasVisible {
		return append(slices.Clone(aiperfMetrics), aiperfTTFO)
	}
	return aiperfMetrics
}

// aiperfLatency ends with the last event that contained tokens.
func aiperfLatency(r *Request) (float64, bool) { return seconds(r.lastNS() - r.startNS()), true }

func inverse(v float64, ok bool) (float64, bool) { return ratio(1, v), ok && v > 0 }

// aiperfResult is a metric of the file: of requests with all statistics, of the run with avg alone.
type aiperfResult struct {
	header, unit string
	values       sample
	scalar       float64
}

// writeAIPerf writes profile_export_aiperf.json and .csv, and the records of the requests. Percentiles and deviations
// are numpy's, and rates are per second of the time from the first sending to the last event of an answer.
func writeAIPerf(l *Log, e *Export) error {
	answered := l.which((*Request).ok)
	failed := l.which(func(r *Request) bool { return !r.ok() && !r.incomplete() })
	results := map[string]aiperfResult{}
	for _, m := range l.aiperfMetrics() {
		s := newSample(answered, m.of)
		for i := range s {
			s[i] *= m.scale
		}
		results[m.tag] = aiperfResult{header: m.header, unit: m.unit, values: s}
	}
	if l.hasTokenTimes() {
		s := gaps(answered)
		for i := range s {
			s[i] *= 1e3
		}
		results["inter_chunk_latency"] = aiperfResult{header: "Inter Chunk Latency", unit: aiperfMS, values: s}
	}
	if s := newSample(failed, inputTokens); len(s) > 0 {
		results["error_isl"] = aiperfResult{header: "Error Input Sequence Length", unit: aiperfTokens, values: s}
	}
	maps.DeleteFunc(results, func(_ string, r aiperfResult) bool { return len(r.values) == 0 })
	aiperfRun(results, answered, failed)
	aiperfGoodput(l, e, results, answered, failed)
	e.noteTokenTimes(l, "time_to_second_token and inter_chunk_latency are left out")
	e.note("percentiles that count failures (adj_*) are left out")
	data, err := indented(aiperfJSON(l, results, failed))
	if err != nil {
		return err
	}
	text, err := aiperfCSV(results)
	if err != nil {
		return err
	}
	e.Files = append(e.Files, File{Name: "profile_export_aiperf.json", Data: data},
		File{Name: "profile_export_aiperf.csv", Data: text},
		File{Name: "profile_export.jsonl", stream: aiperfRecords(l)})
	return nil
}

// aiperfRun adds the metrics of the whole run.
func aiperfRun(results map[string]aiperfResult, answered, failed []*Request) {
	one := func(tag, header, unit string, v float64) {
		results[tag] = aiperfResult{header: header, unit: unit, scalar: v}
	}
	input, output := tokens(answered)
	one("request_count", "Request Count", "requests", float64(len(answered)))
	one("completed_request_count", "Completed Requests (Success + Error)", "requests", float64(len(answered)+len(failed)))
	one("request_error_rate", "Request Error Rate", "%",
		100*ratio(float64(len(failed)), float64(len(answered)+len(failed))))
	one("total_isl", "Total Input Sequence Length", aiperfTokens, float64(input))
	one("total_osl", "Total Output Sequence Length", aiperfTokens, float64(output))
	_, content := perfTokens(answered)
	one("total_output_tokens", "Total Output Tokens", aiperfTokens, float64(content))
	if output > content {
		one("total_reasoning_tokens", "Total Reasoning Tokens", aiperfTokens, float64(output-content))
	}
	if _, ok := results["usage_prompt_cache_read_tokens"]; ok {
		cached := float64(cachedTokens(answered))
		one("total_usage_prompt_cache_read_tokens", "Total Usage Prompt Cache Read Tokens", aiperfTokens, cached)
		one("overall_usage_prompt_cache_read_pct", "Overall Usage Prompt Cache Read %", "%",
			100*ratio(cached, float64(input)))
	}
	if len(failed) > 0 {
		lost, _ := tokens(failed)
		one("error_request_count", "Error Request Count", "requests", float64(len(failed)))
		one("total_error_isl", "Total Error Input Sequence Length", aiperfTokens, float64(lost))
	}
	start, _ := extent(answered)
	last := start
	for _, r := range answered {
		last = max(last, r.lastNS())
	}
	duration := seconds(last - start)
	if duration <= 0 {
		return
	}
	one("benchmark_duration", "Benchmark Duration", "sec", duration)
	one("request_throughput", "Request Throughput", "requests/sec", float64(len(answered))/duration)
	one("output_token_throughput", "Output Token Throughput", "tokens/sec", float64(output)/duration)
	one("input_token_throughput", "Input Token Throughput", "tokens/sec", float64(input)/duration)
	one("total_token_throughput", "Total Token Throughput", "tokens/sec", float64(input+output)/duration)
}

// value returns a statistic; ok is false if the metric has none with that name.
func (r *aiperfResult) value(stat string) (v float64, ok bool) {
	if r.values == nil {
		return r.scalar, stat == "avg"
	}
	switch stat {
	case "avg":
		return r.values.mean(), true
	case "min":
		return r.values[0], true
	case "max":
		return r.values[len(r.values)-1], true
	case "sum":
		return r.values.sum(), true
	case "std":
		return r.values.deviation(), true
	}
	p, err := strconv.ParseFloat(stat[1:], 64)
	return r.values.percentile(p), err == nil
}

func aiperfJSON(l *Log, results map[string]aiperfResult, failed []*Request) object {
	start, end := extent(l.which(all))
	o := object{{"schema_version", aiperfSchema}, {"benchmark_id", l.ID}}
	for _, tag := range slices.Sorted(maps.Keys(results)) {
		r := results[tag]
		one := object{{"unit", r.unit}}
		for _, stat := range aiperfStats {
			if v, ok := r.value(stat); ok {
				one.add(stat, v)
			}
		}
		if r.values != nil {
			one.add("count", len(r.values))
		}
		o.add(tag, one)
	}
	incomplete := len(l.which((*Request).incomplete))
	o.add("was_cancelled", incomplete > 0)
	o.add("is_complete", incomplete == 0)
	o.add("error_summary", aiperfErrors(failed))
	const noZone = "2006-01-02T15:04:05.000000"
	o.add("start_time", time.Unix(0, start).UTC().Format(noZone))
	o.add("end_time", time.Unix(0, end).UTC().Format(noZone))
	return o
}

func aiperfErrors(failed []*Request) []object {
	counts := map[string]int{}
	for _, r := range failed {
		counts[r.Failure]++
	}
	list := []object{}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, object{{"error_details", aiperfError(reason)}, {"count", counts[reason]}})
	}
	ordering.Sort(list, func(a, b object) int { return cmp.Compare(b[1].value.(int), a[1].value.(int)) })
	return list
}

// aiperfCSV writes the metrics of requests with their statistics, then those of the run.
func aiperfCSV(results map[string]aiperfResult) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true // like Python's csv module
	rows := [][]string{append([]string{"Metric"}, aiperfStats...)}
	system := [][]string{{}, {"Metric", "Value"}}
	for _, tag := range slices.Sorted(maps.Keys(results)) {
		r := results[tag]
		name := r.header
		if r.unit != "requests" {
			name += " (" + r.unit + ")"
		}
		if r.values == nil {
			system = append(system, []string{name, aiperfNumber(r.scalar, r.unit)})
			continue
		}
		row := []string{name}
		for _, stat := range aiperfStats {
			v, _ := r.value(stat)
			row = append(row, strconv.FormatFloat(v, 'f', 2, 64))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		rows, system = nil, system[1:]
	}
	err := w.WriteAll(append(rows, system...))
	return b.Bytes(), err
}

// aiperfNumber formats counts without decimals and other numbers with two.
func aiperfNumber(v float64, unit string) string {
	if unit == "requests" || unit == aiperfTokens {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
