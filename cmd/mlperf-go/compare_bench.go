package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/compare"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// workloadPair is two runs of a workload side by side.
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
func (cmd compareCommand) compareWorkloads(folders []string, confidence float64) error {
	var runs []*workloadRun
	for _, folder := range folders {
		r, err := bench.Read(folder)
		if err != nil {
			return err
		}
		run := &workloadRun{Record: r}
		if s, err := bench.ReadSeries(folder); err == nil {
			run.requests = (*compare.Requests)(s)
		} else {
			run.why = "the event log cannot be used: " + err.Error()
		}
		runs = append(runs, run)
	}
	var pairs []workloadPair
	for i := range runs[1:] {
		p := pairOf(runs[0], runs[i+1], confidence)
		p.A, p.B = filepath.Clean(folders[0]), filepath.Clean(folders[i+1])
		pairs = append(pairs, p)
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"workloads": pairs})
		return nil
	}
	for i := range pairs {
		cmd.printPair(&pairs[i])
	}
	cmd.out.line("\n%s", strings.TrimSpace(compare.IntervalNote(confidence)))
	return nil
}

// workloadRun is a run of a workload with its requests; nil: why they cannot be used.
type workloadRun struct {
	*bench.Record
	requests *compare.Requests
	why      string
}

// pairOf compares two runs, with a confidence of all intervals together.
func pairOf(a, b *workloadRun, confidence float64) workloadPair {
	p := workloadPair{}
	for _, r := range []*workloadRun{a, b} {
		if r.Verdict != record.Valid {
			p.Why = append(p.Why, fmt.Sprintf("a run of %s is %s", foreign.Line(r.Profile, 60), r.Verdict))
		}
	}
	if a.Profile != b.Profile || a.Seed != b.Seed || len(a.Stages) != len(b.Stages) {
		p.Why = append(p.Why, "the runs have different profiles or seeds")
	}
	p.Ranked = len(p.Why) == 0
	p.addFigures(a, b)
	var judged []*compare.Row
	for i := range p.Figures {
		if row := p.Figures[i].shown; row != nil {
			judged = append(judged, row)
		}
	}
	compare.JudgeWorkload(judged, confidence)
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

// addFigures adds the figures that both runs have.
func (p *workloadPair) addFigures(a, b *workloadRun) {
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
		}
		p.Figures = append(p.Figures, row)
	}
	add(compare.RequestRate, compare.RequestRate, 0,
		func(f *measure.Figures) (float64, bool) { return f.Throughput.Requests, true })
	add(compare.OutputRate, compare.OutputRate, 0,
		func(f *measure.Figures) (float64, bool) { return f.Throughput.OutputTokens, true })
	add("failures %", "", 0, func(f *measure.Figures) (float64, bool) { return 100 * f.Requests.FailureRate, true })
	for _, metric := range []string{"ttft", "ttfo", "tpot", "itl", "e2e", "ttft_due", "e2e_due"} {
		for _, percent := range compare.DefaultPercentiles {
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
	w := cmd.out.table()
	fmt.Fprintf(w, "figure\t%s\t%s\tchange\tinterval\t\n", foreign.Line(p.A, 60), foreign.Line(p.B, 60))
	var reasons []string
	without := map[string][]string{}
	for _, f := range p.Figures {
		change, interval, word := "-", "", ""
		if p.Ranked && f.A != 0 {
			change = fmt.Sprintf("%+.1f %%", 100*f.Change)
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

// areWorkloads reports whether all folders are runs of workloads. A mixture is an error.
func areWorkloads(folders []string) (bool, error) {
	n := 0
	for _, folder := range folders {
		if bench.Holds(folder) {
			n++
		}
	}
	if n > 0 && n < len(folders) {
		return false, exit.Usage(exit.CodeResults, "Compare runs of one kind", "some of the folders are runs of workloads, "+
			"and others are not")
	}
	return n > 0, nil
}
