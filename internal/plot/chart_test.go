package plot

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var charts = []Chart{
	{Title: "tails <p99>", X: "queries/s", Y: "ms",
		Curves: []Curve{
			{Name: "TTFT", X: []float64{1, 2, 3, 4}, Y: []float64{10, math.NaN(), 30, 40}, Points: true},
			{Name: "TPOT & co", X: []float64{1, 4}, Y: []float64{0, 5}},
		},
		Limits: []Limit{{"limit", 50}}},
	{Title: "nothing", X: "s", Y: "1/s", Curves: []Curve{{Name: "a", X: []float64{1}, Y: []float64{math.NaN()}}}},
	{Title: "one point", X: "s", Y: "1/s", Curves: []Curve{{Name: "a", X: []float64{5}, Y: []float64{7}}}},
}

func TestChartsAsSVG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteCharts(&b, SVG, charts))
	text := b.String()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	for _, want := range []string{"tails &lt;p99&gt;", ">limit 50<", ">no values<", "TPOT &amp; co", ">40<",
		`height="900"`} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 2, strings.Count(text, "<polyline"), "the gap splits TTFT into a point and a line")
	// the point of 10 ms out of 50 at the first of four rates, in pixels of the first panel
	require.Contains(t, text, `<rect x="78.0" y="206.0" width="4.0"`)
}

func TestChartsAsPNG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteCharts(&b, PNG, charts))
	image, err := png.Decode(&b)
	require.NoError(t, err)
	coloured := 0
	for x := range width {
		for y := range panelHeight {
			if color.NRGBAModel.Convert(image.At(x, y)) == palette[1] {
				coloured++
			}
		}
	}
	require.Greater(t, coloured, width/2, "the curve across the panel has the second colour")
	require.ErrorContains(t, WriteCharts(&b, "gif", charts), `unknown plot format "gif"`)
}

func TestMarksOfAnAxis(t *testing.T) {
	for _, c := range []struct {
		low, high, parts, step float64
	}{{0, 50, 5, 10}, {0, 0.3, 5, 0.1}, {7, 7, 8, 0.5}, {0, 1e6, 8, 200000}, {-3, 4, 5, 2}} {
		s := span{low: c.low, high: c.high}
		s.settle(c.parts)
		require.InEpsilon(t, c.step, s.step, 1e-9, "%+v", c)
		require.Greater(t, s.high, s.low)
	}
}

// The list of marks must end even for numbers so large that adjacent floating-point numbers are farther apart than the
// marks.
func TestMarksOfHugeNumbers(t *testing.T) {
	marks, low, high := Marks(9e17, 9e17+1024, 6)
	require.LessOrEqual(t, len(marks), mostMarks)
	require.Less(t, low, high)
	marks, _, _ = Marks(0, 50, 5)
	require.Equal(t, []float64{0, 10, 20, 30, 40, 50}, marks)
}
