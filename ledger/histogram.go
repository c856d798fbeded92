// HOT PATH: Record and RecordN run per token. No lock, no allocation.

package ledger

import (
	"math"
	"math/bits"
	"strconv"
	"sync/atomic"
)

// Each power of two is split into 64 equal buckets, so that a bucket's middle is at most 1/128 = 0.78 % from any value
// in it. Values below 64 have a bucket each.
const (
	subBits  = 6
	subCount = 1 << subBits
	nBuckets = (64 - subBits) * subCount
)

// Histogram counts non-negative integers in log-linear buckets of at most 0.8 % error. Any number of goroutines may
// record and read at the same time; the zero Histogram is empty and ready.
type Histogram struct {
	sum, max atomic.Int64
	buckets  [nBuckets]atomic.Int64 // counts; without a total counter, a value costs only two atomic adds
}

func bucketOf(v int64) int {
	if v < subCount {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - 1 - subBits
	return shift*subCount + int(v>>shift)
}

// middleOf returns the middle of a bucket.
func middleOf(bucket int) int64 {
	if bucket < subCount {
		return int64(bucket)
	}
	shift := bucket/subCount - 1
	low := int64(bucket-shift*subCount) << shift
	return low + int64(1)<<shift/2
}

// Record counts v once; a negative v counts as 0.
func (h *Histogram) Record(v int64) { h.add(v, 1) }

// RecordTimes counts a value several times.
func (h *Histogram) RecordTimes(v, times int64) { h.add(v, times) }

// RecordN counts n tokens that arrived together, gap ns after the previous token: one value of gap and n-1 zeros.
func (h *Histogram) RecordN(gap int64, n int) {
	if n <= 0 {
		return
	}
	h.add(gap, 1)
	if n > 1 {
		h.add(0, int64(n-1))
	}
}

func (h *Histogram) add(v, n int64) {
	v = max(v, 0)
	h.buckets[bucketOf(v)].Add(n)
	h.sum.Add(v * n)
	h.raiseMax(v)
}

func (h *Histogram) raiseMax(v int64) {
	for {
		old := h.max.Load()
		if v <= old || h.max.CompareAndSwap(old, v) {
			return
		}
	}
}

// Count returns the number of values.
func (h *Histogram) Count() int64 {
	n := int64(0)
	for i := range h.buckets {
		n += h.buckets[i].Load()
	}
	return n
}

// Max returns the exact largest value; 0 if empty.
func (h *Histogram) Max() int64 { return h.max.Load() }

// Mean returns the exact mean; 0 if empty.
func (h *Histogram) Mean() float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return float64(h.sum.Load()) / float64(n)
}

// Quantile returns the value at index trunc(count·p) of the sorted values, within 0.8 %; 0 if empty.
func (h *Histogram) Quantile(p float64) int64 {
	total := h.Count()
	if total == 0 {
		return 0
	}
	left := int64(percentileIndex(int(total), p))
	for i := range h.buckets {
		if left -= h.buckets[i].Load(); left < 0 {
			return min(middleOf(i), h.Max())
		}
	}
	return h.Max()
}

// Merge adds all values of other.
func (h *Histogram) Merge(other *Histogram) {
	for i := range other.buckets {
		if n := other.buckets[i].Load(); n != 0 {
			h.buckets[i].Add(n)
		}
	}
	h.sum.Add(other.sum.Load())
	h.raiseMax(other.max.Load())
}

// Batch collects values of one goroutine, without atomic operations, and adds them to a Histogram together. The zero
// Batch is empty and ready.
type Batch struct {
	sum, max int64
	buckets  [nBuckets]int64
}

// Record counts v once; a negative v counts as 0.
func (b *Batch) Record(v int64) {
	v = max(v, 0)
	b.buckets[bucketOf(v)]++
	b.sum += v
	b.max = max(b.max, v)
}

// MoveTo adds the values to h, and empties the batch.
func (b *Batch) MoveTo(h *Histogram) {
	for i, n := range b.buckets {
		if n != 0 {
			h.buckets[i].Add(n)
		}
	}
	h.sum.Add(b.sum)
	h.raiseMax(b.max)
	*b = Batch{}
}

// Stats treats the values as ns and returns figures in seconds; nil if the histogram is empty.
func (h *Histogram) Stats() *Stats {
	if h.Count() == 0 {
		return nil
	}
	at := func(p float64) float64 { return float64(h.Quantile(p)) / nsPerS }
	return &Stats{
		Mean: h.Mean() / nsPerS, P50: at(.5), P90: at(.9), P95: at(.95), P99: at(.99), P999: at(.999),
		Max: float64(h.Max()) / nsPerS,
	}
}

// Percentiles treats the values as ns and returns the given percentiles (such as 99.9) in seconds; nil if the histogram
// is empty.
func (h *Histogram) Percentiles(percents []float64) []float64 {
	if h.Count() == 0 {
		return nil
	}
	list := make([]float64, len(percents))
	for i, p := range percents {
		list[i] = float64(h.Quantile(Share(p))) / nsPerS
	}
	return list
}

// Share converts a percentile to a fraction, such as 99.99 to 0.9999. Dividing by 100 would yield the next lower
// floating-point number, for which the index into 10,000 values is one too low.
func Share(percent float64) float64 {
	share, _ := strconv.ParseFloat(strconv.FormatFloat(percent, 'f', -1, 64)+"e-2", 64) // this cannot fail
	return share
}

// percentileIndex returns LoadGen's index trunc(n·p), at most the last.
func percentileIndex(n int, p float64) int {
	if i := int(math.Trunc(float64(n) * p)); i < n {
		return max(i, 0)
	}
	return n - 1
}
