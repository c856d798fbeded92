package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// The bounds of the bootstrap (docs/explanation/comparison.md).
const (
	mostBlocks     = 400    // bounds the work for a run of a million requests; longer blocks are valid too
	fewestBlocks   = 20     // with fewer blocks, the interval would not have its confidence
	fewestBeyond   = 10     // blocks with values beyond a quantile; with fewer, the estimate depends on a few moments
	mostThresholds = 1024   // values at which a quantile is counted exactly
	mostResamples  = 20_000 // for 20 resamples beyond each end of the interval
	minResamples   = 2000
	bootstrapSeed  = 0x6d6c7065 // fixed, so that the same folders result in the same interval
)

// Interval is a confidence interval of a relative change: 0.05 is 5 % more.
type Interval struct {
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Blocks    int     `json:"blocks"`    // of the run with fewer of them
	Resamples int     `json:"resamples"` // of the bootstrap
	Paired    bool    `json:"paired"`    // the same requests of both runs were drawn together
}

// statistic is a figure of a run that is divided into blocks.
type statistic interface {
	blocks() int
	at(weights []uint16) float64 // at returns the figure of a resample that contains each block weights times
}

// bootstrap returns the interval of b/a-1 at a confidence, from resampled blocks. If paired, each resample draws the
// same blocks of both.
func bootstrap(a, b statistic, confidence float64, paired bool) (*Interval, error) {
	k := min(a.blocks(), b.blocks())
	switch {
	case k < fewestBlocks:
		return nil, fmt.Errorf("the run is too short for an interval: its requests form %d independent groups of "+
			"neighbours, and %d are needed", k, fewestBlocks)
	case paired && a.blocks() != b.blocks():
		return nil, fmt.Errorf("the requests of the runs form %d and %d groups", a.blocks(), b.blocks())
	}
	tail := expanded((1-confidence)/2, k)
	n := min(max(int(math.Ceil(20/tail)), minResamples), mostResamples)
	random := rand.New(rand.NewPCG(bootstrapSeed, uint64(k)))
	changes := make([]float64, 0, n)
	wa, wb := make([]uint16, a.blocks()), make([]uint16, b.blocks())
	for range n {
		draw(random, wa)
		if paired {
			copy(wb, wa)
		} else {
			draw(random, wb)
		}
		change := math.Log(b.at(wb) / a.at(wa))
		if math.IsNaN(change) || math.IsInf(change, 0) {
			return nil, fmt.Errorf("some resamples have no value")
		}
		changes = append(changes, change)
	}
	slices.Sort(changes)
	i := min(int(tail*float64(n)), n/2)
	return &Interval{math.Expm1(changes[i]), math.Expm1(changes[n-1-i]), k, n, paired}, nil
}

// draw draws as many blocks as there are, with replacement, and counts how often each was drawn.
func draw(random *rand.Rand, weights []uint16) {
	clear(weights)
	for range weights {
		weights[random.IntN(len(weights))]++
	}
}

// expanded returns the share of resamples to cut off for a tail of a normal interval. This is the expanded percentile
// interval (T. Hesterberg, What Teachers Should Know about the Bootstrap, The American Statistician 69, 2015, section
// 3.3). It corrects two effects: few blocks vary less than the run from which they were taken, and they are distributed
// like Student's t.
func expanded(tail float64, blocks int) float64 {
	k := float64(blocks)
	return normal(-math.Sqrt(k/(k-1)) * studentT(1-tail, k-1))
}

// normal is the distribution function of the normal distribution.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// studentT is the quantile of Student's distribution by its expansion in the degrees of freedom (M. Abramowitz and
// I. A. Stegun, Handbook of Mathematical Functions, 26.7.5). From 19 degrees on its error is below 0.01 up to 99.99
// %.
func studentT(p, degrees float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	z3, z5, z7 := z*z*z, math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*degrees) + (5*z5+16*z3+3*z)/(96*degrees*degrees) +
		(3*z7+19*z5+17*z3-15*z)/(384*degrees*degrees*degrees)
}

// quantile is a quantile of values in time order: element trunc(n·p) of the sorted values, as in run.json.
type quantile struct {
	p          float64
	thresholds []float64  // ascending
	atMost     [][]uint32 // by block: how many of its values are at most each threshold
}

// newQuantile divides values into blocks of a length. NaN marks a missing value.
func newQuantile(values []float64, p float64, length int) (*quantile, error) {
	q := &quantile{p: p, thresholds: thresholds(values, p, length)}
	if len(q.thresholds) == 0 {
		return nil, fmt.Errorf("no values")
	}
	beyond, own := 0, q.thresholds[len(q.thresholds)-1]
	if sorted := present(values); len(sorted) > 0 {
		own = sorted[index(len(sorted), p)]
	}
	for block := range slices.Chunk(values, length) {
		counts, has := make([]uint32, len(q.thresholds)), false
		for _, v := range block {
			if math.IsNaN(v) {
				continue
			}
			at, _ := slices.BinarySearch(q.thresholds, v)
			counts[min(at, len(counts)-1)]++
			has = has || v >= own
		}
		for i := 1; i < len(counts); i++ {
			counts[i] += counts[i-1]
		}
		if has {
			beyond++
		}
		q.atMost = append(q.atMost, counts)
	}
	if beyond < fewestBeyond {
		return nil, fmt.Errorf("the run is too short for an interval: its slowest %.4g %% came in %s of neighbouring "+
			"requests, and %d are needed", 100*(1-p), plural.Count(beyond, "group", "groups"), fewestBeyond)
	}
	return q, nil
}

// present returns the sorted values without NaN.
func present(values []float64) []float64 {
	sorted := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	return sorted
}

// index is the place of a quantile among n sorted values.
func index(n int, p float64) int { return min(int(float64(n)*p), n-1) }

// thresholds returns the values among which resamples search their quantile: all of a short run, otherwise those within
// eight standard errors of it.
func thresholds(values []float64, p float64, length int) []float64 {
	sorted := present(values)
	n := len(sorted)
	if n <= mostThresholds {
		return slices.Compact(sorted)
	}
	spread := 8 * math.Sqrt(p*(1-p)*float64(n)*float64(length))
	low, high := max(int(float64(n)*p-spread), 0), min(int(float64(n)*p+spread), n-1)
	step := max(float64(high-low)/(mostThresholds-2), 1)
	list := []float64{}
	for at := float64(low); at <= float64(high); at += step {
		list = append(list, sorted[int(at)])
	}
	list = append(list, sorted[index(n, p)], sorted[n-1])
	slices.Sort(list)
	return slices.Compact(list)
}

func (q *quantile) blocks() int { return len(q.atMost) }

// at finds the first threshold with more than trunc(n·p) of the resample's values at or below it.
func (q *quantile) at(weights []uint16) float64 {
	count := func(m int) (n uint64) {
		for j, w := range weights {
			n += uint64(w) * uint64(q.atMost[j][m])
		}
		return n
	}
	last := len(q.thresholds) - 1
	rank := uint64(float64(count(last)) * q.p)
	low, high := 0, last
	for low < high {
		if middle := (low + high) / 2; count(middle) > rank {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return q.thresholds[low]
}

// ratio is the ratio of two sums over values in time order, such as tokens per second.
type ratio struct{ above, below []float64 }

// newRatio divides two series of the same length into blocks.
func newRatio(above, below []float64, length int) *ratio {
	r := &ratio{}
	for from := 0; from < len(above); from += length {
		a, b := 0.0, 0.0
		for i := from; i < min(from+length, len(above)); i++ {
			a, b = a+above[i], b+below[i]
		}
		r.above, r.below = append(r.above, a), append(r.below, b)
	}
	return r
}

func (r *ratio) blocks() int { return len(r.above) }

func (r *ratio) at(weights []uint16) float64 {
	above, below := 0.0, 0.0
	for j, w := range weights {
		above += float64(w) * r.above[j]
		below += float64(w) * r.below[j]
	}
	return above / below
}

// residuals is the series that determines the blocks of a ratio. To first order, the relative error of the ratio is the
// sum of the series.
func residuals(above, below []float64) []float64 {
	a, b := 0.0, 0.0
	for i := range above {
		a, b = a+above[i], b+below[i]
	}
	out := make([]float64, len(above))
	for i := range above {
		out[i] = (above[i] - a/b*below[i]) / a
	}
	return out
}
