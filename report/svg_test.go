package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// labelled returns the places of marks by their texts. pattern matches a place and a text.
func labelled(t *testing.T, svg, pattern string) map[string]float64 {
	t.Helper()
	places := map[string]float64{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(svg, -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		places[m[2]] = v
	}
	return places
}

// A limit is drawn unless it is far above every value.
func TestFarLimitsAreMarked(t *testing.T) {
	f := Figure{Curves: []Curve{{Y: []float64{1, math.NaN(), 3, 2}}, {Y: []float64{2}}},
		Limits: []Limit{{Value: farAbove * 3}, {Value: farAbove*3 + .1}}}
	f.markFar()
	require.Equal(t, []bool{false, true}, []bool{f.Limits[0].Far, f.Limits[1].Far})
}

// A limit's name contains its value, and states if the limit is not in the chart.
func TestNamesOfLimits(t *testing.T) {
	f := Figure{X: "queries in flight in 1000", Y: "ms", Curves: []Curve{{X: []float64{1, 2, 9},
		Y: []float64{5, 4, math.NaN()}}}, Limits: []Limit{{Name: "a", Value: 6}, {Name: "b", Value: farAbove*5 + 1},
		{Name: "c", Value: 3, OnX: true}, {Name: "d", Value: farAbove*2 + 1, OnX: true}}}
	f.nameLimits()
	var names []string
	for _, l := range f.Limits {
		names = append(names, l.Name)
	}
	require.Equal(t, []string{"a 6 ms", "b " + short(farAbove*5+1) + " ms, above the chart", "c 3 1000",
		"d " + short(farAbove*2+1) + " 1000, to the right of the chart"}, names)
	f.Time, f.Limits = true, []Limit{{Name: "e", Value: 1, OnX: true}}
	f.nameLimits()
	require.Equal(t, "e 1 s", f.Limits[0].Name)
}

// The percentiles of a bin are those of its own requests, in whatever order these came.
func TestPercentilesOfBins(t *testing.T) {
	l := &timeline{bins: 2, endS: 10}
	entries := make([]ledger.Entry, 6)
	for i, due := range []float64{1, 2, 3, 4, 6, 9} {
		entries[i].DoneNS = []int64{50, 10, 40, 20, 8, -1}[i]
		l.samples = append(l.samples, sample{&entries[i], int64(due * 1e9)})
	}
	took := func(of *times) float64 { return math.NaN() }
	for _, line := range l.percentiles(took, .5) {
		require.True(t, math.IsNaN(line[0]) && math.IsNaN(line[1]))
	}
	i := -1
	took = func(*times) float64 {
		if i++; entries[i].DoneNS < 0 {
			return math.NaN()
		}
		return float64(entries[i].DoneNS)
	}
	require.Equal(t, [][]float64{{40, 8}, {50, 8}}, l.percentiles(took, .5, 1))
}

// Values, marks and limits share one scale. It begins at the lower left, larger values are further up or right, and
// everything is inside the axes. A missing value leaves a gap.
func TestFiguresAreDrawnToScale(t *testing.T) {
	f := Figure{X: "<s>", Y: "a & b", Curves: []Curve{
		{Name: "a", X: []float64{0, 10, 20, 30, 40}, Y: []float64{0, 100, math.NaN(), 50, 25}},
		{Name: "b", X: []float64{20}, Y: []float64{20}},
	}, Limits: []Limit{{Value: 75}, {Value: 30, OnX: true}, {Value: 1e6, Far: true}, {Value: 1e6, OnX: true, Far: true}}}
	svg := string(f.SVG())
	xs := labelled(t, svg, `class="tick" d="M([\d.]+) [^/]*/><text[^>]*>([^<]*)<`)
	ys := labelled(t, svg, `class="grid" d="M76 ([\d.]+)H508"/><text[^>]*>([^<]*)<`)
	require.Equal(t, map[string]float64{"0": 76, "10": 184, "20": 292, "30": 400, "40": 508}, xs)
	require.Equal(t, map[string]float64{"0": 216, "20": 175.2, "40": 134.4, "60": 93.6, "80": 52.8, "100": 12}, ys)
	require.Contains(t, svg, `class="curve c0" d="M76.0 216.0h.01L184.0 12.0M400.0 114.0h.01L508.0 165.0"`)
	require.Contains(t, svg, `class="curve c1" d="M292.0 175.2h.01"`)
	require.Contains(t, svg, `class="limit" d="M76 63.0H508"`)
	require.Contains(t, svg, `class="limit" d="M400.0 12V216.0"`)
	require.Equal(t, 2, strings.Count(svg, `class="limit"`), "the others are too far away")
	require.Contains(t, svg, ">&lt;s&gt;</text>")
	require.Contains(t, svg, ">a &amp; b</text>")

	f.Curves = f.Curves[1:]
	f.Time, f.Limits = true, []Limit{{Value: 200}, {Value: 40, OnX: true}}
	svg = string(f.SVG())
	xs = labelled(t, svg, `class="tick" d="M([\d.]+) [^/]*/><text[^>]*>([^<]*)<`)
	require.NotContains(t, xs, "0", "a time begins where its values do")
	require.Contains(t, xs, "40", "a limit has its place inside")
	ys = labelled(t, svg, `class="grid" d="M76 ([\d.]+)H508"/><text[^>]*>([^<]*)<`)
	require.Contains(t, ys, "200")
}

// The highest mark is at or above the values, and charts over time have the same range.
func TestAxesEndAboveTheValues(t *testing.T) {
	f := Figure{Time: true, From: -1, To: 12, Curves: []Curve{{X: []float64{2, 3}, Y: []float64{5.3, 5.2}}}}
	x, y := f.axes()
	require.Equal(t, []float64{-1, 12}, []float64{x.low, x.high})
	require.Equal(t, 6.0, y.high)
	require.Equal(t, 6.0, y.marks[len(y.marks)-1])

	list := []Figure{{Time: true, Curves: []Curve{{X: []float64{-1, 3}}}}, {Curves: []Curve{{X: []float64{99}}}},
		{Time: true, Curves: []Curve{{X: []float64{2, 4}}}, Limits: []Limit{{Value: 5, OnX: true}, {Value: 50}}}}
	shareTime(list)
	for _, i := range []int{0, 2} {
		require.Equal(t, []float64{-1, 5}, []float64{list[i].From, list[i].To})
	}
	require.Zero(t, list[1].To)
}

// The highest number in flight includes bursts within a bin and requests from earlier bins.
func TestHighestInFlight(t *testing.T) {
	l := &timeline{bins: 4, endS: 4}
	for _, at := range [][2]int64{{100, 1800}, {200, 300}, {210, 310}, {2100, 0}} { // times in ms; 0: no end
		l.samples = append(l.samples, sample{entry: &ledger.Entry{IssuedNS: at[0] * 1e6, DoneNS: at[1] * 1e6}})
	}
	require.Equal(t, []float64{3, 1, 1, 1}, l.inFlight())
}

func TestRoundedAndPercent(t *testing.T) {
	for v, want := range map[float64]string{0.96291: "0.963", 8.978: "8.98", 1234.4: "1234", 2: "2", 100: "100"} {
		require.Equal(t, want, rounded(v))
	}
	for v, want := range map[float64]string{0: "0 %", 0.00004566: "less than 0.1 %", 0.9881: "98.8 %", 0.41: "41 %"} {
		require.Equal(t, want, percent(v))
	}
}

// The last mark may be at the right end of an axis, and its number is centred below it.
func TestTheLastMarkHasRoom(t *testing.T) {
	f := Figure{ID: "one", Curves: []Curve{{X: []float64{0, .015}, Y: []float64{1, 2}}}}
	xs := labelled(t, string(f.SVG()), `class="tick" d="M([\d.]+) [^/]*/><text[^>]*>([^<]*)<`)
	const digitW = 8 // at most, in units of the view box
	require.Contains(t, xs, "0.015")
	for text, x := range xs {
		require.LessOrEqual(t, x+float64(len(text)*digitW)/2, float64(chartW), text)
	}
}
