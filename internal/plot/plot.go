package plot

import (
	"fmt"
	"image/color"
	"io"
	"slices"
	"strconv"
)

// Formats of Write.
const (
	SVG = "svg"
	PNG = "png"
)

// Panel is one histogram: Counts[i] values lie from Low+i*Step to below Low+(i+1)*Step.
type Panel struct {
	Title  string
	Axis   string // name of the values, with their unit
	Count  string // name of the counted things
	Low    int
	Step   int
	Counts []int
	Marks  []Mark
	Scale  float64  // divisor of the values for the figures at the axis; 0: 1
	Labels []string // names of the bins, for counts of words; they replace Low, Step and Scale
}

// figure returns a value as the axis shows it.
func (p *Panel) figure(v int) string {
	if p.Scale == 0 {
		return strconv.Itoa(v)
	}
	return strconv.FormatFloat(float64(v)/p.Scale, 'f', -1, 64)
}

// Mark is a value with a name, drawn as a line.
type Mark struct {
	Name  string
	Value int
}

// Measures of the drawing, in pixels.
const (
	width, panelHeight             = 860, 300
	left, right, top, bottom       = 80, 20, 40, 50
	tick, textHeight, textBaseline = 5, 13, 4
	letterWidth, widestBar         = 7, 90
)

var (
	ink   = color.NRGBA{40, 40, 40, 255}
	bars  = color.NRGBA{70, 110, 170, 255}
	lines = color.NRGBA{220, 220, 220, 255}
	marks = color.NRGBA{190, 70, 50, 255}
)

// align selects the part of a text that is placed at its coordinates.
type align int

const (
	atStart align = iota
	atMiddle
	atEnd
)

// canvas is a surface on which panels are drawn.
type canvas interface {
	rect(x, y, w, h float64, c color.NRGBA)
	text(x, y float64, a align, c color.NRGBA, s string)
	upright(x, y float64, c color.NRGBA, s string) // writes a text rotated to read upward, centered at y
	line(points [][2]float64, c color.NRGBA)       // draws a line through two or more points
	write(w io.Writer) error
}

// Write draws the panels in a format.
func Write(w io.Writer, format string, panels []Panel) error {
	c, err := newCanvas(format, max(len(panels), 1))
	if err != nil {
		return err
	}
	for i := range panels {
		drawPanel(c, &panels[i], float64(i*panelHeight))
	}
	return c.write(w)
}

// newCanvas returns an empty canvas with room for a number of panels.
func newCanvas(format string, panels int) (canvas, error) {
	switch format {
	case SVG:
		return newSVG(width, panels*panelHeight), nil
	case PNG:
		return newPNG(width, panels*panelHeight), nil
	}
	return nil, fmt.Errorf("unknown plot format %q; use %s or %s", format, SVG, PNG)
}

// drawPanel draws one panel from y on.
func drawPanel(c canvas, p *Panel, y float64) {
	plotW, plotH := float64(width-left-right), float64(panelHeight-top-bottom)
	floor := y + top + plotH
	c.text(left, y+top/2, atStart, ink, p.Title)
	c.upright(textHeight+textBaseline, y+top+plotH/2, ink, p.Count)
	c.text(left+plotW/2, floor+bottom-textHeight+textBaseline, atMiddle, ink, p.Axis)
	if len(p.Counts) == 0 || p.Step < 1 && len(p.Labels) == 0 {
		c.text(left+plotW/2, y+top+plotH/2, atMiddle, ink, "no values")
		return
	}
	most := slices.Max(p.Counts)
	barH := plotH // height of the highest bar; the names of the marks are above it
	if len(p.Labels) == 0 {
		barH -= float64(textHeight*len(p.Marks)) + tick
	}
	grid := niceStep(most, 5)
	for v := 0; v <= most; v += grid {
		at := floor - barH*float64(v)/float64(max(most, 1))
		c.rect(left, at, plotW, 1, lines)
		c.text(left-tick-2, at+textBaseline, atEnd, ink, strconv.Itoa(v))
	}
	bar := plotW / float64(len(p.Counts))
	gap := 1.0
	if len(p.Labels) > 0 {
		gap = max(bar-widestBar, bar/8)
	}
	for i, n := range p.Counts {
		h := barH * float64(n) / float64(max(most, 1))
		if n > 0 {
			h = max(h, 1) // keep small counts visible
		}
		c.rect(left+float64(i)*bar+(gap-1)/2, floor-h, max(bar-gap, 0.5), h, bars)
	}
	c.rect(left, floor, plotW, 1, ink)
	if len(p.Labels) > 0 {
		for i := range p.Counts {
			c.text(left+(float64(i)+0.5)*bar, floor+tick+textHeight, atMiddle, ink, p.label(i, bar))
		}
		return
	}
	span := p.Step * len(p.Counts)
	x := func(v int) float64 { return left + plotW*float64(v-p.Low)/float64(span) }
	for v := roundUp(p.Low, niceStep(span, 8)); v <= p.Low+span; v += niceStep(span, 8) {
		c.rect(x(v), floor, 1, tick, ink)
		c.text(x(v), floor+tick+textHeight, atMiddle, ink, p.figure(v))
	}
	for i, m := range p.Marks {
		c.rect(x(m.Value), y+top, 1, plotH, marks)
		at, a := beside(x(m.Value))
		c.text(at, y+top+float64((i+1)*textHeight), a, marks, m.Name+" "+p.figure(m.Value))
	}
}

// label returns the name of a bin, cut to the width of its bar.
func (p *Panel) label(i int, bar float64) string {
	if i >= len(p.Labels) {
		return ""
	}
	name := []rune(p.Labels[i])
	if most := max(int(bar/letterWidth)-1, 1); len(name) > most {
		return string(name[:most]) + ".."
	}
	return string(name)
}

// beside returns the place of a mark's name: right of its line, or left of it near the edge.
func beside(x float64) (float64, align) {
	if x > width*3/4 {
		return x - 3, atEnd
	}
	return x + 3, atStart
}

// niceStep returns the smallest of 1, 2, 5, 10, 20, ... that divides a span into at most the given number of parts.
func niceStep(span, parts int) int {
	for ten := 1; ; ten *= 10 {
		for _, f := range []int{1, 2, 5} {
			if f*ten*parts >= span || ten > 1<<50 {
				return f * ten
			}
		}
	}
}

// roundUp returns the smallest multiple of step that is at least v.
func roundUp(v, step int) int { return (v + step - 1) / step * step }
