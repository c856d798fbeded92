package series

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
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

// TestOpenMetricsOfRecordedPages exports the pages of real servers. The two servers of a set have groups of their own.
func TestOpenMetricsOfRecordedPages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "wire-real"), "*metrics*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		_, page, ok := bytes.Cut(data, []byte("\r\n\r\n"))
		require.True(t, ok)
		parser := exposition.NewParser()
		values, err := parser.Parse(append(bytes.TrimSpace(page), '\n'))
		require.NoError(t, err)
		values = slices.Clone(values)
		known := parser.Series()
		var b bytes.Buffer
		set := record(t, t.TempDir(), 2, slices.Repeat([]scrape{{known, values, nil}}, 6))
		require.NoError(t, Export(&b, OpenMetrics, set))
		require.Equal(t, 6*len(known), requireOpenMetrics(t, b.String()), filepath.Base(file))
	}
}

func TestOpenMetricsLeavesOutIncompleteTimes(t *testing.T) {
	part := func(name, le string) exposition.Series {
		s := exposition.Series{Name: name, Family: "x", Kind: exposition.Histogram}
		if le != "" {
			s.Labels = map[string]string{"le": le}
		}
		return s
	}
	known := []exposition.Series{part("x_bucket", "10"), part("x_bucket", "1"), part("x_count", ""), part("x_sum", ""),
		part("x_bucket", "+Inf"), gauge("x_created"), gauge("a"),
		{Name: "a_total", Family: "a_total", Kind: exposition.Counter, Labels: map[string]string{"target": "t"}}}
	set := record(t, t.TempDir(), 1, []scrape{
		{known, []float64{2, 1, 3, 9, nan, 7, 1, nan}, nil}, // no +Inf
		{known, []float64{2, 1, 4, 9, 3, 7, nan, 1}, nil},   // the count is newer
		{known, []float64{2, 3, 3, 9, 3, 7, nan, 1}, nil},   // so is a bucket
		{known, []float64{2, 1, 3, nan, 3, 7, nan, 1}, nil}, // no sum
		{known, []float64{2, 1, 3, 9, 3, 7, nan, nan}, nil},
		{known, []float64{nan, nan, nan, nan, nan, 7, nan, nan}, nil},
	})
	set.Scrapes[0].TimesS[2] = set.Scrapes[0].TimesS[1] // a clock that stood still
	var b bytes.Buffer
	require.NoError(t, Export(&b, OpenMetrics, set))
	require.Equal(t, `# TYPE a gauge
a{target="http://a"} 1 1767323045.000
# TYPE a_total unknown
a_total{target="http://a",exported_target="t"} 1 1767323046.000
a_total{target="http://a",exported_target="t"} 1 1767323048.000
# TYPE x histogram
x_bucket{target="http://a",le="1.0"} 1 1767323049.000
x_bucket{target="http://a",le="10.0"} 2 1767323049.000
x_bucket{target="http://a",le="+Inf"} 3 1767323049.000
x_sum{target="http://a"} 9 1767323049.000
x_count{target="http://a"} 3 1767323049.000
x_created{target="http://a"} 7 1767323049.000
# EOF
`, b.String())
	requireOpenMetrics(t, b.String())
}

// The quantiles of a summary are written together and by size, before its sum and count. Labels of these names belong
// to the group in families of other kinds.
func TestOpenMetricsOfASummary(t *testing.T) {
	part := func(name, key, value string) exposition.Series {
		s := exposition.Series{Name: name, Family: "x", Kind: exposition.Summary}
		if key != "" {
			s.Labels = map[string]string{key: value}
		}
		return s
	}
	labelled := gauge("g")
	labelled.Labels = map[string]string{"le": "1", "quantile": "2"}
	known := []exposition.Series{part("x_count", "", ""), part("x", "quantile", "0.99"), part("x_sum", "", ""),
		part("x", "quantile", "1"), part("x", "quantile", "0.5"), labelled, part("x", "le", "3"),
		part("x_sum", "quantile", "0.5")}
	set := record(t, t.TempDir(), 1, []scrape{
		{known, []float64{1, 2, 3, 4, 5, 6, 7, 8}, nil}, {known, []float64{9, nan, 9, nan, 7, nan, nan, nan}, nil},
	})
	var b bytes.Buffer
	require.NoError(t, Export(&b, OpenMetrics, set))
	require.Equal(t, `# TYPE g gauge
g{target="http://a",le="1",quantile="2"} 6 1767323045.000
# TYPE x summary
x{target="http://a",quantile="0.5"} 5 1767323045.000
x{target="http://a",quantile="0.99"} 2 1767323045.000
x{target="http://a",quantile="1.0"} 4 1767323045.000
x_sum{target="http://a"} 3 1767323045.000
x_count{target="http://a"} 1 1767323045.000
x{target="http://a",quantile="0.5"} 7 1767323046.000
x_sum{target="http://a"} 9 1767323046.000
x_count{target="http://a"} 9 1767323046.000
x{target="http://a",le="3"} 7 1767323045.000
x_sum{target="http://a",quantile="0.5"} 8 1767323045.000
# EOF
`, b.String())
}

var (
	sampleLine = regexp.MustCompile(`^([^{ ]+)\{(.*)\} (\S+) (\d+\.\d{3})$`)
	boundLabel = regexp.MustCompile(`,(?:le|quantile)="([^"]*)"$`)
)

// requireOpenMetrics checks the rules of order: names once, groups together, times that grow, complete histograms.
// It returns the number of samples.
func requireOpenMetrics(t *testing.T, text string) (samples int) {
	t.Helper()
	body, ok := strings.CutSuffix(text, "# EOF\n")
	require.True(t, ok)
	seen := map[string]bool{}
	once := func(key string) { require.False(t, seen[key], key); seen[key] = true }
	family, kind, group, at, bucket, bound := "", "", "", 0.0, -1.0, ""
	for line := range strings.Lines(body) {
		if _, err := fmt.Sscanf(line, "# TYPE %s %s\n", &family, &kind); err == nil {
			once("family " + family)
			group = ""
			continue
		}
		m := sampleLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		require.NotNil(t, m, line)
		samples++
		once(m[1] + m[2] + m[4])
		time, err := strconv.ParseFloat(m[4], 64)
		require.NoError(t, err, line)
		labels := boundLabel.ReplaceAllString(m[2], "")
		if labels != group {
			once("group " + family + labels)
			group, at = labels, 0
		}
		require.GreaterOrEqual(t, time, at, line)
		if kind != "histogram" {
			at = time
			continue
		}
		if time > at {
			require.Contains(t, m[1], "_bucket", line)
			at, bucket = time, -1
		}
		value, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err, line)
		switch strings.TrimPrefix(m[1], family) {
		case "_bucket":
			require.GreaterOrEqual(t, value, bucket, line)
			bucket, bound = value, boundLabel.FindStringSubmatch(m[2])[1]
		case "_count":
			require.Equal(t, "+Inf", bound, line)
			require.Equal(t, bucket, value, line)
		}
	}
	return samples
}
