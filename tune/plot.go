package tune

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/plot"
)

// crowded is the highest value that a chart shows, as a multiple of the limit. A probe far above the highest valid rate
// would flatten the rest.
const crowded = 3

// Plot writes the tails of the probes against their rates as SVG, a chart for each limit. In Offline it draws the
// answers per second against the requests in flight.
func (s *State) Plot(w io.Writer) error {
	if s.Goal.Offline {
		return plot.WriteCharts(w, plot.SVG, []plot.Chart{s.throughputChart()})
	}
	probes := slices.DeleteFunc(slices.Clone(s.Probes), func(p Probe) bool {
		return p.Kind != Rate && p.Kind != Reference || p.Spoiled != ""
	})
	ordering.Sort(probes, func(a, b Probe) int { return cmp.Compare(a.Rate, b.Rate) })
	charts := make([]plot.Chart, len(s.Goal.Limits))
	for i, l := range s.Goal.Limits {
		limit := l.Limit.Seconds()
		curve := plot.Curve{Name: "probes", Points: true}
		for _, p := range probes {
			curve.X, curve.Y = append(curve.X, p.Rate), append(curve.Y, min(p.Tails[i], crowded*limit))
		}
		charts[i] = plot.Chart{Title: string(l.Metric) + ", " + percentileName(s.Goal.Percentile),
			X: "queries per second", Y: "seconds", Curves: []plot.Curve{curve},
			Limits: []plot.Limit{{Name: "limit", Value: limit}}}
		if r := s.Result; r != nil && r.TargetQPS > 0 && r.High > 0 {
			charts[i].Curves = append(charts[i].Curves, plot.Curve{Name: "result",
				X: []float64{r.TargetQPS, r.TargetQPS}, Y: []float64{0, limit}})
		}
	}
	return plot.WriteCharts(w, plot.SVG, charts)
}

func (s *State) throughputChart() plot.Chart {
	loops := plot.Curve{Name: "closed loops", Points: true}
	for _, p := range s.Probes {
		if (p.Kind == Idle || p.Kind == Saturate) && p.Spoiled == "" {
			loops.X, loops.Y = append(loops.X, float64(p.Concurrency)), append(loops.Y, p.Answers)
		}
	}
	c := plot.Chart{Title: "throughput", X: "requests in flight", Y: "answers per second", Curves: []plot.Curve{loops}}
	if s.Result != nil && s.Result.TargetQPS > 0 {
		c.Limits = []plot.Limit{{Name: "expected QPS", Value: s.Result.TargetQPS}}
	}
	return c
}

// percentileName returns a percentile as people write it, such as "99th percentile".
func percentileName(p float64) string {
	const percent, digits = 100, 4
	return strconv.FormatFloat(p*percent, 'g', digits, 64) + "th percentile"
}
