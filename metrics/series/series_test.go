package series

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

var nan = math.NaN()

// record writes scrapes, one a second for each target in turn, and reads the file.
func record(t require.TestingT, dir string, targets int, scrapes []scrape) *Set {
	path := filepath.Join(dir, "server.jsonl.zst")
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	names := []string{"http://a", "http://b"}[:targets]
	r, err := Create(atomicfile.Shared, path, started, time.Second, names)
	require.NoError(t, err)
	for i, s := range scrapes {
		at := started.Add(time.Duration(i/targets) * time.Second)
		require.NoError(t, r.Append(i%targets, at, s.known, s.values, s.err))
	}
	require.NoError(t, r.Close())
	set, err := Read(path, nil)
	require.NoError(t, err)
	return set
}

type scrape struct {
	known  []exposition.Series
	values []float64
	err    error
}

func gauge(name string) exposition.Series {
	return exposition.Series{Name: name, Family: name, Kind: exposition.Gauge}
}

func requireValues(t require.TestingT, want, got []float64) {
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, same(want[i], got[i]), "%d: %v, want %v in %v", i, got[i], want[i], got)
	}
}

func TestRecorderKeepsGapsAndLateSeries(t *testing.T) {
	a, b := gauge("a"), exposition.Series{Name: "b_count", Family: "b", Kind: exposition.Histogram,
		Labels: map[string]string{"x": "\"\n"}}
	set := record(t, t.TempDir(), 1, []scrape{
		{[]exposition.Series{a}, []float64{1}, nil},
		{[]exposition.Series{a}, nil, errors.New("refused")},
		{[]exposition.Series{a, b}, []float64{nan, 5}, nil},
		{[]exposition.Series{a, b}, []float64{1, math.Inf(1)}, nil},
	})
	require.Equal(t, []float64{0, 1, 2, 3}, set.Scrapes[0].TimesS)
	n, first := set.Scrapes[0].Failed()
	require.Equal(t, 1, n)
	require.Equal(t, "refused", first)
	require.Equal(t, b, set.Series[1].Series)
	requireValues(t, []float64{1, nan, nan, 1}, set.Series[0].Values)
	requireValues(t, []float64{nan, nan, 5, nan}, set.Series[1].Values)
	require.False(t, set.Torn)
}

// TestAStartThatCannotBeWritten: RFC 3339 has no year above 9999, so the first line fails and the file is removed.
func TestAStartThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.jsonl.zst")
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	r, err := Create(atomicfile.Shared, path, late, time.Second, []string{"a"})
	require.ErrorContains(t, err, "year")
	require.Nil(t, r)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestWhatIsReadEqualsWhatWasWritten writes random scrapes of two targets over several blocks.
func TestWhatIsReadEqualsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		known := []exposition.Series{gauge("a"), gauge("b"), gauge("c")}
		value := rapid.SampledFrom([]float64{0, 1, 1, 1, -2.5, 1e300, nan, 1e9 - 1, 1e9, -1e9, 5e-324, 1 << 53})
		var scrapes []scrape
		want := [2][3][]float64{}
		seen := [2]int{}
		for i := range 2 * rapid.IntRange(1, 3*scrapesPerBlock).Draw(t, "scrapes") {
			target := i % 2
			seen[target] = rapid.IntRange(seen[target], 3).Draw(t, "known")
			s := scrape{known: known[:seen[target]]}
			if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
				s.err = errors.New("gone")
			}
			for k := range 3 {
				v := value.Draw(t, "value")
				if k < seen[target] {
					s.values = append(s.values, v)
				}
				if s.err != nil || k >= seen[target] {
					v = nan
				}
				want[target][k] = append(want[target][k], v)
			}
			scrapes = append(scrapes, s)
		}
		set := record(t, dir, 2, scrapes)
		for _, s := range set.Series {
			requireValues(t, want[s.Target][s.Name[0]-'a'], s.Values)
		}
	})
}

func TestReadKeepsSelectedSeries(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, 1, []scrape{{[]exposition.Series{gauge("a"), gauge("b")}, []float64{1, 2}, nil}})
	set, err := Read(filepath.Join(dir, "server.jsonl.zst"), func(s *Series) bool { return s.Name == "b" })
	require.NoError(t, err)
	require.Len(t, set.Series, 1)
	requireValues(t, []float64{2}, set.Series[0].Values)
}

func TestReadOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	var scrapes []scrape
	for i := range 5 * scrapesPerBlock {
		scrapes = append(scrapes, scrape{[]exposition.Series{gauge("a")}, []float64{math.Sqrt(float64(i))}, nil})
	}
	record(t, dir, 1, scrapes)
	path := filepath.Join(dir, "server.jsonl.zst")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)*3/4], 0o600))
	set, err := Read(path, nil)
	require.NoError(t, err)
	require.True(t, set.Torn)
	n := len(set.Series[0].Values)
	require.True(t, n >= 2*scrapesPerBlock && n < 5*scrapesPerBlock, "%d values", n)
}

func TestReadRejectsForeignFiles(t *testing.T) {
	const head = `{"schema":"mlperf-go/metrics/1","interval_s":1,"targets":["a"]}` + "\n"
	const two = `{"schema":"mlperf-go/metrics/1","interval_s":1,"targets":["a","b"]}` + "\n"
	const one = `{"series":1,"target":0,"name":"a","kind":"gauge"}` + "\n"
	for _, bad := range []struct{ file, text string }{
		{"", "empty"}, {"{}\n", `schema is ""`}, {"[]\n", "not a JSON object"}, {head + "{}\n", "begins with neither"},
		{head + one + one, "repetition"}, {head + `{"series":1,"target":1}`, "not in the first line"},
		{head + `{"block":2,"t_ms":[1],"values":{}}`, "not in the first line"},
		{head + `{"block":0,"t_ms":[1],"values":{"7":[1]}}`, "series 7 is unknown"},
		{head + one + `{"block":0,"t_ms":[1],"values":{"1":[1,2]}}`, "2 values for 1 scrapes"},
		{head + `{"block":0,"t_ms":[1],"errors":["a","b"],"values":{}}`, "1 scrapes have 2 errors"},
		{head + `{"block":0,"t_ms":["x"]}`, "malformed"},
		{two + one + `{"block":1,"t_ms":[1],"values":{"1":[1]}}`, "belongs to another target"},
	} {
		_, err := read(strings.NewReader(bad.file), nil)
		require.ErrorContains(t, err, bad.text, bad.file)
	}
	_, err := read(iotest.ErrReader(errFull), nil)
	require.ErrorIs(t, err, errFull)
}

// Scrapes count for each kept series and once more for their times, up to the limit. So do series that are not kept.
func TestReadBoundsItsValues(t *testing.T) {
	for most, ok := range map[[2]int]bool{{10, 3}: true, {9, 2}: true, {8, 2}: false, {5, 2}: false, {9, 1}: false} {
		r := &reader{set: &Set{}, ids: map[int64]*Series{}, left: most[0], series: most[1]}
		var err error
		for i, line := range []string{`{"schema":"mlperf-go/metrics/1","interval_s":1,"targets":["a"]}`,
			`{"series":1,"target":0,"name":"a","kind":"gauge"}`, `{"series":2,"target":0,"name":"b"}`,
			`{"block":0,"t_ms":[1,2],"values":{"1":[1,2]}}`, `{"block":0,"t_ms":[3],"values":{}}`} {
			if err == nil {
				err = r.line(i+1, []byte(line))
			}
		}
		require.Equal(t, ok, err == nil, "%v %v", most, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"mlperf-go/metrics/1","interval_s":1,"targets":["a"]}
{"series":1,"target":0,"name":"vllm:num_requests_running","kind":"gauge"}
{"block":0,"t_ms":[1,2],"values":{"1":[1,null]}}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		set, err := read(strings.NewReader(string(data)), nil)
		if err != nil {
			return
		}
		for i := range Signals {
			line := Signals[i].Total(set)
			line.Stats()
		}
	})
}

func TestRateOverARestart(t *testing.T) {
	requireValues(t, []float64{nan, 5, 2, nan, nan, 1},
		Rate([]float64{0, 2, 4, 5, 6, 7}, []float64{0, 10, 4, nan, 3, 4}))
}

func TestRateNeedsTime(t *testing.T) {
	requireValues(t, []float64{nan, nan, nan, 3}, Rate([]float64{5, 5, 4, 5}, []float64{0, 7, 8, 11}))
}

func TestSumIsTheGrowthBehindRates(t *testing.T) {
	times := []float64{1, 3, 4, 9}
	for _, c := range []struct {
		want   float64
		values []float64
	}{{10, []float64{0, 3, 5, 10}}, {3, []float64{2, 5, nan, 7}}, {0, []float64{4, 4, 4, 4}}, {nan, []float64{nan, nan}},
		{nan, nil}} {
		line := Line{TimesS: times[:len(c.values)], Values: c.values}
		if len(c.values) == 4 {
			line.Values = Rate(times, c.values)
		}
		requireValues(t, []float64{c.want}, []float64{line.Sum()})
	}
}

func TestQuantileInterpolates(t *testing.T) {
	buckets := []Bucket{{math.Inf(1), 10}, {0.1, 2}, {0.2, 8}}
	require.InDelta(t, 0.15, Quantile(0.5, buckets), 1e-12)
	require.InDelta(t, 0.05, Quantile(0.1, buckets), 1e-12)
	require.Equal(t, 0.2, Quantile(0.99, buckets), "the last bucket has no upper bound")
	require.Equal(t, 0.2, Quantile(1.5, buckets), "no bucket has so many")
	require.Equal(t, 1., Quantile(0.5, []Bucket{{math.Inf(1), 3}, {1, 0}}), "all are above the finite bound")
	require.True(t, math.IsNaN(Quantile(0.5, nil)))
	require.True(t, math.IsNaN(Quantile(0.5, []Bucket{{1, 0}, {math.Inf(1), 0}})))
}

func TestSignals(t *testing.T) {
	labelled := func(name string, kind exposition.Kind, key, value string) exposition.Series {
		return exposition.Series{Name: name, Family: name, Kind: kind, Labels: map[string]string{key: value}}
	}
	known := []exposition.Series{
		labelled("vllm:num_requests_running", exposition.Gauge, "engine", "0"),
		labelled("vllm:num_requests_running", exposition.Gauge, "engine", "1"),
		labelled("vllm:generation_tokens_total", exposition.Counter, "engine", "0"),
		labelled("vllm:time_to_first_token_seconds_bucket", exposition.Histogram, "le", "1.0"),
		labelled("vllm:time_to_first_token_seconds_bucket", exposition.Histogram, "le", "+Inf"),
		labelled("vllm:prefix_cache_hits_total", exposition.Counter, "engine", "0"),
		labelled("vllm:prefix_cache_queries_total", exposition.Counter, "engine", "0"),
		labelled("vllm:kv_cache_usage_perc", exposition.Gauge, "engine", "0"),
	}
	set := record(t, t.TempDir(), 2, []scrape{
		{known, []float64{1, 2, 100, 0, 0, 0, 0, 0.5}, nil}, {known, []float64{4, 4, 0, 0, 0, 0, 0, 0.1}, nil},
		{known, []float64{3, 2, 150, 10, 10, 3, 4, 0.7}, nil}, {known, []float64{5, 4, 7, 0, 0, 0, 0, 0.1}, nil},
	})
	for key, want := range map[string][]float64{
		"running": {11, 14}, "output_tokens": {nan, 57}, "prefix_hits": {nan, 0.75}, "ttft_p99": {nan, 0.99},
		"kv_cache": {0.3, 0.4}, "waiting": nil,
	} {
		for i := range Signals {
			if Signals[i].Key == key {
				line := Signals[i].Total(set)
				require.InDeltaSlice(t, want, line.Values, 1e-9, key)
			}
		}
	}
	running := Signals[0].Of(set, 0)
	stats, ok := running.Stats()
	require.True(t, ok)
	require.Equal(t, Stats{Mean: 4, Max: 5, Last: 5}, stats)
}

// TestLatest compares the signals of single scrapes with those of the whole record.
func TestLatest(t *testing.T) {
	known := []exposition.Series{{Name: "other", Kind: exposition.Gauge},
		{Name: "vllm:num_requests_running", Kind: exposition.Gauge, Labels: map[string]string{"engine": "0"}},
		{Name: "vllm:generation_tokens_total", Kind: exposition.Counter}}
	late := exposition.Series{Name: "vllm:num_requests_running", Kind: exposition.Gauge,
		Labels: map[string]string{"engine": "1"}}
	var l Latest
	at := time.Unix(1000, 0)
	require.Equal(t, map[string]float64{"running": 3}, l.Add(at, known, []float64{9, 3, 100}))
	require.Equal(t, map[string]float64{"running": 4, "output_tokens": 50},
		l.Add(at.Add(2*time.Second), known, []float64{9, 4, 200}))
	known = append(known, late)
	require.Equal(t, map[string]float64{"running": 7, "output_tokens": 20},
		l.Add(at.Add(3*time.Second), known, []float64{9, 5, 20, 2}), "the server started anew")
	require.Equal(t, map[string]float64{"running": 2},
		l.Add(at.Add(4*time.Second), known, []float64{9, math.NaN(), math.NaN(), 2}))
}

func TestAFileThatCannotBeCreated(t *testing.T) {
	_, err := Create(atomicfile.Shared, filepath.Join(t.TempDir(), "none", "x.zst"), time.Now(), time.Second, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestEnergy: a GPU's counter is preferred to its power, and absent readings are bridged.
func TestEnergy(t *testing.T) {
	gpu := func(name, n string, values ...float64) *Series {
		return &Series{Series: exposition.Series{Name: name, Labels: map[string]string{"gpu": n}}, Values: values}
	}
	nan := math.NaN()
	set := &Set{Scrapes: []Scrapes{{TimesS: []float64{0, 1, 2, 4}}}, Series: []*Series{
		gpu("gpu_energy_joules_total", "0", 1000, 1300, nan, 2200), gpu("gpu_power_watts", "0", 1, 1, 1, 1),
		gpu("gpu_energy_joules_total", "1", nan, nan, nan, nan), gpu("gpu_power_watts", "1", 100, 200, nan, 300),
		gpu("gpu_energy_joules_total", "2", 5, 5, 5, 5), gpu("gpu_power_watts", "2", 10, 10),
	}}
	require.InDelta(t, 1200+(150+3*250)+10, Energy(set), 1e-9)
	for _, s := range set.Series {
		require.True(t, IsEnergy(s), s.Name)
	}
	require.False(t, IsEnergy(gpu("other", "0")))
	require.Zero(t, Energy(&Set{Scrapes: set.Scrapes, Series: []*Series{gpu("other", "0", 1, 2, 3, 4)}}))
}

// TestCopy copies a file to another clock.
func TestCopy(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "a", "m.jsonl.zst"), filepath.Join(folder, "b", "m.jsonl.zst")
	require.NoError(t, os.Mkdir(filepath.Dir(from), 0o700))
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r, err := Create(atomicfile.Private, from, began, time.Second, []string{"x"})
	require.NoError(t, err)
	known := []exposition.Series{{Name: "a", Family: "a"}}
	for i := range 15 {
		require.NoError(t, r.Append(0, began.Add(time.Duration(i)*time.Second), known, []float64{float64(i)}, nil))
	}
	require.NoError(t, r.Close())
	require.NoError(t, Copy(atomicfile.Private, from, to, -3*time.Second))
	before, err := Read(from, nil)
	require.NoError(t, err)
	after, err := Read(to, nil)
	require.NoError(t, err)
	require.Equal(t, began.Add(-3*time.Second), after.Started)
	require.Equal(t, before.Series, after.Series)
	require.Equal(t, before.Scrapes, after.Scrapes)
	require.Error(t, Copy(atomicfile.Private, filepath.Join(folder, "none"), to, 0))
}
