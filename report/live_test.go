package report

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLiveChartsHaveEveryValueAndLimit: the page's script gets all limits, near or far, gaps as null, and one group for
// the charts over time, which are zoomed together. The table has the last minute.
func TestLiveChartsHaveEveryValueAndLimit(t *testing.T) {
	charts := LiveCharts{Client: true}
	p := &Live{Title: "t", Figures: charts.Figures()}
	f := &p.Figures[0]
	f.Limits = []Limit{{Name: "far", Value: 1e9}, {Name: "near", Value: 90}}
	for i := range f.Curves {
		f.Curves[i].X, f.Curves[i].Y = nil, nil
		for k := range 100 {
			f.Curves[i].X, f.Curves[i].Y = append(f.Curves[i].X, float64(k)+.5), append(f.Curves[i].Y, float64(k))
		}
		f.Curves[i].Y[98] = math.NaN()
	}
	var page bytes.Buffer
	require.NoError(t, WriteLive(&page, p))
	data := regexp.MustCompile(`(?s)<script type="application/json">(.*?)</script>`).FindAllStringSubmatch(page.String(), -1)
	require.Len(t, data, len(p.Figures))
	for i, text := range data {
		var d chartData
		require.NoError(t, json.Unmarshal([]byte(text[1]), &d))
		require.Zero(t, d.Group, p.Figures[i].ID)
		if i > 0 {
			continue
		}
		require.Equal(t, []limitData{{Name: "far", Value: 1e9}, {Name: "near", Value: 90}}, d.Limits)
		require.Len(t, d.Curves, len(f.Curves))
		for _, c := range d.Curves {
			require.Len(t, c.Y, 100)
			require.Nil(t, c.Y[98])
			require.Equal(t, 99.0, *c.Y[99])
		}
	}
	require.Equal(t, tableRows, strings.Count(page.String(), "<tr><td class=\"number\">"))
	require.Contains(t, page.String(), "<tr><td class=\"number\">40.5</td>")
	require.NotContains(t, page.String(), "<tr><td class=\"number\">39.5</td>")
}
