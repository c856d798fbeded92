package schedule

import (
	"math"
	"slices"
	"time"
)

// Load holds the settings that decide how many queries LoadGen prepares for a Server test.
type Load struct {
	Seed        uint64  // LoadGen's schedule_rng_seed
	QPS         float64 // LoadGen's server_target_qps, in queries per second
	MinDuration time.Duration
	MinQueries  int
	Set         int // number of loaded samples in equal-issue mode, of which the count is a multiple; 0: any count
}

// most is the maximum number of queries that the loop below counts. No official test has that many.
const most = 1 << 27

// ServerCount returns the number of queries that LoadGen prepares; 0: there is no schedule, or it has more than most
// queries.
func ServerCount(l Load) int { return prepare(l, func(int64) {}) }

// ServerTimes returns the scheduled times of the queries that LoadGen prepares, as ServerDeltas does; nil if
// ServerCount is 0. A Server test issues all of them unless it ends early (docs/reference/loadgen.md#query-counts).
func ServerTimes(l Load) []int64 {
	times := make([]int64, 0, min(max(l.MinQueries, 0), most))
	if prepare(l, func(at int64) { times = append(times, at) }) == 0 {
		return nil
	}
	return slices.Clip(times)
}

// prepare calls take with the scheduled time of each query, and returns their number.
func prepare(l Load, take func(at int64)) int {
	if l.QPS == 0 || math.IsNaN(l.QPS) || math.IsInf(l.QPS, 0) {
		return 0
	}
	qps := l.QPS
	if qps < 0 {
		qps = 1
	}
	need := l.MinQueries
	if l.Set > 0 {
		need = (need + l.Set - 1) / l.Set * l.Set
	}
	t := newTwister(l.Seed)
	n, previous, at := 0, int64(0), int64(0)
	for previous < int64(l.MinDuration) || n < need {
		if n >= most {
			return 0
		}
		n++
		take(at)
		previous = at
		at += interarrivalNS(t, qps)
		if l.Set > 0 && n >= need && previous < int64(l.MinDuration) {
			need += l.Set
		}
	}
	return n
}
