package search

import (
	"math"

	"github.com/mlperf-go/mlperf-go/internal/earlystop"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// Decision is what the counts of a load show.
type Decision string

// The decisions.
const (
	Meets   Decision = "meets"   // the limits, with the confidence of the search
	Misses  Decision = "misses"  // a limit, likewise
	Unclear Decision = "unclear" // the counts are too small for either
)

const percent = 100

// allowed returns the share of requests that may miss a limit.
func allowed(l measure.Limit) float64 { return 1 - l.Percent/percent }

// decide compares how many of the requests missed a limit with the share that it allows. The limit of every request
// allows none, and no number of requests can show more than that none missed it.
func decide(l measure.Limit, requests, missed int64, confidence float64) Decision {
	share := allowed(l)
	if requests == 0 {
		return Unclear
	}
	if share <= 0 {
		if missed == 0 {
			return Meets
		}
		return Misses
	}
	n, m := int(requests), int(missed)
	switch {
	case earlystop.AtMost(n, m, share) < 1-confidence:
		return Meets
	case 1-earlystop.AtMost(n, m-1, share) < 1-confidence:
		return Misses
	}
	return Unclear
}

// enough returns the number of requests of which, without a miss, Meets follows for all limits.
func enough(limits []measure.Limit, confidence float64) float64 {
	most := 1.0
	for _, l := range limits {
		if share := allowed(l); share > 0 {
			most = max(most, math.Ceil(math.Log(1-confidence)/math.Log1p(-share)))
		}
	}
	return most
}
