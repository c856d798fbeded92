package experiment

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// writeViews writes the table and the plot into a folder.
func (s *State) writeViews(folder string, access atomicfile.Access) error {
	return errors.Join(access.Write(filepath.Join(folder, TableName), s.WriteTable),
		access.Write(filepath.Join(folder, PlotName), s.WritePlot))
}

// WriteTable writes the result as a table, and the advice below it. A state without a result has its trials so far.
func (s *State) WriteTable(to io.Writer) error {
	if s.Result == nil {
		_, err := fmt.Fprintf(to, "The experiment has not ended: %d of %d trials. Continue it with --resume.\n",
			len(s.Trials), len(s.Arrangements)*s.Repeats)
		return err
	}
	fmt.Fprintf(to, "%s of %s, %s\n\n", plural.Count(s.Repeats, "pass", "passes"),
		plural.Count(s.Samples, "sample", "samples"), plural.Count(len(s.Replicas), "replica", "replicas"))
	w := tabwriter.NewWriter(to, 0, 1, 2, ' ', 0)
	fmt.Fprintln(w, "\tsamples/s\t±\ttokens/s\tidle tail s\tKV cache\tpreempted")
	for i := range s.Result.Outcomes {
		o := &s.Result.Outcomes[i]
		if o.Trials == 0 {
			fmt.Fprintf(w, "%s\tx\n", o.Name)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Name, short(o.SamplesPerS.Mean),
			short(o.SamplesPerS.High-o.SamplesPerS.Mean), o.OutputTokensPerS.text(1), o.TailS.text(1),
			o.KVCacheMax.text(percents), o.Preemptions.text(1))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.Experiment == Partition {
		s.writeReplicas(to)
	}
	for i := range s.Result.Outcomes {
		if o := &s.Result.Outcomes[i]; o.Spoiled != "" {
			fmt.Fprintf(to, "\nx  %s is spoiled: %s\n", o.Name, foreign.Line(o.Spoiled, longestCause))
		}
	}
	for _, note := range s.Notes {
		fmt.Fprintf(to, "\nnote: %s\n", note)
	}
	_, err := fmt.Fprintf(to, "\n%s\n", s.Result.Advice)
	return err
}

const longestCause = 300 // bytes

// writeReplicas writes what each replica did, on average over the trials of an arrangement.
func (s *State) writeReplicas(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 1, 2, ' ', 0)
	fmt.Fprintln(w, "\n\treplica\tsamples\toutput tokens\tidle tail s")
	for a := range s.Result.Outcomes {
		for r := range s.Replicas {
			mean := func(figure func(*Replica) float64) string {
				return interval(s.of(a, func(t *Trial) *float64 {
					if r >= len(t.Replicas) {
						return nil
					}
					v := figure(&t.Replicas[r])
					return &v
				})).text(1)
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", s.Result.Outcomes[a].Name, r+1,
				mean(func(r *Replica) float64 { return float64(r.Samples) }),
				mean(func(r *Replica) float64 { return float64(r.OutputTokens) }),
				mean(func(r *Replica) float64 { return r.IdleTailS }))
		}
	}
	_ = w.Flush() // the caller's next write reports it
}

// text returns the mean in a unit; "-" for none.
func (i *Interval) text(unit float64) string {
	if i == nil {
		return "-"
	}
	if unit == percents {
		return short(i.Mean*percents) + " %"
	}
	return short(i.Mean * unit)
}

// short writes a figure with four digits, and never with an exponent.
func short(v float64) string {
	const digits, large = 4, 1000
	if v >= large {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if v < 1.0/large {
		return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// WritePlot draws the samples per second of each arrangement with its interval as SVG: over the sizes if there are
// several, with the other arrangements as lines across.
func (s *State) WritePlot(to io.Writer) error {
	if s.Result == nil {
		return errors.New("the experiment has no result to draw")
	}
	rate := plot.Chart{Title: "throughput", X: "requests in flight, or in a batch", Y: "samples per second"}
	idle := plot.Chart{Title: "idle tail", X: rate.X, Y: "seconds"}
	if s.Experiment == Partition {
		rate.X, idle.X = "replica", "replica"
		rate.Title, rate.Y = "output tokens of each replica", "tokens"
		for a := range s.Result.Outcomes {
			s.addReplicas(&rate, a, func(r *Replica) float64 { return float64(r.OutputTokens) })
			s.addReplicas(&idle, a, func(r *Replica) float64 { return r.IdleTailS })
		}
		return plot.WriteCharts(to, plot.SVG, []plot.Chart{rate, idle})
	}
	for _, how := range []How{Window, Batch} {
		var outcomes []*Outcome
		for i := range s.Result.Outcomes {
			if o := &s.Result.Outcomes[i]; o.How == how && o.Trials > 0 {
				outcomes = append(outcomes, o)
			}
		}
		ordering.Sort(outcomes, func(a, b *Outcome) int { return a.Size - b.Size })
		mean, low, high := plot.Curve{Name: string(how), Points: true}, plot.Curve{Name: string(how) + ", low"},
			plot.Curve{Name: string(how) + ", high"}
		tails := plot.Curve{Name: string(how), Points: true}
		for _, o := range outcomes {
			for _, c := range []struct {
				to *plot.Curve
				y  float64
			}{{&mean, o.SamplesPerS.Mean}, {&low, o.SamplesPerS.Low}, {&high, o.SamplesPerS.High}, {&tails, o.TailS.Mean}} {
				c.to.X, c.to.Y = append(c.to.X, float64(o.Size)), append(c.to.Y, c.y)
			}
		}
		rate.Curves, idle.Curves = append(rate.Curves, mean, low, high), append(idle.Curves, tails)
	}
	for i := range s.Result.Outcomes {
		if o := &s.Result.Outcomes[i]; o.Trials > 0 && o.Size == 0 {
			rate.Limits = append(rate.Limits, plot.Limit{Name: o.Name, Value: o.SamplesPerS.Mean})
			idle.Limits = append(idle.Limits, plot.Limit{Name: o.Name, Value: o.TailS.Mean})
		}
	}
	return plot.WriteCharts(to, plot.SVG, []plot.Chart{rate, idle})
}

// addReplicas adds a curve of an arrangement over the replicas to a chart.
func (s *State) addReplicas(c *plot.Chart, a int, figure func(*Replica) float64) {
	curve := plot.Curve{Name: s.Result.Outcomes[a].Name, Points: true}
	for r := range s.Replicas {
		mean := interval(s.of(a, func(t *Trial) *float64 {
			if r >= len(t.Replicas) {
				return nil
			}
			v := figure(&t.Replicas[r])
			return &v
		}))
		if mean != nil {
			curve.X, curve.Y = append(curve.X, float64(r+1)), append(curve.Y, mean.Mean)
		}
	}
	c.Curves = append(c.Curves, curve)
}
