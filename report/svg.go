package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plot"
)

// Measures of a chart without scripts, in units of its view box. Its text is 9 px high on a screen of 360 px.
const (
	chartW, chartH                     = 534, 260
	chartLeft, chartRight              = 76, 26
	chartTop, chartBottom              = 12, 44
	plotW, plotH                       = chartW - chartLeft - chartRight, chartH - chartTop - chartBottom
	marksX, marksY                     = 6, 5
	tickLength, labelBelow, labelRaise = 4, 20, 4
)

// axis maps values to a length of the view box.
type axis struct {
	low, high float64
	marks     []float64
}

// SVG draws a figure. Classes name what the page's style sheet colours.
func (f *Figure) SVG() template.HTML {
	x, y := f.axes()
	toX := func(v float64) float64 { return chartLeft + plotW*(v-x.low)/(x.high-x.low) }
	toY := func(v float64) float64 { return chartTop + plotH*(1-(v-y.low)/(y.high-y.low)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" aria-hidden="true">`, chartW, chartH)
	for _, v := range y.marks {
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text class="end" x="%d" y="%.1f">%s</text>`, chartLeft, toY(v),
			chartW-chartRight, chartLeft-tickLength-2, toY(v)+labelRaise, plot.Number(v))
	}
	floor := float64(chartH - chartBottom)
	for _, v := range x.marks {
		fmt.Fprintf(&b, `<path class="tick" d="M%.1f %.1fv%d"/><text class="middle" x="%.1f" y="%.1f">%s</text>`, toX(v),
			floor,
			tickLength, toX(v), floor+labelBelow, plot.Number(v))
	}
	fmt.Fprintf(&b, `<path class="axis" d="M%d %.1fH%d"/>`, chartLeft, floor, chartW-chartRight)
	fmt.Fprintf(&b, `<text class="middle" x="%d" y="%d">%s</text>`, chartW/2, chartH-6, escape(f.X))
	fmt.Fprintf(&b, `<text class="middle" transform="translate(14 %d) rotate(-90)">%s</text>`, chartTop+plotH/2,
		escape(f.Y))
	for _, l := range f.near() {
		if l.OnX {
			fmt.Fprintf(&b, `<path class="limit" d="M%.1f %dV%.1f"/>`, toX(l.Value), chartTop, floor)
		} else {
			fmt.Fprintf(&b, `<path class="limit" d="M%d %.1fH%d"/>`, chartLeft, toY(l.Value), chartW-chartRight)
		}
	}
	for i := range f.Curves {
		fmt.Fprintf(&b, `<path class="curve %s" d="%s"/>`, curveClass(f.Curves[i].Name, i), path(&f.Curves[i], toX, toY))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // foreign texts are escaped above
}

// colours is the number of colours in page.css, which further curves use again.
const colours = 8

// failedCurve is the name of a curve of failures, which is dotted and has the colour of failures.
const failedCurve = "failed"

// curveClass returns the class of the i-th curve of a figure in page.css.
func curveClass(name string, i int) string {
	if name == failedCurve {
		return "failures"
	}
	return "c" + strconv.Itoa(i%colours)
}

// path returns the commands of a line, with a new part after each gap.
func path(c *Curve, toX, toY func(float64) float64) string {
	var b strings.Builder
	pen := byte('M')
	for i, v := range c.Y {
		if math.IsNaN(v) || math.IsNaN(c.X[i]) {
			pen = 'M'
			continue
		}
		fmt.Fprintf(&b, "%c%.1f %.1f", pen, toX(c.X[i]), toY(v))
		if pen == 'M' {
			b.WriteString("h.01") // its round ends make a single point visible
		}
		pen = 'L'
	}
	return b.String()
}

// axes returns the ranges of the figure with its limits. Y begins at 0.
func (f *Figure) axes() (x, y axis) {
	x = axis{low: math.Inf(1), high: math.Inf(-1)}
	for _, c := range f.Curves {
		for i, v := range c.Y {
			if math.IsNaN(v) {
				continue
			}
			x.low, x.high = min(x.low, c.X[i]), max(x.high, c.X[i])
			y.low, y.high = min(y.low, v), max(y.high, v)
		}
	}
	for _, l := range f.near() {
		if l.OnX {
			x.high = max(x.high, l.Value*1.05)
		} else {
			y.high = max(y.high, l.Value*1.05)
		}
	}
	if x.low > x.high { // no value yet
		x.low, x.high, y.high = 0, 1, 1
	}
	if !f.Time {
		x.low = min(x.low, 0)
	}
	if f.To > f.From {
		x.low, x.high = f.From, f.To
	}
	x.marks, x.low, x.high = plot.Marks(x.low, x.high, marksX)
	y.marks, y.low, y.high = plot.Marks(y.low, y.high, marksY)
	y.raise()
	return x, y
}

// raise ends an axis with a mark at or above its largest value.
func (a *axis) raise() {
	n := len(a.marks)
	if n < 2 {
		return
	}
	step := a.marks[1] - a.marks[0]
	if last := a.marks[n-1]; a.high > last+step*1e-9 {
		a.high = last + step
		a.marks = append(a.marks, a.high)
	}
}

// near returns the limits that the chart draws.
func (f *Figure) near() []Limit {
	return slices.DeleteFunc(slices.Clone(f.Limits), func(l Limit) bool { return l.Far })
}

func escape(text string) string { return template.HTMLEscapeString(text) }
