package record

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Percentiles are the percentiles of latencies that the user asked for, in seconds.
type Percentiles struct {
	Percents []float64 `json:"percents"`
	ledger.Percentiles
	ITL []float64 `json:"itl,omitempty"` // from the histogram; not in the request log
}

const mostPercentiles = 10

// ParsePercentiles reads a list such as 50,p90,99.9; nil of an empty text.
func ParsePercentiles(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var list []float64
	for word := range strings.SplitSeq(text, ",") {
		p, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(word), "p"), 64)
		if err != nil || !(p > 0 && p < 100) {
			return nil, fmt.Errorf("--percentiles %s: %q is not a percentile", text, word)
		}
		list = append(list, p)
	}
	if len(list) > mostPercentiles {
		return nil, fmt.Errorf("--percentiles %s: more than %d", text, mostPercentiles)
	}
	return list, nil
}

// LatencyRow is a row of a table of latencies.
type LatencyRow struct {
	Name, Unit string
	Values     []float64 // mean, percentiles, max in the unit; NaN: unknown. nil: not measured
}

// LatencyTable returns the latencies with their mean, percentiles and max. percents are the percentiles of a record
// whose user asked for none; those of ledger.Stats are known.
func (r *Record) LatencyTable(percents ...float64) (heads []string, rows []LatencyRow) {
	asked := Percentiles{}
	if r.Percentiles != nil {
		asked = *r.Percentiles
		percents = asked.Percents
	}
	heads = []string{"mean"}
	for _, p := range percents {
		heads = append(heads, fmt.Sprintf("p%g", p))
	}
	l := r.LatencyS
	for _, one := range []struct {
		name, unit string
		scale      float64
		s          *ledger.Stats
		asked      []float64
	}{{"TTFT", "ms", 1e3, l.TTFT, asked.TTFT}, {"TPOT", "ms/token", 1e3, l.TPOT, asked.TPOT},
		{"ITL", "ms", 1e3, l.ITL, asked.ITL}, {"time per request", "s", 1, l.E2E, asked.E2E},
		{"NTPOT", "ms/token", 1e3, l.NTPOT, asked.NTPOT}} {
		row := LatencyRow{Name: one.name, Unit: one.unit}
		if one.s != nil {
			values := []float64{one.s.Mean}
			for i, p := range percents {
				values = append(values, percentile(one.s, one.asked, i, p))
			}
			for _, v := range append(values, one.s.Max) {
				row.Values = append(row.Values, v*one.scale)
			}
		}
		rows = append(rows, row)
	}
	return append(heads, "max"), rows
}

// percentile returns the i-th of the values that were asked for, or a percentile that every record has.
func percentile(s *ledger.Stats, asked []float64, i int, p float64) float64 {
	if i < len(asked) {
		return asked[i]
	}
	known := []float64{50, 90, 95, 99, 99.9}
	if k := slices.Index(known, p); k >= 0 {
		return []float64{s.P50, s.P90, s.P95, s.P99, s.P999}[k]
	}
	return math.NaN()
}
