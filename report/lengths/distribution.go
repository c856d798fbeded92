package lengths

import (
	"maps"
	"math/bits"
	"slices"
)

// exactBelow is the limit below which every length is counted by itself. Greater lengths are rounded down to
// keptBits significant bits, an error of at most 0.05 %, so that no input can make a distribution large.
const (
	exactBelow = 1 << 16
	keptBits   = 12
)

// Distribution counts non-negative integers. The zero Distribution is empty and ready.
type Distribution struct {
	counts   map[int]int
	n        int
	sum      float64
	min, max int
}

// Add counts v once; a negative v counts as 0.
func (d *Distribution) Add(v int) {
	v = max(v, 0)
	if d.counts == nil {
		d.counts = map[int]int{}
	}
	d.counts[rounded(v)]++
	if d.n == 0 || v < d.min {
		d.min = v
	}
	d.max = max(d.max, v)
	d.n++
	d.sum += float64(v)
}

func rounded(v int) int {
	if v < exactBelow {
		return v
	}
	shift := bits.Len(uint(v)) - keptBits
	return v >> shift << shift
}

// Count returns the number of values.
func (d *Distribution) Count() int { return d.n }

// Summary describes a distribution. A percentile is the element trunc(n*p) of the sorted values, as in LoadGen.
type Summary struct {
	Count int     `json:"count"`
	Min   float64 `json:"min"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Summary returns the figures of the values divided by scale; the zero Summary without values.
func (d *Distribution) Summary(scale float64) Summary {
	if d.n == 0 {
		return Summary{}
	}
	at := func(p int) float64 { return float64(d.element(int(int64(d.n)*int64(p)/100))) / scale }
	return Summary{d.n, float64(d.min) / scale, d.sum / float64(d.n) / scale, at(50), at(90), at(99),
		float64(d.max) / scale}
}

// element returns the i-th of the sorted values.
func (d *Distribution) element(i int) int {
	for _, v := range slices.Sorted(maps.Keys(d.counts)) {
		if i -= d.counts[v]; i < 0 {
			return max(v, d.min)
		}
	}
	return d.max
}

// Bins counts the values in at most n ranges of equal size starting at low. Without values there are no ranges.
func (d *Distribution) Bins(n int) (low, step int, counts []int) {
	if d.n == 0 || n < 1 {
		return 0, 1, nil
	}
	low = rounded(d.min)
	step = (d.max-low)/n + 1
	counts = make([]int, (d.max-low)/step+1)
	for v, k := range d.counts {
		counts[(v-low)/step] += k
	}
	return low, step, counts
}
