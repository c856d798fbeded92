package compare

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	workloads "github.com/mlperf-go/mlperf-go/workload/measure"
)

// WorkloadReport compares runs of a workload, each with the first.
type WorkloadReport struct {
	Workloads []WorkloadPair `json:"workloads"`
	Gate      *Gate          `json:"gate,omitempty"`
}

// WorkloadPair compares two runs of a workload.
type WorkloadPair struct {
	A       string           `json:"a"`
	B       string           `json:"b"`
	Ranked  bool             `json:"ranked"` // both are VALID and sent the same requests
	Why     []string         `json:"why,omitempty"`
	Notes   []string         `json:"notes,omitempty"`
	Figures []WorkloadFigure `json:"figures"`
}

// WorkloadFigure is a figure that both runs have.
type WorkloadFigure struct {
	Name   string  `json:"name"`
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Change float64 `json:"change"` // B/A - 1; 0 if A is 0
	// Interval is that of the change; null: Why is the reason. Verdict is that of comparisons of runs.
	Interval *Interval `json:"interval"`
	Verdict  Verdict   `json:"verdict"`
	Why      string    `json:"why,omitempty"`

	// Row has the interval, or the reason for its absence; nil: the figure can have none.
	Row *Row `json:"-"`
}

// workload is a run of a workload with its requests; nil: why explains the lack.
type workload struct {
	*bench.Record
	folder   string
	requests *Requests
	why      string
}

// Workloads compares the run in each folder with that in the first, by the percentiles, confidence and gate of o. It
// requires at least one folder.
func Workloads(folders []string, o Settings) (*WorkloadReport, error) {
	var runs []*workload
	for _, folder := range folders {
		r, err := readWorkload(folder)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	report := &WorkloadReport{}
	if o.Gate {
		report.Gate = newGate(o.Threshold)
	}
	for _, other := range runs[1:] {
		p := pairOf(runs[0], other, &o)
		if o.Gate {
			report.Gate.addWorkload(foreign.Line(p.B, 100)+" against "+foreign.Line(p.A, 100), p.Why, p.rows())
		}
		report.Workloads = append(report.Workloads, p)
	}
	return report, nil
}

func readWorkload(folder string) (*workload, error) {
	r, err := bench.Read(folder)
	if err != nil {
		return nil, err
	}
	run := &workload{Record: r, folder: filepath.Clean(folder)}
	if s, err := bench.ReadSeries(folder); err == nil {
		run.requests = (*Requests)(s)
	} else {
		run.why = "the event log cannot be used: " + err.Error()
	}
	return run, nil
}

// pairOf compares two runs, with a confidence of all intervals together.
func pairOf(a, b *workload, o *Settings) WorkloadPair {
	p := WorkloadPair{A: a.folder, B: b.folder}
	if sameFolder(a.folder, b.folder) {
		p.Notes = append(p.Notes, "B is the folder of A, so every figure is compared with itself")
	}
	for _, r := range []*workload{a, b} {
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
	judgeAll(p.rows(), o.Confidence)
	for i := range p.Figures {
		f := &p.Figures[i]
		switch {
		case !p.Ranked:
			f.Verdict, f.Why = NotJudged, "not ranked"
		case f.Row != nil:
			f.Interval, f.Verdict, f.Why = f.Row.Interval, f.Row.Verdict, f.Row.Why
		default:
			f.Verdict, f.Why = NotJudged, cmp.Or(a.why, b.why)
		}
	}
	return p
}

// rows returns those with an interval, or with a reason for its absence.
func (p *WorkloadPair) rows() (list []*Row) {
	for i := range p.Figures {
		if row := p.Figures[i].Row; row != nil {
			list = append(list, row)
		}
	}
	return list
}

// addFigures adds the figures that both runs have.
func (p *WorkloadPair) addFigures(a, b *workload, percentiles []float64) {
	add := func(name, figure string, percent float64, of func(*workloads.Figures) (float64, bool)) {
		x, inA := of(&a.Measured.Total)
		y, inB := of(&b.Measured.Total)
		if !inA || !inB {
			return
		}
		row := WorkloadFigure{Name: name, A: x, B: y}
		if x != 0 {
			row.Change = y/x - 1
		}
		if figure != "" && a.requests != nil && b.requests != nil {
			row.Row = workloadRow(figure, percent/100, x, y, a.requests, b.requests)
			row.Row.Name = name
		}
		p.Figures = append(p.Figures, row)
	}
	add(RequestRate, RequestRate, 0,
		func(f *workloads.Figures) (float64, bool) { return f.Throughput.Requests, true })
	add(OutputRate, OutputRate, 0,
		func(f *workloads.Figures) (float64, bool) { return f.Throughput.OutputTokens, true })
	add("failures %", "", 0, func(f *workloads.Figures) (float64, bool) { return 100 * f.Requests.FailureRate, true })
	add("prefix cache %", "", 0, func(f *workloads.Figures) (float64, bool) {
		if f.PrefixCache == nil {
			return 0, false
		}
		return 100 * f.PrefixCache.HitRate, true
	})
	for _, metric := range []string{"ttft", "ttfo", "tpot", "itl", "e2e", "ttft_due", "e2e_due"} {
		for _, percent := range percentiles {
			percentile := workloads.PercentileName(percent)
			add(metric+" "+percentile+" ms", metric, percent, func(f *workloads.Figures) (float64, bool) {
				d := f.Latency[metric]
				if d == nil {
					return 0, false
				}
				return d.Percentile[percentile] * 1e3, true
			})
		}
	}
}
