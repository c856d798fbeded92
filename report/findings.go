package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// When a finding is stated (docs/reference/report.md#what-limited-the-run).
const (
	concentrated = 0.8  // share of the failures, above which one endpoint is their cause
	clientShare  = 0.25 // share of the client's lag in the TTFT, above which the client is late
	growth       = 3    // factor by which TTFT and requests in flight grow if a queue grows
	leastQueue   = 8    // requests in flight, below which there is no queue
)

// findings returns sentences about what limited the run. l may be nil.
func (r *Run) findings(l *timeline) []string { return diagnosis{r, l}.sentences() }

// diagnosis finds the limits of a run.
type diagnosis struct {
	*Run
	*timeline // of the requests; nil: no request log
}

// sentences returns the sentences on failures first, then those on the client, pauses and the server.
func (r diagnosis) sentences() []string {
	list := r.failing()
	if r.timeline == nil {
		return list
	}
	pauses, stood := r.stalls()
	late := r.lateClient(stood)
	list = append(append(list, late...), pauses...)
	if len(late) > 0 || stood {
		return list
	}
	slow := r.queue()
	if len(slow) == 0 {
		slow = r.slowServer()
	}
	return append(list, slow...)
}

// slowServer states which limits the server missed without a growing queue.
func (r diagnosis) slowServer() []string {
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
		text += fmt.Sprintf(" At most, %s requests waited in its queue.", short(waiting.Max))
	}
	return []string{text + r.ownLag()}
}

// ownLag states the client's own part of the delay.
func (r diagnosis) ownLag() string {
	return fmt.Sprintf(" The client's own lag was %s (p99 from due to sent).",
		milliseconds(r.Record.Client.DispatchLagUS.P99/1e6))
}

// failing names the endpoint of the failures, if they have one, and their causes.
func (r diagnosis) failing() []string {
	var all, worst record.EndpointCounts
	for _, e := range r.Record.Endpoints {
		all.Failed, all.Retried = all.Failed+e.Failed, all.Retried+e.Retried
		if e.Failed+e.Retried > worst.Failed+worst.Retried {
			worst = e
		}
	}
	var causes []string
	for _, f := range r.Failures {
		causes = append(causes, fmt.Sprintf("%s (%d, from %.1f s to %.1f s)", f.Reason, f.Count, f.FirstS, f.LastS))
	}
	switch n := len(r.Record.Endpoints); {
	case len(causes) == 0:
		return nil
	case n > 1 && float64(worst.Failed+worst.Retried) >= concentrated*float64(all.Failed+all.Retried):
		return []string{fmt.Sprintf("One server fails: %s, 1 of %d, had %s%s: %s.", worst.URL, n, portion(&worst, &all),
			r.failedShares(&worst), strings.Join(firstFew(causes), ", "))}
	case n > 1:
		return []string{"Requests failed at several servers: " + strings.Join(firstFew(causes), ", ") + "."}
	}
	return []string{"Requests failed: " + strings.Join(firstFew(causes), ", ") + "."}
}

// portion states how many of all failures an endpoint had.
func portion(of, all *record.EndpointCounts) string {
	what := "failed and repeated requests"
	switch {
	case all.Retried == 0:
		what = "failed requests"
	case all.Failed == 0:
		what = "repeated requests"
	}
	n, sum := of.Failed+of.Retried, all.Failed+all.Retried
	if n == sum {
		return fmt.Sprintf("all %d %s", sum, what)
	}
	return fmt.Sprintf("%d of the %d %s", n, sum, what)
}

// failedShares states which part of the requests to an endpoint failed, and which part of all requests that is.
func (r diagnosis) failedShares(of *record.EndpointCounts) string {
	if of.Failed == 0 || of.Requests == 0 || r.Record.Samples.Completed == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s of the %d requests to it, and %s of all requests, failed)",
		percent(float64(of.Failed)/float64(of.Requests)), of.Requests,
		percent(float64(of.Failed)/float64(r.Record.Samples.Completed)))
}

func firstFew(list []string) []string { return list[:min(len(list), 3)] }

// lateClient reports that a large part of TTFT is the client's own delay. It does not apply in Offline, where all
// queries are due at once, or if the client stood still, which another sentence explains.
func (r diagnosis) lateClient(stood bool) []string {
	ttft, lag := r.Record.LatencyS.TTFT, r.Record.Client.DispatchLagUS.P99/1e6
	if ttft == nil || ttft.P99 <= 0 || lag < clientShare*ttft.P99 || r.Record.Scenario == "Offline" {
		return nil
	}
	text := fmt.Sprintf("The client was late: its own p99 from due to sent is %s, %s of the TTFT's p99.",
		milliseconds(lag), percent(lag/ttft.P99))
	if !stood {
		text += r.clientCPU("Over the run", r.ownCPUs(), false) + r.machineCPU()
	}
	return []string{text}
}

// signal returns the figures of a signal over the run.
func (r *Run) signal(key string) (series.Stats, bool) {
	line := r.line(key)
	return line.Stats()
}

// line returns a signal over the run; it is empty if nothing recorded it.
func (r *Run) line(key string) series.Line {
	i := slices.IndexFunc(series.Signals, func(g series.Signal) bool { return g.Key == key })
	if r.Metrics == nil || i < 0 {
		return series.Line{}
	}
	return series.Signals[i].Total(r.Metrics)
}

// queue states that the server did not keep up: TTFT and the requests in flight grew from the first to the last
// quarter in which requests were due.
func (r diagnosis) queue() []string {
	lastDue := 0.0
	for i := range r.samples {
		lastDue = max(lastDue, r.at(r.samples[i].dueNS))
	}
	end := r.bin(lastDue) + 1
	if end < 4 || r.Record.Scenario == "Offline" {
		return nil
	}
	ttft := r.percentiles(func(t *times) float64 { return t.TTFT }, 0.5)[0]
	flight := r.inFlight()
	first, last := quarters(ttft[:end])
	few, many := quarters(flight[:end])
	waiting, published := r.signal("waiting")
	if !(last >= growth*first && many >= growth*few && many >= leastQueue) {
		return nil
	}
	text := fmt.Sprintf("The server did not keep up: from the first to the last quarter of the sending, the median of "+
		"TTFT rose from %s to %s, and that of the requests in flight from %s to %s.", milliseconds(first),
		milliseconds(last), short(few), short(many))
	if published && waiting.Max > 0 {
		text += fmt.Sprintf(" At most, %s requests waited in its queue.", short(waiting.Max))
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
