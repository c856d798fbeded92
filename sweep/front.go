package sweep

import (
	"cmp"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// markFront marks the points of the Pareto front: no other point has both more tokens per second for each user and
// more per accelerator. Spoiled points are never on it.
func markFront(points []Point) {
	var order []*Point
	for i := range points {
		points[i].Front = false
		if points[i].counts() && points[i].PerUser > 0 {
			order = append(order, &points[i])
		}
	}
	ordering.Sort(order, func(a, b *Point) int {
		return cmp.Or(cmp.Compare(b.PerUser, a.PerUser), cmp.Compare(b.PerAccelerator, a.PerAccelerator))
	})
	best := 0.0
	for _, p := range order {
		if p.PerAccelerator > best {
			p.Front, best = true, p.PerAccelerator
		}
	}
}

// bestGoodput returns the point with the highest goodput; nil: there are no limits, or no query met them.
func bestGoodput(points []Point) *Point {
	var best *Point
	for i := range points {
		p := &points[i]
		if !p.counts() || p.GoodputPerS == nil || *p.GoodputPerS <= 0 {
			continue
		}
		if best == nil || *p.GoodputPerS > *best.GoodputPerS {
			best = p
		}
	}
	return best
}

// metShare is the share of the queries that must meet the limits in LoadGen's Server
// (docs/reference/loadgen.md#validity).
const metShare = 0.99

// highestWithin returns the point with the highest load at which metShare is reached; nil: no load.
func highestWithin(points []Point) (highest *Point) {
	for i := range points {
		p := &points[i]
		if p.counts() && p.Met != nil && *p.Met >= metShare && (highest == nil || p.Load > highest.Load) {
			highest = p
		}
	}
	return highest
}

// counts reports whether a point is a measurement.
func (p *Point) counts() bool { return len(p.Spoiled) == 0 }
