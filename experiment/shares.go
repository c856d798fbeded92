package experiment

import (
	"github.com/mlperf-go/mlperf-go/run/probe"
)

var _ probe.Feed = (*shares)(nil)

// divide returns the items of each replica in their order. Each item is in exactly one share, and equal arguments have
// equal results. Stealing starts with the pieces of Contiguous.
func divide(how How, items []item, replicas int) [][]item {
	list := make([][]item, replicas)
	switch how {
	case Strided:
		for i, it := range items {
			list[i%replicas] = append(list[i%replicas], it)
		}
	case LongestFirst:
		work := make([]int, replicas)
		for _, it := range longestFirst(items) {
			least := 0
			for r := range work {
				if work[r] < work[least] {
					least = r
				}
			}
			list[least] = append(list[least], it)
			work[least] += max(it.length, 1) // items of unknown length are spread by their number
		}
	default:
		for r := range list {
			list[r] = items[len(items)*r/replicas : len(items)*(r+1)/replicas]
		}
	}
	return list
}

// shares feeds each replica from its own share.
type shares struct {
	rest    [][]item // by replica
	window  int
	steals  bool
	place   func(index, replica int)
	flight  []int // by replica
	replica []int // of each query, by its number
	turn    int   // replica to ask first
	left    int
}

func newShares(a Arrangement, items []item, replicas int, place func(index, replica int)) *shares {
	return &shares{rest: divide(a.How, items, replicas), window: a.Size, steals: a.How == Stealing, place: place,
		flight: make([]int, replicas), left: len(items)}
}

// Left returns how many items were not sent.
func (s *shares) Left() int { return s.left }

// Ready reports whether a replica has room and work.
func (s *shares) Ready() bool {
	_, ok := s.next()
	return ok
}

// next returns a replica with room, and with work of its own or of another.
func (s *shares) next() (replica int, ok bool) {
	for i := range s.rest {
		r := (s.turn + i) % len(s.rest)
		if s.flight[r] < s.window && (len(s.rest[r]) > 0 || s.steals && s.left > 0) {
			return r, true
		}
	}
	return 0, false
}

// Next returns the sample of the next query, and places it. Ready was true before.
func (s *shares) Next() int {
	r, _ := s.next()
	s.turn = (r + 1) % len(s.rest)
	var it item
	if len(s.rest[r]) > 0 {
		it, s.rest[r] = s.rest[r][0], s.rest[r][1:]
	} else {
		from := s.longest()
		last := len(s.rest[from]) - 1
		it, s.rest[from] = s.rest[from][last], s.rest[from][:last]
	}
	s.flight[r]++
	s.left--
	s.replica = append(s.replica, r)
	s.place(it.index, r)
	return it.index
}

// longest returns the replica with the most items left.
func (s *shares) longest() int {
	most := 0
	for r := range s.rest {
		if len(s.rest[r]) > len(s.rest[most]) {
			most = r
		}
	}
	return most
}

// Ended makes room at the replica of a query.
func (s *shares) Ended(seq int) { s.flight[s.replica[seq]]-- }
