package exposition

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// page is written like vLLM's, with all blanks, escapes and time stamps that the format allows.
const page = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a \"b\" {c} d\\"} 3.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 1.5e+06 1700000000000
# TYPE vllm:ttft_seconds histogram
vllm:ttft_seconds_bucket{engine="0",le="0.1"} 2
vllm:ttft_seconds_bucket{engine="0",le="+Inf"} 5
vllm:ttft_seconds_sum{engine="0"} 0.75
vllm:ttft_seconds_count{engine="0"} 5
# TYPE go_gc_seconds summary
go_gc_seconds{quantile="0.5"} NaN
go_gc_seconds_sum 0.01

plain 7
`

func TestParseReadsNamesKindsAndLabels(t *testing.T) {
	p := NewParser()
	values, err := p.Parse([]byte(page))
	require.NoError(t, err)
	want := []struct {
		s          Series
		v          float64
		cumulative bool
	}{
		{Series{"vllm:num_requests_running", "vllm:num_requests_running", Gauge,
			map[string]string{"engine": "0", "model_name": `a "b" {c} d\`}}, 3, false},
		{Series{"vllm:generation_tokens_total", "vllm:generation_tokens_total", Counter,
			map[string]string{"engine": "0", "model_name": "m"}}, 1.5e6, true},
		{Series{"vllm:ttft_seconds_bucket", "vllm:ttft_seconds", Histogram,
			map[string]string{"engine": "0", "le": "0.1"}}, 2, true},
		{Series{"vllm:ttft_seconds_bucket", "vllm:ttft_seconds", Histogram,
			map[string]string{"engine": "0", "le": "+Inf"}}, 5, true},
		{Series{"vllm:ttft_seconds_sum", "vllm:ttft_seconds", Histogram, map[string]string{"engine": "0"}}, 0.75, true},
		{Series{"vllm:ttft_seconds_count", "vllm:ttft_seconds", Histogram, map[string]string{"engine": "0"}}, 5, true},
		{Series{"go_gc_seconds", "go_gc_seconds", Summary, map[string]string{"quantile": "0.5"}}, math.NaN(), false},
		{Series{"go_gc_seconds_sum", "go_gc_seconds", Summary, nil}, 0.01, true},
		{Series{"plain", "plain", Untyped, nil}, 7, false},
	}
	require.Len(t, p.Series(), len(want))
	for i, w := range want {
		require.Equal(t, w.s, p.Series()[i])
		require.Equal(t, w.cumulative, p.Series()[i].Cumulative(), w.s.Name)
		require.True(t, values[i] == w.v || math.IsNaN(w.v) && math.IsNaN(values[i]), "%s: %v", w.s.Name, values[i])
	}
}

func TestParseFollowsSeriesOverPages(t *testing.T) {
	p := NewParser()
	_, err := p.Parse([]byte("a{x=\"1\",y=\"2\"} 1\nb 2\n"))
	require.NoError(t, err)
	values, err := p.Parse([]byte("c 5\na{y=\"2\",x=\"1\"} 4\n"))
	require.NoError(t, err)
	require.Len(t, p.Series(), 3, "labels in another order are the same series")
	require.Equal(t, 4.0, values[0])
	require.True(t, math.IsNaN(values[1]), "b is absent from the second page")
	require.Equal(t, 5.0, values[2])
}

// The page declares the kind of a series where the series first appears. Later declarations do not change it.
func TestParseFollowsKindsOverPages(t *testing.T) {
	p := NewParser()
	for _, text := range []string{"# TYPE a counter\na 1\n", "# TYPE a counter\na 2\n", "# TYPE b gauge\nb 1\nc 1\n",
		"# TYPE b gauge\nb 1\n# TYPE c histogram\nc_sum 1\n", "# TYPE d counter\nd 1\n# TYPE c gauge\nc{x=\"1\"} 1\n"} {
		_, err := p.Parse([]byte(text))
		require.NoError(t, err)
	}
	kinds := map[string]Kind{}
	for _, s := range p.Series() {
		kinds[s.Name+s.Labels["x"]] = s.Kind
	}
	want := map[string]Kind{"a": Counter, "b": Gauge, "c": Untyped, "c_sum": Histogram, "d": Counter, "c1": Gauge}
	require.Equal(t, want, kinds)
}

// A page's values belong to the names on its own lines, even if a name resembles that of the same line on the last
// page.
func TestParseFollowsNamesOfOneLength(t *testing.T) {
	p := NewParser()
	_, err := p.Parse([]byte("a{x=\"1\"} 1\na{x=\"2\"} 2\nb 3\n"))
	require.NoError(t, err)
	values, err := p.Parse([]byte("a{x=\"2\"} 20\na{x=\"1\"} 10\nc 30\n"))
	require.NoError(t, err)
	require.Len(t, p.Series(), 4)
	require.Equal(t, []float64{10, 20}, values[:2])
	require.True(t, math.IsNaN(values[2]))
	require.Equal(t, 30.0, values[3])
}

func TestParseNamesTheBadLine(t *testing.T) {
	for _, bad := range []struct{ line, text string }{
		{"<html>", "line 2"}, {"a", "no value follows"}, {"a{x=\"1\"}", "no value follows"}, {"a{x=\"1\" 3", "no value"},
		{"a one", `the value "one" is not a number`}, {"a{x=1} 3", "malformed"}, {"9a 3", "malformed"},
		{"{x=\"1\"} 3", "no value follows"}, {"a " + strings.Repeat("1", MaxLine), "at most 65536"},
	} {
		_, err := NewParser().Parse([]byte("good 1\n" + bad.line + "\n"))
		require.ErrorContains(t, err, bad.text, bad.line)
		require.ErrorContains(t, err, "line 2")
	}
}

func TestParseBoundsTheSeries(t *testing.T) {
	var b bytes.Buffer
	for i := range MaxSeries + 1 {
		fmt.Fprintf(&b, "a%d 1\n", i)
	}
	_, err := NewParser().Parse(b.Bytes())
	require.ErrorContains(t, err, "more than 200000 series")
}

// TestRecordedPages compares with expfmt on pages that real servers wrote.
func TestRecordedPages(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "wire-real"), "*metrics*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			_, body, ok := bytes.Cut(data, []byte("\r\n\r\n"))
			require.True(t, ok)
			equalExpfmt(t, append(bytes.TrimSpace(body), '\n'))
		})
	}
}

// equalExpfmt fails unless both parsers find the same series, kinds and number of values.
func equalExpfmt(t *testing.T, page []byte) {
	t.Helper()
	p := NewParser()
	_, err := p.Parse(page)
	require.NoError(t, err)
	reference := expfmt.NewTextParser(model.UTF8Validation)
	families, err := reference.TextToMetricFamilies(bytes.NewReader(page))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, s := range p.Series() {
		family := families[s.Family]
		require.NotNil(t, family, s.Name)
		require.Equal(t, strings.ToLower(family.Type.String()), string(s.Kind), s.Name)
		found[s.Family] = true
	}
	for name, family := range families {
		if len(family.Metric) > 0 {
			require.True(t, found[name], "%s is missing", name)
		}
	}
}

func TestPageEqualsExpfmt(t *testing.T) { equalExpfmt(t, []byte(page)) }

func FuzzParse(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte("a{b=\"\\\\\"} 1\n# TYPE a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := NewParser()
		values, err := p.Parse(data)
		if err == nil && len(values) != len(p.Series()) {
			t.Fatalf("%d values of %d series", len(values), len(p.Series()))
		}
		_, again := p.Parse(data)
		if (err == nil) != (again == nil) {
			t.Fatalf("the second reading differs: %v, %v", err, again)
		}
	})
}

// bigPage has about the size of vLLM's page.
func bigPage() []byte {
	var b bytes.Buffer
	for h := range 25 {
		fmt.Fprintf(&b, "# HELP vllm:h%d_seconds Histogram of something.\n# TYPE vllm:h%d_seconds histogram\n", h, h)
		for le := range 38 {
			fmt.Fprintf(&b, "vllm:h%d_seconds_bucket{engine=\"0\",le=\"%d.5\",model_name=\"meta-llama/Llama-3.1-8B\"} %d.0\n",
				h, le, le*1000)
		}
		fmt.Fprintf(&b, "vllm:h%d_seconds_sum{engine=\"0\",model_name=\"m\"} 17.25\n", h)
		fmt.Fprintf(&b, "vllm:h%d_seconds_count{engine=\"0\",model_name=\"m\"} 38000.0\n", h)
	}
	return b.Bytes()
}

func BenchmarkParse(b *testing.B) {
	data := bigPage()
	b.Run("this", func(b *testing.B) {
		p := NewParser()
		_, _ = p.Parse(data)
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := p.Parse(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("expfmt", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			p := expfmt.NewTextParser(model.UTF8Validation)
			if _, err := p.TextToMetricFamilies(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
