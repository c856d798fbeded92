package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
)

// When a finding is stated (docs/reference/report.md#what-limited-the-run).
const (
	concentrated = 0.8  // share of the failures, from which on one endpoint is their cause
	clientShare  = 0.25 // share of the client's lag in the TTFT, from which on the client is late
	leastStallS  = 0.5
	stallRatio   = 10 // a stall is so much longer than the 95th percentile of the times between answers
	leastGaps    = 100
	growth       = 3 // of TTFT and of the requests in flight, from which on a queue grows
	leastQueue   = 8 // requests in flight, below which there is no queue
)

// findings returns sentences about what limited the run: failures first, then the client, pauses and the server.
func (r *Run) findings(l *timeline) []string {
	list := r.failing()
	if l == nil {
		return list
	}
	pauses, stood := l.stalls()
	late := r.lateClient()
	list = append(append(list, late...), pauses...)
	if len(late) > 0 || stood {
		return list
	}
	slow := r.queue(l)
	if len(slow) == 0 {
		slow = r.slowServer()
	}
	return append(list, slow...)
}

// slowServer states which limits the server missed without a growing queue.
func (r *Run) slowServer() []string {
	var missed []string
	for _, l := range r.Record.Limits() {
		if l.Measured && !l.Met {
			missed = append(missed, fmt.Sprintf("%s p99 %s, limit %s", l.What, milliseconds(l.P99.Seconds()),
				milliseconds(l.Limit.Seconds())))
		}
	}
	if len(missed) == 0 || r.Record.Scenario == "Offline" {
		return nil
	}
	text := "The server is too slow for the limits, though no queue grows: " + strings.Join(missed, "; ") + "."
	if waiting, ok := r.signal("waiting"); ok && waiting.Max > 0 {
		text += fmt.Sprintf(" Up to %s requests waited in its queue.", short(waiting.Max))
	}
	return []string{text + r.ownLag()}
}

// ownLag states the client's part, which was small.
func (r *Run) ownLag() string {
	return fmt.Sprintf(" The client's own lag was %s (p99 from due to sent).",
		milliseconds(r.Record.Client.DispatchLagUS.P99/1e6))
}

// failing names the endpoint of the failures, if they have one, and their causes.
func (r *Run) failing() []string {
	var all, worst int64
	name := ""
	for _, e := range r.Record.Endpoints {
		n := e.Failed + e.Retried
		if all += n; n > worst {
			worst, name = n, e.URL
		}
	}
	var causes []string
	for _, f := range r.Failures {
		causes = append(causes, fmt.Sprintf("%s (%d, from %.1f s to %.1f s)", f.Reason, f.Count, f.FirstS, f.LastS))
	}
	switch n := len(r.Record.Endpoints); {
	case len(causes) == 0:
		return nil
	case n > 1 && float64(worst) >= concentrated*float64(all):
		return []string{fmt.Sprintf("One server fails: %s, 1 of %d, had %d of the %d failed and repeated requests: %s.",
			name, n, worst, all, strings.Join(firstFew(causes), ", "))}
	case n > 1:
		return []string{"Requests failed at several servers: " + strings.Join(firstFew(causes), ", ") + "."}
	}
	return []string{"Requests failed: " + strings.Join(firstFew(causes), ", ") + "."}
}

func firstFew(list []string) []string { return list[:min(len(list), 3)] }

// lateClient states that a large part of TTFT is the client's own. In Offline all queries are due at once.
func (r *Run) lateClient() []string {
	ttft, lag := r.Record.LatencyS.TTFT, r.Record.Client.DispatchLagUS.P99/1e6
	if ttft == nil || ttft.P99 <= 0 || lag < clientShare*ttft.P99 || r.Record.Scenario == "Offline" {
		return nil
	}
	text := fmt.Sprintf("The client was late: its own p99 from due to sent is %s, %s %% of the TTFT's p99.",
		milliseconds(lag), short(100*lag/ttft.P99))
	if cpu, ok := r.signal("machine_cpu"); ok {
		text += fmt.Sprintf(" The CPUs of its machine were %s %% busy.", short(100*cpu.Mean))
	}
	return []string{text}
}

// signal returns the figures of a signal over the run.
func (r *Run) signal(key string) (series.Stats, bool) {
	if r.Metrics == nil {
		return series.Stats{}, false
	}
	i := slices.IndexFunc(series.Signals, func(g series.Signal) bool { return g.Key == key })
	if i < 0 {
		return series.Stats{}, false
	}
	line := series.Signals[i].Total(r.Metrics)
	return line.Stats()
}

// stall is a time without any answer while requests were in flight.
type stall struct {
	fromNS, toNS int64
	flight       int // requests that were in flight throughout
	due, sent    int // requests that were due in it, and those of them that were sent in it
}

func (s *stall) seconds() float64 { return float64(s.toNS-s.fromNS) / 1e9 }

// client reports whether the client stood still: it sent less than half of what was due.
func (s *stall) client() bool { return s.due > 0 && 2*s.sent < s.due }

// stalls states when no answer came. stood reports whether the client itself stood still.
func (l *timeline) stalls() (list []string, stood bool) {
	var client, server, unknown []stall
	for _, s := range l.findStalls() {
		switch {
		case s.client():
			client = append(client, s)
		case s.due > 0:
			server = append(server, s)
		default:
			unknown = append(unknown, s)
		}
	}
	if len(client) > 0 {
		at := longest(client)
		list = append(list, fmt.Sprintf("The client stood still %s: of %d requests that were due then, it sent %d.",
			l.when(client), at.due, at.sent))
	}
	if len(server) > 0 {
		at := longest(server)
		list = append(list, fmt.Sprintf("The server sent nothing %s, while the client sent %d requests to it.",
			l.when(server), at.sent))
	}
	if len(unknown) > 0 {
		list = append(list, fmt.Sprintf("No answer came %s, with %d requests in flight. Nothing was due then, so that the "+
			"log does not tell whether the server or the client paused.", l.when(unknown), longest(unknown).flight))
	}
	return list, len(client) > 0
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

// when returns when: for 2.1 s at 0:41, or how often and when the longest.
func (l *timeline) when(list []stall) string {
	at := longest(list)
	text := fmt.Sprintf("for %s s at %s", short(at.seconds()), clock(l.at(at.fromNS)))
	if len(list) == 1 {
		return text
	}
	sum := 0.0
	for i := range list {
		sum += list[i].seconds()
	}
	return fmt.Sprintf("%d times, %s s together, the longest %s", len(list), short(sum), text)
}

// clock returns minutes and seconds.
func clock(s float64) string { return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60) }

// findStalls compares each time between two answers with the others.
func (l *timeline) findStalls() []stall {
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

// count counts the requests of each stall. The edges of a stall do not count: what was due there is late by a little.
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
				if e.SentNS != 0 && e.SentNS < s.toNS-edge/2 {
					s.sent++
				}
			}
		}
	}
}

// ended returns when a request ended; one that did not is in flight for ever.
func ended(e *ledger.Entry) int64 {
	if e.DoneNS == 0 {
		return 1<<63 - 1
	}
	return e.DoneNS
}

// queue states that the server did not keep up: TTFT and the requests in flight grew from the first to the last
// quarter in which requests were due.
func (r *Run) queue(l *timeline) []string {
	lastDue := 0.0
	for i := range l.samples {
		lastDue = max(lastDue, l.at(l.samples[i].dueNS))
	}
	end := l.bin(lastDue) + 1
	if end < 4 || r.Record.Scenario == "Offline" {
		return nil
	}
	ttft := l.percentiles(func(t *times) float64 { return t.TTFT }, 0.5)[0]
	flight := l.inFlight()
	first, last := quarters(ttft[:end])
	few, many := quarters(flight[:end])
	waiting, published := r.signal("waiting")
	if !(last >= growth*first && many >= growth*few && many >= leastQueue) {
		return nil
	}
	text := fmt.Sprintf("The server did not keep up: from the first to the last quarter, the median of TTFT rose from "+
		"%s to %s, and the requests in flight from %s to %s.", milliseconds(first), milliseconds(last), short(few),
		short(many))
	if published && waiting.Max > 0 {
		text += fmt.Sprintf(" Up to %s of them waited in its queue.", short(waiting.Max))
	}
	return []string{text + r.ownLag()}
}

// quarters returns the medians of the first and of the last quarter; NaN without values.
func quarters(values []float64) (first, last float64) {
	n := len(values) / 4
	return median(values[:n]), median(values[len(values)-n:])
}

func median(values []float64) float64 {
	kept := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v != v })
	slices.Sort(kept)
	return Percentile(kept, 0.5)
}
