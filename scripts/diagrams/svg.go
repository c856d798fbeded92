package main

import (
	"fmt"
	"html"
	"strings"
)

// layout is the size of boxes and the distance between their origins, in pixels.
type layout struct{ width, height, dx, dy float64 }

const (
	margin  = 40
	heading = 40 // height of the title
	frame   = 14 // distance between a group's frame and its boxes
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" ` +
	`font-family="Helvetica, Arial, sans-serif" text-anchor="middle">
<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">` +
	`<path d="M0 0L10 5L0 10z" fill="#333"/></marker></defs>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%g" y="28" font-size="18" font-weight="bold">%s</text>
`

func (l layout) at(n node) (x, y float64) { return margin + n.col*l.dx, heading + margin + n.row*l.dy }

// svg draws the diagram: frames, then arrows, then boxes.
func (d *diagram) svg(l layout) (string, error) {
	var right, bottom float64
	for _, n := range d.nodes {
		x, y := l.at(n)
		right, bottom = max(right, x+l.width+margin), max(bottom, y+l.height+margin)
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, right, bottom, right, bottom, right/2, html.EscapeString(d.title))
	for _, g := range d.groups {
		if err := d.drawGroup(&b, l, g); err != nil {
			return "", err
		}
	}
	for _, e := range d.edges {
		if err := d.drawEdge(&b, l, e); err != nil {
			return "", err
		}
	}
	for _, n := range d.nodes {
		drawNode(&b, l, n)
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

func drawNode(b *strings.Builder, l layout, n node) {
	x, y := l.at(n)
	fmt.Fprintf(b, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"6\" fill=\"#eef4fb\" stroke=\"#336\"/>\n",
		x, y, l.width, l.height)
	line := y + l.height/2 + 5
	if n.text != "" {
		line -= 10
		fmt.Fprintf(b, "<text x=\"%g\" y=\"%g\" font-size=\"12\" fill=\"#444\">%s</text>\n", x+l.width/2, line+20,
			html.EscapeString(n.text))
	}
	fmt.Fprintf(b, "<text x=\"%g\" y=\"%g\" font-size=\"14\">%s</text>\n", x+l.width/2, line, html.EscapeString(n.title))
}

func (d *diagram) drawGroup(b *strings.Builder, l layout, g group) error {
	left, top, right, bottom := 1e9, 1e9, 0.0, 0.0
	for _, id := range g.nodes {
		n, err := d.node(id)
		if err != nil {
			return err
		}
		x, y := l.at(n)
		left, top = min(left, x-frame), min(top, y-frame)
		right, bottom = max(right, x+l.width+frame), max(bottom, y+l.height+frame)
	}
	fmt.Fprintf(b, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"8\" fill=\"#f7f7f2\" stroke=\"#999\" "+
		"stroke-dasharray=\"5 4\"/>\n", left, top, right-left, bottom-top)
	fmt.Fprintf(b, "<text x=\"%g\" y=\"%g\" font-size=\"12\" fill=\"#666\" text-anchor=\"end\">%s</text>\n", right-4,
		top-4, html.EscapeString(g.title))
	return nil
}

// drawEdge draws an arrow from the side of one box that faces the other.
func (d *diagram) drawEdge(b *strings.Builder, l layout, e [2]string) error {
	from, err := d.node(e[0])
	if err != nil {
		return err
	}
	to, err := d.node(e[1])
	if err != nil {
		return err
	}
	x1, y1 := l.at(from)
	x2, y2 := l.at(to)
	switch {
	case from.row == to.row && from.col < to.col:
		x1 += l.width
		y1, y2 = y1+l.height/2, y2+l.height/2
	case from.row < to.row:
		middle := (max(x1, x2) + min(x1, x2) + l.width) / 2
		x1, x2, y1 = middle, middle, y1+l.height
	case from.row > to.row:
		middle := (max(x1, x2) + min(x1, x2) + l.width) / 2
		x1, x2, y2 = middle, middle, y2+l.height
	default:
		return fmt.Errorf("edge %s %s: arrows along a row go to the right", e[0], e[1])
	}
	fmt.Fprintf(b, "<path d=\"M%g %gL%g %g\" stroke=\"#333\" stroke-width=\"1.5\" marker-end=\"url(#arrow)\"/>\n",
		x1, y1, x2, y2)
	return nil
}
