package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// Bounds of what a report reads. A folder may come from another machine.
const (
	mostReported = 5_000_000 // requests
	mostProfile  = 1 << 20   // bytes
	mostParts    = 200       // rows of a table
)

// Report reads the folder of a run for package report: the record, which may be of another version, the event log, the
// failures and the profile.
func Report(folder string) (*report.Run, error) {
	r, err := Read(folder)
	var other *statefile.OtherVersion
	if errors.As(err, &other) {
		r, _ = other.Value.(*Record)
	}
	if r == nil {
		return nil, err
	}
	run := &report.Run{Name: folder, Record: reported(r), Workload: r.workload(), Other: other}
	if run.Requests, err = readEntries(folder, run.Workload); err != nil {
		run.Notes = append(run.Notes, fmt.Sprintf("the event log is shown up to a fault: %v", err))
	}
	if len(run.Requests.Entries) == 0 {
		run.Requests = nil
		run.Notes = append(run.Notes, "the event log has no request")
	}
	if r.Metrics != nil {
		run.AddMetrics(folder)
	}
	run.AddFailures(folder)
	shards := 1
	if r.Spread != nil {
		shards = len(r.Spread.Shards)
	}
	run.Workload.Tables = append(run.Workload.Tables, environmentTables(folder, shards)...)
	text, err := atomicfile.ReadBelow(folder, ProfileName, mostProfile)
	if err != nil {
		run.Notes = append(run.Notes, fmt.Sprintf("the profile cannot be shown: %v", err))
	}
	run.Config = string(text)
	return run, nil
}

// reported converts a record to that of a LoadGen test, for the parts that both have.
func reported(r *Record) *record.Record {
	m := &r.Measured.Total
	n, l := total(r.Measured), m.Latency
	rec := &record.Record{Verdict: r.Verdict, Reasons: r.Reasons, Model: r.Model, Started: r.Started, Tool: r.Tool,
		Command: r.Command, DurationS: m.DurationS,
		Samples: record.SampleCounts{Issued: n.Total, Completed: n.OK + n.Failed, Failed: n.Failed, Retried: n.Retried},
		LatencyS: record.Latencies{TTFT: stats(l["ttft"]), TPOT: stats(l["tpot"]), ITL: stats(l["itl"]),
			E2E: stats(l["e2e"]), NTPOT: stats(l["ntpot"])},
		Metrics: r.Metrics,
		Client:  record.Client{DispatchLagUS: r.Client.ClientDelayUS, CPUUSPerSample: r.Client.CPUUSPerRequest}}
	rec.Throughput.Requests, rec.Throughput.OutputTokens = m.Throughput.Requests, m.Throughput.OutputTokens
	rec.Throughput.InputTokens = m.Throughput.InputTokens
	if r.Rehearsal != "" {
		rec.Rehearsal, rec.RehearsalReasons = true, []string{r.Rehearsal}
	}
	return rec
}

// workload returns the parts of a report that only workloads have.
func (r *Record) workload() *report.Workload {
	m := r.Measured
	n := &m.Total.Requests
	w := &report.Workload{Title: r.Profile, Headline: r.Headline(), GapS: []float32{}, LeftOut: m.LeftOut,
		Cancelled: n.Cancelled, Counted: record.SampleCounts{Issued: n.Total, Completed: n.OK + n.Failed, Failed: n.Failed,
			Retried: n.Retried}}
	w.Facts = [][2]string{
		{"started", r.Started.Format(time.RFC3339)}, {"program", "mlperf-go " + r.Tool.Version},
		{"profile", r.Profile}, {"seed", fmt.Sprint(r.Seed)}, {"served model", r.Model}, {"backend", r.Backend},
		{"API", r.API}}
	for _, e := range r.Endpoints {
		w.Endpoints = append(w.Endpoints, e.URL)
		w.Facts = append(w.Facts, [2]string{"server", fmt.Sprintf("%s (%s %s)", e.URL, e.Server, e.Version)})
	}
	if c := r.Calibration; c != nil {
		w.First = append(w.First, ownFloor(c))
	}
	for _, n := range r.Notes {
		w.Facts = append(w.Facts, [2]string{"note", n})
	}
	if c := m.Total.PrefixCache; c != nil {
		w.Facts = append(w.Facts, [2]string{"prefix cache", c.String()})
	}
	if g := m.Total.Goodput; g != nil {
		limits := report.Table{Title: "Limits of the service", Head: []string{"limit", "requests within", ""}}
		for _, l := range g.Limits {
			w.Limits = append(w.Limits, report.Objective{Metric: l.Metric, Percent: l.Percent, Below: l.Below})
			limits.Rows = append(limits.Rows, []string{l.Text, fmt.Sprintf("%.2f %%", 100*l.Share),
				map[bool]string{true: "met", false: "missed"}[l.Met]})
		}
		w.First = append(w.First, limits)
	}
	if s := m.Steady; s != nil {
		w.SteadyFromNS, w.SteadyToNS = s.StartNS, s.EndNS
		w.First = append(w.First, windowTable(m))
	}
	for _, of := range []struct {
		name  string
		parts []measure.Part
	}{{"stage", m.Stages}, {"turn", m.Turns}, {"group", m.Groups}} {
		if len(of.parts) < 2 {
			continue
		}
		head, rows := PartTable(of.name, of.parts[:min(len(of.parts), mostParts)])
		w.Tables = append(w.Tables, report.Table{Title: "By " + of.name, Head: head, Rows: rows})
	}
	return w
}

// windowTable compares the windows of a run that has a steady one.
func windowTable(m *measure.Measured) report.Table {
	t := report.Table{Title: "Steady window and whole run",
		Head: []string{"", "seconds", "requests/s", "output tokens/s", "in flight"}}
	row := func(name, inFlight string, seconds, requests, tokens float64) {
		t.Rows = append(t.Rows, []string{name, digits(seconds), digits(requests), digits(tokens), inFlight})
	}
	s, total := m.Steady, &m.Total
	row("steady window"+m.OfStage(s.Stage), digits(s.InFlight), s.DurationS, s.RequestRate, s.OutputTokenRate)
	if c := m.MLPerf; c != nil {
		row("MLPerf window"+m.OfStage(c.Stage), "-", c.DurationS, c.RequestRate, c.OutputTokenRate)
	}
	row("whole run", "-", total.DurationS, total.Throughput.Requests, total.Throughput.OutputTokens)
	return t
}

// ownFloor returns a calibration's table of the client's own limits.
func ownFloor(c *floor.Use) report.Table {
	t := report.Table{Title: "This program alone", Head: []string{"highest requests/s", "highest tokens/s",
		"TTFT from ms", "events late by ms", "share of the highest rate", ""}}
	where := "on this machine"
	if len(c.Foreign) > 0 {
		where = "calibrated elsewhere: " + strings.Join(c.Foreign, "; ")
	}
	t.Rows = [][]string{{fmt.Sprintf("%.0f", c.Highest.Requests), fmt.Sprintf("%.0f", c.Highest.Tokens),
		fmt.Sprintf("%.3f", c.TTFT.Mean*1e3), fmt.Sprintf("%.3f", c.Event.Mean*1e3),
		fmt.Sprintf("%.2g %%", 100*c.Share), where}}
	return t
}

func digits(v float64) string { return fmt.Sprintf("%.2f", v) }

// PartTable returns the table of stages, turns or groups, with a row for each. It has a column for the prefix cache if
// a server reported it.
func PartTable(name string, parts []measure.Part) (head []string, rows [][]string) {
	head = []string{name, "requests", "failed", "requests/s", "output tokens/s", "TTFT p50 ms", "TTFT p99 ms",
		"E2E p99 ms"}
	hasCache := slices.ContainsFunc(parts, func(p measure.Part) bool { return p.PrefixCache != nil })
	if hasCache {
		head = append(head, "cached %")
	}
	for i := range parts {
		row := partCells(&parts[i])
		if c := parts[i].PrefixCache; c != nil {
			row = append(row, digits(100*c.HitRate))
		} else if hasCache {
			row = append(row, "-")
		}
		rows = append(rows, row)
	}
	return head, rows
}

func partCells(p *measure.Part) []string {
	at := func(metric, percentile string) string {
		if d := p.Latency[metric]; d != nil {
			return fmt.Sprintf("%.3f", d.Percentile[percentile]*1e3)
		}
		return "-"
	}
	return []string{cmp.Or(p.Name, fmt.Sprint(p.Number)), fmt.Sprint(p.Requests.Total), fmt.Sprint(p.Requests.Failed),
		digits(p.Throughput.Requests), digits(p.Throughput.OutputTokens), at("ttft", "p50"), at("ttft", "p99"),
		at("e2e", "p99")}
}

var errMostReported = errors.New("it has more requests than a report shows")

// readEntries reads the event log as the entries of a request log, and the longest gap of each request into w.
func readEntries(folder string, w *report.Workload) (*ledger.Test, error) {
	t := &ledger.Test{Origin: ledger.FromSchedule, Schedule: []int64{}, Names: ledger.Names{Reasons: []ledger.Reason{""}}}
	path := filepath.Join(folder, eventlog.FileName)
	_, err := eventlog.Read(path, func(h *eventlog.Header, e *eventlog.Request) error {
		if len(t.Entries) == mostReported {
			return errMostReported
		}
		t.T0NS = h.StartNS
		entry, due := entryOf(e)
		entry.Reason = reasonCode(&t.Names, ledger.Reason(e.Reason), e.OK())
		entry.Seq = int32(len(t.Entries))
		t.Entries, t.Schedule = append(t.Entries, entry), append(t.Schedule, due-h.StartNS)
		w.GapS = append(w.GapS, longestGap(e))
		return nil
	})
	return t, err
}

// entryOf converts a request to an entry of a request log, and returns when it was due, in ns of the wall clock.
func entryOf(e *eventlog.Request) (entry ledger.Entry, due int64) {
	entry = ledger.Entry{Endpoint: int16(min(max(e.Endpoint, 0), math.MaxInt16)),
		Retries: uint16(min(e.Retries, math.MaxUint16)), InputTokens: count(e.InputTokens),
		OutputTokens: count(e.OutputTokens), Events: count(len(e.Events)), IssuedNS: cmp.Or(e.ReadyNS, e.DueNS),
		SentNS: e.SentNS, FirstByteNS: e.FirstByteNS, FirstTokenNS: e.FirstNS(), LastTokenNS: e.LastNS(), DoneNS: e.EndNS}
	if !e.OK() {
		entry.Reason = 1 // any value: the reason is known to be a failure
	}
	return entry, cmp.Or(e.DueNS, entry.IssuedNS)
}

// reasonCode returns the index of a failure's cause in the names. The last index is that of all further causes.
func reasonCode(n *ledger.Names, reason ledger.Reason, ok bool) ledger.Code {
	if ok {
		return 0
	}
	reason = cmp.Or(reason, "cancelled")
	code := slices.Index(n.Reasons, reason)
	switch {
	case code > 0:
		return ledger.Code(code)
	case len(n.Reasons) <= math.MaxUint8:
		n.Reasons = append(n.Reasons, reason)
	}
	return ledger.Code(len(n.Reasons) - 1)
}

func count(n int) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

// longestGap returns the longest time between events of an answered request in seconds, like a limit of itl.
func longestGap(e *eventlog.Request) float32 {
	if !e.OK() || len(e.Events) < 2 {
		return float32(math.NaN())
	}
	var most int64
	for i := 1; i < len(e.Events); i++ {
		most = max(most, e.Events[i].AtNS-e.Events[i-1].AtNS)
	}
	return float32(float64(most) / 1e9)
}
