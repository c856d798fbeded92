package report

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// When a pause is a stall (docs/reference/report.md#what-limited-the-run).
const (
	leastStallS = 0.5
	stallRatio  = 10 // a stall is at least this many times the 95th percentile of the times between answers
	leastGaps   = 100
)

// stall is a time without any answer while requests were in flight.
type stall struct {
	fromNS, toNS int64
	flight       int // requests that were in flight throughout
	due, sent    int // requests that were due in the stall, and those of them that were sent in it
	late         int // requests that were sent after it
}

func (s *stall) seconds() float64 { return float64(s.toNS-s.fromNS) / 1e9 }

// client reports whether the client stood still: it sent less than half of what was due.
func (s *stall) client() bool { return s.due > 0 && 2*s.sent < s.due }

// stalls states when no answer arrived. stood reports whether the client itself stood still.
func (r diagnosis) stalls() (list []string, stood bool) {
	client := r.clientStalls()
	var server, unknown []stall
	for _, s := range r.findStalls() {
		switch {
		case s.client():
		case s.due > 0:
			server = append(server, s)
		default:
			unknown = append(unknown, s)
		}
	}
	if len(client) > 0 {
		at := longest(client)
		text := fmt.Sprintf("The client stood still %s: of the %d requests that were due then, it sent %d in time and %d "+
			"after it.", r.when(client), at.due, at.sent, at.late)
		list = append(list, text+r.stoodWhy(client)+" What arrived in a pause was read after it, which makes "+
			"the times of answers longer without a fault of the server.")
	}
	if len(server) > 0 {
		at := longest(server)
		list = append(list, fmt.Sprintf("The server sent nothing %s, while the client sent %d requests to it.",
			r.when(server), at.sent))
	}
	if len(unknown) > 0 {
		list = append(list, fmt.Sprintf("No answer came %s, with %d requests in flight. Nothing was due then, so that the "+
			"log does not tell whether the server or the client paused.", r.when(unknown), longest(unknown).flight))
	}
	return list, len(client) > 0
}

// clientStalls returns when the client stood still.
func (l *timeline) clientStalls() []stall {
	return slices.DeleteFunc(slices.Clone(l.findStalls()), func(s stall) bool { return !s.client() })
}

func longest(list []stall) *stall {
	best := &list[0]
	for i := range list {
		if list[i].seconds() > best.seconds() {
			best = &list[i]
		}
	}
	return best
}

// when describes the time of stalls: for 2.1 s at 41.3 s of the charts, or how often and when the longest.
func (l *timeline) when(list []stall) string {
	at := longest(list)
	text := fmt.Sprintf("for %s s at %.1f s", rounded(at.seconds()), l.at(at.fromNS))
	if len(list) == 1 {
		return text
	}
	sum := 0.0
	for i := range list {
		sum += list[i].seconds()
	}
	return fmt.Sprintf("%d times, %s s together, the longest %s", len(list), rounded(sum), text)
}

// findStalls returns the stalls. It searches for them once.
func (l *timeline) findStalls() []stall {
	if !l.stalled {
		l.stalled, l.found = true, l.searchStalls()
	}
	return l.found
}

// searchStalls compares each time between two answers with the others.
func (l *timeline) searchStalls() []stall {
	times := make([]int64, 0, 2*len(l.samples))
	for i := range l.samples {
		for _, at := range []int64{l.samples[i].entry.FirstTokenNS, l.samples[i].entry.DoneNS} {
			if at != 0 {
				times = append(times, at)
			}
		}
	}
	if len(times) <= leastGaps {
		return nil
	}
	slices.Sort(times)
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		gaps[i] = float64(times[i+1]-times[i]) / 1e9
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	least := max(leastStallS, stallRatio*Percentile(sorted, 0.95))
	var list []stall
	for i, s := range gaps {
		if s >= least {
			list = append(list, stall{fromNS: times[i], toNS: times[i+1]})
		}
	}
	l.count(list)
	return slices.DeleteFunc(list, func(s stall) bool { return s.flight == 0 && !s.client() })
}

// count counts the requests of each stall, without those due near its edges, which are late by little.
func (l *timeline) count(list []stall) {
	if len(list) == 0 {
		return
	}
	for i := range l.samples {
		e, due := l.samples[i].entry, l.samples[i].dueNS
		for k := range list {
			s := &list[k]
			edge := (s.toNS - s.fromNS) / 10
			if e.SentNS != 0 && e.SentNS <= s.fromNS && ended(e) >= s.toNS {
				s.flight++
			}
			if due > s.fromNS+edge && due < s.toNS-edge {
				s.due++
				switch {
				case e.SentNS == 0:
				case e.SentNS < s.toNS-edge/2:
					s.sent++
				default:
					s.late++
				}
			}
		}
	}
}

// ended returns when a request ended. A request without an end is in flight for ever.
func ended(e *ledger.Entry) int64 {
	if e.DoneNS == 0 {
		return 1<<63 - 1
	}
	return e.DoneNS
}
