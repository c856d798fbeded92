package peers

import (
	"cmp"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// weighted is a value with its weight.
type weighted struct{ value, weight float64 }

// distribution is guidellm's summary of weighted values: the values with their probabilities, in order
// (guidellm/schemas/base/statistics.py, whose names the functions below have).
type distribution struct {
	values []weighted // weight: probability
	count  int
}

// noWeight is the sum of weights below which all values have the same weight.
const noWeight = 1e-6

// fromValues merges equal values and turns weights into probabilities. count is the number of observations; below 0 it
// is the sum of the weights.
func fromValues(list []weighted, count int) distribution {
	if len(list) == 0 {
		return distribution{count: max(count, 0)}
	}
	total := 0.0
	for _, v := range list {
		total += v.weight
	}
	if count < 0 {
		count = int(math.RoundToEven(total))
	}
	sorted := slices.Clone(list)
	ordering.Sort(sorted, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	merged := sorted[:1]
	for _, v := range sorted[1:] {
		if last := &merged[len(merged)-1]; last.value == v.value {
			last.weight += v.weight
		} else {
			merged = append(merged, v)
		}
	}
	merged = slices.DeleteFunc(merged, func(v weighted) bool { return v.weight <= 0 })
	if total <= noWeight { // all have the same weight
		total = float64(len(merged))
		for i := range merged {
			merged[i].weight = 1
		}
	}
	for i := range merged {
		merged[i].weight /= total
	}
	return distribution{merged, count}
}

func (d *distribution) mean() float64 {
	mean := 0.0
	for _, v := range d.values {
		mean += v.value * v.weight
	}
	return mean
}

// guidePercentiles are the keys of the percentiles with their shares.
var guidePercentiles = []struct {
	key   string
	share float64
}{{"p001", .001}, {"p01", .01}, {"p05", .05}, {"p10", .1}, {"p25", .25}, {"p50", .5}, {"p75", .75}, {"p90", .9},
	{"p95", .95}, {"p99", .99}, {"p999", .999}}

// at returns the first value at which the cumulated probability reaches a share, without interpolation.
func (d *distribution) at(share float64) float64 {
	sum := 0.0
	for _, v := range d.values {
		if sum += v.weight; sum >= share {
			return v.value
		}
	}
	if len(d.values) == 0 {
		return 0
	}
	return d.values[len(d.values)-1].value
}

func (d *distribution) extremes() (low, high float64) {
	if len(d.values) == 0 {
		return 0, 0
	}
	return d.values[0].value, d.values[len(d.values)-1].value
}

func (d *distribution) deviation() float64 {
	mean, sum := d.mean(), 0.0
	for _, v := range d.values {
		sum += (v.value - mean) * (v.value - mean) * v.weight
	}
	return math.Sqrt(sum)
}

// object returns the distribution in its JSON form.
func (d *distribution) object() object {
	mode, most := 0.0, 0.0
	for _, v := range d.values {
		if v.weight > most {
			mode, most = v.value, v.weight
		}
	}
	var percentiles object
	for _, p := range guidePercentiles {
		percentiles.add(p.key, d.at(p.share))
	}
	low, high := d.extremes()
	return object{
		{"mean", d.mean()}, {"median", d.at(.5)}, {"mode", mode}, {"variance", d.deviation() * d.deviation()},
		{"std_dev", d.deviation()}, {"min", low}, {"max", high}, {"count", d.count},
		{"total_sum", d.mean() * float64(d.count)}, {"percentiles", percentiles},
	}
}

// Bounds of the distributions over time.
const (
	mergeWithin  = 1e-4       // s; closer events are merged
	mostTimings  = 20_000_000 // events of a rate, above which it is left out
	shortestLast = 1e-6       // s, of the last event
)

// mergeTimes sorts events and merges those within mergeWithin of the first of a group. value: time in s.
func mergeTimes(events []weighted) []weighted {
	ordering.Sort(events, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	var merged []weighted
	for _, e := range events {
		if n := len(merged); n > 0 && e.value <= merged[n-1].value+mergeWithin {
			merged[n-1].weight += e.weight
		} else {
			merged = append(merged, e)
		}
	}
	return merged
}

// ratesOf returns the distribution of a rate over time. Each event has the time from half-way to the previous event to
// half-way to the next. The list is sorted in place.
func ratesOf(events []weighted, start, end float64) distribution {
	times := mergeTimes(append(events, weighted{start, 0}, weighted{end, 0}))
	if len(times) <= 1 {
		return distribution{count: len(times)}
	}
	rates, sum := make([]weighted, len(times)), 0.0
	for i, t := range times {
		from, to := t.value, t.value
		if i > 0 {
			from = (times[i-1].value + t.value) / 2
		}
		if i+1 < len(times) {
			to = (t.value + times[i+1].value) / 2
		}
		lasts := to - from
		if i+1 == len(times) {
			lasts = max(lasts, shortestLast)
		}
		rates[i] = weighted{t.weight / lasts, lasts}
		sum += t.weight
	}
	return fromValues(rates, int(math.RoundToEven(sum)))
}

// concurrencyOf returns the distribution of the number of open intervals over the time from start to end, which
// contains all intervals.
func concurrencyOf(intervals [][2]float64, start, end float64) distribution {
	var changes []weighted
	for _, i := range intervals {
		changes = append(changes, weighted{i[0], 1}, weighted{i[1], -1})
	}
	if len(changes) == 0 {
		return distribution{}
	}
	times := append([]weighted{{start, 0}}, mergeTimes(changes)...)
	times = append(times, weighted{end, 0})
	var levels []weighted
	level, longest := 0.0, 0.0
	for i := range times[:len(times)-1] {
		level += times[i].weight
		lasts := max(times[i+1].value-times[i].value, 0)
		levels = append(levels, weighted{max(level, 0), lasts})
		longest = max(longest, lasts)
	}
	if longest == 0 {
		return distribution{count: len(intervals)}
	}
	return fromValues(levels, len(intervals))
}
