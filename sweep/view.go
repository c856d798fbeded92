package sweep

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// writeViews writes the table, the CSV file and the plot into a folder.
func (s *State) writeViews(folder string, access atomicfile.Access) error {
	var errs []error
	for name, write := range map[string]func(io.Writer) error{TableName: s.WriteTable, CSVName: s.WriteCSV,
		PlotName: s.WritePlot} {
		errs = append(errs, access.Write(filepath.Join(folder, name), write))
	}
	return errors.Join(errs...)
}

// tableWidth is the width of the table in columns.
const tableWidth = 80

// WriteTable writes the points as a table of at most 80 columns. An asterisk marks the Pareto front. Lines below the
// table explain the asterisk and each spoiled point.
func (s *State) WriteTable(to io.Writer) error {
	var below strings.Builder
	if slices.ContainsFunc(s.Points, func(p Point) bool { return p.Front }) {
		fmt.Fprintf(&below, "* Pareto front: no load has more tokens/s both %s and per user\n",
			s.perWhat("in all", "per accelerator"))
	}
	for i := range s.Points {
		if p := &s.Points[i]; !p.counts() {
			fmt.Fprintln(&below, fold(fmt.Sprintf("x  %s is spoiled: %s", s.Load.Text(p.Load),
				foreign.Line(p.Spoiled[0].Text, longestCause))))
		}
	}
	if below.String() != "" {
		below.WriteString("\n")
	}
	text, width := s.table(2)
	if width > tableWidth {
		text, _ = s.table(1)
	}
	_, err := fmt.Fprintf(to, "%s\n%s%s\n", text, below.String(), fold(s.Sentence()))
	return err
}

// table returns the lines of the points, and the width of the longest. padding is the distance of the columns.
func (s *State) table(padding int) (text string, width int) {
	var padded, trimmed strings.Builder
	w := tabwriter.NewWriter(&padded, 0, 1, padding, ' ', tabwriter.AlignRight)
	load := "in flight"
	if s.Load == Rate {
		load = "queries/s"
	}
	fmt.Fprintf(w, "%s\tanswers\ttokens/s\ttokens/s\tTTFT ms\t\tTPOT ms\t\t%% in\t\t\n", load)
	fmt.Fprintf(w, "\t/s\t%s\tper user\tp50\tp99\tp50\tp99\tlimits\t\t\n", s.perWhat("in all", "per acc."))
	for i := range s.Points {
		s.row(w, &s.Points[i])
	}
	_ = w.Flush() // into memory
	for line := range strings.Lines(padded.String()) {
		line = strings.TrimRight(line[padding:], " \n") // nothing is left of the first column
		trimmed.WriteString(line + "\n")
		width = max(width, len(line))
	}
	return trimmed.String(), width
}

// row writes the line of a point.
func (s *State) row(w io.Writer, p *Point) {
	const ms = 1e3
	mark, met := "", ""
	if p.Front {
		mark = "*"
	}
	if !p.counts() {
		fmt.Fprintf(w, "%s\t\t\t\t\t\t\t\t\tx\t\n", plural.Figure(p.Load))
		return
	}
	if p.Met != nil {
		met = plural.Figure(percent * *p.Met)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", plural.Figure(p.Load), plural.Figure(p.RequestsPerS),
		plural.Figure(p.PerAccelerator), plural.Figure(p.PerUser), of(p.TTFT, median, ms), of(p.TTFT, tail, ms),
		of(p.TPOT, median, ms), of(p.TPOT, tail, ms), met, mark)
}

const (
	longestCause = 300 // bytes
	percent      = 100
)

// perWhat returns the words for the unit of PerAccelerator.
func (s *State) perWhat(all, each string) string {
	if s.Accelerators > 0 {
		return each
	}
	return all
}

func median(s *ledger.Stats) float64 { return s.P50 }
func tail(s *ledger.Stats) float64   { return s.P99 }

// of returns a figure of a latency in the given unit; empty: not measured.
func of(s *ledger.Stats, figure func(*ledger.Stats) float64, unit float64) string {
	if s == nil {
		return ""
	}
	return plural.Figure(figure(s) * unit)
}

// fold breaks a text into lines of the table's width.
func fold(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		if n := len([]rune(word)); column > 0 && column+1+n > tableWidth {
			b.WriteString("\n")
			column = n
		} else {
			if column > 0 {
				b.WriteString(" ")
				column++
			}
			column += n
		}
		b.WriteString(word)
	}
	return b.String()
}

// Sentence returns the result in one paragraph.
func (s *State) Sentence() string {
	best, within, fastest := bestGoodput(s.Points), highestWithin(s.Points), (*Point)(nil)
	for i := range s.Points {
		if p := &s.Points[i]; p.counts() && (fastest == nil || p.throughput() > fastest.throughput()) {
			fastest = p
		}
	}
	if fastest == nil {
		return "No point counts."
	}
	text := fmt.Sprintf("The highest throughput is %s output tokens/s at %s.", plural.Figure(fastest.OutputTokensPerS),
		s.Load.Text(fastest.Load))
	switch {
	case best != nil:
		text += fmt.Sprintf(" The highest goodput is %s queries/s at %s, where %s %% of the queries meet the limits.",
			plural.Figure(*best.GoodputPerS), s.Load.Text(best.Load), plural.Figure(percent**best.Met))
		if within != nil {
			text += fmt.Sprintf(" The highest load at which %v %% of them do is %s.", percent*metShare, s.Load.Text(within.Load))
			if !s.Auto && within == &s.Points[len(s.Points)-1] {
				text += " It is the highest of this sweep, so the server may hold more."
			}
		}
	case s.Limits.Any():
		text += " At no load does a query meet the limits."
	}
	if s.Result != nil && s.Auto {
		text += " The sweep ended because " + s.Result.Stopped + "."
	}
	return text
}

// csvColumns are the columns of the CSV file. Latencies are in seconds; a cell is empty if there is no such value.
var csvColumns = []struct {
	name string
	of   func(s *State, p *Point) string
}{
	{"kind", func(s *State, _ *Point) string { return string(s.Load) }},
	{"load", func(_ *State, p *Point) string { return exact(p.Load) }},
	{"counts", func(_ *State, p *Point) string { return strconv.FormatBool(p.counts()) }},
	{"front", func(_ *State, p *Point) string { return strconv.FormatBool(p.Front) }},
	{"queries", func(_ *State, p *Point) string { return strconv.Itoa(p.Queries) }},
	{"window_s", func(_ *State, p *Point) string { return exact(p.WindowS) }},
	{"queries_inflight", func(_ *State, p *Point) string { return exact(p.InFlight) }},
	{"requests_per_s", func(_ *State, p *Point) string { return exact(p.RequestsPerS) }},
	{"output_tokens_per_s", func(_ *State, p *Point) string { return exact(p.OutputTokensPerS) }},
	{"output_tokens_per_s_per_accelerator", func(_ *State, p *Point) string { return exact(p.PerAccelerator) }},
	{"output_tokens_per_s_per_user", func(_ *State, p *Point) string { return exact(p.PerUser) }},
	{"ttft_p50_s", func(_ *State, p *Point) string { return exactOf(p.TTFT, median) }},
	{"ttft_p99_s", func(_ *State, p *Point) string { return exactOf(p.TTFT, tail) }},
	{"tpot_p50_s", func(_ *State, p *Point) string { return exactOf(p.TPOT, median) }},
	{"tpot_p99_s", func(_ *State, p *Point) string { return exactOf(p.TPOT, tail) }},
	{"e2e_p50_s", func(_ *State, p *Point) string { return exactOf(p.E2E, median) }},
	{"e2e_p99_s", func(_ *State, p *Point) string { return exactOf(p.E2E, tail) }},
	{"met_share", func(_ *State, p *Point) string { return exactIf(p.Met) }},
	{"goodput_per_s", func(_ *State, p *Point) string { return exactIf(p.GoodputPerS) }},
	{"dispatch_lag_p99_s", func(_ *State, p *Point) string { return exact(p.DispatchLagS) }},
	{"spoiled", func(_ *State, p *Point) string {
		if p.counts() {
			return ""
		}
		return string(p.Spoiled[0].Code)
	}},
}

// WriteCSV writes a line for each point.
func (s *State) WriteCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	row := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		row[i] = c.name
	}
	_ = w.Write(row) // Flush reports it
	for i := range s.Points {
		for k, c := range csvColumns {
			row[k] = c.of(s, &s.Points[i])
		}
		_ = w.Write(row)
	}
	w.Flush()
	return w.Error()
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func exactIf(v *float64) string {
	if v == nil {
		return ""
	}
	return exact(*v)
}

func exactOf(s *ledger.Stats, figure func(*ledger.Stats) float64) string {
	if s == nil {
		return ""
	}
	return exact(figure(s))
}

// WritePlot draws the points that count as SVG: latencies against throughput, the Pareto front, and the goodput.
func (s *State) WritePlot(to io.Writer) error {
	each := func(x, y func(*Point) float64, name string, only func(*Point) bool) plot.Curve {
		c := plot.Curve{Name: name, Points: true}
		for i := range s.Points {
			if p := &s.Points[i]; p.counts() && only(p) {
				c.X, c.Y = append(c.X, x(p)), append(c.Y, y(p))
			}
		}
		return c
	}
	throughput := func(p *Point) float64 { return p.PerAccelerator }
	perUnit := "output tokens per second " + s.perWhat("in all", "per accelerator")
	latency := func(title string, stats func(*Point) *ledger.Stats, limits ...plot.Limit) plot.Chart {
		has := func(p *Point) bool { return stats(p) != nil }
		return plot.Chart{Title: title, X: perUnit, Y: "seconds", Limits: limits, Curves: []plot.Curve{
			each(throughput, func(p *Point) float64 { return stats(p).P50 }, "median", has),
			each(throughput, func(p *Point) float64 { return stats(p).P99 }, "99th percentile", has)}}
	}
	charts := []plot.Chart{
		latency("time to first token", func(p *Point) *ledger.Stats { return p.TTFT }, drawn(s.Limits.TTFT)...),
		latency("time per output token", func(p *Point) *ledger.Stats { return p.TPOT }, drawn(s.Limits.TPOT)...),
		{Title: "throughput against interactivity", X: "output tokens per second per user (1 / median TPOT)", Y: perUnit,
			Curves: s.frontCurves(each)},
	}
	if s.Limits.Any() {
		met := func(p *Point) bool { return p.GoodputPerS != nil }
		charts = append(charts, plot.Chart{Title: "goodput: queries within the limits", X: string(s.Load),
			Y: "queries per second", Curves: []plot.Curve{
				each(func(p *Point) float64 { return p.Load }, func(p *Point) float64 { return *p.GoodputPerS }, "goodput", met),
				each(func(p *Point) float64 { return p.Load }, func(p *Point) float64 { return p.RequestsPerS }, "answers", met)}})
	}
	return plot.WriteCharts(to, plot.SVG, charts)
}

// frontCurves are all points in the order of their loads, and the Pareto front through some of them.
func (s *State) frontCurves(each func(x, y func(*Point) float64, name string, only func(*Point) bool) plot.Curve,
) []plot.Curve {
	user, all := func(p *Point) float64 { return p.PerUser }, func(p *Point) float64 { return p.PerAccelerator }
	return []plot.Curve{
		each(user, all, "points", func(p *Point) bool { return p.PerUser > 0 }),
		each(user, all, "Pareto front", func(p *Point) bool { return p.Front }),
	}
}

// drawn returns the limit to draw, or none.
func drawn(limit time.Duration) []plot.Limit {
	if limit <= 0 {
		return nil
	}
	return []plot.Limit{{Name: "limit", Value: limit.Seconds()}}
}
