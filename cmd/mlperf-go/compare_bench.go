package main

import (
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
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
}

// compareWorkloads compares each run of a workload with the first.
func (cmd compareCommand) compareWorkloads(folders []string) error {
	var runs []*bench.Record
	for _, folder := range folders {
		r, err := bench.Read(folder)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	var pairs []workloadPair
	for i := range runs[1:] {
		p := pairOf(runs[0], runs[i+1])
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
	return nil
}

// pairOf compares two runs.
func pairOf(a, b *bench.Record) workloadPair {
	p := workloadPair{}
	for _, r := range []*bench.Record{a, b} {
		if r.Verdict != record.Valid {
			p.Why = append(p.Why, fmt.Sprintf("a run of %s is %s", foreign.Line(r.Profile, 60), r.Verdict))
		}
	}
	if a.Profile != b.Profile || a.Seed != b.Seed || len(a.Stages) != len(b.Stages) {
		p.Why = append(p.Why, "the runs have different profiles or seeds")
	}
	p.Ranked = len(p.Why) == 0
	add := func(name string, of func(*bench.Record) (float64, bool)) {
		x, inA := of(a)
		y, inB := of(b)
		if !inA || !inB {
			return
		}
		row := workloadRow{Name: name, A: x, B: y}
		if x != 0 {
			row.Change = y/x - 1
		}
		p.Figures = append(p.Figures, row)
	}
	add("requests/s", func(r *bench.Record) (float64, bool) { return r.Measured.Total.Throughput.Requests, true })
	add("output tokens/s", func(r *bench.Record) (float64, bool) { return r.Measured.Total.Throughput.OutputTokens, true })
	add("failures %", func(r *bench.Record) (float64, bool) { return 100 * r.Measured.Total.Requests.FailureRate, true })
	for _, metric := range []string{"ttft", "ttfo", "tpot", "itl", "e2e", "ttft_due", "e2e_due"} {
		for _, percentile := range []string{"p50", "p99"} {
			add(metric+" "+percentile+" ms", func(r *bench.Record) (float64, bool) {
				d := r.Measured.Total.Latency[metric]
				if d == nil {
					return 0, false
				}
				return d.Percentile[percentile] * 1e3, true
			})
		}
	}
	return p
}

func (cmd compareCommand) printPair(p *workloadPair) {
	w := cmd.out.table()
	fmt.Fprintf(w, "figure\t%s\t%s\tchange\n", foreign.Line(p.A, 60), foreign.Line(p.B, 60))
	for _, f := range p.Figures {
		change := "-"
		if p.Ranked && f.A != 0 {
			change = fmt.Sprintf("%+.1f %%", 100*f.Change)
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%s\n", f.Name, f.A, f.B, change)
	}
	for _, why := range p.Why {
		fmt.Fprintf(w, "\nnot ranked\t%s\n", why)
	}
	w.Flush()
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
