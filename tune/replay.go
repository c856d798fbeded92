package tune

import (
	"math"
	"slices"
)

// replay simulates full-length runs of a model.
type replay struct {
	*model
	deltas      []int64   // ns: LoadGen's schedule
	drawn       float64   // the rate of deltas
	due, tokens []float64 // by query
	slope       float64   // of the excess, in the last run
	byEnd       [1 << 14][]life
}

// life is a query in flight. Ends are on the clock of tokens, which all requests in flight share.
type life struct{ ends, first, tokens float64 }

// turn returns the logarithm of the rate at which a run has as many late queries as it may have, by secants from x on.
// The first has the slope of the run before.
func (r *replay) turn(x float64, noise []float64) float64 {
	before, step := 0.0, 0.0
	for try := range mostTries {
		excess := r.excess(x, noise)
		if try > 0 {
			r.slope = max(leastSlope, min(mostSlope, (excess-before)/step))
		}
		if math.Abs(excess) < closeExcess {
			break
		}
		before, step = excess, -max(-mostChange, min(mostChange, excess/r.slope))
		x += step
	}
	return x
}

// excess returns the logarithm of the late queries of a run, in proportion to those that it may have.
func (r *replay) excess(x float64, noise []float64) float64 {
	const half = 0.5 // so that it is finite
	rate := math.Exp(x)
	queries := r.queries(rate)
	for i, d := range r.deltas[:queries] {
		r.due[i] = float64(d) / 1e9 * r.drawn / rate
	}
	bearable := Bearable(r.goal.Percentile, queries) * float64(queries)
	return math.Log((float64(r.late(queries, noise)) + half) / (bearable + half))
}

// queries returns about the number of queries of a run at a rate. The exact one would take as long as the simulation.
func (r *replay) queries(rate float64) int {
	last := int64(float64(r.goal.Load.MinDuration) * rate / r.drawn)
	n, _ := slices.BinarySearch(r.deltas, last)
	return max(1, min(max(n, r.goal.Load.MinQueries), len(r.due)))
}

// bucket returns the queries in flight that end at about a time.
func (r *replay) bucket(ends float64) *[]life { return &r.byEnd[int(ends)&(len(r.byEnd)-1)] }

// late returns how many queries of a run exceed the limit.
func (r *replay) late(queries int, noise []float64) (late int) {
	at, clock, next, inFlight := 0.0, 0.0, 0, 0
	end, window, until := math.Inf(1), -1, 0.0 // end: of the first query in flight
	for next < queries || inFlight > 0 {
		if at >= until {
			window++
			until = float64(window+1) * r.window
		}
		per := (r.base + r.per*float64(inFlight)) * noise[window%len(noise)]
		ends := at + (end-clock)*per
		switch {
		case ends <= until && (next == queries || ends <= r.due[next]):
			at, clock = ends, end
			if r.remove(end, at) {
				late++
			}
			if inFlight--; inFlight == 0 {
				end = math.Inf(1)
			} else {
				end = r.firstEnd(clock)
			}
		case next < queries && r.due[next] <= until:
			clock += (r.due[next] - at) / per
			at = r.due[next]
			l := life{clock + r.first/per + r.tokens[next] - 1 + r.extra, at + r.first, r.tokens[next]}
			b := r.bucket(l.ends)
			*b = append(*b, l)
			end = min(end, l.ends)
			inFlight++
			next++
		default:
			clock += (until - at) / per
			at = until
		}
	}
	return late
}

// remove removes the query with an end, and reports whether it was late.
func (r *replay) remove(ends, at float64) bool {
	b := r.bucket(ends)
	for i, l := range *b {
		if l.ends == ends {
			(*b)[i] = (*b)[len(*b)-1]
			*b = (*b)[:len(*b)-1]
			return at-l.first > r.limit*(l.tokens-1)
		}
	}
	return false
}

// firstEnd returns the first end after a time.
func (r *replay) firstEnd(clock float64) float64 {
	first := math.Inf(1)
	for c := math.Floor(clock); math.IsInf(first, 1); c++ {
		for _, l := range *r.bucket(c) {
			if l.ends < c+1 { // not a later round of the buckets
				first = min(first, l.ends)
			}
		}
	}
	return first
}
