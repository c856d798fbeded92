package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// printSummary prints the verdict with its reasons, the metrics, and the client's own resource use.
func printSummary(out page, r *record.Record) {
	printTitle(out, r, "  ", "")
	w := out.table()
	if r.LogOnly() {
		w.row("  not scored", "this is the log only: --no-score")
	}
	for _, c := range r.Reasons {
		fmt.Fprintf(w, "  %s\t%s\n", c.Code, c.Text)
	}
	if text := r.Overruled(); text != "" {
		fmt.Fprintf(w, "  loadgen\t%s\n", text)
	}
	for _, why := range r.RehearsalReasons {
		fmt.Fprintf(w, "  rehearsal\t%s\n", why)
	}
	fmt.Fprintf(w, "\nresult\t%s\n", r.Headline())
	printDeciding(w, r)
	printScore(w, r.Accuracy, r.Rehearsal)
	t := r.Throughput
	fmt.Fprintf(w, "output tokens/s\t%.2f (client)\n", t.OutputTokens)
	fmt.Fprintf(w, "input tokens/s\t%.2f\n", t.InputTokens)
	fmt.Fprintf(w, "requests/s\t%.2f\n", t.Requests)
	printFailures(w, r)
	fmt.Fprintf(w, "duration\t%.2f s from the first query to the last answer (the rates refer to it)\n", r.DurationS)
	printLatencies(w, r)
	c := r.Client
	fmt.Fprintf(w, "\nclient\tissue lag p99 %.0f us, %s, %.0f us CPU per sample, %d threads, %d MiB\n",
		c.IssueLagUS.P99, dispatch(r), c.CPUUSPerSample, c.ThreadsMax, c.RSSMaxBytes>>20)
	printServerMetrics(w, r.Metrics)
	w.Flush()
}

// printServerMetrics prints the figures of the servers' metrics pages, if they were recorded.
func printServerMetrics(w io.Writer, m *record.ServerMetrics) {
	if m == nil {
		return
	}
	printSignals(w, m.Signals)
	if m.EnergyJ > 0 {
		fmt.Fprintf(w, "energy\t%.3f kJ of this machine's GPUs, %.3f output tokens per joule\n", m.EnergyJ/1e3,
			m.TokensPerJoule)
	}
}

// printFailures prints the failures. Samples that an interruption cancelled are not failures.
func printFailures(w io.Writer, r *record.Record) {
	s, cancelled := r.Samples, r.Cancelled()
	if cancelled == 0 {
		fmt.Fprintf(w, "failures\t%d of %d (%.2f %%)%s\n", s.Failed, s.Issued, 100*s.FailureRate, reasons(s.FailedByReason))
		return
	}
	others := maps.Clone(s.FailedByReason)
	delete(others, ledger.FailCancelled)
	fmt.Fprintf(w, "failures\t%d of the %d that had ended%s\n", s.Failed-cancelled, s.Issued-cancelled, reasons(others))
	fmt.Fprintf(w, "interrupted\t%d of %d requests were cancelled; only the gaps between their tokens (ITL) count below\n",
		cancelled, s.Issued)
}

// dispatch describes how late the samples were sent. In Offline all are due at the start, and most wait until
// --concurrency lets them be sent. That wait is not a delay of the client.
func dispatch(r *record.Record) string {
	us := r.Client.DispatchLagUS.P99
	if r.Scenario == string(models.Offline) {
		return fmt.Sprintf("sent after p99 %.3g s (with the wait for --concurrency)", us/1e6)
	}
	return fmt.Sprintf("dispatch lag p99 %.0f us", us)
}

// printVerdictLine prints the result of a test in one line.
func printVerdictLine(out page, r *record.Record) { printTitle(out, r, ": ", ", "+r.Headline()) }

// printTitle prints the test and its verdict.
func printTitle(out page, r *record.Record, between, after string) {
	kind := "test"
	if r.Rehearsal {
		kind = "rehearsal"
	}
	out.paint(plain, fmt.Sprintf("%s %s %s (%s)%s", r.Model, r.Scenario, r.Mode, kind, between))
	out.paint(colourOf[string(r.Verdict)], string(r.Verdict))
	if r.LogOnly() {
		out.paint(plain, " (not scored)")
	}
	out.paint(plain, after+"\n")
}

// printScore prints each metric with its target, and the answers that were not scored.
func printScore(w io.Writer, s *record.Score, rehearsal bool) {
	if s == nil {
		return
	}
	if s.NotScored != "" && s.NotScored != record.LogOnly { // otherwise it is printed with the verdict
		fmt.Fprintf(w, "score\tno score: %s\n", s.NotScored)
	}
	for _, m := range s.Metrics {
		fmt.Fprintf(w, "score %s\t%s\t%s\t%s\n", m.Name, strings.Trim(m.Text, "'"), m.Bounds(), m.Word(rehearsal))
	}
	if s.NotJudged != "" {
		fmt.Fprintf(w, "not judged\t%s\n", s.NotJudged)
	}
	for _, u := range s.Unscored {
		fmt.Fprintf(w, "not scored\t%s of %s: %s\n", plural.Count(u.Samples, "sample", "samples"), u.Subset, u.Why)
	}
}

// printLatencies prints the requested percentiles, or the usual ones.
func printLatencies(w io.Writer, r *record.Record) {
	heads, rows := r.LatencyTable(50, 90, 99, 99.9)
	fmt.Fprintf(w, "\nlatency (client)\t%s\n", strings.Join(heads, "\t"))
	for _, row := range rows {
		fmt.Fprintf(w, "%s (%s)", row.Name, row.Unit)
		if row.Values == nil {
			fmt.Fprint(w, "\tnot measured")
		}
		for _, v := range row.Values {
			if math.IsNaN(v) {
				fmt.Fprint(w, "\t-")
			} else {
				fmt.Fprintf(w, "\t%.3f", v)
			}
		}
		fmt.Fprintln(w)
	}
}

func reasons(by map[ledger.Reason]int64) string {
	var parts []string
	for name, n := range by {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return ": " + strings.Join(parts, ", ")
}
