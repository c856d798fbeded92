package series

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Signal is a figure that an engineer looks at first, whatever engine the server runs. Its series are found by the
// engines' names for it (docs/reference/metrics.md#signals).
type Signal struct {
	Key   string // of JSON and CSV
	Title string
	Unit  string
	how   combine
	names []string
	over  []string // of a ratio: the names of the denominator
	scale float64  // from the unit of the series to Unit; 0: they are the same

	Client bool // whether it belongs to the machine of the client
}

// combine is how the series of a signal become one line.
type combine int

const (
	sumGauges combine = iota
	meanGauges
	sumRates
	ratioRates
	quantile99
)

// Signals are listed in the order in which they are shown.
var Signals = []Signal{
	{Key: "running", Title: "Running requests", Unit: "requests", how: sumGauges,
		names: []string{"vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"}},
	{Key: "waiting", Title: "Waiting requests", Unit: "requests", how: sumGauges,
		names: []string{"vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred"}},
	{Key: "kv_cache", Title: "KV cache in use", Unit: "fraction", how: meanGauges,
		names: []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"}},
	{Key: "output_tokens", Title: "Output tokens", Unit: "tokens/s", how: sumRates,
		names: []string{"vllm:generation_tokens_total", "sglang:generation_tokens_total", "llamacpp:tokens_predicted_total"}},
	{Key: "input_tokens", Title: "Input tokens", Unit: "tokens/s", how: sumRates,
		names: []string{"vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "llamacpp:prompt_tokens_total"}},
	{Key: "preemptions", Title: "Preemptions", Unit: "1/s", how: sumRates, names: []string{"vllm:num_preemptions_total"}},
	{Key: "prefix_hits", Title: "Prefix cache hits", Unit: "fraction", how: ratioRates,
		names: []string{"vllm:prefix_cache_hits_total"}, over: []string{"vllm:prefix_cache_queries_total"}},
	{Key: "ttft_p99", Title: "TTFT p99 at the server", Unit: "s", how: quantile99,
		names: []string{"vllm:time_to_first_token_seconds_bucket", "sglang:time_to_first_token_seconds_bucket"}},
	{Key: "itl_p99", Title: "ITL p99 at the server", Unit: "s", how: quantile99,
		names: []string{"vllm:inter_token_latency_seconds_bucket", "sglang:inter_token_latency_seconds_bucket"}},
	{Key: "gpu_power", Title: "GPU power", Unit: "W", how: sumGauges, names: []string{powerName}},
	{Key: "gpu_utilization", Title: "GPU utilization", Unit: "fraction", how: meanGauges,
		names: []string{"gpu_utilization"}},
	{Key: "gpu_memory", Title: "GPU memory in use", Unit: "GB", how: sumGauges, scale: 1e-9,
		names: []string{"gpu_memory_used_bytes"}},
	{Key: "gpu_clock", Title: "GPU clock", Unit: "MHz", how: meanGauges, scale: 1e-6,
		names: []string{"gpu_clock_hertz"}},
	{Key: "machine_cpu", Title: "CPU of the client's machine", Unit: "fraction", how: meanGauges, Client: true,
		names: []string{"machine_cpu_utilization"}},
	{Key: "client_cpu", Title: "CPU of this program", Unit: "CPUs", how: sumGauges, Client: true,
		names: []string{"process_cpu_cores"}},
}

// OfInterval reports whether a value is of the time since the reading before, and not of the moment of its reading.
func (g *Signal) OfInterval() bool { return g.Client || g.how >= sumRates }

// IsSignal reports whether a series is part of a signal, so that Read can keep those alone.
func IsSignal(s *Series) bool {
	return slices.ContainsFunc(Signals, func(g Signal) bool {
		return slices.Contains(g.names, s.Name) || slices.Contains(g.over, s.Name)
	})
}

// Line is a signal of one target over time, or of all targets together.
type Line struct {
	TimesS []float64
	Values []float64 // NaN: absent
}

// Of returns the signal of one target at each of its scrapes. It is empty if the target has no such series.
func (g *Signal) Of(set *Set, target int) Line {
	times := set.Scrapes[target].TimesS
	named := func(names []string) (list []*Series) {
		for _, s := range set.Series {
			if s.Target == target && slices.Contains(names, s.Name) {
				list = append(list, s)
			}
		}
		return list
	}
	found := named(g.names)
	if len(found) == 0 {
		return Line{}
	}
	line := Line{TimesS: times}
	switch g.how {
	case sumGauges:
		line.Values = sum(len(times), found, values)
	case meanGauges:
		line.Values = sum(len(times), found, values)
		for i, n := range sum(len(times), found, present) {
			line.Values[i] /= n
		}
	case sumRates:
		line.Values = sum(len(times), found, rates(times))
	case ratioRates:
		line.Values = sum(len(times), found, rates(times))
		for i, whole := range sum(len(times), named(g.over), rates(times)) {
			line.Values[i] /= whole // NaN while no requests are counted
		}
	case quantile99:
		line.Values = quantiles(0.99, times, found)
	}
	for i := range line.Values {
		line.Values[i] *= cmp.Or(g.scale, 1)
	}
	return line
}

func values(s *Series) []float64 { return s.Values }

// present returns 1 for each value that is not absent.
func present(s *Series) []float64 {
	ones := slices.Clone(s.Values)
	for i, v := range ones {
		if !math.IsNaN(v) {
			ones[i] = 1
		}
	}
	return ones
}

func rates(timesS []float64) func(*Series) []float64 {
	return func(s *Series) []float64 { return Rate(timesS[:len(s.Values)], s.Values) }
}

// sum adds series; a time without any of them is NaN.
func sum(n int, list []*Series, of func(*Series) []float64) []float64 {
	total := make([]float64, n)
	for i := range total {
		total[i] = math.NaN()
	}
	for _, s := range list {
		for i, v := range of(s) {
			switch {
			case math.IsNaN(v):
			case math.IsNaN(total[i]):
				total[i] = v
			default:
				total[i] += v
			}
		}
	}
	return total
}

// quantiles returns the quantile of each interval's new observations in a histogram, over all its label sets.
func quantiles(p float64, timesS []float64, buckets []*Series) []float64 {
	line := make([]float64, len(timesS))
	for i := range line {
		line[i] = math.NaN()
		if i == 0 {
			continue
		}
		added := map[float64]float64{}
		for _, s := range buckets {
			bound, ok := s.upperBound()
			if !ok || i >= len(s.Values) || math.IsNaN(s.Values[i]) || math.IsNaN(s.Values[i-1]) {
				continue
			}
			added[bound] += Growth(s.Values[i-1], s.Values[i])
		}
		list := make([]Bucket, 0, len(added))
		for bound, n := range added {
			list = append(list, Bucket{bound, n})
		}
		line[i] = Quantile(p, list)
	}
	return line
}

// StaleIntervals is for how many intervals a value is held after its scrape if no other scrape follows.
const StaleIntervals = 2.5

// Total returns the signal of all targets together at each interval: the sum of requests, tokens and rates, the mean of
// fractions, the largest of latencies.
func (g *Signal) Total(set *Set) Line {
	var lines []Line
	end := 0.0
	for target := range set.Scrapes {
		if line := g.Of(set, target); len(line.TimesS) > 0 {
			lines = append(lines, line)
			end = max(end, line.TimesS[len(line.TimesS)-1])
		}
	}
	switch {
	case len(lines) == 0 || set.IntervalS <= 0 || end/set.IntervalS > maxValues:
		return Line{}
	case len(lines) == 1:
		return lines[0]
	}
	total := Line{}
	at := make([]int, len(lines))
	for now := 0.0; now <= end; now += set.IntervalS {
		var held []float64
		for i := range lines {
			if v := lines[i].hold(&at[i], now, StaleIntervals*set.IntervalS); !math.IsNaN(v) {
				held = append(held, v)
			}
		}
		total.TimesS = append(total.TimesS, now)
		total.Values = append(total.Values, g.Join(held))
	}
	return total
}

// At returns the last value at or before a time of the line. It is NaN if that value is older than 2.5 intervals.
func (l *Line) At(s, intervalS float64) float64 {
	at := max(sort.SearchFloat64s(l.TimesS, s)-1, 0)
	if len(l.TimesS) == 0 {
		return math.NaN()
	}
	return l.hold(&at, s, StaleIntervals*intervalS)
}

// hold returns the last value at or before now that is not older than stale. at moves on with now.
func (l *Line) hold(at *int, now, stale float64) float64 {
	for *at+1 < len(l.TimesS) && l.TimesS[*at+1] <= now {
		*at++
	}
	if l.TimesS[*at] > now || now-l.TimesS[*at] > stale {
		return math.NaN()
	}
	return l.Values[*at]
}

// Join returns the signal of several targets together from a value of each: the sum of requests, tokens and rates, the
// mean of fractions, the largest of latencies. It is NaN without values.
func (g *Signal) Join(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	switch g.how {
	case meanGauges, ratioRates:
		return total / float64(len(values))
	case quantile99:
		return slices.Max(values)
	}
	return total
}

// Stats are the figures of a line, without its absent values.
type Stats struct{ Mean, Max, Last float64 }

// Stats returns false if every value is absent.
func (l *Line) Stats() (Stats, bool) {
	s, n := Stats{Max: math.Inf(-1)}, 0
	for _, v := range l.Values {
		if math.IsNaN(v) {
			continue
		}
		n++
		s.Mean += v
		s.Max, s.Last = max(s.Max, v), v
	}
	s.Mean /= float64(n)
	return s, n > 0
}

// Sum returns the growth behind a line of rates: its values times their intervals. It is NaN if every value is absent.
func (l *Line) Sum() float64 {
	total := math.NaN()
	for i, v := range l.Values {
		if i == 0 || math.IsNaN(v) {
			continue
		}
		if math.IsNaN(total) {
			total = 0
		}
		total += v * (l.TimesS[i] - l.TimesS[i-1])
	}
	return total
}
