package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// printBench prints a run of a workload: verdict, throughput, its parts, and latencies as m defines them.
func printBench(out page, r *bench.Record, m *measure.Measured) {
	printBenchTitle(out, r, "  ", "")
	w := out.table()
	for _, c := range r.Reasons {
		fmt.Fprintf(w, "  %s\t%s\n", c.Code, foreign.Line(c.Text, 600))
	}
	if r.Rehearsal != "" {
		fmt.Fprintf(w, "  rehearsal\t%s\n", foreign.Line(r.Rehearsal, 600))
	}
	f := &m.Total
	fmt.Fprintf(w, "\nrequests/s\t%.2f\n", f.Throughput.Requests)
	fmt.Fprintf(w, "output tokens/s\t%.2f\n", f.Throughput.OutputTokens)
	fmt.Fprintf(w, "input tokens/s\t%.2f\n", f.Throughput.InputTokens)
	if n := f.Tokens.Unknown; n > 0 {
		fmt.Fprintf(w, "input unknown\t%d of %d answers: the server did not count their prompts; the lengths that were "+
			"asked for count\n", n, f.Requests.OK)
	}
	if c := f.PrefixCache; c != nil {
		fmt.Fprintf(w, "prefix cache\t%s\n", c)
	}
	printFates(w, f)
	fmt.Fprintf(w, "duration\t%.2f s from the first request to the last answer (the rates refer to it)\n", f.DurationS)
	if p := r.Price; p != nil {
		fmt.Fprintf(w, "price\t%.4g per million output tokens, %.4g per million tokens, at %.4g per hour\n",
			p.PerMillionOutput, p.PerMillion, p.PerHour)
	}
	if m.LeftOut > 0 {
		fmt.Fprintf(w, "left out\t%d requests of warm-up and cool-down\n", m.LeftOut)
	}
	printGoodput(w, f.Goodput)
	if s := m.Steady; s != nil {
		fmt.Fprintf(w, "steady window\t%.2f s%s with %.1f in flight: %.2f output tokens/s, %.2f requests/s\n", s.DurationS,
			m.OfStage(s.Stage), s.InFlight, s.OutputTokenRate, s.RequestRate)
	}
	if c := m.MLPerf; c != nil {
		fmt.Fprintf(w, "MLPerf window\t%.2f s%s to the end of the request due last: %.2f output tokens/s, %.2f requests/s\n",
			c.DurationS, m.OfStage(c.Stage), c.OutputTokenRate, c.RequestRate)
	}
	printDistributions(w, m)
	printParts(w, "stage", m.Stages)
	printParts(w, "turn", m.Turns)
	printParts(w, "group", m.Groups)
	c := r.Client
	if c.RSSMaxBytes > 0 { // 0 if the run was killed
		fmt.Fprintf(w, "\nclient\tp99 %s from ready to sent, %.0f us CPU per request, %d MiB\n", delay(c.ClientDelayUS.P99),
			c.CPUUSPerRequest, c.RSSMaxBytes>>20)
	}
	if r.Calibration != nil {
		fmt.Fprintf(w, "client alone\t%s\n", foreign.Line(r.Calibration.String(), 600))
	}
	printServerMetrics(w, r.Metrics)
	w.Flush()
}

// printFates prints how many requests failed, were cancelled, repeated or abandoned by their clients, or read slowly.
func printFates(w io.Writer, f *measure.Figures) {
	fmt.Fprintf(w, "failures\t%d of %d (%.2f %%)%s\n", f.Requests.Failed, f.Requests.OK+f.Requests.Failed,
		100*f.Requests.FailureRate, causes(f.Requests.ByCause))
	if n := f.Requests; n.Cancelled > 0 && n.Leavers == 0 {
		fmt.Fprintf(w, "cancelled\t%s in flight when the run was ended: neither answered nor failed\n",
			plural.Count(n.Cancelled, "request", "requests"))
	}
	if n := f.Requests; n.Retried > 0 {
		fmt.Fprintf(w, "repeated\t%d of %d requests; latencies begin with the first sending\n", n.Retried, n.Total)
	}
	if n := f.Requests; n.Leavers > 0 {
		fmt.Fprintf(w, "clients left\t%d of %d that were to leave early, after %d output tokens; the latencies exclude "+
			"these %d\n", n.Cancelled, n.Leavers, f.Tokens.Cancelled, n.Leavers)
	}
	if n := f.Requests; n.Slow > 0 {
		fmt.Fprintf(w, "slow readers\t%d of %d requests; the latencies exclude them\n", n.Slow, n.Total)
	}
}

// delay writes a time of us microseconds. Long ones are in milliseconds, as in the reason of an INVALID run.
func delay(us float64) string {
	const long = 10_000
	if us < long {
		return fmt.Sprintf("%.0f us", us)
	}
	return plural.Figure(us/1e3) + " ms"
}

// printBenchTitle prints the workload and its verdict.
func printBenchTitle(out page, r *bench.Record, between, after string) {
	kind := ""
	if r.Rehearsal != "" {
		kind = " (rehearsal)"
	}
	out.paint(plain, foreign.Line(r.Profile, 100)+kind+between)
	out.paint(colourOf[string(r.Verdict)], string(r.Verdict))
	out.paint(plain, after+"\n")
}

// printBenchVerdict prints the result of a run in one line. The line names a missed limit of --slo, because that does
// not change the verdict.
func printBenchVerdict(out page, r *bench.Record, m *measure.Measured) {
	after := ", " + r.Headline()
	if g := m.Total.Goodput; g != nil {
		var missed []string
		for _, l := range g.Limits {
			if !l.Met {
				missed = append(missed, l.Text)
			}
		}
		if len(missed) > 0 {
			after += ", missed " + strings.Join(missed, ", ")
		}
	}
	printBenchTitle(out, r, ": ", after)
}

func causes(by map[ledger.Reason]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s %d", foreign.Line(string(name), 40), by[name]))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func printGoodput(w io.Writer, g *measure.Goodput) {
	if g == nil {
		return
	}
	fmt.Fprintf(w, "goodput\t%.2f requests/s, %.2f output tokens/s (%.2f %% of all requests)\n", g.RequestsPerS,
		g.TokensPerS, 100*g.Share)
	for _, l := range g.Limits {
		word := "missed"
		if l.Met {
			word = "met"
		}
		note := ""
		if l.Measured == 0 {
			note = "; no answer has this figure"
		}
		fmt.Fprintf(w, "  %s\t%s: %.2f %% of all requests are within%s\n", l.Text, word, 100*l.Share, note)
	}
}

// shownPercentiles are the columns of the table.
var shownPercentiles = []string{"p50", "p90", "p95", "p99", "p99.9"}

func printDistributions(w *table, m *measure.Measured) {
	fmt.Fprintf(w, "\nlatency in ms (%s)\tmean\t%s\tmax\n", m.Definition, strings.Join(shownPercentiles, "\t"))
	d, err := measure.Define(m.Definition)
	if err != nil {
		return // a record of a later version may have other figures
	}
	for _, metric := range d.Metrics {
		v := m.Total.Latency[metric.Name]
		if v == nil {
			continue
		}
		fmt.Fprintf(w, "%s\t%.3f", metric.Name, v.Mean*1e3)
		for _, p := range shownPercentiles {
			fmt.Fprintf(w, "\t%.3f", v.Percentile[p]*1e3)
		}
		fmt.Fprintf(w, "\t%.3f\n", v.Max*1e3)
	}
}

// printParts prints a line for each part, if there are several.
func printParts(w io.Writer, name string, parts []measure.Part) {
	if len(parts) < 2 {
		return
	}
	head, rows := bench.PartTable(name, parts)
	fmt.Fprintf(w, "\n%s\n", strings.Join(head, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
}
