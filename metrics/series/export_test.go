package series

import (
	"bytes"
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

func exported(t *testing.T, format string) string {
	t.Helper()
	known := []exposition.Series{
		{Name: "tokens_total", Family: "tokens_total", Kind: exposition.Counter, Labels: map[string]string{"m": "a\"b\n,"}},
		{Name: "lat_bucket", Family: "lat", Kind: exposition.Histogram, Labels: map[string]string{"le": "+Inf"}},
		{Name: "old", Family: "old", Kind: exposition.Counter},
	}
	set := record(t, t.TempDir(), 1, []scrape{
		{known, []float64{1, 2, 3}, nil}, {known, nil, errors.New("gone")}, {known, []float64{1.5, nan, 3}, nil},
	})
	var b bytes.Buffer
	require.NoError(t, Export(&b, format, set))
	return b.String()
}

func TestExportCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(exported(t, CSV))).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"time", "elapsed_s", "target", "name", "kind", "labels", "value"},
		{"2026-01-02T03:04:05Z", "0", "http://a", "tokens_total", "counter", `{"m":"a\"b\n,"}`, "1"},
		{"2026-01-02T03:04:07Z", "2", "http://a", "tokens_total", "counter", `{"m":"a\"b\n,"}`, "1.5"},
		{"2026-01-02T03:04:05Z", "0", "http://a", "lat_bucket", "histogram", `{"le":"+Inf"}`, "2"},
		{"2026-01-02T03:04:05Z", "0", "http://a", "old", "counter", "null", "3"},
		{"2026-01-02T03:04:07Z", "2", "http://a", "old", "counter", "null", "3"},
	}, rows)
}

func TestExportJSON(t *testing.T) {
	lines := strings.Split(exported(t, JSON), "\n")
	require.Len(t, lines, 4)
	require.JSONEq(t, `{"target":"http://a","name":"tokens_total","kind":"counter","labels":{"m":"a\"b\n,"},
		"t_s":[0,2],"values":[1,1.5]}`, lines[0])
}

func TestExportOpenMetrics(t *testing.T) {
	text := exported(t, OpenMetrics)
	require.Equal(t, `# TYPE lat histogram
lat_bucket{target="http://a",le="+Inf"} 2 1767323045.000
# TYPE old unknown
old{target="http://a"} 3 1767323045.000
old{target="http://a"} 3 1767323047.000
# TYPE tokens counter
tokens_total{target="http://a",m="a\"b\n,"} 1 1767323045.000
tokens_total{target="http://a",m="a\"b\n,"} 1.5 1767323047.000
# EOF
`, text)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	_, err := parser.TextToMetricFamilies(strings.NewReader("a{target=\"http://a\",m=\"a\\\"b\\n,\"} 1\n"))
	require.NoError(t, err, "the escapes are those of the format")
}

func TestExportRejectsOtherFormats(t *testing.T) {
	require.ErrorContains(t, Export(&bytes.Buffer{}, "xml", &Set{}), `unknown format "xml"; use csv, json, openmetrics`)
}

// brief accepts a number of bytes and then fails.
type brief struct{ left int }

var errFull = errors.New("the disk is full")

func (b *brief) Write(p []byte) (int, error) {
	if b.left < len(p) {
		return 0, errFull
	}
	b.left -= len(p)
	return len(p), nil
}

// An export that is not written completely is an error, wherever it stops.
func TestInterruptedExports(t *testing.T) {
	known := []exposition.Series{{Name: "a_total", Family: "a_total", Kind: exposition.Counter},
		{Name: "b", Family: "b", Kind: exposition.Gauge}}
	values := make([]float64, len(known))
	set := record(t, t.TempDir(), 1, slices.Repeat([]scrape{{known, values, nil}}, 600)) // more than the buffer's size
	for _, format := range []string{CSV, JSON, OpenMetrics} {
		var whole bytes.Buffer
		require.NoError(t, Export(&whole, format, set))
		require.Greater(t, whole.Len(), 4096)
		for _, left := range []int{0, 1, 4095, 4096, 8192, whole.Len() - 1} {
			if left < whole.Len() {
				require.ErrorIs(t, Export(&brief{left}, format, set), errFull, "%s after %d bytes", format, left)
			}
		}
		require.NoError(t, Export(&brief{whole.Len()}, format, set))
	}
	set.Series[1].Values[599] = math.Inf(1)
	require.ErrorContains(t, Export(&bytes.Buffer{}, JSON, set), "+Inf")
}
