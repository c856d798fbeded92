package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// requestLog has n answered requests of a second each, at equal distances of time; other changes the samples.
func requestLog(n int, other int32) *ledger.Test {
	t := &ledger.Test{Origin: ledger.FromSchedule, T0NS: 1e18, Names: ledger.Names{Reasons: []ledger.Reason{""}}}
	for i := range n {
		due := int64(i) * 1e8
		t.Schedule = append(t.Schedule, due)
		e := ledger.Entry{Seq: int32(i), Index: int32(i) + other, IssuedNS: 1e18 + due, SentNS: 1e18 + due + 1,
			FirstTokenNS: 1e18 + due + 2e8, LastTokenNS: 1e18 + due + 1e9, DoneNS: 1e18 + due + 1e9, OutputTokens: 5}
		t.Entries = append(t.Entries, e)
	}
	return t
}

func TestRowsOfAPair(t *testing.T) {
	const p50, p99 = " p50", " p99"
	latencies := []string{"TTFT" + p50, "TTFT" + p99, "TPOT" + p50, "TPOT" + p99, "request time" + p50,
		"request time" + p99}
	of := func(scenario, mode, qps string) *Result {
		return &Result{Benchmark: "b", Scenario: scenario, Mode: mode, Value: figure(10), Unit: "tokens/s", State: Valid,
			settings: []setting{{configGroup, "target-qps", qps}}, requests: requestLog(100, 0)}
	}
	without := func(r *Result) *Result {
		r.requests, r.tails = nil, map[tail]float64{{"TTFT", 0.5}: 0.25, {"TPOT", 0.5}: 0.125, {"request time", 0.5}: 2}
		return r
	}
	const other = "the rate of queries differs, so latencies are not judged"
	for name, c := range map[string]struct {
		a, b        *Result
		rows        []string
		intervals   int // of latencies
		why1, why2  string
		note        string
		base, other float64
	}{
		"Server":  {of("Server", "performance", "1"), of("Server", "performance", "1"), latencies, 6, "", "", "", 200, 200},
		"Offline": {of("Offline", "performance", "1"), of("Offline", "performance", "1"), nil, 0, "", "", "", 0, 0},
		"no log": {without(of("Server", "performance", "1")), of("Server", "performance", "1"), latencies, 0,
			"no request logs", "not measured", "", 250, 200},
		"no other log": {of("Server", "performance", "1"), without(of("Server", "performance", "1")), latencies, 0,
			"no request logs", "not measured", "", 200, 250},
		"another rate": {of("Server", "performance", "1"), of("Server", "performance", "2"), latencies, 0, "", "", other,
			200,
			200},
		"accuracy": {of("Server", "accuracy", "1"), of("Server", "accuracy", "1"), []string{"-"}, 0, "", "",
			"scores are judged against their targets, not against each other", 0, 0},
	} {
		p := &Pair{Base: c.a, Other: c.b}
		p.addRows(Settings{Percentiles: DefaultPercentiles})
		if c.note == "" {
			require.Empty(t, p.Notes, name)
		} else {
			require.Equal(t, []string{c.note}, p.Notes, name)
		}
		names, intervals := []string{}, 0
		for _, row := range p.Rows {
			names = append(names, row.Name)
			if row.interval != nil && row.Name != "result" {
				intervals++
			}
		}
		if c.rows != nil && c.rows[0] == "-" {
			require.Empty(t, names, name)
			continue
		}
		require.Equal(t, append([]string{"result"}, c.rows...), names, name)
		require.Equal(t, c.intervals, intervals, name)
		if c.rows == nil {
			continue
		}
		require.Equal(t, []string{c.why1, c.why2}, []string{p.Rows[1].Why, p.Rows[2].Why}, name)
		require.InDeltaSlice(t, []float64{c.base, c.other}, []float64{*p.Rows[1].Base, *p.Rows[1].Other}, 1e-9, name)
		require.Equal(t, []string{"ms", "ms/token", "s"}, []string{p.Rows[1].Unit, p.Rows[3].Unit, p.Rows[5].Unit}, name)
		require.False(t, p.Rows[1].higher)
	}
}

// The interval of the result comes from the tunes, the 90th percentile or the rate. Without one, the row has a reason.
func TestRowOfTheResult(t *testing.T) {
	of := func(scenario, mode, unit string) *Result {
		return &Result{Scenario: scenario, Mode: mode, Value: figure(10), Unit: unit, requests: requestLog(200, 0),
			Low: 9, High: 11}
	}
	lacks := func(change func(*Result)) *Result {
		r := of("Server", "performance", "tokens/s")
		change(r)
		return r
	}
	noLog, noValue := func(r *Result) { r.requests = nil }, func(r *Result) { r.Value = nil }
	whole := of("Server", "performance", "tokens/s")
	for _, c := range []struct {
		a, b   *Result
		unit   string
		higher bool
		why    string
	}{
		{whole, whole, "tokens/s", true, ""}, {lacks(func(r *Result) { r.Unit = "" }), whole, "tokens/s", true, ""},
		{whole, lacks(func(r *Result) { r.Unit = "x" }), "tokens/s", true, ""},
		{of("SingleStream", "performance", "ms"), of("SingleStream", "performance", "ms"), "ms", false, ""},
		{of("Offline", "performance", "tokens/s"), of("Offline", "performance", "tokens/s"), "tokens/s", true, ""},
		{lacks(noLog), whole, "tokens/s", true, "no request logs"}, {whole, lacks(noLog), "tokens/s", true,
			"no request logs"},
		{lacks(noValue), whole, "tokens/s", true, "no result"}, {whole, lacks(noValue), "tokens/s", true, "no result"},
	} {
		p := &Pair{Base: c.a, Other: c.b}
		p.addResult()
		row := p.Rows[0]
		require.Equal(t, []any{"result", c.unit, c.higher, c.why, true, c.why == ""}, []any{row.Name, row.Unit, row.higher,
			row.Why, row.decisive, row.interval != nil})
	}
	of90 := func(scenario string, other int32) *Interval {
		a, b := of(scenario, "performance", "tokens/s"), of(scenario, "performance", "tokens/s")
		for i := range b.requests.Entries { // a tenth of the answers takes twice as long, and has twice the tokens
			b.requests.Entries[i].Index += other
			if i%8 == 3 {
				b.requests.Entries[i].DoneNS += 1e9
				b.requests.Entries[i].OutputTokens = 10
			}
		}
		p := &Pair{Base: a, Other: b}
		p.addResult()
		interval, err := p.Rows[0].interval(0.9)
		require.NoError(t, err)
		return interval
	}
	slowest := of90("SingleStream", 0)
	require.True(t, slowest.Paired)
	require.InDelta(t, 1, slowest.High, 0.01, "the 90th percentile doubles")
	require.False(t, of90("SingleStream", 1).Paired)
	require.Less(t, of90("Offline", 0).High, 0.5)
	a, b := of("Server", "tune", ""), of("Server", "tune", "")
	a.requests, b.requests = nil, nil
	p := &Pair{Base: a, Other: b}
	p.addResult()
	interval, err := p.Rows[0].interval(0.9)
	require.NoError(t, err)
	require.InDelta(t, 11.0/9-1, interval.High, 1e-12)
}

// Tokens count in the interval of a rate in tokens, and answers in one of queries.
func TestIntervalOfTheUnit(t *testing.T) {
	of := func(unit string, more int32) *Result {
		r := &Result{Scenario: "Server", Mode: "performance", Value: figure(10), Unit: unit, requests: requestLog(200, 0)}
		for i := range r.requests.Entries {
			r.requests.Entries[i].OutputTokens += more
		}
		return r
	}
	for unit, want := range map[string]float64{"tokens/s": 1, "samples/s": 0} {
		p := &Pair{Base: of(unit, 0), Other: of(unit, 5)}
		p.addResult()
		i, err := p.Rows[0].interval(0.95)
		require.NoError(t, err)
		require.InDelta(t, want, i.Low, 1e-9, unit)
		require.InDelta(t, want, i.High, 1e-9, unit)
	}
}

// A percentile comes from the requests with the value, or else from the record or LoadGen's log.
func TestSourcesOfPercentiles(t *testing.T) {
	r := &Result{requests: requestLog(100, 0), tails: map[tail]float64{{"TTFT", 0.5}: 7, {"TPOT", 0.9}: 8}}
	require.InDelta(t, 0.2, *r.percentile(&measures[0], 0.5), 1e-9)
	for i := range r.requests.Entries {
		r.requests.Entries[i].FirstTokenNS = 0
	}
	require.InDelta(t, 7, *r.percentile(&measures[0], 0.5), 0, "no request has a first token")
	require.Nil(t, r.percentile(&measures[0], 0.9))
	require.Nil(t, (&Result{}).percentile(&measures[0], 0.9))
	for p, want := range map[float64]string{0.5: "p50", 0.999: "p99.9", 0.99: "p99", 0.12345: "p12.345"} {
		require.Equal(t, want, percentName(p))
	}
}

func TestNotesOfAPair(t *testing.T) {
	of := func(rehearsal string) *Result {
		return &Result{State: Valid, Rehearsal: rehearsal, Scenario: "Offline", Value: figure(1), requests: requestLog(9,
			0)}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{"yes", "yes", true}, {"no", "no", false}, {"yes", "", false}, {"", "yes", false}, {"", "", false}} {
		p := newPair("A", "B", of(c.a), of(c.b), Settings{Confidence: 0.95})
		require.Equal(t, c.want, len(p.Notes) > 0, c)
		require.Empty(t, p.NotRanked)
	}
	p := newPair("A", "B", of("yes"), of("no"), Settings{Confidence: 0.95})
	require.Equal(t, []string{"only A is a rehearsal"}, p.NotRanked)
	require.Equal(t, []any{NotJudged, "not ranked"}, []any{p.Rows[0].Verdict, p.Rows[0].Why})
	require.Equal(t, "lowest 1s, other 2ms", limitText(map[string]time.Duration{"other": 2e6, "lowest": 1e9, "none": 0}))
}

// The served model is a rule only for the benchmark that has none of its own. Unknown values differ from nothing.
func TestRulesOfAPair(t *testing.T) {
	of := func(benchmark, served string) *Result {
		return &Result{Benchmark: benchmark, served: served, State: Valid}
	}
	require.Equal(t, []string{"different served model: x and y"}, refusals(of("generic", "x"), of("generic", "y"), "A",
		"B"))
	require.Empty(t, refusals(of("llama", "x"), of("llama", "y"), "A", "B"))
	require.Empty(t, refusals(of("", ""), of("llama", "y"), "A", "B"))
	require.Empty(t, refusals(of("llama", ""), of("", "y"), "A", "B"))
	bad := &Result{State: Crashed}
	require.Equal(t, []string{"A is CRASHED", "B is INVALID (x, y)"},
		refusals(bad, &Result{State: Invalid, Reasons: []string{"x", "y"}}, "A", "B"))
	hash := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	require.Equal(t, "0123456789ab…", short(hash))
	for _, whole := range []string{hash[1:], hash + "0", hash[1:] + "g", ""} {
		require.Equal(t, whole, short(whole))
	}
}

// LoadGen's settings count if a side has no configuration; a setting of both sides is named once.
func TestGroupsOfSettings(t *testing.T) {
	of := func(settings ...setting) *Result { return &Result{settings: settings} }
	effective := func(v string) setting { return setting{loadgenGroup, "effective_target_qps", v} }
	config := setting{configGroup, "x", "1"}
	found := []Difference{{loadgenGroup, "effective_target_qps", "1", "2"}}
	require.Equal(t, found, differences(of(effective("1")), of(effective("2"))))
	require.Equal(t, found, differences(of(effective("1"), config), of(effective("2"))))
	require.Equal(t, found, differences(of(effective("1")), of(effective("2"), config)))
	require.Empty(t, differences(of(effective("1"), config), of(effective("2"), config)))
	require.Empty(t, differences(of(effective("1")), of(config)))
	require.Empty(t, differences(of(config), of(effective("1"))))
	require.False(t, sameLoad(of(effective("1")), of(effective("2"))))
	require.True(t, sameLoad(of(effective("1")), of(effective("1"))))
	require.True(t, sameLoad(of(config), of(setting{configGroup, "x", "2"})))
}
