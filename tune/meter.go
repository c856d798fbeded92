package tune

import (
	"math"
	"time"
)

// Meter counts the queries of one probe against the limits, and decides when the probe may end. Queries may end in any
// order. One goroutine uses it.
type Meter struct {
	goal     *Goal
	full     int // queries of the full-length run
	arrivals []Arrival
	judges   []*Judge
	said     []Decision
	ended    []bool
	sizes    []int   // counted queries of each part
	counts   []int   // those that have ended
	lates    [][]int // by limit and part: the late ones among them
	looked   int     // parts after which the judges have decided
}

// NewMeter returns the meter of a probe at a rate.
func NewMeter(g *Goal, rate float64, arrivals []Arrival) *Meter {
	m := &Meter{goal: g, full: g.Queries(rate), arrivals: arrivals, ended: make([]bool, len(arrivals)),
		lates: make([][]int, len(g.Limits))}
	for _, a := range arrivals {
		for len(m.sizes) <= a.Part {
			m.sizes = append(m.sizes, 0)
		}
		if a.Counted {
			m.sizes[a.Part]++
		}
	}
	m.counts = make([]int, len(m.sizes))
	for i := range g.Limits {
		m.judges = append(m.judges, NewJudge(g.Percentile, m.full, g.Confidence))
		m.said = append(m.said, Neither)
		m.lates[i] = make([]int, len(m.sizes))
	}
	return m
}

// Ended records the end of a query with its value for each limit.
func (m *Meter) Ended(seq int, values []time.Duration) {
	if m.ended[seq] {
		return
	}
	m.ended[seq] = true
	a := m.arrivals[seq]
	if !a.Counted {
		return
	}
	m.counts[a.Part]++
	for i, v := range values {
		if v > m.goal.Limits[i].Limit {
			m.lates[i][a.Part]++
		}
	}
	for m.looked < len(m.sizes) && m.counts[m.looked] == m.sizes[m.looked] {
		m.looked++
		m.look()
	}
}

// look lets the judges decide at the end of a part.
func (m *Meter) look() {
	for i, j := range m.judges {
		said := j.Look(sum(m.counts[:m.looked]), sum(m.lates[i][:m.looked]))
		if said == WouldFail || said == WouldPass && m.looked >= min(leastParts, len(m.sizes)) && m.said[i] == Neither {
			m.said[i] = said
		}
	}
}

// leastParts is how many parts a probe needs to pass. Late queries come in bursts, and the worst burst need not be in
// the densest part of the schedule.
const leastParts = 2

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Decide returns the decision so far. The probe fails with the first limit that fails, and passes when all pass.
func (m *Meter) Decide() Decision {
	pass := true
	for i, j := range m.judges {
		if m.said[i] == WouldFail || j.Hopeless(sum(m.lates[i])) {
			return WouldFail
		}
		pass = pass && m.said[i] == WouldPass
	}
	if pass {
		return WouldPass
	}
	return Neither
}

// Final returns the decision of a probe whose queries have all ended. Those in flight when it passed may have been
// late.
func (m *Meter) Final(decision Decision) Decision {
	for i, j := range m.judges {
		if sum(m.lates[i]) > j.bearable {
			return WouldFail
		}
	}
	return decision
}

// Count is the outcome of a probe against one limit.
type Count struct {
	Queries int `json:"queries"` // queries that counted and ended
	Late    int `json:"late"`    // late ones among them
	// Full is the number of late queries to expect in a run of the full length.
	Full float64 `json:"full"`
}

// Counts returns what a probe has measured against each limit.
func (m *Meter) Counts() []Count {
	counts := make([]Count, len(m.lates))
	for i, late := range m.lates {
		counts[i] = Count{Queries: sum(m.counts), Late: sum(late), Full: extrapolate(late, m.counts, m.full)}
	}
	return counts
}

// usualFall is the ratio of late queries in a part to those in the harder part before it. It is used if two parts are
// too few to measure it.
const usualFall = 0.7

// extrapolate adds the expected late queries in the easier rest of the schedule to those in a probe's parts, the
// hardest first. The number falls from part to part.
func extrapolate(late, queries []int, full int) float64 {
	n := len(late)
	for n > 0 && queries[n-1] == 0 { // skip parts that have not begun
		n--
	}
	if n == 0 {
		return 0
	}
	if n > 1 && queries[n-1] < queries[n-2]/2 { // skip a part that has hardly begun
		n--
	}
	half := (n + 1) / 2
	hard, easy := sum(late[:half]), sum(late[n-half:n])
	fall := usualFall
	if n > 2 && hard > 0 {
		fall = min(1, math.Pow(float64(easy)/float64(hard), 1/float64(n-half)))
	}
	total, rest := float64(sum(late)), float64(full-sum(queries))
	size := float64(sum(queries[:n])) / float64(n)
	for at := float64(easy) / float64(half); rest > 0 && at > 1e-3; rest -= size {
		at *= fall
		total += at * min(1, rest/size)
	}
	return total
}
