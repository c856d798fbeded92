package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
)

// svg is a canvas that writes SVG elements.
type svg struct{ b bytes.Buffer }

func newSVG(w, h int) *svg {
	s := &svg{}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`+"\n", w, h, w, h)
	s.rect(0, 0, float64(w), float64(h), color.NRGBA{255, 255, 255, 255})
	return s
}

func (s *svg) rect(x, y, w, h float64, c color.NRGBA) {
	fmt.Fprintf(&s.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#%02x%02x%02x"/>`+"\n", x, y, w, h, c.R,
		c.G, c.B)
}

func (s *svg) text(x, y float64, a align, c color.NRGBA, text string) {
	fmt.Fprintf(&s.b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="#%02x%02x%02x">`, x, y,
		[...]string{"start", "middle", "end"}[a], c.R, c.G, c.B)
	_ = xml.EscapeText(&s.b, []byte(text)) // into memory
	s.b.WriteString("</text>\n")
}

func (s *svg) upright(x, y float64, c color.NRGBA, text string) {
	fmt.Fprintf(&s.b, `<text x="%.1f" y="%.1f" text-anchor="middle" transform="rotate(-90 %.1f %.1f)" `+
		`fill="#%02x%02x%02x">`, x, y, x, y, c.R, c.G, c.B)
	_ = xml.EscapeText(&s.b, []byte(text)) // into memory
	s.b.WriteString("</text>\n")
}

func (s *svg) line(points [][2]float64, c color.NRGBA) {
	s.b.WriteString(`<polyline fill="none" stroke-width="1.5" points="`)
	for _, p := range points {
		fmt.Fprintf(&s.b, "%.1f,%.1f ", p[0], p[1])
	}
	fmt.Fprintf(&s.b, `" stroke="#%02x%02x%02x"/>`+"\n", c.R, c.G, c.B)
}

func (s *svg) write(w io.Writer) error {
	s.b.WriteString("</svg>\n")
	_, err := w.Write(s.b.Bytes())
	return err
}
