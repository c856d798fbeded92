package search

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// longestCause is the most bytes of a reason in the table.
const longestCause = 300

// WriteTable writes the measurements in their order, and the result.
func (s *State) WriteTable(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 1, 2, ' ', 0)
	fmt.Fprint(w, "load\tlength")
	for _, l := range s.Limits {
		fmt.Fprintf(w, "\t%s", l)
	}
	fmt.Fprintln(w, "\tanswers/s\ttokens/s\tresult")
	for i := range s.Probes {
		p := &s.Probes[i]
		fmt.Fprintf(w, "%s\t%v", s.Load.Text(p.Load), time.Duration(p.TookS*float64(time.Second)).Round(time.Second))
		for k := range s.Limits {
			fmt.Fprintf(w, "\t%s", p.share(k))
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\n", plural.Figure(p.RequestsPerS), plural.Figure(p.TokensPerS), p.Word())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range s.Probes {
		if p := &s.Probes[i]; len(p.Reasons) > 0 {
			fmt.Fprintf(to, "\n%s: %s", s.Load.Text(p.Load), foreign.Line(p.Reasons[0].Text, longestCause))
		}
	}
	_, err := fmt.Fprintf(to, "\n%s\n", s.Sentence())
	return err
}

// share returns the share of requests within a limit.
func (p *Probe) share(limit int) string {
	if p.Requests == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", percent*(1-float64(p.Missed[limit])/float64(p.Requests)))
}

// Word returns what a measurement has shown.
func (p *Probe) Word() string {
	text := map[bool]string{true: "meets", false: "misses"}[p.Met]
	if p.Confirm {
		text = map[bool]string{true: "confirmed", false: "not confirmed"}[p.Met]
	}
	switch {
	case p.Broken:
		return "does not count"
	case p.Client:
		return "client too slow"
	case p.Verdict != record.Valid:
		text += ", INVALID"
	}
	return text
}

// WritePlot writes the share of requests within each limit against the load as SVG, a chart for each limit.
func (s *State) WritePlot(to io.Writer) error {
	charts := make([]plot.Chart, len(s.Limits))
	for k, l := range s.Limits {
		curve := plot.Curve{Name: "measurements", Points: true}
		for _, p := range s.Probes {
			if p.Requests > 0 && !p.Broken {
				curve.X = append(curve.X, p.Load)
				curve.Y = append(curve.Y, percent*(1-float64(p.Missed[k])/float64(p.Requests)))
			}
		}
		charts[k] = plot.Chart{Title: l.String(), X: string(s.Load), Y: "% of requests within the limit",
			Curves: []plot.Curve{curve}, Limits: []plot.Limit{{Name: "required", Value: l.Percent}}}
	}
	return plot.WriteCharts(to, plot.SVG, charts)
}
