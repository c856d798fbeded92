package schedule

import "math"

// ServerDeltas returns the scheduled times of the first n Server queries in ns after the start of the series; the first
// is 0. Like LoadGen it replaces a negative rate by 1. It returns nil if n is not positive or qps is 0 or not finite.
func ServerDeltas(seed uint64, qps float64, n int) []int64 {
	if n <= 0 || qps == 0 || math.IsNaN(qps) || math.IsInf(qps, 0) {
		return nil
	}
	if qps < 0 {
		qps = 1
	}
	t := newTwister(seed)
	deltas := make([]int64, n)
	at := int64(0)
	for i := range deltas {
		deltas[i] = at
		at += interarrivalNS(t, qps)
	}
	return deltas
}

// interarrivalNS draws one exponential gap and truncates it to whole ns. It multiplies in LoadGen's order because each
// step rounds.
func interarrivalNS(t *twister, qps float64) int64 {
	seconds := -math.Log(1-t.canonical()) / qps
	return int64(seconds * 1e9)
}
