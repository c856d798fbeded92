package tune

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// Arrival is one query of a probe.
type Arrival struct {
	AtNS    int64 // after the probe's start
	Query   int   // of the full-length run
	Part    int   // of the schedule; 0 is the hardest
	Counted bool  // false: it only brings the server to its state in a long run
}

// Lengths of the parts of a probe, in times of a whole answer.
const (
	memory  = 4 // how long a server is affected by a burst: its queue drains more slowly than one answer takes
	part    = 2 // of the schedule
	leadIn  = 1 // before each part
	fill    = 5 // before the first part, when the server is still empty
	pause   = 2 // after each part, because the run would recover before the next
	leastNS = 100e6
)

// Hardest returns parts of LoadGen's schedule, beginning with the hardest, in which the queries are densest. A full
// run misses a limit there first. For one seed LoadGen's schedule is the same at each rate, only scaled, so these
// parts are known before the run. deltas are the scheduled times of the full run in ns, answer is the time of one
// answer in ns, and most is the number of queries to return, including the lead-ins.
func Hardest(deltas []int64, answer int64, most int) []Arrival {
	answer = max(answer, leastNS)
	order := partsByDensity(deltas, answer)
	var out []Arrival
	end := int64(0) // of the probe so far
	for n, p := range order {
		if len(out) >= most {
			break
		}
		begin, lead := p.from, leadIn*answer
		if n == 0 {
			lead = fill * answer
		}
		for begin > 0 && deltas[p.from]-deltas[begin-1] < lead {
			begin--
		}
		shift := end - deltas[begin]
		for i := begin; i < p.to; i++ {
			out = append(out, Arrival{AtNS: deltas[i] + shift, Query: i, Part: n, Counted: i >= p.from})
		}
		end = out[len(out)-1].AtNS + (deltas[p.to-1]-deltas[begin])/int64(max(p.to-1-begin, 1))
	}
	return out[:min(len(out), most)]
}

// stretch is a part of the schedule: queries from until before to.
type stretch struct {
	from, to int
	density  float64
}

func partsByDensity(deltas []int64, answer int64) []stretch {
	var parts []stretch
	density, before := 0.0, int64(0)
	for i, at := range deltas {
		density = density*math.Exp(-float64(at-before)/float64(memory*answer)) + 1
		before = at
		if n := int(at / (part * answer)); n >= len(parts) || len(parts) == 0 {
			for len(parts) <= n {
				parts = append(parts, stretch{from: i, to: i})
			}
		}
		last := &parts[len(parts)-1]
		last.to, last.density = i+1, max(last.density, density)
	}
	parts = slices.DeleteFunc(parts, func(s stretch) bool { return s.from == s.to })
	ordering.Sort(parts, func(a, b stretch) int {
		switch {
		case a.density > b.density:
			return -1
		case a.density < b.density:
			return 1
		}
		return a.from - b.from
	})
	return parts
}

// everyCounted returns the arrivals of a closed loop: all count, and none has a time.
func everyCounted(n int) []Arrival {
	list := make([]Arrival, n)
	for i := range list {
		list[i].Counted = true
	}
	return list
}
