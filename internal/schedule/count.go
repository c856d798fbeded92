package schedule

import (
	"math"
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

// Extent is the number and duration of the queries that LoadGen prepares for a Server test.
type Extent struct {
	Queries int           // number of queries; 0: there is no schedule, or it has more than most queries
	Last    time.Duration // time from the first query to the scheduled time of the last
}

// ServerCount returns the number of queries that LoadGen prepares.
func ServerCount(l Load) int { return ServerExtent(l).Queries }

// ServerExtent returns the number and duration of the queries that LoadGen prepares. A Server test issues all of them
// unless it ends early (docs/reference/loadgen.md#query-counts).
func ServerExtent(l Load) Extent {
	if l.QPS == 0 || math.IsNaN(l.QPS) || math.IsInf(l.QPS, 0) {
		return Extent{}
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
			return Extent{}
		}
		n++
		previous = at
		at += interarrivalNS(t, qps)
		if l.Set > 0 && n >= need && previous < int64(l.MinDuration) {
			need += l.Set
		}
	}
	return Extent{Queries: n, Last: time.Duration(previous)}
}
