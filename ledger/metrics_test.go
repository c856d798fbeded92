package ledger

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

const ms = int64(1e6)

// threeSamples returns two answers of 5 and 1 tokens, and one failure.
func threeSamples() ([]Entry, []int64) {
	return []Entry{
		{Seq: 0, IssuedNS: base + 2*ms, SentNS: base + 3*ms, FirstTokenNS: base + 12*ms, LastTokenNS: base + 52*ms,
			DoneNS: base + 60*ms, InputTokens: 100, OutputTokens: 5},
		{Seq: 1, IssuedNS: base + 11*ms, SentNS: base + 14*ms, FirstTokenNS: base + 30*ms, LastTokenNS: base + 30*ms,
			DoneNS: base + 40*ms, InputTokens: 50, OutputTokens: 1},
		{Seq: 2, IssuedNS: base + 20*ms, DoneNS: base + 102*ms, Reason: 1, InputTokens: 7, OutputTokens: 3},
	}, []int64{0, 10 * ms, 20 * ms}
}

func TestMetricsByOrigin(t *testing.T) {
	entries, schedule := threeSamples()
	for _, c := range []struct {
		name            string
		origin          Origin
		ttftMax, e2eMax float64
		lagMax          float64
	}{
		{"Server", FromSchedule, .020, .060, .002},
		{"SingleStream", FromIssue, .019, .058, 0},
		{"Offline", FromStart, .030, .060, .020},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Compute(entries, schedule, base, Options{Origin: c.origin})
			require.InDelta(t, c.ttftMax, m.TTFT.Max, 1e-12)
			require.InDelta(t, c.e2eMax, m.E2E.Max, 1e-12)
			require.InDelta(t, c.lagMax, m.IssueLag.Max, 1e-12)
			require.InDelta(t, .010, m.TPOT.Mean, 1e-12, "40 ms over 4 gaps; one token has no TPOT")
			require.Equal(t, *m.TPOT, Stats{.01, .01, .01, .01, .01, .01, .01})
		})
	}
}

func TestMetricsTotals(t *testing.T) {
	entries, schedule := threeSamples()
	m := Compute(entries, schedule, base, Options{})
	require.EqualValues(t, 2, m.Successes)
	require.EqualValues(t, 150, m.InputTokens)
	require.EqualValues(t, 6, m.OutputTokens)
	require.InDelta(t, .1, m.DurationS, 1e-12, "first issue at 2 ms to the failure's end at 102 ms")
	require.InDelta(t, 20, m.Throughput.Requests, 1e-9)
	require.InDelta(t, 1500, m.Throughput.InputTokens, 1e-9)
	require.InDelta(t, 60, m.Throughput.OutputTokens, 1e-9)
	require.InDelta(t, .030, m.NTPOT.Max, 1e-12)
	require.InDelta(t, .021, m.NTPOT.Mean, 1e-12, "60 ms over 5 tokens and 30 ms over 1")
	require.InDelta(t, .004, m.DispatchLag.Max, 1e-12)
	require.InDelta(t, .010, m.ReportLag.Max, 1e-12)
	require.InDelta(t, 2000, m.IssueLag.LagUS().Max, 1e-6)
}

// The answers take 1 to 2,000 ms, in mixed order. Percentile p must be element trunc(2000 p) of the sorted values.
func TestStatsOfManyAnswers(t *testing.T) {
	const n = 2000
	test := &Test{T0NS: base, Origin: FromIssue}
	for i := range n {
		test.Entries = append(test.Entries, Entry{Seq: int32(i), IssuedNS: base, OutputTokens: 1,
			DoneNS: base + int64(i*7%n+1)*ms}) // 7 and 2000 have no common factor
	}
	var h Histogram
	for i := range int64(n) {
		h.Record((i + 1) * ms)
	}
	coarse := h.Stats() // its error is 0.8 %
	for _, c := range []struct{ want, got float64 }{{1.0005, coarse.Mean}, {1.001, coarse.P50}, {1.801, coarse.P90},
		{1.901, coarse.P95}, {1.981, coarse.P99}, {1.999, coarse.P999}, {2, coarse.Max}} {
		require.InEpsilon(t, c.want, c.got, .008)
	}
	require.InEpsilonSlice(t, []float64{2, 1.001, .001}, h.Percentiles([]float64{100, 50, 0}), .008)
	require.Nil(t, new(Histogram).Percentiles([]float64{50}))
	s := test.Metrics().E2E
	for _, c := range []struct{ want, got float64 }{{1.0005, s.Mean}, {1.001, s.P50}, {1.801, s.P90},
		{1.901, s.P95}, {1.981, s.P99}, {1.999, s.P999}, {2, s.Max}} {
		require.InDelta(t, c.want, c.got, 1e-12)
	}
	require.Equal(t, []float64{2, 1.001, .001}, test.Percentiles([]float64{100, 50, 0}).E2E)
	require.Nil(t, test.Percentiles([]float64{50}).TTFT)
}

func TestTimesByTokens(t *testing.T) {
	for _, c := range []struct {
		tokens      int32
		tpot, ntpot float64 // 0: none
	}{{0, 0, 0}, {1, 0, .080}, {2, .060, .040}, {3, .030, .080 / 3}} {
		e := Entry{IssuedNS: base, FirstTokenNS: base + 10*ms, LastTokenNS: base + 70*ms, DoneNS: base + 80*ms,
			OutputTokens: c.tokens}
		got := TimesOf(&e, base)
		require.InDelta(t, .010, got.TTFT, 1e-12)
		for _, pair := range [][2]float64{{c.tpot, got.TPOT}, {c.ntpot, got.NTPOT}} {
			if pair[0] == 0 {
				require.True(t, math.IsNaN(pair[1]), "%d tokens", c.tokens)
				continue
			}
			require.InDelta(t, pair[0], pair[1], 1e-12, "%d tokens", c.tokens)
		}
	}
}

func TestMetricsWithoutSamples(t *testing.T) {
	m := Compute(nil, nil, 0, Options{})
	require.Equal(t, Metrics{}, m)
	require.Equal(t, LagUS{}, m.IssueLag.LagUS())
	unanswered := Compute([]Entry{{IssuedNS: base}}, nil, 0, Options{})
	require.Nil(t, unanswered.E2E)
	require.Zero(t, unanswered.DurationS)
}

func TestAnswersWithoutAStream(t *testing.T) {
	m := Compute([]Entry{{IssuedNS: base, DoneNS: base + 10*ms, OutputTokens: 4}}, nil, base, Options{Origin: FromStart})
	require.Nil(t, m.TTFT)
	require.Nil(t, m.TPOT)
	require.InDelta(t, .0025, m.NTPOT.P50, 1e-12)
}

func TestPercentileIndexIsLoadGens(t *testing.T) {
	for _, c := range []struct {
		n    int
		p    float64
		want int
	}{
		{100, .99, 99}, {1000, .999, 999}, {24576, .99, 24330}, {8313, .999, 8304}, {662, .99, 655}, {10, .9, 9}, {1, .5, 0},
		{5, 1, 4},
	} {
		require.Equal(t, c.want, percentileIndex(c.n, c.p), "%d at %g", c.n, c.p)
	}
}

func TestGoldenPercentileIndex(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(golden.Dir(t, "loadgen"), "table_percentile_index.json"))
	require.NoError(t, err)
	var table struct {
		Columns []string
		Rows    [][]int
	}
	require.NoError(t, json.Unmarshal(data, &table))
	require.NotEmpty(t, table.Rows)
	for column, name := range table.Columns[1:] {
		t.Run(name, func(t *testing.T) {
			p, err := strconv.ParseFloat(name, 64)
			require.NoError(t, err)
			for _, row := range table.Rows {
				require.Equal(t, row[column+1], percentileIndex(row[0], p), "of %d", row[0])
			}
		})
	}
}

func TestEstimateStart(t *testing.T) {
	entries, schedule := threeSamples()
	require.Equal(t, base, EstimateStart(entries, schedule), "the third sample was issued in time")
	require.Equal(t, base+2*ms, EstimateStart(entries, nil))
	require.Zero(t, EstimateStart(nil, nil))
}

func TestStatsJSON(t *testing.T) {
	text, err := json.Marshal(Stats{1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, err)
	require.JSONEq(t, `{"mean":1,"p50":2,"p90":3,"p95":4,"p99":5,"p99.9":6,"max":7}`, string(text))
	lag, err := json.Marshal((&Stats{P50: 1e-6}).LagUS())
	require.NoError(t, err)
	require.JSONEq(t, `{"p50":1,"p99":0,"p99.9":0,"max":0}`, string(lag))
}
