package ldb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

const hitRate = "cache_hit_rate"

// observed are the report's names of signals. Those without a name of a series have none in version 0.2; late is that
// of version 0.2.1.
var observed = []struct {
	signal, aggregate, series, late, units string
	grows                                  bool // the signal is a rate, and the report has its growth over the stage
}{
	{signal: "kv_cache", aggregate: "kv_cache_usage", series: "kv_cache_usage", units: "fraction"},
	{signal: "prefix_hits", aggregate: hitRate, series: hitRate, units: "fraction"},
	{signal: "running", aggregate: "running_requests", late: "num_requests_running", units: count},
	{signal: "waiting", aggregate: "waiting_requests", late: "num_requests_waiting", units: count},
	{signal: "preemptions", aggregate: "preemptions", units: count, grows: true},
	{signal: "gpu_utilization", aggregate: "gpu_utilization", series: "gpu_utilization", units: "fraction"},
	{signal: "gpu_memory", aggregate: "gpu_memory_usage", series: "gpu_memory_usage", units: "GB"},
	{signal: "gpu_power", aggregate: "power_consumption", series: "power_consumption", units: "Watts"},
}

// observability returns the signals of each metrics page that was read during a stage, and the hit rate that the
// servers reported in their answers if no page has one; nil: neither is there.
func observability(version string, r *bench.Record, part *measure.Part, set *series.Set) any {
	var components []any
	hasHits := false
	for target := range sources(set) {
		total, over := fields{}, fields{}
		for _, o := range observed {
			line := during(part, set, signal(o.signal).Of(set, target))
			if o.grows {
				if sum := line.Sum(); !math.IsNaN(sum) {
					total[o.aggregate] = single(o.units, sum)
				}
				continue
			}
			total[o.aggregate] = summary(o.units, &line)
			hasHits = hasHits || o.aggregate == hitRate && total[o.aggregate] != nil
			if name := o.series; name != "" {
				over[name] = points(o.units, set, &line)
			} else if version == "0.2.1" {
				over[o.late] = points(o.units, set, &line)
			}
		}
		if aggregate := total.with(); aggregate != nil {
			components = append(components, fields{"component_label": componentOf(r, set.Targets[target]),
				"replica_id": fmt.Sprint(target), "aggregate": aggregate, "time_series": over.with(),
				"raw_data_path": record.MetricsName}.with())
		}
	}
	if c := part.PrefixCache; c != nil && !hasHits {
		components = append(components, fields{"component_label": cmp.Or(r.Stack, "servers"),
			"aggregate": fields{hitRate: single("fraction", c.HitRate)}})
	}
	if len(components) == 0 {
		return nil
	}
	return fields{"components": components}
}

// service returns the load of all servers together in a stage as version 0.1 has it; nil: no metrics were read.
func service(part *measure.Part, set *series.Set) any {
	if sources(set) == 0 {
		return nil
	}
	running := during(part, set, signal("running").Total(set))
	waiting := during(part, set, signal("waiting").Total(set))
	return fields{"batch_size": summary(count, &running), "queue_size": summary(count, &waiting)}.with()
}

// sources returns the number of pages in a set, which may be nil.
func sources(set *series.Set) int {
	if set == nil {
		return 0
	}
	return min(len(set.Scrapes), len(set.Targets))
}

// signal returns the signal with a key.
func signal(key string) *series.Signal {
	return &series.Signals[slices.IndexFunc(series.Signals, func(g series.Signal) bool { return g.Key == key })]
}

// componentOf returns the label of the server that a page belongs to, or the address of another page.
func componentOf(r *bench.Record, target string) string {
	for i, e := range r.Endpoints {
		if e.URL != "" && strings.HasPrefix(target, e.URL) {
			return labelOf(r, i)
		}
	}
	return target
}

// labelOf returns the label of a server.
func labelOf(r *bench.Record, i int) string {
	return fmt.Sprintf("%s-%d", cmp.Or(r.Stack, "server"), i)
}

// during returns the readings of a line within a stage.
func during(part *measure.Part, set *series.Set, line series.Line) (cut series.Line) {
	start := set.Started.UnixNano()
	for i, at := range line.TimesS {
		if ns := start + int64(at*1e9); ns >= part.StartNS && ns <= part.EndNS {
			cut.TimesS, cut.Values = append(cut.TimesS, at), append(cut.Values, line.Values[i])
		}
	}
	return cut
}

// summary returns the figures of a line; nil if it has no value.
func summary(units string, line *series.Line) any {
	stats, ok := line.Stats()
	if !ok {
		return nil
	}
	least := math.Inf(1)
	for _, v := range line.Values {
		if !math.IsNaN(v) {
			least = min(least, v)
		}
	}
	return fields{"units": units, "mean": stats.Mean, "min": least, "max": stats.Max}
}

// points returns the values of a line with their times; nil if it has no value.
func points(units string, set *series.Set, line *series.Line) any {
	var list []any
	for i, v := range line.Values {
		if !math.IsNaN(v) {
			list = append(list, fields{"ts": moment(set.Started.UnixNano() + int64(line.TimesS[i]*1e9)), "value": v})
		}
	}
	if list == nil {
		return nil
	}
	return fields{"units": units, "series": list}
}
