package report

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// Workload is what the run of a workload has in addition to a test of LoadGen. Package workload/bench makes a Run of
// its own files: the entries of Run.Requests have their due times in Schedule, and IssuedNS is when the limits in
// flight had room.
type Workload struct {
	Title    string // names the workload
	Headline string
	Facts    [][2]string // name and text
	GapS     []float32   // longest gap between tokens of each entry in seconds; NaN: none
	Limits   []Objective
	// Endpoints are the servers' addresses by ledger.Entry.Endpoint.
	Endpoints []string
	First     []Table // in front of the latencies
	Tables    []Table // behind the counts

	// Counted are the requests to which rates and latencies refer. The record's counts include the two groups beside it.
	Counted   record.SampleCounts
	LeftOut   int64 // requests of warm-up and cool-down
	Cancelled int64 // of Counted.Issued: by the client, on purpose or because the run was ended

	// The steady window, wall clock in ns; 0: unknown.
	SteadyFromNS, SteadyToNS int64
}

// Objective is the limit of a percentile: a share of the requests must be below it.
type Objective struct {
	Metric  string // the ID of a chart: ttft, tpot, itl or e2e
	Percent float64
	Below   time.Duration
}

// Table has a title and rows as long as its head.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// mark adds the limits of the service and the steady window to the charts.
func (w *Workload) mark(list []Figure, l *timeline) {
	for i := range list {
		f := &list[i]
		if f.Time && w.SteadyToNS != 0 {
			f.Limits = append(f.Limits, Limit{Name: "the steady window begins at", Value: l.at(w.SteadyFromNS), OnX: true},
				Limit{Name: "the steady window ends at", Value: l.at(w.SteadyToNS), OnX: true})
		}
		for _, o := range w.Limits {
			d := w.duration(o.Metric)
			cdf := f.ID == o.Metric+"-cdf"
			if d == nil || f.ID != o.Metric && !cdf {
				continue
			}
			f.Limits = append(f.Limits, Limit{Name: fmt.Sprintf("limit of p%g", o.Percent), Value: o.Below.Seconds() * d.scale,
				OnX: cdf})
			if cdf {
				f.Look += fmt.Sprintf(" The curve must reach %g %% before the limit.", o.Percent)
			}
		}
	}
}

// duration returns the duration of a chart; nil: there is no such chart.
func (w *Workload) duration(id string) *duration {
	for _, d := range append([]duration{longestGap}, durations...) {
		if d.id == id {
			return &d
		}
	}
	return nil
}
