package measure

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Most is how many values of a metric percentiles are exact for.
const Most = 10_000_000

// Distribution is the figures of one metric in seconds.
type Distribution struct {
	Count      int64              `json:"count"`
	Mean       float64            `json:"mean"`
	StdDev     float64            `json:"stddev"` // of the values themselves, divided by their number
	Min        float64            `json:"min"`
	Max        float64            `json:"max"`
	Percentile map[string]float64 `json:"percentiles"`
	Exact      bool               `json:"exact"` // false: percentiles are within 0.8 %
}

// Percents are the percentiles of every distribution.
var Percents = []float64{0.1, 1, 5, 10, 25, 50, 75, 80, 90, 95, 97, 99, 99.9}

// PercentileName returns the key of a percentile, such as p99.9.
func PercentileName(percent float64) string { return fmt.Sprintf("p%g", percent) }

// values collects one metric.
type values struct {
	list    []float64
	weights []float64 // nil: all are 1
	many    *ledger.Histogram
	count   int64
	weight  float64
	squares float64 // Welford: weighted sum of squared distances from the mean
	mean    float64
	min     float64
	max     float64
	most    int
	room    int // of the list, once it gets a value
}

// newValues returns an empty collection. It makes room for some values at once: a list that grows by copying needs
// twice the memory.
func newValues(most, room int) *values {
	return &values{most: most, min: math.Inf(1), max: math.Inf(-1), room: min(room, most)}
}

func (v *values) add(s, weight float64) {
	v.count++
	v.weight += weight
	if v.weight > 0 {
		step := (s - v.mean) * weight / v.weight
		v.squares += weight * (s - v.mean) * (s - v.mean - step)
		v.mean += step
	}
	v.min, v.max = min(v.min, s), max(v.max, s)
	switch {
	case v.many != nil:
		v.many.RecordTimes(int64(s*1e9), int64(weight))
	case len(v.list) == v.most:
		v.many = &ledger.Histogram{}
		for i, x := range v.list {
			times := int64(1)
			if v.weights != nil {
				times = int64(v.weights[i])
			}
			v.many.RecordTimes(int64(x*1e9), times)
		}
		v.list, v.weights = nil, nil
		v.many.RecordTimes(int64(s*1e9), int64(weight))
	default:
		if v.list == nil {
			v.list = make([]float64, 0, v.room)
		}
		v.list = append(v.list, s)
		if weight != 1 && v.weights == nil {
			v.weights = slices.Repeat([]float64{1}, len(v.list)-1)
		}
		if v.weights != nil {
			v.weights = append(v.weights, weight)
		}
	}
}

// distribution returns the figures; nil: there are no values.
func (v *values) distribution(by rule) *Distribution {
	if v.count == 0 {
		return nil
	}
	d := &Distribution{Count: v.count, Mean: v.mean, Min: v.min, Max: v.max, Exact: v.many == nil,
		Percentile: map[string]float64{}}
	if v.weight > 0 {
		d.StdDev = math.Sqrt(v.squares / v.weight)
	}
	at := v.percentiles(by)
	for _, p := range Percents {
		d.Percentile[PercentileName(p)] = at(p / 100)
	}
	return d
}

// percentiles returns the function from a share to the value at it.
func (v *values) percentiles(by rule) func(share float64) float64 {
	if v.many != nil {
		return func(share float64) float64 { return min(max(float64(v.many.Quantile(share))/1e9, v.min), v.max) }
	}
	if v.weights != nil {
		order := make([]int, len(v.list))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return compare(v.list[a], v.list[b]) })
		return func(share float64) float64 {
			sum := 0.0
			for _, i := range order {
				if sum += v.weights[i]; sum >= share*v.weight {
					return v.list[i]
				}
			}
			return v.max
		}
	}
	place(v.list, wanted(len(v.list), by))
	return func(share float64) float64 { return pick(v.list, share, by) }
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// around returns the positions of the sorted values from which a percentile follows, and its way from one to the other.
func around(n int, share float64, by rule) (low, high int, way float64) {
	switch by {
	case linear:
		at := share * float64(n-1)
		low = int(at)
		if low+1 >= n {
			return n - 1, n - 1, 0
		}
		return low, low + 1, at - float64(low)
	case cumulative:
		low = min(max(int(math.Ceil(share*float64(n)))-1, 0), n-1)
	default:
		low = min(int(float64(n)*share), n-1)
	}
	return low, low, 0
}

// pick returns the value at a share of sorted values.
func pick(sorted []float64, share float64, by rule) float64 {
	low, high, way := around(len(sorted), share, by)
	return sorted[low] + way*(sorted[high]-sorted[low])
}
