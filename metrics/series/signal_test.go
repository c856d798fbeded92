package series

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// setOf returns a set of targets that are read once a second, with the given series.
func setOf(targets, times int, list ...*Series) *Set {
	set := &Set{Series: list}
	set.IntervalS = 1
	for range targets {
		s := Scrapes{}
		for i := range times {
			s.TimesS = append(s.TimesS, float64(i))
		}
		set.Scrapes = append(set.Scrapes, s)
	}
	return set
}

func seriesOf(target int, name, le string, values ...float64) *Series {
	return &Series{Target: target, Values: values,
		Series: exposition.Series{Name: name, Labels: map[string]string{"le": le}}}
}

// Each kind of signal combines two series of one target, and two targets. Its unit may differ from that of the series.
func TestEachSignal(t *testing.T) {
	inUnit := map[string]float64{"gpu_memory": 1e-9, "gpu_clock": 1e-6}
	for i := range Signals {
		g := &Signals[i]
		for _, name := range g.names {
			require.True(t, IsSignal(seriesOf(0, name, "")), name)
			scale := 1.0
			if s, ok := inUnit[g.Key]; ok {
				scale = s
			}
			// Two series grow by 2 and 6 per second at the first target, and by 10 at the second.
			a, b, c := []float64{1, 3, 5}, []float64{2, 8, 14}, []float64{10, 20, 30}
			list := []*Series{seriesOf(0, name, "1", a...), seriesOf(0, name, "2", b...), seriesOf(1, name, "1", c...)}
			var one, both []float64
			switch g.how {
			case sumGauges:
				one, both = []float64{3, 11, 19}, []float64{13, 31, 49}
			case meanGauges:
				one, both = []float64{1.5, 5.5, 9.5}, []float64{5.75, 12.75, 19.75}
			case sumRates:
				one, both = []float64{nan, 8, 8}, []float64{nan, 18, 18}
			case ratioRates:
				for _, over := range g.over {
					require.True(t, IsSignal(seriesOf(0, over, "")), over)
					list = append(list, seriesOf(0, over, "", 0, 16, 32), seriesOf(1, over, "", 0, 40, 80))
				}
				one, both = []float64{nan, 0.5, 0.5}, []float64{nan, 0.375, 0.375}
			case quantile99:
				list = []*Series{seriesOf(0, name, "0.5", 0, 50, 50), seriesOf(0, name, "2.5", 0, 100, 100),
					seriesOf(0, name, "+Inf", 0, 100, 100), seriesOf(1, name, "1", 0, 100, 100),
					seriesOf(1, name, "+Inf", 0, 100, 100)}
				one, both = []float64{nan, 2.46, nan}, []float64{nan, 2.46, nan}
			}
			for k := range one {
				one[k], both[k] = one[k]*scale, both[k]*scale
			}
			requireNear(t, one, g.Of(setOf(2, 3, list...), 0).Values, name)
			requireNear(t, both, g.Total(setOf(2, 3, list...)).Values, name)
		}
		require.Equal(t, strings.HasSuffix(g.Key, "_cpu"), g.Client, "only the client's machine has no page")
		require.Equal(t, g.how == sumRates || g.how == ratioRates || g.how == quantile99 || g.Client, g.OfInterval(), g.Key)
	}
	require.False(t, IsSignal(seriesOf(0, "other", "")))
}

func requireNear(t *testing.T, want, got []float64, name string) {
	t.Helper()
	require.Len(t, got, len(want), name)
	for i := range want {
		require.True(t, math.IsNaN(want[i]) == math.IsNaN(got[i]) &&
			(math.IsNaN(want[i]) || math.Abs(want[i]-got[i]) <= 1e-9*math.Abs(want[i])), "%s: %v, want %v", name, got, want)
	}
}

// The mean of gauges covers the values present at the time: a late or absent series does not count as 0.
func TestMeanOfPresentGauges(t *testing.T) {
	const name = "vllm:kv_cache_usage_perc"
	g := Signals[slices.IndexFunc(Signals, func(g Signal) bool { return g.Key == "kv_cache" })]
	set := setOf(1, 4, seriesOf(0, name, "", 0.5, 0.5, nan, nan), seriesOf(0, name, "", nan, 0.7, 0.7, nan),
		seriesOf(0, name, "", nan, nan, nan, nan))
	requireNear(t, []float64{0.5, 0.6, 0.7, nan}, g.Of(set, 0).Values, name)
}

// A quantile lies within its bucket, grows with its share, and does not change its argument.
func TestQuantileByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "buckets")
		var sorted []Bucket
		for i := range n {
			b := Bucket{UpperBound: float64(i + 1)}
			if i > 0 {
				b.Count = sorted[i-1].Count
			}
			b.Count += float64(rapid.IntRange(0, 5).Draw(t, "more"))
			sorted = append(sorted, b)
		}
		sorted = append(sorted, Bucket{math.Inf(1), sorted[n-1].Count + float64(rapid.IntRange(0, 5).Draw(t, "above"))})
		total := sorted[n].Count
		shuffled := rapid.Permutation(sorted).Draw(t, "order")
		kept := slices.Clone(shuffled)
		before := 0.0
		for i := range 101 {
			p := float64(i) / 100
			q := Quantile(p, shuffled)
			require.Equal(t, kept, shuffled)
			require.Equal(t, total == 0, math.IsNaN(q))
			if total == 0 {
				continue
			}
			require.GreaterOrEqual(t, q, before)
			before = q
			at := slices.IndexFunc(sorted, func(b Bucket) bool { return b.Count >= p*total })
			if at == n {
				require.Equal(t, float64(n), q)
				continue
			}
			require.LessOrEqual(t, q, sorted[at].UpperBound)
			require.GreaterOrEqual(t, q, sorted[at].UpperBound-1)
		}
	})
}

// The value at a time is the last one, up to 2.5 intervals after it.
func TestValueAtATime(t *testing.T) {
	l := Line{TimesS: []float64{1, 2, 3, 10}, Values: []float64{5, nan, 7, 9}}
	for at, want := range map[float64]float64{0: nan, 0.9: nan, 1: 5, 1.9: 5, 2: nan, 2.5: nan, 3: 7, 5.5: 7, 5.6: nan,
		9.9: nan, 10: 9, 12.5: 9, 12.6: nan} {
		requireNear(t, []float64{want}, []float64{l.At(at, 1)}, "")
	}
	requireNear(t, []float64{7}, []float64{l.At(8, 2)}, "")
	requireNear(t, []float64{nan}, []float64{(&Line{}).At(1, 1)}, "")
}
