package series

import (
	"math"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// Rate returns the growth per second of a cumulative series between each time and the one before it. The first is NaN,
// and so is a rate whose ends are absent. A value below the one before it means that the server started anew, so the
// growth is the value itself.
func Rate(timesS, values []float64) []float64 {
	rates := make([]float64, len(values))
	for i := range values {
		rates[i] = math.NaN()
		if i == 0 || timesS[i] <= timesS[i-1] {
			continue
		}
		rates[i] = Growth(values[i-1], values[i]) / (timesS[i] - timesS[i-1])
	}
	return rates
}

// Growth returns by how much a cumulative value grew, over a restart of its server too.
func Growth(from, to float64) float64 {
	if to < from {
		return to
	}
	return to - from
}

// Bucket is a bucket of a cumulative histogram: Count values are at most UpperBound.
type Bucket struct {
	UpperBound float64
	Count      float64
}

// Quantile returns the p-quantile of a cumulative histogram, by linear interpolation inside the bucket that contains
// it, as Prometheus' histogram_quantile does. A quantile in the bucket without an upper bound is the largest finite
// bound. It is NaN without any value.
func Quantile(p float64, buckets []Bucket) float64 {
	buckets = slices.Clone(buckets)
	ordering.Sort(buckets, func(a, b Bucket) int {
		if a.UpperBound < b.UpperBound {
			return -1
		}
		return 1
	})
	if len(buckets) < 2 || buckets[len(buckets)-1].Count <= 0 {
		return math.NaN()
	}
	rank := p * buckets[len(buckets)-1].Count
	at := slices.IndexFunc(buckets, func(b Bucket) bool { return b.Count >= rank })
	if at < 0 || math.IsInf(buckets[at].UpperBound, 1) {
		return buckets[len(buckets)-2].UpperBound
	}
	low, below := 0.0, 0.0
	if at > 0 {
		low, below = buckets[at-1].UpperBound, buckets[at-1].Count
	}
	inside := buckets[at].Count - below
	if inside <= 0 {
		return buckets[at].UpperBound
	}
	return low + (buckets[at].UpperBound-low)*(rank-below)/inside
}

// upperBound returns the upper bound of a series of buckets.
func (s *Series) upperBound() (float64, bool) {
	bound, err := strconv.ParseFloat(s.Labels["le"], 64)
	return bound, err == nil
}
