package sweep

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// A cell is in the unit of its column. It is empty if there is no measurement.
func TestFiguresOfATable(t *testing.T) {
	s := &ledger.Stats{P50: 0.0125, P99: 2}
	require.Equal(t, "12.5", of(s, median, 1e3))
	require.Equal(t, "2000", of(s, tail, 1e3))
	require.Equal(t, "2", of(s, tail, 1))
	require.Empty(t, of(nil, tail, 1))
}

// The sentence names the points. It states that none met the limits only if there are limits.
func TestSentence(t *testing.T) {
	st := state(point(1, 100, 100, 1), point(8, 50, 400, 1), point(64, 10, 900, 1, record.CodeClientLag))
	const fastest = "The highest throughput is 400 output tokens/s at 8 in flight."
	require.Equal(t, fastest, st.Sentence())
	st.Limits.TTFT = time.Second
	require.Equal(t, fastest+" At no load does a query meet the limits.", st.Sentence())
	for i, share := range []float64{1, 0.5} {
		goodput := share * st.Points[i].RequestsPerS
		st.Points[i].Met, st.Points[i].GoodputPerS = &share, &goodput
	}
	met := fastest + " The highest goodput is 20 queries/s at 8 in flight, where 50 % of the queries meet the limits." +
		" The highest load at which 99 % of them do is 1 in flight."
	require.Equal(t, met, st.Sentence())
	st.finish("it is over")
	require.Equal(t, met, st.Sentence(), "a list ends with its last load")
	all, few := 1.0, st.Points
	st.Points[1].Met, st.Points = &all, st.Points[:2]
	require.Contains(t, st.Sentence(), "do is 8 in flight. It is the highest of this sweep, so the server may hold more.")
	half := 0.5
	few[1].Met, st.Points = &half, few
	st.Auto = true
	require.Equal(t, met+" The sweep ended because it is over.", st.Sentence())
}

// A line below the table explains the asterisk if there is one. Columns are two spaces apart if all fit.
func TestTableExplainsTheFront(t *testing.T) {
	table := func(st *State) string {
		var b strings.Builder
		require.NoError(t, st.WriteTable(&b))
		return b.String()
	}
	spoiled := table(state(point(1, 100, 100, 1, record.CodeClientLag)))
	require.NotContains(t, spoiled, "*")
	require.Contains(t, spoiled, "x 1 in flight is spoiled")
	st := state(point(1, 100, 100, 1))
	require.Contains(t, table(st), "* Pareto front: no load has more tokens/s both in all and per user\n\n")
	require.Regexp(t, `(?m)^        1       10       100       100      100  200 +\*$`, table(st))
	st.Accelerators = 8
	require.Contains(t, table(st), "both per accelerator and per user")
}

// Lines break between words, before the table's width. A longer word has its own line.
func TestFold(t *testing.T) {
	word := strings.Repeat("é", tableWidth)
	require.Equal(t, "a\n"+word+"\nb c", fold(" a "+word+"  b\nc"))
	require.Equal(t, word[2:]+"\nab", fold(word[2:]+" ab"))
	require.Equal(t, word[4:]+" a", fold(word[4:]+" a"), "just as wide")
	require.Equal(t, word[4:]+" a\nb", fold(word[4:]+" a b"))
	long := word + "é"
	require.Equal(t, long, fold(long))
}

// Only the chart of a limited latency has the limit as a line.
func TestPlotDrawsLimits(t *testing.T) {
	limits := func(l Limits) int {
		st := state(point(1, 100, 100, 1), point(2, 90, 180, 1))
		st.Limits = l
		for i := range st.Points {
			st.Points[i].TPOT = &ledger.Stats{P50: 0.01, P99: 0.02}
		}
		var b strings.Builder
		require.NoError(t, st.WritePlot(&b))
		return strings.Count(b.String(), ">limit 1<")
	}
	require.Zero(t, limits(Limits{}))
	require.Equal(t, 1, limits(Limits{TTFT: time.Second}))
	require.Equal(t, 2, limits(Limits{TTFT: time.Second, TPOT: time.Second}))
	require.Empty(t, drawn(0))
	require.Equal(t, []plot.Limit{{Name: "limit", Value: 0.05}}, drawn(50*time.Millisecond))
}

// A point's length has bounds, and both bounds are allowed.
func TestCheckBoundsTheLength(t *testing.T) {
	check := func(n Length, accelerators int) error {
		c := config.New(config.RunSettings())
		p := &plan.Plan{Test: &plan.Test{Config: c, Mode: models.Performance,
			Scenario: &models.ScenarioRow{Scenario: models.Server, LoadGen: models.Server}}}
		o := &Options{Plan: p, Folder: t.TempDir(), Loads: Loads{Kind: Concurrency, Values: []float64{1}}, Length: n,
			Accelerators: accelerators}
		return o.Check()
	}
	for _, n := range []Length{{0, 1, 1, 1}, {5, 10, 10, 1000}, {0, 1, 1, 86400}} {
		if err := check(n, 0); err != nil {
			require.NotContains(t, err.Error(), "no point can be measured", "%+v", n)
		}
	}
	for _, n := range []Length{{-0.1, 1, 1, 1}, {0, 0, 1, 1}, {0, 2, 1, 1.5}, {0, 1, 0, 1},
		{0, 1, 1, math.Nextafter(86400, math.Inf(1))}, {math.NaN(), 1, 1, 1}} {
		require.ErrorContains(t, check(n, 0), "no point can be measured", "%+v", n)
	}
	require.ErrorContains(t, check(Length{0, 1, 1, 1}, -1), "--accelerators -1 is negative")
}
