package plot

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var panels = []Panel{
	{Title: "prompts <of> a set", Axis: "tokens", Count: "rows", Low: 60, Step: 100, Counts: []int{3, 17, 0, 5, 1},
		Marks: []Mark{{"median", 190}, {"p99", 555}}},
	{Title: "none", Axis: "bytes"},
	{Title: "one", Axis: "words", Low: 7, Step: 1, Counts: []int{1}},
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, SVG, panels))
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		_, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	text := b.String()
	for _, want := range []string{"prompts &lt;of&gt; a set", ">median 190<", ">p99 555<", ">no values<", `height="900"`} {
		require.Contains(t, text, want)
	}
	require.Contains(t, text, `transform="rotate(-90 17.0 145.0)" fill="#282828">rows<`)
	require.Regexp(t, `<text x="460.0" y="445.0" text-anchor="middle"[^>]*>no values<`, text, "amid the second panel")
	require.Equal(t, 6, strings.Count(text, `fill="#466eaa"`), "a bar for each range of the first and the last panel")
}

// A scale changes the figures but not the drawing. Labels replace the figures and are cut to the width of their bars.
func TestScaleAndLabels(t *testing.T) {
	draw := func(format string, p ...Panel) string {
		var b bytes.Buffer
		require.NoError(t, Write(&b, format, p))
		return b.String()
	}
	ratios := Panel{Title: "ratio", Axis: "output/input", Count: "rows", Low: 0, Step: 50, Counts: []int{1, 5, 2, 1},
		Marks: []Mark{{"median", 125}}, Scale: 1000}
	text := draw(SVG, ratios)
	for _, want := range []string{">median 0.125<", ">0.05<", ">0.15<"} {
		require.Contains(t, text, want)
	}
	reasons := Panel{Title: "finish reasons", Count: "answers", Counts: []int{90, 7, 3},
		Labels: []string{"stop", "<length>", strings.Repeat("very long ", 10)}}
	text = draw(SVG, reasons)
	for _, want := range []string{">stop<", ">&lt;length&gt;<", ">very long very long very long very ..<"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 3, strings.Count(text, `fill="#466eaa"`))
	require.NotEmpty(t, draw(PNG, ratios, reasons))
	reasons.Labels = reasons.Labels[:2]
	require.NotContains(t, draw(SVG, reasons), "very long", "a missing label is empty")
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, PNG, panels))
	m, err := png.Decode(&b)
	require.NoError(t, err)
	require.Equal(t, width, m.Bounds().Dx())
	require.Equal(t, 3*panelHeight, m.Bounds().Dy())
	label := 0 // dark pixels left of the first panel's figures, which begin 7 pixels before the axis
	for y := range panelHeight {
		for x := range left / 2 {
			if color.NRGBAModel.Convert(m.At(x, y)) == ink {
				label++
			}
		}
	}
	require.Greater(t, label, 20, "what is counted stands at the axis")
	blue, red := 0, 0
	for y := range panelHeight {
		for x := range width {
			switch color.NRGBAModel.Convert(m.At(x, y)) {
			case bars:
				blue++
			case marks:
				red++
			}
		}
	}
	require.Greater(t, blue, 10_000)
	require.Greater(t, red, 2*(panelHeight-top-bottom)-10)
}

func TestOtherFormats(t *testing.T) {
	require.ErrorContains(t, Write(io.Discard, "gif", panels), "use svg or png")
}

func TestSteps(t *testing.T) {
	for _, c := range [][3]int{{0, 5, 1}, {4, 5, 1}, {6, 5, 2}, {99, 5, 20}, {101, 5, 50}, {13368, 8, 2000}} {
		require.Equal(t, c[2], niceStep(c[0], c[1]), c)
	}
	require.Equal(t, 200, roundUp(101, 100))
}
