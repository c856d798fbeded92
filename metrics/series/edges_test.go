package series

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

const fileHead = `{"schema":"mlperf-go/metrics/1","interval_s":1,"targets":["a","b"]}` + "\n"

// Numbers of targets and of values, at the edges of what a file may have.
func TestEdgesOfAFile(t *testing.T) {
	for text, want := range map[string]string{
		`{"series":1,"target":-1}`: "series 1 of target -1 is a repetition", `{"series":1,"target":0}`: "",
		`{"series":1,"target":1}`: "", `{"series":1,"target":2}`: "series 1 of target 2",
		`{"series":1,"target":"x"}`: "the description of a series is malformed",
		`{"block":-1,"t_ms":[1]}`:   "target -1 is not in the first line", `{"block":1,"t_ms":[1]}`: "",
		`{"block":2,"t_ms":[1]}`: "target 2 is not", `{"block":0,"t_ms":[1],"errors":["x"]}`: "",
		`{"block":0,"t_ms":[1],"errors":[]}`: "1 scrapes have 0 errors",
		`{"block":0}`:                        "",
		`{"series":1,"target":0}` + "\n" + `{"series":1,"target":1}`:                     "repetition",
		`{"series":1,"target":0}` + "\n" + `{"block":0,"t_ms":[1],"values":{"1":[]}}`:    "has 0 values for 1 scrapes",
		`{"series":1,"target":0}` + "\n" + `{"block":0,"t_ms":[1],"values":{"1":["x"]}}`: "the block is malformed",
	} {
		_, err := read(strings.NewReader(fileHead+text), nil)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want, text)
			require.ErrorContains(t, err, fmt.Sprintf("line %d: ", 2+strings.Count(text, "\n")))
		}
	}
	targets := func(n int) string {
		return `{"schema":"mlperf-go/metrics/1","targets":["x"` + strings.Repeat(`,"x"`, n-1) + `]}`
	}
	set, err := read(strings.NewReader(targets(maxTarget)), nil)
	require.NoError(t, err)
	require.Len(t, set.Scrapes, maxTarget)
	_, err = read(strings.NewReader(targets(maxTarget+1)), nil)
	require.ErrorContains(t, err, "it has 4097 targets; at most 4096 are read")
	_, err = Read(filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	foreign := filepath.Join(t.TempDir(), "foreign")
	require.NoError(t, os.WriteFile(foreign, []byte("[]\n"), 0o600))
	_, err = Read(foreign, nil)
	require.ErrorContains(t, err, "foreign")
}

// What a file contains: families by default, kinds, labels, times, errors; series that appear late or stay the same.
func TestContentOfAFile(t *testing.T) {
	set, err := read(strings.NewReader(fileHead+`{"series":7,"target":1,"name":"x","kind":"gauge","labels":{"a":"b"}}
{"block":1,"t_ms":[1000,2500],"values":{"7":[1,null]}}
{"series":8,"target":1,"name":"y_bucket","family":"y","kind":"histogram"}
{"block":1,"t_ms":[3000,4000,5000],"errors":["","no",""],"values":{"8":[4,null,6]}}
{"block":1,"t_ms":[6000]}
`), nil)
	require.NoError(t, err)
	require.False(t, set.Torn)
	require.Equal(t, exposition.Series{Name: "x", Family: "x", Kind: "gauge", Labels: map[string]string{"a": "b"}},
		set.Series[0].Series)
	require.Equal(t, exposition.Series{Name: "y_bucket", Family: "y", Kind: "histogram"}, set.Series[1].Series)
	requireValues(t, []float64{1, nan, nan, nan, nan, nan}, set.Series[0].Values)
	requireValues(t, []float64{nan, nan, 4, nan, 6, 6}, set.Series[1].Values)
	require.Equal(t, []float64{1, 2.5, 3, 4, 5, 6}, set.Scrapes[1].TimesS)
	require.Empty(t, set.Scrapes[0].TimesS)
	n, first := set.Scrapes[1].Failed()
	require.Equal(t, []any{1, "no"}, []any{n, first})
	n, first = (&Scrapes{Errors: []string{"", "a", "b", ""}}).Failed()
	require.Equal(t, []any{2, "a"}, []any{n, first})
	n, first = (&Scrapes{Errors: []string{""}}).Failed()
	require.Equal(t, []any{0, ""}, []any{n, first})
}

// A file that breaks off after its first line is read as far as it goes: it has the first scrapes, whole lines of them.
func TestFilesThatBreakOffAnywhere(t *testing.T) {
	text := fileHead + `{"series":1,"target":0,"name":"x"}
{"block":0,"t_ms":[1000,2000],"values":{"1":[1,2]}}
{"series":2,"target":1,"name":"y"}
{"block":1,"t_ms":[1500],"errors":["no"]}
{"block":0,"t_ms":[3000,4000],"values":{"1":[3,null]}}
`
	whole, err := read(strings.NewReader(text), nil)
	require.NoError(t, err)
	for n := range len(text) + 1 {
		set, err := read(io.MultiReader(strings.NewReader(text[:n]), iotest.ErrReader(io.ErrUnexpectedEOF)), nil)
		if n < len(fileHead)-1 {
			require.Error(t, err, "%d bytes", n)
			continue
		}
		require.NoError(t, err, "%d bytes", n)
		require.True(t, set.Torn)
		lines := strings.Count(text[:min(n+1, len(text))], "\n") // a line is whole without its line feed
		require.Len(t, set.Scrapes[0].TimesS, []int{0, 0, 0, 2, 2, 2, 4}[lines])
		requireValues(t, whole.Scrapes[0].TimesS[:len(set.Scrapes[0].TimesS)], set.Scrapes[0].TimesS)
		require.Len(t, set.Scrapes[1].Errors, lines/5)
		require.Len(t, set.Series, min(lines/2, 2))
		for i, s := range set.Series {
			require.Equal(t, whole.Series[i].Name, s.Name)
			requireValues(t, whole.Series[i].Values[:len(s.Values)], s.Values)
		}
	}
}

// A number has the shortest text that reads back as the same number.
func TestTextOfNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", -1: "-1", 0.5: "0.5", 999_999_999: "999999999",
		1_000_000_000: "1e+09", -999_999_999: "-999999999", -1_000_000_000: "-1e+09", 1.5e300: "1.5e+300"} {
		require.Equal(t, want, string(optional(v).append(nil)))
		var got optional
		require.NoError(t, got.UnmarshalJSON([]byte(want)))
		require.Equal(t, optional(v), got)
	}
	require.Equal(t, "null", string(optional(nan).append(nil)))
	require.Equal(t, "-0", string(optional(math.Copysign(0, -1)).append(nil)))
	var v optional
	require.NoError(t, v.UnmarshalJSON([]byte("null")))
	require.True(t, math.IsNaN(float64(v)))
	require.Error(t, v.UnmarshalJSON([]byte(`"x"`)))
	for _, c := range []struct {
		a, b float64
		want bool
	}{{1, 1, true}, {1, 2, false}, {nan, nan, true}, {nan, 1, false}, {1, nan, false}} {
		require.Equal(t, c.want, same(c.a, c.b), "%v", c)
	}
}

func TestGrowthAndSums(t *testing.T) {
	for _, c := range [][3]float64{{1, 3, 2}, {3, 3, 0}, {3, 2, 2}, {3, 0, 0}} {
		require.Equal(t, c[2], Growth(c[0], c[1]), "%v", c)
	}
	requireValues(t, []float64{nan, 2, nan, nan, 4}, Rate([]float64{0, 1, 1, 0.5, 1.5}, []float64{1, 3, 5, 6, 10}))
	line := Line{TimesS: []float64{1, 3, 4}, Values: []float64{100, 2, 5}}
	require.Equal(t, 9.0, line.Sum(), "the first value has no interval")
	require.Equal(t, []float64{7}, lastTwo([]float64{7}))
	require.Equal(t, []float64{7, 8}, lastTwo([]float64{7, 8}))
	require.Equal(t, []float64{8, 9}, lastTwo([]float64{7, 8, 9}))
	require.Equal(t, []float64{8, 9}, lastTwo([]float64{1, 2, 3, 7, 8, 9}))
	require.Empty(t, lastTwo(nil))
	stats, ok := (&Line{Values: []float64{nan, -4, -2, nan}}).Stats()
	require.True(t, ok)
	require.Equal(t, Stats{Mean: -3, Max: -2, Last: -2}, stats)
	_, ok = (&Line{Values: []float64{nan}}).Stats()
	require.False(t, ok)
}

// The smallest growth of a GPU's counter is preferred to its power, and GPUs of other targets are others.
func TestEnergyOfSmallCounters(t *testing.T) {
	gpu := func(target int, name string, values ...float64) *Series {
		return &Series{Target: target, Series: exposition.Series{Name: name, Labels: map[string]string{"gpu": "0"}},
			Values: values}
	}
	times := Scrapes{TimesS: []float64{0, 10}}
	for want, list := range map[float64][]*Series{
		0.25: {gpu(0, energyName, 5, 5.25), gpu(0, powerName, 70, 70)}, 700: {gpu(0, energyName, 5, 5),
			gpu(0, powerName, 70, 70)},
		701: {gpu(0, energyName, 5, 6), gpu(1, powerName, 70, 70)}, 3: {gpu(0, energyName, 5, 6),
			gpu(1, energyName, 5, 7)},
		0: {gpu(0, powerName, 70)}, 400: {gpu(0, powerName, 80, 0, 9)},
	} {
		require.InDelta(t, want, Energy(&Set{Scrapes: []Scrapes{times, times}, Series: list}), 1e-9)
	}
}

// A file that breaks off, or whose first line is not a header, is not copied.
func TestCopiesOfBrokenFiles(t *testing.T) {
	folder := t.TempDir()
	path, to := filepath.Join(folder, "server.jsonl.zst"), filepath.Join(folder, "b", "copy.jsonl.zst")
	var scrapes []scrape
	for i := range 5 * scrapesPerBlock {
		scrapes = append(scrapes, scrape{[]exposition.Series{gauge("a")}, []float64{math.Sqrt(float64(i))}, nil})
	}
	record(t, folder, 1, scrapes)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)*3/4], 0o600))
	require.ErrorContains(t, Copy(atomicfile.Shared, path, to, time.Second), "copying the metrics in "+path)
	require.NoFileExists(t, to)
	require.NoError(t, os.WriteFile(path, []byte("x\n"), 0o600))
	require.Error(t, Copy(atomicfile.Shared, path, to, time.Second))
	require.NoFileExists(t, to)
	require.Error(t, Copy(atomicfile.Shared, path, filepath.Join(path, "below", "a file"), 0))
	lines, err := atomicfile.Shared.CreateLines(path)
	require.NoError(t, err)
	require.NoError(t, lines.AppendRaw([]byte(`[]`)))
	require.NoError(t, lines.Close())
	require.ErrorContains(t, Copy(atomicfile.Shared, path, to, time.Second), "cannot unmarshal")
	require.NoFileExists(t, to)
}

// A signal of all targets: the sum, the mean or the largest of what they last reported, while that is fresh.
func TestTotals(t *testing.T) {
	for how, want := range map[combine][]float64{sumGauges: {4, 6, 4, nan}, meanGauges: {2, 3, 4, nan},
		quantile99: {3, 4, 4, nan}, ratioRates: {2, 3, 4, nan}, sumRates: {4, 6, 4, nan}} {
		g := &Signal{how: how}
		for i, list := range [][]float64{{1, 3}, {2, 4}, {4}, nil} {
			requireValues(t, []float64{want[i]}, []float64{g.Join(list)})
		}
		require.Equal(t, how >= sumRates, g.OfInterval())
	}
	require.True(t, (&Signal{Client: true}).OfInterval())
	g := &Signal{names: []string{"x"}}
	of := func(target int, values ...float64) *Series {
		return &Series{Target: target, Series: exposition.Series{Name: "x"}, Values: values}
	}
	set := &Set{Header: Header{IntervalS: 2}, Scrapes: []Scrapes{{TimesS: []float64{0, 2, 4, 10}},
		{TimesS: []float64{1, 3}}, {TimesS: []float64{0}}}, Series: []*Series{of(0, 1, 2, 3, 4), of(1, 10, 20)}}
	total := g.Total(set)
	require.Equal(t, []float64{0, 2, 4, 6, 8, 10}, total.TimesS)
	requireValues(t, []float64{1, 12, 23, 23, 23, 4}, total.Values)
	for interval, empty := range map[float64]bool{0: true, -1: true, 2: false, 10. / (maxValues + 1): true} {
		set.IntervalS = interval
		require.Equal(t, empty, len(g.Total(set).TimesS) == 0, "interval %g", interval)
	}
	once := Scrapes{TimesS: []float64{0}}
	atOnce := &Set{Scrapes: []Scrapes{once, once}, Series: []*Series{of(0, 1), of(1, 2)}}
	require.Empty(t, g.Total(atOnce).TimesS, "no interval")
	atOnce.IntervalS = 1
	require.Equal(t, Line{TimesS: []float64{0}, Values: []float64{3}}, g.Total(atOnce))
	set.IntervalS, set.Series = 2, set.Series[:1]
	require.Equal(t, []float64{1, 2, 3, 4}, g.Total(set).Values, "a single target has its own times")
	require.Empty(t, (&Signal{names: []string{"y"}}).Total(set).TimesS)
}

// Scrapes with fewer values than are known, with infinite ones, and failed ones that have values: they are absent.
func TestValuesThatAreAbsent(t *testing.T) {
	known := []exposition.Series{gauge("a"), gauge("b")}
	set := record(t, t.TempDir(), 1, []scrape{
		{known, []float64{1}, nil}, {known, []float64{2, math.Inf(1)}, nil}, {known, []float64{3, 4}, os.ErrClosed},
		{known, []float64{math.Inf(-1), 5}, nil}, {known, nil, nil},
	})
	requireValues(t, []float64{1, 2, nan, nan, nan}, set.Series[0].Values)
	requireValues(t, []float64{nan, nan, nan, 5, nan}, set.Series[1].Values)
}

// Buckets without a bound, and those that are absent at either end of an interval, do not count in it.
func TestQuantilesOfAbsentBuckets(t *testing.T) {
	bucket := func(le string, values ...float64) *Series { return seriesOf(0, "x", le, values...) }
	times := []float64{0, 1, 2}
	full := []*Series{bucket("1", 0, 10, 20), bucket("+Inf", 0, 10, 20)}
	requireValues(t, []float64{nan, 0.5, 0.5}, quantiles(0.5, times, full))
	for _, le := range []string{"1", "+Inf", "0"} {
		requireValues(t, []float64{nan, nan, nan}, quantiles(0.5, times, []*Series{bucket(le, 0, 10, 20)}))
	}
	for name, other := range map[string]*Series{
		"late": bucket("1", nan, nan, 50), "early": bucket("1", 50, nan, nan), "short": bucket("1", 50),
		"without a bound": bucket("x", 0, 50, 90),
	} {
		requireNear(t, []float64{nan, 0.5, 0.5}, quantiles(0.5, times, append(full, other)), name)
	}
}

// A line that is longer than a usual buffer is copied.
func TestCopyOfLongLines(t *testing.T) {
	folder := t.TempDir()
	long := gauge("a")
	long.Labels = map[string]string{"x": strings.Repeat("y", 100_000)}
	record(t, folder, 1, []scrape{{[]exposition.Series{long}, []float64{1}, nil}})
	to := filepath.Join(folder, "copy.zst")
	require.NoError(t, Copy(atomicfile.Shared, filepath.Join(folder, "server.jsonl.zst"), to, 0))
	set, err := Read(to, nil)
	require.NoError(t, err)
	require.Equal(t, long.Labels, set.Series[0].Labels)
}

// OpenMetrics has counters only if their names end in _total, and no untyped series.
func TestTypesOfOpenMetrics(t *testing.T) {
	for _, c := range []struct {
		family string
		kind   exposition.Kind
		want   [2]string
	}{
		{"a_total", exposition.Counter, [2]string{"a", "counter"}}, {"a", exposition.Counter, [2]string{"a", "unknown"}},
		{"a", exposition.Untyped, [2]string{"a", "unknown"}},
		{"a_total", exposition.Untyped, [2]string{"a_total", "unknown"}},
		{"a", exposition.Gauge, [2]string{"a", "gauge"}}, {"a_total", exposition.Gauge, [2]string{"a_total", "gauge"}},
		{"a", exposition.Histogram, [2]string{"a", "histogram"}},
	} {
		name, kind := openMetricsType(c.family, c.kind)
		require.Equal(t, c.want, [2]string{name, kind}, "%+v", c)
	}
}

// A block is written after scrapesPerBlock scrapes, and the rest at the end.
func TestBlocksOfAFile(t *testing.T) {
	for scrapes, want := range map[int]int{1: 1, scrapesPerBlock: 1, scrapesPerBlock + 1: 2, 2*scrapesPerBlock + 5: 3} {
		folder := t.TempDir()
		var list []scrape
		for i := range scrapes {
			list = append(list, scrape{[]exposition.Series{gauge("a")}, []float64{float64(i)}, nil})
		}
		record(t, folder, 1, list)
		file, err := atomicfile.OpenLines(filepath.Join(folder, "server.jsonl.zst"))
		require.NoError(t, err)
		text, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		require.Equal(t, want, strings.Count(string(text), `{"block":`), "%d scrapes", scrapes)
	}
}

// A file that can no longer be written is an error of the next series, of the next block and of the end.
func TestFilesThatCannotBeWritten(t *testing.T) {
	aborted := func(known []exposition.Series) *Recorder {
		r, err := Create(atomicfile.Shared, filepath.Join(t.TempDir(), "x.zst"), time.Now(), time.Second, []string{"a"})
		require.NoError(t, err)
		require.NoError(t, r.Append(0, time.Now(), known, make([]float64, len(known)), nil))
		r.lines.Abort()
		return r
	}
	a := []exposition.Series{gauge("a")}
	require.Error(t, aborted(a).Append(0, time.Now(), append(a, gauge("b")), []float64{1, 2}, nil))
	r := aborted(a)
	for range scrapesPerBlock - 2 {
		require.NoError(t, r.Append(0, time.Now(), a, []float64{1}, nil))
	}
	require.Error(t, r.Append(0, time.Now(), a, []float64{1}, nil))
	require.Error(t, aborted(a).Close())
}
