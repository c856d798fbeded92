package compare

import "math"

// mostCells bounds the values from which the length of blocks is computed. A longer series is averaged.
const mostCells = 20_000

// blockLength returns how many neighbours of a series form a block, so that blocks are nearly independent: the rule
// of D. N. Politis and H. White (Automatic Block-Length Selection for the Dependent Bootstrap, Econometric Reviews
// 23, 2004) with the correction of A. Patton, D. Politis and H. White (Econometric Reviews 28, 2009) for blocks of
// fixed length. No series gets more than mostBlocks.
func blockLength(values []float64) int {
	cell := (len(values) + mostCells - 1) / mostCells
	least := (len(values) + mostBlocks - 1) / mostBlocks
	return max(politisWhite(averaged(values, cell))*cell, least, 1)
}

// averaged returns the means of groups of neighbours; NaN is ignored.
func averaged(values []float64, cell int) []float64 {
	if cell <= 1 {
		return values
	}
	out := make([]float64, 0, len(values)/cell+1)
	for from := 0; from < len(values); from += cell {
		sum, n := 0.0, 0.0
		for _, v := range values[from:min(from+cell, len(values))] {
			if !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		out = append(out, sum/n)
	}
	return out
}

// politisWhite returns the optimal length of circular blocks.
func politisWhite(values []float64) int {
	n := float64(len(values))
	covariance := covariances(values)
	variance := covariance(0)
	if len(values) < 2 || !(variance > 0) {
		return 1
	}
	// m is the first lag from which on the autocorrelation is not significant for k lags.
	k := max(5, int(math.Ceil(math.Sqrt(math.Log10(n)))))
	insignificant := 2 * math.Sqrt(math.Log10(n)/n)
	most, m, quiet := int(math.Ceil(math.Sqrt(n)))+k, 0, 0
	for lag := 1; lag <= min(most, len(values)-1) && quiet < k; lag++ {
		if quiet++; math.Abs(covariance(lag)/variance) >= insignificant {
			m, quiet = lag, 0
		}
	}
	// The flat-top window has the weight 1 to half of its width, then falls to 0.
	width := min(2*m, len(values)-1)
	g, spectrum := 0.0, variance
	for lag := 1; lag <= width; lag++ {
		weight := min(1, 2*(1-float64(lag)/float64(width)))
		g += 2 * weight * float64(lag) * covariance(lag)
		spectrum += 2 * weight * covariance(lag)
	}
	if spectrum == 0 {
		return 1
	}
	length := math.Cbrt(2 * g * g / (4.0 / 3 * spectrum * spectrum) * n)
	return int(math.Ceil(min(max(length, 1), 3*math.Sqrt(n), n/3)))
}

// covariances returns the function of a series' autocovariance by lag. NaN counts as the mean.
func covariances(values []float64) func(lag int) float64 {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	centred := make([]float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			centred[i] = v - sum/n
		}
	}
	return func(lag int) float64 {
		sum := 0.0
		for i := lag; i < len(centred); i++ {
			sum += centred[i] * centred[i-lag]
		}
		return sum / float64(len(centred))
	}
}

// exceeds is the series that determines the blocks of a quantile: 1 where a value is above it. To first order, the
// error of a quantile is that of this series' mean.
func exceeds(values []float64, p float64) []float64 {
	sorted := present(values)
	if len(sorted) == 0 {
		return nil
	}
	limit := sorted[index(len(sorted), p)]
	out := make([]float64, len(values))
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			out[i] = math.NaN()
		case v >= limit:
			out[i] = 1
		}
	}
	return out
}
