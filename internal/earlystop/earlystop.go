package earlystop

import "math"

// confidence is LoadGen's confidence level. A test passes if a server that misses the limit would, at this level, be
// unlikely to have so few late queries (docs/reference/loadgen.md#early-stopping). LoadGen's tolerance is 0.
const confidence = 0.99

// Need returns the number of queries in time that a test needs for LoadGen to accept the given number of late queries.
// The target percentile lies between 0 and 1, both excluded; Need returns 0 for others.
func Need(percentile float64, late int) int {
	if !(percentile > 0 && percentile < 1) || late < 0 {
		return 0
	}
	// The probability falls with every further query in time, so the answer lies between a count that fails and a count
	// that passes.
	lo, hi := 0, 1
	for !accepted(percentile, hi, late) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; accepted(percentile, mid, late) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Bearable returns the largest number of late queries with which a test of n queries passes; -1 if it has too few
// queries even with no late one.
func Bearable(percentile float64, n int) int {
	if !(percentile > 0 && percentile < 1) || !passes(percentile, n, 0) {
		return -1
	}
	lo, hi := 0, n+1 // lo passes, hi does not
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; passes(percentile, n, mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// AtMost returns the probability that at most late of n queries are late, if each query is late with the probability
// share.
func AtMost(n, late int, share float64) float64 {
	switch {
	case late < 0:
		return 0
	case share <= 0:
		return 1
	}
	return min(1, cumulative(n, late, share))
}

func passes(percentile float64, n, late int) bool {
	return n > late && accepted(percentile, n-late, late)
}

// accepted reports whether at most late of inTime+late queries being late is unlikely, if each is in time with the
// probability of the percentile.
func accepted(percentile float64, inTime, late int) bool {
	return cumulative(inTime+late, late, 1-percentile) < 1-confidence
}

// cumulative is the probability of at most k successes in n trials of probability q. Terms are added from the largest
// down, relative to it, so that none underflows.
func cumulative(n, k int, q float64) float64 {
	if k >= n {
		return 1
	}
	top := min(k, int(float64(n)*q)) // near the mode, or k below it
	sum, term := 1.0, 1.0
	for x := top; x > 0 && term > 1e-18*sum; x-- { // P(x-1)/P(x)
		term *= float64(x) * (1 - q) / (float64(n-x+1) * q)
		sum += term
	}
	term = 1
	for x := top; x < k && term > 1e-18*sum; x++ { // P(x+1)/P(x)
		term *= float64(n-x) * q / (float64(x+1) * (1 - q))
		sum += term
	}
	return sum * math.Exp(logBinomial(n, top)+float64(top)*math.Log(q)+float64(n-top)*math.Log1p(-q))
}

func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
