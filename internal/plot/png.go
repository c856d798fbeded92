package plot

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// pixels is a canvas that draws a PNG image.
type pixels struct{ m *image.NRGBA }

func newPNG(w, h int) *pixels {
	p := &pixels{image.NewNRGBA(image.Rect(0, 0, w, h))}
	p.rect(0, 0, float64(w), float64(h), color.NRGBA{255, 255, 255, 255})
	return p
}

func (p *pixels) rect(x, y, w, h float64, c color.NRGBA) {
	r := image.Rect(int(math.Round(x)), int(math.Round(y)), int(math.Round(x+max(w, 1))), int(math.Round(y+h)))
	draw.Draw(p.m, r, image.NewUniform(c), image.Point{}, draw.Src)
}

func (p *pixels) text(x, y float64, a align, c color.NRGBA, s string) {
	d := font.Drawer{Dst: p.m, Src: image.NewUniform(c), Face: basicfont.Face7x13}
	x -= float64(d.MeasureString(s).Ceil()) * float64(a) / 2
	d.Dot = fixed.P(int(math.Round(x)), int(math.Round(y)))
	d.DrawString(s)
}

// upright draws the text horizontally and rotates it by 90 degrees.
func (p *pixels) upright(x, y float64, c color.NRGBA, s string) {
	long := font.MeasureString(basicfont.Face7x13, s).Ceil()
	lying := &pixels{image.NewNRGBA(image.Rect(0, 0, long, textHeight))}
	lying.text(0, textHeight-textBaseline, atStart, c, s)
	left, low := int(math.Round(x))-textHeight+textBaseline, int(math.Round(y))+long/2
	for i := range long {
		for j := range textHeight {
			if at := lying.m.NRGBAAt(i, j); at.A > 0 {
				p.m.SetNRGBA(left+j, low-i, at)
			}
		}
	}
}

// line sets the pixels along each part, a step of half a pixel apart.
func (p *pixels) line(points [][2]float64, c color.NRGBA) {
	for i := 1; i < len(points); i++ {
		x, y := points[i-1][0], points[i-1][1]
		dx, dy := points[i][0]-x, points[i][1]-y
		steps := math.Ceil(2 * max(math.Abs(dx), math.Abs(dy), 1))
		for n := 0.0; n <= steps; n++ {
			p.m.SetNRGBA(int(math.Round(x+dx*n/steps)), int(math.Round(y+dy*n/steps)), c)
		}
	}
}

func (p *pixels) write(w io.Writer) error { return png.Encode(w, p.m) }
