package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"
)

// Chart is one panel of curves over a common axis.
type Chart struct {
	Title  string
	X, Y   string // names of the axes, with their units
	Curves []Curve
	Limits []Limit
}

// Curve is a line through points in the order of X. A NaN in Y leaves a gap.
type Curve struct {
	Name   string
	X, Y   []float64
	Points bool // whether to draw a dot at each point, for curves with few points
}

// Limit is a value of Y that is drawn as a line across the chart.
type Limit struct {
	Name  string
	Value float64
}

// palette contains eight colours that colour-blind readers can tell apart (Okabe and Ito, "Color Universal Design",
// 2008).
var palette = []color.NRGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 180, 233, 255}, {213, 94, 0, 255}, {120, 94, 240, 255}, {60, 60, 60, 255},
}

// WriteCharts draws charts one below the other in a format.
func WriteCharts(w io.Writer, format string, charts []Chart) error {
	c, err := newCanvas(format, max(len(charts), 1))
	if err != nil {
		return err
	}
	for i := range charts {
		drawChart(c, &charts[i], float64(i*panelHeight))
	}
	return c.write(w)
}

// span is a range of an axis with the distance of its marks.
type span struct{ low, high, step float64 }

// scale maps the values of a chart to pixels.
type scale struct {
	x, y                 span
	left, floor, breadth float64
	height               float64
}

// drawChart draws one chart from y on.
func drawChart(c canvas, chart *Chart, y float64) {
	plotW, plotH := float64(width-left-right), float64(panelHeight-top-bottom)
	s := scale{left: left, floor: y + top + plotH, breadth: plotW, height: plotH}
	c.text(left, y+top/2, atStart, ink, chart.Title)
	c.upright(textHeight+textBaseline, y+top+plotH/2, ink, chart.Y)
	c.text(left+plotW/2, s.floor+bottom-textHeight+textBaseline, atMiddle, ink, chart.X)
	var ok bool
	if s.x, s.y, ok = chart.spans(); !ok {
		c.text(left+plotW/2, y+top+plotH/2, atMiddle, ink, "no values")
		return
	}
	s.axes(c)
	for i := range chart.Curves {
		s.curve(c, &chart.Curves[i], palette[i%len(palette)])
		row, column := float64(i/4), float64(i%4)
		c.text(left+plotW-(4-column)*legendWidth, y+top/2+row*textHeight, atStart, palette[i%len(palette)],
			chart.Curves[i].Name)
	}
	for _, l := range chart.Limits {
		at := s.toY(l.Value)
		c.rect(left, at, plotW, 1, marks)
		c.text(left+3, at-3, atStart, marks, fmt.Sprintf("%s %s", l.Name, Number(l.Value)))
	}
}

// legendWidth is the width reserved for the name of a curve, in pixels.
const legendWidth = 120

// axes draws the grid with its numbers.
func (s *scale) axes(c canvas) {
	for _, v := range s.y.marks() {
		c.rect(s.left, s.toY(v), s.breadth, 1, lines)
		c.text(s.left-tick-2, s.toY(v)+textBaseline, atEnd, ink, Number(v))
	}
	c.rect(s.left, s.floor, s.breadth, 1, ink)
	for _, v := range s.x.marks() {
		c.rect(s.toX(v), s.floor, 1, tick, ink)
		c.text(s.toX(v), s.floor+tick+textHeight, atMiddle, ink, Number(v))
	}
}

func (s *scale) toX(v float64) float64 { return s.left + s.breadth*(v-s.x.low)/(s.x.high-s.x.low) }
func (s *scale) toY(v float64) float64 { return s.floor - s.height*(v-s.y.low)/(s.y.high-s.y.low) }

// curve draws the parts between gaps.
func (s *scale) curve(c canvas, line *Curve, ink color.NRGBA) {
	var part [][2]float64
	flush := func() {
		if len(part) == 1 || line.Points {
			for _, p := range part {
				c.rect(p[0]-2, p[1]-2, 4, 4, ink)
			}
		}
		if len(part) > 1 {
			c.line(part, ink)
		}
		part = nil
	}
	for i, v := range line.Y {
		if !finite(v) || !finite(line.X[i]) {
			flush()
			continue
		}
		part = append(part, [2]float64{s.toX(line.X[i]), s.toY(v)})
	}
	flush()
}

// spans returns the ranges of the axes; Y begins at 0 unless a value is below. ok is false if there are no values.
func (c *Chart) spans() (x, y span, ok bool) {
	x, y = span{low: math.Inf(1), high: math.Inf(-1)}, span{}
	for _, l := range c.Limits {
		y.low, y.high = min(y.low, l.Value), max(y.high, l.Value)
	}
	for i := range c.Curves {
		for k, v := range c.Curves[i].Y {
			at := c.Curves[i].X[k]
			if !finite(v) || !finite(at) {
				continue
			}
			x.low, x.high, ok = min(x.low, at), max(x.high, at), true
			y.low, y.high = min(y.low, v), max(y.high, v)
		}
	}
	if !ok {
		return x, y, false
	}
	x.settle(8)
	y.settle(5)
	return x, y, true
}

// settle widens an empty range and chooses the distance of the marks.
func (s *span) settle(parts float64) {
	if s.high <= s.low {
		s.high = s.low + max(1, math.Abs(s.low)/2)
	}
	s.step = math.Pow(10, math.Floor(math.Log10((s.high-s.low)/parts)))
	for _, f := range []float64{1, 2, 5, 10} {
		if s.step*f*parts >= s.high-s.low {
			s.step *= f
			break
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Number returns a short text without the rounding errors of a grid, such as 0.30000000000000004.
func Number(v float64) string {
	if math.Abs(v) < 1e-12 {
		return "0"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// mostMarks is the maximum number of marks, more than settle aims at.
const mostMarks = 20

// Marks returns the round values inside a range that divide it into at most about parts parts, and the range, widened
// if it is empty.
func Marks(low, high, parts float64) (marks []float64, from, to float64) {
	s := span{low: low, high: high}
	s.settle(parts)
	return s.marks(), s.low, s.high
}

func (s *span) marks() []float64 {
	var list []float64
	first := math.Ceil(s.low/s.step - 1e-9)
	for n := range mostMarks { // count the marks, because for very large numbers first+1 equals first
		v := (first + float64(n)) * s.step
		if v > s.high+s.step*1e-9 {
			break
		}
		list = append(list, v)
	}
	return list
}
