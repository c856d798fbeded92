package compare

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// series returns n values with a correlation between neighbours, the same on every machine.
func series(n int, correlation float64, seed uint64) []float64 {
	values, x := make([]float64, n), 0.0
	for i := range values {
		seed = (seed*1103515245 + 12345) % (1 << 31)
		x = correlation*x + float64(seed)/(1<<31) - 0.5
		values[i] = x
	}
	return values
}

// positive returns the series as latencies.
func positive(n int, correlation float64, seed uint64) []float64 {
	values := series(n, correlation, seed)
	for i, v := range values {
		values[i] = math.Exp(v / 2)
	}
	return values
}

// The lengths are those of a second program, written from the paper's formulas alone.
func TestLengthsOfBlocks(t *testing.T) {
	for _, c := range []struct {
		n           int
		correlation float64
		want        int
	}{{100, 0, 1}, {400, 0.3, 5}, {401, 0.6, 11}, {402, -0.6, 11}, {1000, 0.8, 55}, {1001, 0.95, 57},
		{2000, 0.5, 16}, {2001, 0.99, 135}, {60, 0.9, 5}, {30, 0.9, 3}, {5000, 0.7, 30}, {12, 0.5, 1}, {3000, 0.9, 68},
		{4000, 0.97, 177}, {3, 0.5, 1}} {
		require.Equal(t, c.want, politisWhite(series(c.n, c.correlation, uint64(c.n))), c)
	}
	for n, want := range []int{1, 1, 1} {
		require.Equal(t, want, politisWhite(make([]float64, n)), n)
	}
	alternating := make([]float64, 300)
	for i := range alternating {
		alternating[i] = float64(i % 2)
	}
	require.Equal(t, 52, politisWhite(alternating), "at most 3·√n")
	gaps := series(300, 0.5, 9)
	for i := range gaps {
		if i%7 == 3 {
			gaps[i] = math.NaN()
		}
	}
	require.Equal(t, 8, politisWhite(gaps))
	for n, want := range map[int]int{0: 1, 1: 1, 400: 1, 401: 2, 800: 2, 801: 3} {
		require.Equal(t, want, blockLength(make([]float64, n)), n)
	}
	require.Equal(t, 165, blockLength(series(40_001, 0.9, 1)), "of means of three")
}

func TestMeansOfNeighbours(t *testing.T) {
	nan := math.NaN()
	values := []float64{1, 3, nan, 5, 8}
	require.Equal(t, "[1 3 NaN 5 8]", fmt.Sprint(averaged(values, 0)))
	require.Equal(t, "[1 3 NaN 5 8]", fmt.Sprint(averaged(values, 1)))
	require.Equal(t, "[2 5 8]", fmt.Sprint(averaged(values, 2)))
	require.Equal(t, "[2 6.5]", fmt.Sprint(averaged(values, 3)))
	require.Equal(t, "[NaN 1]", fmt.Sprint(averaged([]float64{nan, nan, 1}, 2)))
}

func TestAutocovariances(t *testing.T) {
	covariance := covariances([]float64{1, 2, math.NaN(), 6})
	for lag, want := range []float64{14.0 / 4, 2.0 / 4, -3.0 / 4, -6.0 / 4} {
		require.InDelta(t, want, covariance(lag), 1e-12, lag)
	}
}

func TestSeriesOfAQuantile(t *testing.T) {
	nan := math.NaN()
	require.Nil(t, exceeds([]float64{nan}, 0.5))
	require.Equal(t, "[0 1 NaN 1 0]", fmt.Sprint(exceeds([]float64{1, 3, nan, 4, 2}, 0.5)))
	require.Equal(t, "[0 0 NaN 1 0]", fmt.Sprint(exceeds([]float64{1, 3, nan, 4, 2}, 0.99)))
	require.Equal(t, []float64{2, 2}, difference([]float64{1, 2}, []float64{3, 4, 9}))
	require.Equal(t, []float64{-2}, difference([]float64{3, 4, 9}, []float64{1}))
}

// residuals of a ratio: the part of each value that the ratio does not explain, as a share of the sum.
func TestResiduals(t *testing.T) {
	require.InDeltaSlice(t, []float64{-1.0 / 9, 1.0 / 9}, residuals([]float64{3, 6}, []float64{2, 2.5}), 1e-12)
}

// Golden intervals: a change of the sampling, of the seed or of the rounding shows.
func TestIntervalsStayAsTheyAre(t *testing.T) {
	for i, c := range []struct {
		n          int
		p          float64
		confidence float64
		paired     bool
		want       Interval
	}{
		{300, 0.5, 0.95, false, Interval{-0.0218485019736, 0.0641291631183, 75, 2000, false}},
		{300, 0.9, 0.9, false, Interval{-0.0280985148018, 0.0469870183359, 60, 2000, false}},
		{300, 0.5, 0.95, true, Interval{0.00452411411937, 0.0146342373562, 300, 2000, true}},
		{2000, 0.9, 0.95, false, Interval{-0.0121492079329, 0.0220582635657, 182, 2000, false}},
		{2000, 0.99, 0.5, true, Interval{0.00838547611161, 0.0100587039066, 400, 2000, true}},
	} {
		a, b := positive(c.n, 0.4, 1), positive(c.n, 0.4, 2)
		if c.paired {
			for i := range b {
				b[i] = a[i] * (1.01 + 0.02*(b[i]-1))
			}
		}
		a[5], b[9] = math.NaN(), math.NaN()
		got, err := intervalOfQuantile(a, b, c.p, c.confidence, c.paired)
		require.NoError(t, err, i)
		requireInterval(t, c.want, got)
	}
	for i, c := range []struct {
		n          int
		confidence float64
		paired     bool
		want       Interval
	}{
		{300, 0.95, false, Interval{-0.0524797920271, 0.0556292466344, 38, 2000, false}},
		{300, 0.95, true, Interval{-0.029600664662, 0.0299794951827, 75, 2000, true}},
		{1500, 0.8, true, Interval{-0.00934565969566, 0.007649162883, 215, 2000, true}},
	} {
		a := flow{positive(c.n, 0.2, 3), positive(c.n, 0.6, 4)}
		b := flow{positive(c.n, 0.2, 5), positive(c.n, 0.6, 4)}
		got, err := intervalOfRate(a, b, c.confidence, c.paired)
		require.NoError(t, err, i)
		requireInterval(t, c.want, got)
	}
}

func requireInterval(t *testing.T, want Interval, got *Interval) {
	t.Helper()
	require.InDelta(t, want.Low, got.Low, 1e-9)
	require.InDelta(t, want.High, got.High, 1e-9)
	rest := *got
	rest.Low, rest.High = want.Low, want.High
	require.Equal(t, want, rest)
}

// fixed is a statistic of a number of blocks that is the same in each resample.
type fixed struct {
	n     int
	value float64
}

func (f fixed) blocks() int         { return f.n }
func (f fixed) at([]uint16) float64 { return f.value }

func TestBoundsOfTheBootstrap(t *testing.T) {
	of := func(a, b fixed, confidence float64, paired bool) *Interval {
		i, err := bootstrap(a, b, confidence, paired)
		require.NoError(t, err)
		return i
	}
	i := of(fixed{20, 2}, fixed{30, 3}, 0.5, false)
	require.InDelta(t, 0.5, i.Low, 1e-12)
	require.InDelta(t, 0.5, i.High, 1e-12)
	require.Equal(t, []any{20, minResamples, false}, []any{i.Blocks, i.Resamples, i.Paired})
	require.Equal(t, mostResamples, of(fixed{20, 2}, fixed{20, 3}, 0.9999, true).Resamples)
	require.Equal(t, 4359, of(fixed{400, 2}, fixed{20, 3}, 0.98, false).Resamples)
	for _, c := range []struct {
		a, b   fixed
		paired bool
		want   string
	}{
		{fixed{19, 1}, fixed{20, 1}, false, "form 19 independent groups of neighbours, and 20 are needed"},
		{fixed{20, 1}, fixed{19, 1}, false, "form 19 independent groups"},
		{fixed{20, 1}, fixed{21, 1}, true, "form 20 and 21 groups"},
		{fixed{20, 0}, fixed{20, 0}, false, "some resamples have no value"},
		{fixed{20, 0}, fixed{20, 1}, false, "some resamples have no value"},
		{fixed{20, 1}, fixed{20, 0}, false, "some resamples have no value"},
	} {
		_, err := bootstrap(c.a, c.b, 0.95, c.paired)
		require.ErrorContains(t, err, c.want)
	}
}

// The slowest tenth of 100 values in blocks of one is ten groups; with a block less it is too few.
func TestGroupsBeyondAQuantile(t *testing.T) {
	rising := make([]float64, 100)
	for i := range rising {
		rising[i] = float64(i)
	}
	q, err := newQuantile(rising, 0.9, 1)
	require.NoError(t, err)
	require.Equal(t, 100, q.blocks())
	_, err = newQuantile(rising, 0.91, 1)
	require.ErrorContains(t, err, "its slowest 9 % came in 9 groups of neighbouring requests, and 10 are needed")
	_, err = newQuantile(rising, 0.9, 2)
	require.ErrorContains(t, err, "came in 5 groups")
	_, err = newQuantile(rising[:15], 0.95, 20)
	require.ErrorContains(t, err, "came in 1 group of")
	_, err = newQuantile([]float64{math.NaN(), math.NaN()}, 0.5, 1)
	require.EqualError(t, err, "no values")
	q, err = newQuantile(rising[:99], 0.5, 4)
	require.NoError(t, err)
	require.Equal(t, 25, q.blocks(), "the last one is shorter")
}

// A short run has all its values as thresholds. A long one has those around the quantile, it and the largest.
func TestThresholdsOfAQuantile(t *testing.T) {
	rising := make([]float64, 100_000)
	for i := range rising {
		rising[i] = float64(i)
	}
	require.Len(t, thresholds(rising[:1024], 0.5, 1), 1024)
	require.Equal(t, []float64{1, 2}, thresholds([]float64{2, 1, math.NaN(), 2, 1}, 0.5, 1))
	for _, c := range []struct {
		n, length   int
		p           float64
		low, high   float64
		many        int
		second, end float64
	}{
		{1025, 1, 0.5, 384, 1024, 258, 385, 640}, {10000, 1, 0.9, 8760, 9999, 482, 8761, 9240},
		{10000, 9, 0.5, 3800, 9999, 1023, 3802, 6197}, {100000, 4, 0.999, 99740, 99999, 260, 99741, 99998},
		{100000, 50, 0.01, 0, 99999, 1024, 2, 2778},
	} {
		list := thresholds(rising[:c.n], c.p, c.length)
		require.Equal(t, []any{c.low, c.high, c.many, c.second, c.end}, []any{list[0], list[len(list)-1], len(list),
			list[1],
			list[len(list)-2]}, c)
		require.Contains(t, list, float64(int(c.p*float64(c.n))))
	}
}

func TestRatesOfBlocks(t *testing.T) {
	r := newRatio([]float64{1, 2, 3, 4, 5}, []float64{1, 1, 1, 1, 2}, 2)
	require.Equal(t, &ratio{[]float64{3, 7, 5}, []float64{2, 2, 2}}, r)
	require.InDelta(t, 13.0/6, r.at([]uint16{1, 0, 2}), 1e-12)
}

func entry(issued, done int64, tokens int32) ledger.Entry {
	return ledger.Entry{IssuedNS: issued, DoneNS: done, OutputTokens: tokens}
}

func TestFlowInTheOrderOfTheSchedule(t *testing.T) {
	failed := entry(2e9, 9e9, 7)
	failed.Reason = 1
	test := &ledger.Test{Entries: []ledger.Entry{entry(1e9, 3e9, 5), failed, entry(3e9, 8e9, 6), entry(4e9, 10e9, 8)}}
	require.Equal(t, flow{[]float64{5, 0, 6, 8}, []float64{2, 6, 0, 1}}, inOrder(test, 4, true))
	require.Equal(t, flow{[]float64{1, 0, 1}, []float64{2, 6, 0}}, inOrder(test, 3, false))
	require.Empty(t, inOrder(&ledger.Test{}, 0, true).amounts)
}

func TestFlowInPieces(t *testing.T) {
	test := &ledger.Test{}
	for i := range int64(10) {
		test.Entries = append(test.Entries, entry(1e9, 1e9+(i+1)*4e8, 3))
	}
	require.Equal(t, flow{[]float64{12, 18}, []float64{2, 2}}, inPieces(test, true))
	require.Equal(t, flow{[]float64{4, 6}, []float64{2, 2}}, inPieces(test, false))
	test.Entries[9].Reason = 1 // the last success is earlier, and there is one piece less
	require.Equal(t, flow{[]float64{27}, []float64{3.6}}, inPieces(test, true))
	test.Entries = test.Entries[:5]
	require.Equal(t, flow{[]float64{15}, []float64{2}}, inPieces(test, true))
	test.Entries = test.Entries[:4]
	require.Equal(t, flow{}, inPieces(test, true), "fewer than five answers")
	for i := range 5 {
		test.Entries = append(test.Entries[:i], entry(2e9, 2e9, 1))
	}
	require.Equal(t, flow{}, inPieces(test, true), "it took no time")
	test.Entries = nil
	for i := range int64(10_010) {
		test.Entries = append(test.Entries, entry(1, 2+i, 1))
	}
	require.Len(t, inPieces(test, true).amounts, mostPieces)
}

// Two runs are paired over their common requests if these are at least half of the shorter one.
func TestCommonRequests(t *testing.T) {
	of := func(indices ...int32) *ledger.Test {
		test := &ledger.Test{}
		for i, index := range indices {
			test.Entries = append(test.Entries, ledger.Entry{Seq: int32(i), Index: index})
		}
		return test
	}
	later := of(1, 2, 3)
	later.Entries[1].Seq = 7
	for _, c := range []struct {
		a, b *ledger.Test
		want int
		same bool
	}{{of(1, 2, 3), of(1, 2, 3), 3, true}, {of(1, 2, 3), of(1, 2), 2, false}, {of(1, 2), of(1, 2, 3), 2, false},
		{of(1, 2, 3), of(1, 9, 3), 1, false}, {of(1, 2, 3), later, 1, false}, {of(), of(1), 0, false}, {of(), of(), 0,
			true}} {
		require.Equal(t, c.want, commonRequests(c.a, c.b))
		require.Equal(t, c.same, sameRequests(c.a, c.b))
	}
	timed := func(n, other int) *Result {
		test, late := &ledger.Test{}, series(n, 0.3, 7)
		for i := range n {
			e := entry(int64(i)*1e7, int64(i+1)*1e7+int64(late[i]*8e6), 3)
			if e.Seq = int32(i); i >= other {
				e.Index = 1
			}
			test.Entries = append(test.Entries, e)
		}
		return &Result{Scenario: "Server", requests: test}
	}
	for _, c := range []struct {
		common int
		paired bool
		blocks int
	}{{100, true, 100}, {50, true, 50}, {49, false, 100}} {
		i, err := rateInterval(timed(100, 100), timed(120, c.common), true, 0.95)
		require.NoError(t, err)
		require.Equal(t, []any{c.paired, c.blocks}, []any{i.Paired, i.Blocks}, c)
	}
}
