package plot

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// box is a drawn rectangle.
type box struct{ x, y, w, h float64 }

// barsOf returns the bars of one panel, as the SVG draws them.
func barsOf(t *testing.T, p Panel) []box {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, SVG, []Panel{p}))
	fill := fmt.Sprintf("#%02x%02x%02x", bars.R, bars.G, bars.B)
	found := regexp.MustCompile(`<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" fill="`+fill+`"`).
		FindAllStringSubmatch(b.String(), -1)
	var list []box
	for _, m := range found {
		var v [4]float64
		for i := range v {
			var err error
			v[i], err = strconv.ParseFloat(m[i+1], 64)
			require.NoError(t, err)
		}
		list = append(list, box{v[0], v[1], v[2], v[3]})
	}
	return list
}

// A panel is 860 by 300 pixels, with 80 left, 20 right, 40 above and 50 below the plot: 760 by 210. The names of marks
// take 13 pixels of the height each, and the top of a histogram 5.
func TestBars(t *testing.T) {
	repeat := func(n, times int) (list []int) {
		for range times {
			list = append(list, n)
		}
		return list
	}
	for name, c := range map[string]struct {
		panel Panel
		want  []box
		every int // index of the last bar, which alone is compared with the first; 0: compare all bars
	}{
		"a histogram leaves a pixel between bars": {
			panel: Panel{Step: 10, Counts: []int{1, 0, 5, 10}},
			want:  []box{{80, 229.5, 189, 20.5}, {270, 250, 189, 0}, {460, 147.5, 189, 102.5}, {650, 45, 189, 205}}},
		"marks lower the bars": {
			panel: Panel{Step: 10, Counts: []int{10, 5}, Marks: []Mark{{"a", 1}, {"b", 2}}},
			want:  []box{{80, 71, 379, 179}, {460, 160.5, 379, 89.5}}},
		"a small count stays visible, and none is not": {
			panel: Panel{Step: 10, Counts: []int{1_000_000, 1, 0, 0}},
			want:  []box{{80, 45, 189, 205}, {270, 249, 189, 1}, {460, 250, 189, 0}, {650, 250, 189, 0}}},
		"many bars have at least half a pixel": {
			panel: Panel{Step: 1, Counts: repeat(1, 760)},
			want:  []box{{80, 45, 0.5, 205}, {839, 45, 0.5, 205}}, every: 759},
		"few words have bars of 90 pixels, amid their share": {
			panel: Panel{Counts: []int{4, 2}, Labels: []string{"stop", "length"}},
			want:  []box{{224.5, 40, 90, 210}, {604.5, 145, 90, 105}}},
		"many words leave an eighth between bars": {
			panel: Panel{Counts: repeat(2, 10), Labels: []string{"a"}},
			want:  []box{{84.2, 40, 66.5, 210}, {768.2, 40, 66.5, 210}}, every: 9},
		"without a step there is nothing to draw": {panel: Panel{Counts: []int{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := barsOf(t, c.panel)
			if c.every > 0 {
				require.Len(t, got, c.every+1)
				got = []box{got[0], got[c.every]}
			}
			require.Equal(t, c.want, got)
		})
	}
}

// art returns the pixels of a canvas as text: # for the colour c, + for another colour, . for white.
func art(p *pixels, c color.NRGBA) string {
	var b strings.Builder
	for y := range p.m.Bounds().Dy() {
		b.WriteByte('\n')
		for x := range p.m.Bounds().Dx() {
			switch p.m.NRGBAAt(x, y) {
			case color.NRGBA{255, 255, 255, 255}:
				b.WriteByte('.')
			case c:
				b.WriteByte('#')
			default:
				b.WriteByte('+')
			}
		}
	}
	return b.String()
}

func TestPixels(t *testing.T) {
	for name, c := range map[string]struct {
		w, h int
		draw func(p *pixels)
		want string
	}{
		"a rectangle is rounded to pixels": {7, 5, func(p *pixels) { p.rect(1.4, 0.6, 3.2, 2.5, ink) }, `
.......
.####..
.####..
.......
.......`},
		"a narrow one is a pixel wide": {5, 3, func(p *pixels) { p.rect(2, 0, 0.1, 3, ink) }, `
..#..
..#..
..#..`},
		"a flat line sets every pixel": {6, 3, func(p *pixels) { p.line([][2]float64{{1, 1}, {4, 1}}, ink) }, `
......
.####.
......`},
		"a line has a pixel in each column": {7, 4, func(p *pixels) { p.line([][2]float64{{0, 0}, {6, 3}}, ink) }, `
##.....
.###...
...###.
.....##`},
		"a steep line has a pixel in each row": {3, 5, func(p *pixels) { p.line([][2]float64{{0, 4}, {1, 0}}, ink) }, `
.#.
.#.
.#.
#..
#..`},
		"a line goes through its points": {7, 3, func(p *pixels) { p.line([][2]float64{{0, 2}, {3, 0}, {6, 2}}, ink) }, `
...##..
.##.##.
##....#`},
		"a point alone is a pixel": {3, 3, func(p *pixels) { p.line([][2]float64{{1, 1}, {1, 1}}, ink) }, `
...
.#.
...`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPNG(c.w, c.h)
			c.draw(p)
			require.Equal(t, c.want, art(p, ink))
		})
	}
}

// extent returns the columns and rows between which a canvas has dark pixels.
func extent(p *pixels) (left, right, top, bottom int) {
	left, top = p.m.Bounds().Dx(), p.m.Bounds().Dy()
	for y := range p.m.Bounds().Dy() {
		for x := range p.m.Bounds().Dx() {
			if p.m.NRGBAAt(x, y).R < 128 {
				left, right, top, bottom = min(left, x), max(right, x), min(top, y), max(bottom, y)
			}
		}
	}
	return left, right, top, bottom
}

// A text of five letters is 35 pixels wide; the letter H fills five of its seven columns and ends at the base line.
func TestPixelsOfTexts(t *testing.T) {
	for a, want := range map[align]int{atStart: 50, atMiddle: 50 - 35/2 - 1, atEnd: 50 - 35} {
		p := newPNG(100, 40)
		p.text(50, 20, a, ink, "HHHHH")
		left, right, top, bottom := extent(p)
		require.InDelta(t, want, left, 1, "alignment %d", a)
		require.InDelta(t, want+34, right, 1, "alignment %d", a)
		require.Equal(t, 19, bottom, "the text stands on its line")
		require.Equal(t, 11, top)
	}
	p := newPNG(40, 100)
	p.upright(20, 50, ink, "HHHHL")
	left, right, top, bottom := extent(p)
	require.InDelta(t, 50-17, top, 2, "centred")
	require.InDelta(t, 50+17, bottom, 2)
	require.Equal(t, 8, right-left, "as wide as letters are high")
	require.InDelta(t, 19, right, 1, "its line is at the right: it reads upward")
	foot := 0 // dark pixels at the foot of the last letter: the L has its stroke along the line
	for y := top; y < top+5; y++ {
		if p.m.NRGBAAt(right, y).R < 128 {
			foot++
		}
	}
	require.Equal(t, 5, foot)
}

// Both formats contain the same drawing: the PNG has its colours where the SVG has its elements.
func TestFormatsAgree(t *testing.T) {
	var b bytes.Buffer
	panel := Panel{Title: "rows", Axis: "tokens", Count: "rows", Low: 60, Step: 100, Counts: []int{3, 17, 0, 5, 1}}
	require.NoError(t, Write(&b, PNG, []Panel{panel}))
	m, err := png.Decode(&b)
	require.NoError(t, err)
	at := func(x, y float64) color.Color { return color.NRGBAModel.Convert(m.At(int(x), int(y))) }
	for _, r := range barsOf(t, panel) {
		if r.h < 2 {
			continue
		}
		require.Equal(t, bars, at(r.x+1, r.y+r.h-2))
		require.Equal(t, bars, at(r.x+r.w-2, r.y+1))
		require.NotEqual(t, bars, at(r.x+r.w+0.9, r.y+r.h-2), "the gap")
		require.NotEqual(t, bars, at(r.x+1, r.y-2), "above")
	}
}

var update = flag.Bool("update", false, "write the drawing in testdata anew")

// The whole drawing of two panels, one below the other: a mark on each side of the last quarter, figures and labels.
func TestTheDrawing(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, SVG, []Panel{
		{Title: "input", Axis: "tokens", Count: "rows", Low: 60, Step: 100, Counts: []int{3, 17, 0, 5, 1},
			Marks: []Mark{{"median", 190}, {"p99", 455}}},
		{Title: "ends", Axis: "reason", Count: "answers", Counts: []int{7, 2}, Labels: []string{"stop", "length"}},
	}))
	if *update {
		require.NoError(t, os.WriteFile("testdata/panels.svg", b.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/panels.svg")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "if it should look so: go test ./internal/plot -update")
}
