package schedule

import "math"

// ServerDeltas gives when each of the first n Server queries of a series is due, in ns after its start; the first is 0.
// LoadGen puts 1 in place of a negative rate. It is nil when n is not positive or when qps is 0 or not finite: there is
// no such schedule.
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

// interarrivalNS draws one exponential gap and cuts it to whole ns. The two factors are applied in LoadGen's order,
// because each rounds.
func interarrivalNS(t *twister, qps float64) int64 {
	seconds := -math.Log(1-t.canonical()) / qps
	return int64(seconds * 1e9)
}
