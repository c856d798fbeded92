package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compare"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// workloadPair compares two runs of a workload.
type workloadPair struct {
	A       string        `json:"a"`
	B       string        `json:"b"`
	Ranked  bool          `json:"ranked"` // both are VALID and sent the same requests
	Why     []string      `json:"why,omitempty"`
	Figures []workloadRow `json:"figures"`
}

type workloadRow struct {
	Name   string  `json:"name"`
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Change float64 `json:"change"` // B/A - 1; 0 if A is 0
	// Interval is that of the change; null: Why is the reason. Verdict is that of comparisons of runs.
	Interval *compare.Interval `json:"interval"`
	Verdict  compare.Verdict   `json:"verdict"`
	Why      string            `json:"why,omitempty"`

	shown *compare.Row
}

// compareWorkloads compares each run of a workload with the first.
func (cmd compareCommand) compareWorkloads(c *cli.Context, o compare.Settings) error {
	if err := workloadFlags(c, &o); err != nil {
		return err
	}
	var runs []*workloadRun
	for _, folder := range c.Args().Slice() {
		r, err := readWorkload(folder)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	result := struct {
		Workloads []workloadPair `json:"workloads"`
		Gate      *compare.Gate  `json:"gate,omitempty"`
	}{}
	if o.Gate {
		result.Gate = compare.NewGate(o.Threshold)
	}
	for _, other := range runs[1:] {
		p := pairOf(runs[0], other, &o)
		if o.Gate {
			result.Gate.AddWorkload(foreign.Line(p.B, 100)+" against "+foreign.Line(p.A, 100), p.Why, p.rows())
		}
		result.Workloads = append(result.Workloads, p)
	}
	if o.Gate && !result.Gate.Passed {
		cmd.exit = exit.StatusInvalid
	}
	if cmd.json {
		cmd.writeJSON(result)
		return nil
	}
	if cmd.quiet {
		cmd.printGate(result.Gate)
		return nil
	}
	for i := range result.Workloads {
		cmd.printPair(&result.Workloads[i])
	}
	cmd.out.line("\n%s", strings.TrimSpace(compare.IntervalNote(o.Confidence)))
	if o.Gate {
		cmd.out.line("%s", strings.TrimRight(result.Gate.Text(), "\n"))
	}
	return nil
}

// workloadFlags rejects settings that comparisons of workloads lack, and completes the others.
func workloadFlags(c *cli.Context, o *compare.Settings) error {
	if c.IsSet("html") {
		return exit.Usage(exit.CodeHTML, "`mlperf-go report A B --output FILE` puts runs of workloads on one page",
			"--html is only for LoadGen results")
	}
	if len(o.Percentiles) == 0 {
		o.Percentiles = compare.DefaultPercentiles
	}
	for _, p := range o.Percentiles {
		if !slices.Contains(measure.Percents, p) {
			return exit.Usage(exit.CodePercentiles, "Choose some of "+strings.Trim(fmt.Sprint(measure.Percents), "[]"),
				"the record of a workload has no percentile %g", p)
		}
	}
	return nil
}

// workloadRun is a run of a workload with its requests; nil: why explains the lack.
type workloadRun struct {
	*bench.Record
	folder   string
	requests *compare.Requests
	why      string
}

func readWorkload(folder string) (*workloadRun, error) {
	r, err := bench.Read(folder)
	if err != nil {
		return nil, err
	}
	run := &workloadRun{Record: r, folder: filepath.Clean(folder)}
	if s, err := bench.ReadSeries(folder); err == nil {
		run.requests = (*compare.Requests)(s)
	} else {
		run.why = "the event log cannot be used: " + err.Error()
	}
	return run, nil
}

// pairOf compares two runs, with a confidence of all intervals together.
func pairOf(a, b *workloadRun, o *compare.Settings) workloadPair {
	p := workloadPair{A: a.folder, B: b.folder}
	for _, r := range []*workloadRun{a, b} {
		if r.Verdict != record.Valid {
			p.Why = append(p.Why, fmt.Sprintf("a run of %s is %s", foreign.Line(r.Profile, 60), r.Verdict))
		}
	}
	if (a.Rehearsal == "") != (b.Rehearsal == "") {
		p.Why = append(p.Why, "only one of them is a rehearsal")
	}
	if d, err := bench.ProfileDifferences(a.folder, b.folder); err != nil {
		p.Why = append(p.Why, "their profiles cannot be compared: "+err.Error())
	} else if len(d) > 0 {
		p.Why = append(p.Why, "the profiles differ: "+strings.Join(d, "; "))
	}
	p.Ranked = len(p.Why) == 0
	p.addFigures(a, b, o.Percentiles)
	compare.JudgeWorkload(p.rows(), o.Confidence)
	for i := range p.Figures {
		f := &p.Figures[i]
		switch {
		case !p.Ranked:
			f.Verdict, f.Why = compare.NotJudged, "not ranked"
		case f.shown != nil:
			f.Interval, f.Verdict, f.Why = f.shown.Interval, f.shown.Verdict, f.shown.Why
		default:
			f.Verdict, f.Why = compare.NotJudged, cmp.Or(a.why, b.why)
		}
	}
	return p
}

// rows returns those with an interval, or with a reason for its absence.
func (p *workloadPair) rows() (list []*compare.Row) {
	for i := range p.Figures {
		if row := p.Figures[i].shown; row != nil {
			list = append(list, row)
		}
	}
	return list
}

// addFigures adds the figures that both runs have.
func (p *workloadPair) addFigures(a, b *workloadRun, percentiles []float64) {
	add := func(name, figure string, percent float64, of func(*measure.Figures) (float64, bool)) {
		x, inA := of(&a.Measured.Total)
		y, inB := of(&b.Measured.Total)
		if !inA || !inB {
			return
		}
		row := workloadRow{Name: name, A: x, B: y}
		if x != 0 {
			row.Change = y/x - 1
		}
		if figure != "" && a.requests != nil && b.requests != nil {
			row.shown = compare.WorkloadRow(figure, percent/100, x, y, a.requests, b.requests)
			row.shown.Name = name
		}
		p.Figures = append(p.Figures, row)
	}
	add(compare.RequestRate, compare.RequestRate, 0,
		func(f *measure.Figures) (float64, bool) { return f.Throughput.Requests, true })
	add(compare.OutputRate, compare.OutputRate, 0,
		func(f *measure.Figures) (float64, bool) { return f.Throughput.OutputTokens, true })
	add("failures %", "", 0, func(f *measure.Figures) (float64, bool) { return 100 * f.Requests.FailureRate, true })
	for _, metric := range []string{"ttft", "ttfo", "tpot", "itl", "e2e", "ttft_due", "e2e_due"} {
		for _, percent := range percentiles {
			percentile := measure.PercentileName(percent)
			add(metric+" "+percentile+" ms", metric, percent, func(f *measure.Figures) (float64, bool) {
				d := f.Latency[metric]
				if d == nil {
					return 0, false
				}
				return d.Percentile[percentile] * 1e3, true
			})
		}
	}
}

func (cmd compareCommand) printPair(p *workloadPair) {
	cmd.out.line("A  %s\nB  %s\n", foreign.Line(p.A, 200), foreign.Line(p.B, 200))
	w := cmd.out.table()
	a, b := compare.Headings("A", p.A, "B", p.B)
	w.row("figure", a, b, "change", "interval", "")
	var reasons []string
	without := map[string][]string{}
	for _, f := range p.Figures {
		change, interval, word := "-", "", ""
		if p.Ranked && f.A != 0 {
			change = compare.Percent(f.Change)
		}
		if p.Ranked && f.shown != nil {
			interval, word = f.shown.IntervalText(), f.shown.Word()
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%s\t%s\t%s\n", f.Name, f.A, f.B, change, interval, word)
		if p.Ranked && f.Why != "" {
			if without[f.Why] == nil {
				reasons = append(reasons, f.Why)
			}
			without[f.Why] = append(without[f.Why], f.Name)
		}
	}
	w.Flush()
	for _, why := range p.Why {
		cmd.out.line("\nnot ranked  %s", why)
	}
	for _, why := range reasons {
		cmd.out.line("\nno interval  %s: %s", strings.Join(without[why], ", "), why)
	}
}

// areWorkloads reports whether all folders are runs of workloads. A mixture is an error, and so is a folder without
// results beside such runs.
func areWorkloads(c *cli.Context, folders []string) (bool, error) {
	i := slices.IndexFunc(folders, bench.Holds)
	if i < 0 {
		return false, nil
	}
	for _, folder := range folders {
		if bench.Holds(folder) {
			continue
		}
		if _, err := readSource(c, folder); err != nil {
			return false, err
		}
		return false, exit.Usage(exit.CodeResults, "Compare runs of one kind", "%s is the run of a workload, and %s is not",
			folders[i], folder)
	}
	return true, nil
}
