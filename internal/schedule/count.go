package schedule

import (
	"math"
	"time"
)

// Load holds the settings that decide how many queries LoadGen prepares for a Server test.
type Load struct {
	Seed        uint64  // schedule_rng_seed
	QPS         float64 // server_target_qps
	MinDuration time.Duration
	MinQueries  int
	Set         int // loaded samples in equal-issue mode, where the count is a multiple of it; 0: any count
}

// most bounds the loop below. No official test has that many queries.
const most = 1 << 27

// Extent is what LoadGen prepares for a Server test.
type Extent struct {
	Queries int           // 0: there is no schedule, or it has more than most queries
	Last    time.Duration // from the first query to the time at which the last one is due
}

// ServerCount returns how many queries LoadGen prepares.
func ServerCount(l Load) int { return ServerExtent(l).Queries }

// ServerExtent returns what LoadGen prepares. A Server test issues all of it unless it ends early
// (docs/reference/loadgen.md#query-counts).
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
