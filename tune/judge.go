package tune

import (
	"math"

	"github.com/mlperf-go/mlperf-go/internal/earlystop"
)

// Decision is what a probe predicts for a run of the full length at its rate.
type Decision string

// The decisions.
const (
	WouldPass Decision = "would pass"
	WouldFail Decision = "would fail"
	Neither   Decision = "neither"
)

// Judge is the sequential test of one probe against one limit. A probe sends the hardest parts of a full run, so a
// query that is late in the probe would be late in the run too.
type Judge struct {
	full     int     // queries of a run of the full length
	bearable int     // late queries that it may have
	share    float64 // of its queries
	alpha    float64
	looks    int // for a pass
}

// NewJudge returns the test for a run of the given number of queries.
func NewJudge(percentile float64, queries int, confidence float64) *Judge {
	return &Judge{full: queries, bearable: earlystop.Bearable(percentile, queries), share: Bearable(percentile, queries),
		alpha: 1 - confidence}
}

// Bearable returns the share of late queries with which a run of the given length passes. If the run may have no
// late query, the share is that of half a query, because no number of queries could show that the share is 0.
func Bearable(percentile float64, queries int) float64 {
	const half = 0.5
	return max(half, float64(earlystop.Bearable(percentile, queries))) / float64(max(queries, 1))
}

// Look decides at the end of a part, by the number of late queries so far. The decisions for a pass share the
// allowed error: each uses half of the remainder, so that all together are wrong no more often than the confidence
// allows.
func (j *Judge) Look(queries, late int) Decision {
	switch {
	case late > j.bearable:
		return WouldFail
	case queries >= j.full: // the whole run is judged by LoadGen's own rule
		return WouldPass
	}
	if j.looks++; earlystop.AtMost(queries, late, j.share) < math.Ldexp(j.alpha, -j.looks) {
		return WouldPass
	}
	return Neither
}

// Hopeless reports whether so many queries are late that the probe can end within a part.
func (j *Judge) Hopeless(late int) bool { return late > hopeless*max(j.bearable, 1) }

// hopeless is the multiple of the bearable late queries at which a probe ends at once.
const hopeless = 4
