package compare

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func figure(v float64) *float64 { return &v }

// within returns the function that computes a row's interval.
func within(low, high float64) func(float64) (*Interval, error) {
	return func(float64) (*Interval, error) { return &Interval{Low: low, High: high}, nil }
}

func TestVerdictsOfRows(t *testing.T) {
	broken := func(float64) (*Interval, error) { return nil, errors.New("too short") }
	for _, c := range []struct {
		row    Row
		want   Verdict
		change *float64
		why    string
	}{
		{Row{Base: figure(2), Other: figure(3), interval: within(0.1, 0.2)}, Worse, figure(0.5), ""},
		{Row{Base: figure(2), Other: figure(3), interval: within(0.1, 0.2), higher: true}, Better, figure(0.5), ""},
		{Row{Base: figure(2), Other: figure(1), interval: within(-0.2, -0.1)}, Better, figure(-0.5), ""},
		{Row{Base: figure(2), Other: figure(1), interval: within(-0.2, -0.1), higher: true}, Worse, figure(-0.5), ""},
		{Row{Base: figure(2), Other: figure(2), interval: within(-0.2, 0)}, Same, figure(0), ""},
		{Row{Base: figure(2), Other: figure(2), interval: within(0, 0.2), higher: true}, Same, figure(0), ""},
		{Row{Base: figure(2), Other: figure(2), interval: broken}, NotJudged, figure(0), "too short"},
		{Row{Base: figure(2), Other: figure(2)}, NotJudged, figure(0), ""},
		{Row{Base: figure(2), Other: figure(2), asked: true, interval: within(1, 2)}, AsAsked, figure(0), ""},
		{Row{Base: figure(0), Other: figure(2), asked: true}, NotJudged, nil, ""},
		{Row{Base: figure(-1), Other: figure(2)}, NotJudged, nil, ""},
		{Row{Base: nil, Other: figure(2)}, NotJudged, nil, ""},
		{Row{Base: figure(2), Other: nil}, NotJudged, nil, ""},
	} {
		row := c.row
		row.judge(0.95)
		require.Equal(t, c.want, row.Verdict, c)
		require.Equal(t, c.change, row.Change, c)
		require.Equal(t, c.why, row.Why, c)
		require.Equal(t, c.want == Better || c.want == Worse || c.want == Same, row.Interval != nil, c)
	}
}

// The confidence is that of all intervals of a pair together. Rows without one, or as asked, do not count.
func TestConfidenceOfAllRowsTogether(t *testing.T) {
	var asked []float64
	ask := func(confidence float64) (*Interval, error) {
		asked = append(asked, confidence)
		return &Interval{}, nil
	}
	row := func(change func(*Row)) *Row {
		r := &Row{Base: figure(1), Other: figure(1), interval: ask}
		change(r)
		return r
	}
	none := func(*Row) {}
	judgeAll([]*Row{row(none), row(func(r *Row) { r.interval = nil }), row(func(r *Row) { r.asked = true }), row(none)},
		0.9)
	require.InDeltaSlice(t, []float64{0.95, 0.95}, asked, 1e-12)
	asked = nil
	judgeAll([]*Row{row(func(r *Row) { r.Base, r.asked = nil, true })}, 0.9)
	require.InDeltaSlice(t, []float64{0.9}, asked, 1e-12)
}

// A row fails the gate if its least possible loss exceeds the threshold; a negative threshold counts as zero.
func TestLossesAndTheThreshold(t *testing.T) {
	for _, c := range []struct {
		low, high, threshold float64
		higher               bool
		want                 string
	}{
		{0.1, 0.2, 0.1, false, ""}, {0.1, 0.2, 0.099, false, "x is worse by 10.0 % to 20.0 %"},
		{-0.2, -0.1, 0.1, true, ""}, {-0.2, -0.1, 0.099, true, "x is worse by 10.0 % to 20.0 %"},
		{-0.2, -0.1, 0, false, ""}, {0.1, 0.2, 0, true, ""}, {0, 0.2, -1, false, ""}, {-0.1, 0.2, -1, false, ""},
	} {
		row := &Row{Name: "x", Interval: &Interval{Low: c.low, High: c.high}, higher: c.higher}
		require.Equal(t, c.want, row.failure(c.threshold), c)
	}
	require.Empty(t, (&Row{}).failure(0))
}

// rated returns a Server result with the rates that LoadGen reports; 0: the key is not there.
func rated(target, scheduled, completed float64) *Result {
	r := &Result{Mode: "performance", Scenario: "Server", loadgen: map[string]any{}}
	for key, v := range map[string]float64{"effective_target_qps": target, "result_scheduled_samples_per_sec": scheduled,
		"result_completed_samples_per_sec": completed} {
		if v != 0 {
			r.loadgen[key] = v
		}
	}
	return r
}

func TestWhatAServerResultDependsOn(t *testing.T) {
	for _, c := range []struct {
		a, b  *Result
		asked bool
		note  string
	}{
		{rated(20, 20, 18), rated(20, 20, 19), true,
			"A answered 18 queries/s at a target of 20, B 19 at 20: both met the same target, so the result shows no " +
				"difference in speed; look at the latencies"},
		{rated(20, 20, 18), rated(21, 20, 19), true, "A answered 18 queries/s at a target of 20, B 19 at 21: both met " +
			"their own target, and the result follows from it; it compares the servers only if each target is the " +
			"highest that its server sustains, as after a tune"},
		{rated(20, 20, 17.9), rated(20, 20, 17.9), false,
			"A answered 17.9 queries/s at a target of 20, B 17.9 at 20: both were slower than their target"},
		{rated(20, 20, 17.9), rated(20, 20, 18), false,
			"A answered 17.9 queries/s at a target of 20, B 18 at 20: only A was slower than its target"},
		{rated(20, 20, 18), rated(20, 20, 17.9), false,
			"A answered 18 queries/s at a target of 20, B 17.9 at 20: only B was slower than its target"},
		{rated(0, 20, 18), rated(20, 20, 18), false, ""}, {rated(20, 0, 18), rated(20, 20, 18), false, ""},
		{rated(20, 20, 0), rated(20, 20, 18), false, ""}, {rated(20, 20, 18), rated(20, 20, -1), false, ""},
	} {
		p := &Pair{BaseLabel: "A", OtherLabel: "B", Base: c.a, Other: c.b}
		require.Equal(t, c.asked, p.noteLoad(), c.note)
		if c.note == "" {
			require.Empty(t, p.Notes)
			continue
		}
		require.Equal(t, []string{c.note}, p.Notes)
	}
	audit := rated(20, 20, 20)
	audit.Mode = "audit"
	_, ok := audit.load()
	require.False(t, ok)
	for _, c := range []struct {
		a, b *Result
		want bool
	}{{rated(20, 1, 1), rated(19, 1, 1), true}, {rated(20, 1, 1), rated(20, 1, 1), false},
		{rated(20, 1, 1), rated(21, 1, 1), false}, {rated(20, 1, 1), rated(0, 1, 1), false},
		{rated(0, 1, 1), rated(20, 1, 1), false}, {rated(20, 0, 1), rated(19, 1, 1), false}} {
		require.Equal(t, c.want, (&Pair{Base: c.a, Other: c.b}).lowerTarget(), c)
	}
}

func TestLengthsOfAnswers(t *testing.T) {
	completed := [2]string{"result_completed_tokens_per_second", "result_completed_samples_per_sec"}
	started := [2]string{"result_tokens_per_second", "result_samples_per_second"}
	of := func(keys [2]string, tokens, answers any) *Result {
		return &Result{loadgen: map[string]any{keys[0]: tokens, keys[1]: answers}}
	}
	for _, c := range []struct {
		r    *Result
		want float64
	}{
		{of(completed, 40.0, 2.0), 20}, {of(started, 40.0, 2.0), 20}, {of(completed, nil, 2.0), 0},
		{of(completed, 40.0, nil), 0}, {of(completed, 40.0, 0.0), 0}, {of(completed, 0.0, 2.0), 0},
		{of([2]string{completed[0], started[1]}, 40.0, 2.0), 0},
	} {
		require.InDelta(t, c.want, c.r.answerTokens(), 1e-12, c.r.loadgen)
	}
	for _, c := range []struct {
		a, b float64
		want []string
	}{
		{100, 101, []string{"answers of B are 1.0 % longer (100 and 101 tokens on average)"}}, {100, 100.9, nil},
		{100, 99, []string{"answers of B are 1.0 % shorter (100 and 99 tokens on average)"}}, {100, 99.1, nil},
		{100, 0, nil}, {0, 100, nil},
	} {
		p := &Pair{OtherLabel: "B", Base: of(completed, c.a, 1.0), Other: of(completed, c.b, 1.0)}
		p.noteAnswers()
		require.Equal(t, c.want, p.Notes, c)
	}
}

// A pair whose result follows from the target passes only if something was judged, at the same or a higher target.
func TestGateOfAResultAsAsked(t *testing.T) {
	const lower = "not comparable: B had a lower target rate; measure both at the same one, or compare tunes"
	const nothing = "nothing can be judged: the result follows from the target rate, and no latency has an interval"
	qps := func(r *Result, value string) *Result {
		r.settings = []setting{{configGroup, "target-qps", value}}
		return r
	}
	for _, c := range []struct {
		other, change, threshold float64
		setting                  string
		judged                   bool
		want                     string
	}{
		{19, -0.06, 0.05, "19", true, lower}, {19, -0.05, 0.05, "19", true, ""}, {21, -0.06, 0.05, "21", true, ""},
		{20, 0, 0.05, "20", false, nothing}, {20, 0, 0.05, "20", true, ""}, {21, 0, 0.05, "21", false, ""},
	} {
		result := &Row{Change: figure(c.change)}
		latency := &Row{}
		if c.judged {
			latency.Interval = &Interval{}
		}
		p := &Pair{OtherLabel: "B", Base: qps(rated(20, 20, 20), "20"), Other: qps(rated(c.other, 20, 20), c.setting),
			Rows: []*Row{result, latency}}
		require.Equal(t, c.want, p.ungated(result, c.threshold), c)
	}
}

func TestFailuresOfTheGate(t *testing.T) {
	one := &Result{Benchmark: "b", Scenario: "Server", Mode: "performance"}
	pair := func(why []string, rows ...*Row) *Pair {
		return &Pair{BaseLabel: "A", OtherLabel: "B", Base: one, Other: one, NotRanked: why, Rows: rows}
	}
	same := &Row{Name: "x", Interval: &Interval{Low: -0.1, High: 0.1}}
	worse := &Row{Name: "y", Interval: &Interval{Low: 0.1, High: 0.2}}
	for _, c := range []struct {
		report Report
		want   []string
	}{
		{Report{}, []string{"the sources have no results to compare"}},
		{Report{Pairs: []*Pair{pair(nil, same)}}, []string{}},
		{Report{Pairs: []*Pair{pair(nil, same, worse)}},
			[]string{"b Server performance, B against A: y is worse by 10.0 % " +
				"to 20.0 %"}},
		{Report{Pairs: []*Pair{pair(nil, same)}, Alone: []Alone{{Label: "A", Benchmark: "c", Scenario: "Offline",
			Mode: "accuracy"}}}, []string{"only A has c Offline accuracy"}},
		{Report{Pairs: []*Pair{pair([]string{"r", "s"}, worse)}}, []string{
			"b Server performance, B against A: not ranked: r", "b Server performance, B against A: not ranked: s"}},
		{Report{Pairs: []*Pair{pair(nil, &Row{decisive: true, Why: "no request logs"})}}, []string{
			"b Server performance, B against A: the result has no interval: no request logs"}},
		{Report{Pairs: []*Pair{pair(nil, &Row{Why: "not measured"})}}, []string{}},
	} {
		g := c.report.judge(0.05)
		require.Equal(t, &Gate{Passed: len(c.want) == 0, Threshold: 0.05, Failures: c.want}, g)
	}
}

// Only two results that are the same in all of their names are partners, except for sources with one result each.
func TestPartnersByEachName(t *testing.T) {
	one := func() *Result {
		return &Result{Benchmark: "b", Scenario: "s", Mode: "m", Division: "d", Submitter: "u", System: "y"}
	}
	other := one()
	other.Benchmark = "another"
	for name, change := range map[string]func(*Result){"benchmark": func(r *Result) { r.Benchmark = "x" },
		"scenario": func(r *Result) { r.Scenario = "x" }, "mode": func(r *Result) { r.Mode = "x" }} {
		b := one()
		change(b)
		require.Nil(t, partner(sourceOf(one(), other), sourceOf(b), b), name)
		require.NotNil(t, partner(sourceOf(one()), sourceOf(b), b), name)
		require.Nil(t, partner(sourceOf(one()), sourceOf(b, other), b), name)
	}
	for name, change := range map[string]func(*Result){"division": func(r *Result) { r.Division = "x" },
		"submitter": func(r *Result) { r.Submitter = "x" }, "system": func(r *Result) { r.System = "x" }} {
		a, b := one(), one()
		change(a)
		require.Same(t, b, partner(sourceOf(a, b), sourceOf(one(), other), one()), name)
		require.Same(t, a, partner(sourceOf(a, other), sourceOf(one(), other), one()), name)
		require.Nil(t, partner(sourceOf(a, a), sourceOf(one(), other), one()), name)
	}
}

func TestLabels(t *testing.T) {
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "#27"} {
		require.Equal(t, want, label(i))
	}
	require.Empty(t, Compare(nil, Settings{}).Pairs)
	r := Compare([]*Source{sourceOf()}, Settings{})
	require.InDelta(t, DefaultConfidence, r.Confidence, 0)
	require.Nil(t, r.Gate)
	require.InDelta(t, 0.5, Compare(nil, Settings{Confidence: 0.5}).Confidence, 0)
}
