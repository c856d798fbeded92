package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compare"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// compareWorkloads compares each run of a workload with the first.
func (cmd compareCommand) compareWorkloads(c *cli.Context, o compare.Settings) error {
	if err := workloadFlags(c, &o); err != nil {
		return err
	}
	result, err := compare.Workloads(c.Args().Slice(), o)
	if err != nil {
		return err
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

func (cmd compareCommand) printPair(p *compare.WorkloadPair) {
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
		if p.Ranked && f.Row != nil {
			interval, word = f.Row.IntervalText(), f.Row.Word()
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
	for _, note := range p.Notes {
		cmd.out.line("\nnote: %s", note)
	}
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
