package measure

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// whole has every stamp, in ms after 1 s: due 0, ready 3, sent 10, events at 110 (1 token), 130 (2) and 150 (1), the
// second of which is the first token outside the reasoning, and its end at 160.
func whole() eventlog.Request {
	r := small()[0]
	r.ReadyNS += 3 * ms
	r.VisibleNS = r.Events[1].AtNS
	return r
}

// lacks are requests without one stamp or figure each.
var lacks = []struct {
	name string
	drop func(r *eventlog.Request)
}{
	{"nothing", func(*eventlog.Request) {}},
	{"due", func(r *eventlog.Request) { r.DueNS = 0 }},
	{"ready", func(r *eventlog.Request) { r.ReadyNS = 0 }},
	{"sent", func(r *eventlog.Request) { r.SentNS = 0 }},
	{"visible", func(r *eventlog.Request) { r.VisibleNS = 0 }},
	{"end", func(r *eventlog.Request) { r.EndNS = 0 }},
	{"events", func(r *eventlog.Request) { r.Events = nil }},
	{"tokens", func(r *eventlog.Request) { r.OutputTokens = 0 }},
	{"all tokens but one", func(r *eventlog.Request) { r.OutputTokens = 1 }},
	{"all events but one", func(r *eventlog.Request) { r.Events = r.Events[:1] }},
}

// Each metric as ms x weight, of a request that lacks one thing after the other; -: it has no such figure. T and G are
// the gaps between tokens and between events.
func TestMetricsOfIncompleteRequests(t *testing.T) {
	seen := 0
	for _, c := range []struct{ metric, definitions, want string }{
		{"ttft", "mlperf-go guidellm vllm aiperf", "100x1,100x1,100x1,110x1,100x1,100x1,-,100x1,100x1,100x1"},
		{"ttfo", "mlperf-go guidellm", "120x1,120x1,120x1,130x1,-,120x1,120x1,120x1,120x1,120x1"},
		{"tpot", "mlperf-go vllm", "13.33x1,13.33x1,13.33x1,13.33x1,13.33x1,13.33x1,-,-,-,0x1"},
		{"itl", "mlperf-go", "T,T,T,T,T,T,-,T,T,0x3"},
		{"icl", "mlperf-go aiperf", "G,G,G,G,G,G,-,G,G,-"},
		{"ntpot", "mlperf-go", "37.5x1,37.5x1,37.5x1,40x1,37.5x1,-,37.5x1,-,150x1,37.5x1"},
		{"e2e", "mlperf-go inference-perf guidellm", "150x1,150x1,150x1,160x1,150x1,-,150x1,150x1,150x1,150x1"},
		{"token_end", "mlperf-go", "140x1,140x1,140x1,150x1,140x1,140x1,150x1,140x1,140x1,100x1"},
		{"ttft_due", "mlperf-go", "110x1,-,110x1,110x1,110x1,110x1,-,110x1,110x1,110x1"},
		{"e2e_due", "mlperf-go", "160x1,-,160x1,160x1,160x1,-,160x1,160x1,160x1,160x1"},
		{"schedule_delay", "mlperf-go", "10x1,-,10x1,-,10x1,10x1,10x1,10x1,10x1,10x1"},
		{"client_delay", "mlperf-go", "7x1,7x1,-,-,7x1,7x1,7x1,7x1,7x1,7x1"},
		{"ttft", "inference-perf", "120x1,120x1,120x1,130x1,-,120x1,-,-,-,-"}, // its first event is reasoning
		{"tpot", "inference-perf", "10x1,10x1,10x1,10x1,-,10x1,-,-,-,-"},
		{"itl", "inference-perf", "0x1+20x1,0x1+20x1,0x1+20x1,0x1+20x1,-,0x1+20x1,-,0x1+20x1,0x1+20x1,-"},
		{"ntpot", "inference-perf", "50x1,50x1,50x1,53.33x1,0x1,-,37.5x1,0x1,0x1,0x1"},
		{"tpot", "guidellm", "35x4,35x4,35x4,37.5x4,35x4,35x4,37.5x4,-,140x1,25x4"},
		{"itl", "guidellm", "13.33x3,13.33x3,13.33x3,13.33x3,13.33x3,13.33x3,-,-,-,0x3"},
		{"itl", "vllm", "G,G,G,G,G,G,-,G,G,-"},
		{"e2e", "vllm aiperf", "140x1,140x1,140x1,150x1,140x1,140x1,150x1,140x1,140x1,100x1"},
		{"itl", "aiperf", "13.33x1,13.33x1,13.33x1,13.33x1,13.33x1,13.33x1,-,-,-,0x1"},
		{"ttft", "loadgen", "110x1,-,110x1,110x1,110x1,110x1,-,110x1,110x1,110x1"},
		{"tpot", "loadgen", "16.67x1,16.67x1,16.67x1,16.67x1,16.67x1,-,-,-,-,16.67x1"},
		{"e2e", "loadgen", "160x1,-,160x1,160x1,160x1,-,160x1,160x1,160x1,160x1"},
	} {
		for _, name := range strings.Fields(c.definitions) {
			d, err := Define(name)
			require.NoError(t, err)
			i := slices.IndexFunc(d.Metrics, func(m Metric) bool { return m.Name == c.metric })
			require.GreaterOrEqual(t, i, 0)
			seen++
			require.Equal(t, c.want, strings.Join(figures(d.Metrics[i]), ","), "%s of %s", c.metric, name)
		}
	}
	all := len(delays)
	for _, d := range Definitions() {
		all += len(d.Metrics)
	}
	require.Equal(t, all, seen, "every metric is in the table")
}

// figures returns a metric of each incomplete request.
func figures(m Metric) (list []string) {
	for _, l := range lacks {
		r := whole()
		l.drop(&r)
		var values []string
		if m.gaps != nil {
			m.gaps(&r, func(s float64, times int) { values = append(values, fmt.Sprintf("%.4gx%d", s*1e3, times)) })
		} else if s, weight, ok := m.of(&r); ok {
			values = append(values, fmt.Sprintf("%.4gx%g", s*1e3, weight))
		}
		text := cmp.Or(strings.Join(values, "+"), "-")
		list = append(list, strings.NewReplacer("20x1+0x1+20x1", "T", "20x1+20x1", "G").Replace(text))
	}
	return list
}

// A log that breaks off in any pass is an error.
func TestLogsThatBreakOffInAnyPass(t *testing.T) {
	broken := errors.New("broken")
	var long []eventlog.Request
	for i := range int64(40) {
		at := int64(time.Second) + i*100*ms
		long = append(long, eventlog.Request{DueNS: at, ReadyNS: at, SentNS: at, EndNS: at + 100*ms, OutputTokens: 1})
	}
	parted := slices.Clone(long)
	parted[39].Stage, parted[39].Session, parted[39].Turn = 9, 4, 7
	parted[38].Group, parted[38].Stage = 12, 30
	for name, c := range map[string]struct {
		list   []eventlog.Request
		passes int
	}{"one stage": {long, 3}, "parts": {parted, 4}} {
		for fails := range c.passes + 1 {
			pass := 0
			m, err := measure(func(each ...visit) (*eventlog.End, error) {
				if pass++; pass == fails+1 {
					return nil, broken
				}
				return logOf(c.list...)(each...)
			}, Options{})
			if fails < c.passes {
				require.ErrorIs(t, err, broken, "%s, pass %d", name, fails)
				continue
			}
			require.NoError(t, err, name)
			require.Equal(t, c.passes, pass)
			require.EqualValues(t, 40, m.Total.Requests.Total)
		}
	}
	m := measured(t, Options{}, parted...)
	require.Equal(t, []int{0, 9, 30}, []int{m.Stages[0].Number, m.Stages[1].Number, m.Stages[2].Number})
	require.Equal(t, []int{7, 12}, []int{m.Turns[0].Number, m.Groups[0].Number})
}

// Each limit of a profile is one of every request, and is compared with its own figure.
func TestLimitsOfAProfile(t *testing.T) {
	require.Empty(t, ProfileLimits(&profile.SLO{}))
	list := ProfileLimits(&profile.SLO{TTFT: 1, TPOT: 2, ITL: 3, NTPOT: 4, E2E: 5})
	require.Equal(t, []Limit{{nameTTFT, 100, 1}, {nameTPOT, 100, 2}, {nameITL, 100, 3}, {nameNTPOT, 100, 4},
		{nameE2E, 100, 5}}, list)
	require.Equal(t, []Limit{{nameITL, 100, 3}}, ProfileLimits(&profile.SLO{ITL: 3}))
	for metric, figure := range map[string]time.Duration{nameTTFT: 100 * time.Millisecond,
		nameTTFO: 120 * time.Millisecond, nameITL: 20 * time.Millisecond, nameNTPOT: 37500 * time.Microsecond,
		nameE2E: 150 * time.Millisecond, "ttft_due": 110 * time.Millisecond, "e2e_due": 160 * time.Millisecond} {
		r := whole()
		require.True(t, within(Limit{metric, 100, figure}, &r), metric)
		require.False(t, within(Limit{metric, 100, figure - 1}, &r), metric)
		r.Reason = "failed"
		require.False(t, within(Limit{metric, 100, time.Hour}, &r), metric)
	}
	tpot, r := Limit{nameTPOT, 100, 14 * time.Millisecond}, whole()
	require.True(t, within(tpot, &r))
	require.False(t, within(Limit{nameTPOT, 100, 13 * time.Millisecond}, &r))
	for _, metric := range []string{nameTPOT, nameITL} {
		r.Events, r.OutputTokens = r.Events[:1], 1
		require.True(t, within(Limit{metric, 100, 1}, &r), "it has no %s", metric)
	}
	require.Equal(t, len(limited), len(limitFormulas))
}

func within(l Limit, r *eventlog.Request) bool {
	is, _ := l.meets(r)
	return is
}

// A limit is met if its percentile of all requests meets it, at the edge and beside it.
func TestSharesOfALimit(t *testing.T) {
	for _, c := range []struct {
		good, all int64
		percent   float64
		want      bool
	}{{1, 2, 50, true}, {1, 2, 50.1, false}, {0, 1, 0.1, false}, {2, 2, 100, true}, {99, 100, 99, true},
		{98, 100, 99, false}, {1, 3, 100. / 3, true}} {
		g := &goods{limits: []Limit{{nameE2E, c.percent, 1}}, each: []int64{c.good}, has: []int64{0},
			seen: c.all, all: c.good, tokens: 6}
		got := g.result(2)
		require.Equal(t, c.want, got.Met, "%+v", c)
		require.Equal(t, c.want, got.Limits[0].Met)
		require.Equal(t, []float64{float64(c.good) / 2, 3}, []float64{got.RequestsPerS, got.TokensPerS})
		require.Zero(t, g.result(0).RequestsPerS, "of no time")
	}
	require.Nil(t, (&goods{seen: 3}).result(1))
	require.Nil(t, (&goods{limits: []Limit{{}}, each: []int64{0}, has: []int64{0}}).result(1))
	both := &goods{limits: []Limit{{nameE2E, 100, 1}, {nameTTFT, 50, 1}}, each: []int64{1, 2}, has: []int64{0, 0},
		seen: 2}
	got := both.result(1)
	require.Equal(t, []bool{false, true, false}, []bool{got.Limits[0].Met, got.Limits[1].Met, got.Met})
}

// Weights of values, the first of which are 1; and the figures of few values.
func TestWeightedValues(t *testing.T) {
	v := newValues(9, 3)
	v.add(5, 1)
	v.add(1, 1)
	v.add(3, 4)
	d := v.distribution(cumulative)
	require.Equal(t, []float64{3, 1, 5, 3}, []float64{d.Mean, d.Min, d.Max, d.Percentile["p50"]})
	require.InDelta(t, math.Sqrt(8./6), d.StdDev, 1e-12)
	require.Equal(t, 1.0, d.Percentile["p10"])
	require.Equal(t, 3.0, d.Percentile["p80"])
	require.Equal(t, 5.0, d.Percentile["p90"])
	require.EqualValues(t, 3, d.Count)
	one := newValues(1, 0)
	one.add(7, 1)
	single := one.distribution(linear)
	require.Equal(t, Distribution{Count: 1, Mean: 7, Min: 7, Max: 7, Exact: true, Percentile: single.Percentile}, *single)
	one.add(9, 1)
	require.Nil(t, one.list, "a histogram replaces the values")
	require.InDelta(t, 1, one.distribution(linear).StdDev, 1e-12)
	require.Nil(t, newValues(1, 1).distribution(linear))
	zero := newValues(2, 0)
	zero.add(4, 0)
	require.Zero(t, zero.distribution(nearest).StdDev, "of no weight")
	require.Equal(t, "p99.9", PercentileName(99.9))
}

// The edges of percentiles among few values: the positions of each rule, and how far between them.
func TestPositionsOfPercentiles(t *testing.T) {
	for _, c := range []struct {
		n         int
		share     float64
		by        rule
		low, high int
		way       float64
	}{
		{1, 0, linear, 0, 0, 0}, {1, 1, linear, 0, 0, 0}, {5, .25, linear, 1, 2, 0}, {5, .3, linear, 1, 2, .2},
		{5, 1, linear, 4, 4, 0}, {5, .8, linear, 3, 4, .2},
		{4, 0, cumulative, 0, 0, 0}, {4, .25, cumulative, 0, 0, 0}, {4, .26, cumulative, 1, 1, 0},
		{4, 1, cumulative, 3, 3, 0}, {4, 0, nearest, 0, 0, 0}, {4, .25, nearest, 1, 1, 0}, {4, .24, nearest, 0, 0, 0},
		{4, 1, nearest, 3, 3, 0},
	} {
		low, high, way := around(c.n, c.share, c.by)
		require.Equal(t, []int{c.low, c.high}, []int{low, high}, "%+v", c)
		require.InDelta(t, c.way, way, 1e-9, "%+v", c)
	}
}

// How each answer is counted, alone.
func TestCountsOfAnAnswer(t *testing.T) {
	ok := func(change func(r *eventlog.Request)) eventlog.Request {
		r := eventlog.Request{SentNS: 1e9, EndNS: 2e9, InputTokens: 5, OutputTokens: 3}
		change(&r)
		return r
	}
	one := Counts{Total: 1, OK: 1, Measured: 1, ByCause: map[ledger.Reason]int64{}}
	tokens := Tokens{Input: 5, Output: 3, MeanInput: 5, MeanOut: 3}
	for name, c := range map[string]struct {
		r      eventlog.Request
		counts func(c *Counts)
		tokens func(t *Tokens)
	}{
		"plain":   {ok(func(*eventlog.Request) {}), nil, nil},
		"retried": {ok(func(r *eventlog.Request) { r.Retries = 1 }), func(c *Counts) { c.Retried = 1 }, nil},
		"empty": {ok(func(r *eventlog.Request) { r.OutputTokens = 0 }), func(c *Counts) { c.Empty = 1 },
			func(t *Tokens) { t.Output, t.MeanOut = 0, 0 }},
		"unknown input": {ok(func(r *eventlog.Request) { r.InputTokens = 0 }), nil,
			func(t *Tokens) { t.Input, t.MeanInput, t.Unknown = 0, 0, 1 }},
		"uncounted input": {ok(func(r *eventlog.Request) { r.InputTokens, r.AskedInput = 0, 5 }), nil,
			func(t *Tokens) { t.Unknown = 1 }},
		"uncounted input, later": {ok(func(r *eventlog.Request) { r.InputTokens, r.AskedInput, r.Turn = 0, 5, 1 }), nil,
			func(t *Tokens) { t.Input, t.MeanInput, t.Unknown = 0, 0, 1 }},
		"input as asked":     {ok(func(r *eventlog.Request) { r.AskedInput = 5 }), nil, nil},
		"other input":        {ok(func(r *eventlog.Request) { r.AskedInput = 1 }), nil, func(t *Tokens) { t.OtherIn = 1 }},
		"other input, later": {ok(func(r *eventlog.Request) { r.AskedInput, r.Turn = 1, 1 }), nil, nil},
		"cut input, later": {ok(func(r *eventlog.Request) { r.AskedInput, r.Turn = 6, 1 }), nil,
			func(t *Tokens) { t.ShortIn = 1 }},
		"output as asked":    {ok(func(r *eventlog.Request) { r.AskedOutput = 3 }), nil, nil},
		"longer than asked":  {ok(func(r *eventlog.Request) { r.AskedOutput = 2 }), nil, nil},
		"shorter than asked": {ok(func(r *eventlog.Request) { r.AskedOutput = 4 }), nil, func(t *Tokens) { t.ShortOut = 1 }},
		"slow": {ok(func(r *eventlog.Request) { r.Slow = true }),
			func(c *Counts) { c.Slow, c.Measured = 1, 0 }, nil},
		"leaver": {ok(func(r *eventlog.Request) { r.Leaver = true }),
			func(c *Counts) { c.Leavers, c.Measured = 1, 0 }, nil},
		"failed": {ok(func(r *eventlog.Request) { r.Reason = "x" }), func(c *Counts) {
			*c = Counts{Total: 1, Failed: 1, FailureRate: 1, ByCause: map[ledger.Reason]int64{"x": 1}}
		}, func(t *Tokens) { *t = Tokens{} }},
		"cancelled": {ok(func(r *eventlog.Request) { r.Cancelled = true }), func(c *Counts) {
			*c = Counts{Total: 1, Cancelled: 1, ByCause: map[ledger.Reason]int64{}}
		}, func(t *Tokens) { *t = Tokens{Cancelled: 3} }},
		"without an end": {ok(func(r *eventlog.Request) { r.EndNS = 0 }), func(c *Counts) {
			*c = Counts{Total: 1, Failed: 1, FailureRate: 1, ByCause: map[ledger.Reason]int64{"": 1}}
		}, func(t *Tokens) { *t = Tokens{} }},
	} {
		wantCounts, wantTokens := one, tokens
		if c.counts != nil {
			c.counts(&wantCounts)
		}
		if c.tokens != nil {
			c.tokens(&wantTokens)
		}
		f := measured(t, Options{}, c.r).Total
		require.Equal(t, wantCounts, f.Requests, name)
		require.Equal(t, wantTokens, f.Tokens, name)
	}
}

// TestPrefixCache computes the hit rate by hand. Neither sum has requests of which the server reports nothing, or those
// that failed.
func TestPrefixCache(t *testing.T) {
	r := func(stage, turn, group, input, cached int, change ...func(*eventlog.Request)) eventlog.Request {
		r := eventlog.Request{Stage: stage, Session: 1, Turn: turn, Group: group, SentNS: 1e9, EndNS: 2e9,
			InputTokens: input, OutputTokens: 3, CachedTokens: cached, HasCached: true}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	silent := func(r *eventlog.Request) { r.HasCached = false }
	m := measured(t, Options{},
		r(0, 0, 1, 100, 0), r(0, 1, 1, 100, 64), r(1, 0, 2, 40, 0), r(1, 1, 2, 60, 32),
		r(1, 1, 3, 500, 0, silent), r(1, 1, 2, 500, 480, func(r *eventlog.Request) { r.Reason = "x" }))
	require.Equal(t, &PrefixCache{Requests: 4, Prompt: 300, Cached: 96, HitRate: 0.32}, m.Total.PrefixCache)
	require.Equal(t, "32.00 % of 300 prompt tokens (reported for 4 requests)",
		m.Total.PrefixCache.String())
	require.Equal(t, &PrefixCache{Requests: 2, Prompt: 200, Cached: 64, HitRate: 0.32}, m.Stages[0].PrefixCache)
	require.Equal(t, &PrefixCache{Requests: 2, Prompt: 100, Cached: 32, HitRate: 0.32}, m.Stages[1].PrefixCache)
	require.Equal(t, &PrefixCache{Requests: 2, Prompt: 140}, m.Turns[0].PrefixCache, "0 is a report")
	require.Equal(t, &PrefixCache{Requests: 2, Prompt: 160, Cached: 96, HitRate: 0.6}, m.Turns[1].PrefixCache)
	require.Equal(t, 0.32, m.Groups[0].PrefixCache.HitRate)
	require.Nil(t, m.Groups[2].PrefixCache, "nothing is reported")
	require.Nil(t, measured(t, Options{}, r(0, 0, 0, 100, 0, silent)).Total.PrefixCache)
}

// At most mostGroups groups have figures of their own.
func TestManyGroups(t *testing.T) {
	var list []eventlog.Request
	for i := range mostGroups + 2 {
		list = append(list, eventlog.Request{SentNS: 1e9, EndNS: 2e9, Group: 1 + i}, eventlog.Request{SentNS: 1e9,
			EndNS: 2e9, Group: 1})
	}
	m := measured(t, Options{}, list...)
	require.Len(t, m.Groups, mostGroups)
	require.EqualValues(t, mostGroups+3, m.Groups[0].Requests.Total)
	require.EqualValues(t, 1, m.Groups[mostGroups-1].Requests.Total)
	require.Equal(t, mostGroups, m.Groups[mostGroups-1].Number)
}

// rising is a load of up to 10 users, each of whom begins a second after the one before, with answers of a second.
func rising(isStreamed bool) (list []eventlog.Request) {
	at := func(s float64) int64 { return int64(time.Second) + int64(s*1e9) }
	for user := range 10 {
		for sent := float64(user); sent < 30+float64(user)*.5; sent++ {
			r := eventlog.Request{DueNS: at(sent), SentNS: at(sent), EndNS: at(sent + 1), OutputTokens: 10}
			for i := range 10 {
				if isStreamed {
					r.Events = append(r.Events, eventlog.Event{AtNS: at(sent + float64(i+1)/10), Tokens: 1})
				}
			}
			list = append(list, r)
		}
	}
	return list
}

// The steady window has the latencies of the requests sent within it, and the tokens of answers that were not streamed
// if they ended within it. Other stages do not count.
func TestFiguresOfTheSteadyWindow(t *testing.T) {
	for _, isStreamed := range []bool{true, false} {
		list := rising(isStreamed)
		other := list[150]
		other.Stage, other.Reason = 1, ""
		failed := list[140]
		failed.Reason, failed.Events = "x", nil
		m := measured(t, Options{}, append(list, other, failed)...)
		s := m.Steady
		require.NotNil(t, s)
		require.Less(t, s.DurationS, 25.)
		require.InDelta(t, 100, s.OutputTokenRate, 10, "streamed: %v", isStreamed)
		require.InDelta(t, 10, s.RequestRate, 1)
		within := int64(0)
		for i := range list {
			if at := list[i].SentNS; at >= s.StartNS && at < s.EndNS {
				within++
			}
		}
		require.Less(t, within, int64(len(list)))
		names := map[bool][]string{true: {nameE2E, nameTPOT, nameTTFT}, false: {nameE2E}}[isStreamed]
		require.Equal(t, names, slices.Sorted(maps.Keys(s.Latency)))
		for _, name := range names {
			require.Equal(t, within, s.Latency[name].Count, name)
		}
	}
}

// A single stage without windows, sessions and groups is the total; otherwise the parts have figures of their own.
func TestWhenTheTotalIsThePart(t *testing.T) {
	plain := []eventlog.Request{whole(), whole(), whole()}
	change := func(at int, f func(r *eventlog.Request)) []eventlog.Request {
		list := slices.Clone(plain)
		f(&list[at])
		return list
	}
	short := profile.Window{Duration: time.Millisecond}
	for name, c := range map[string]struct {
		list  []eventlog.Request
		load  *profile.Load
		isOne bool
	}{
		"plain":            {plain, nil, true},
		"a load":           {plain, &profile.Load{Stages: []profile.Stage{{}}}, true},
		"another stage":    {change(1, func(r *eventlog.Request) { r.Stage = 1 }), nil, false},
		"a first session":  {change(0, func(r *eventlog.Request) { r.Session = 1 }), nil, false},
		"a last session":   {change(2, func(r *eventlog.Request) { r.Session = 1 }), nil, false},
		"a first group":    {change(0, func(r *eventlog.Request) { r.Group = 1 }), nil, false},
		"a last group":     {change(2, func(r *eventlog.Request) { r.Group = 1 }), nil, false},
		"a warm-up stage":  {plain, &profile.Load{Stages: []profile.Stage{{Warmup: true}}}, false},
		"a warm-up window": {plain, &profile.Load{Warmup: short}, false},
		"a cool-down":      {plain, &profile.Load{Cooldown: short}, false},
	} {
		m := &Measured{}
		w, err := m.windows(logOf(c.list...), &Options{Load: c.load})
		require.NoError(t, err)
		require.Equal(t, c.isOne, w.isOne, name)
	}
	cooled := measured(t, Options{Load: &profile.Load{Cooldown: profile.Window{Duration: time.Second}}}, plain...)
	require.EqualValues(t, 3, cooled.LeftOut)
	require.EqualValues(t, 3, cooled.Stages[0].Requests.Total)
}

// Sessions are counted in the stage in which their calls took place.
func TestSessionsByStage(t *testing.T) {
	var list []eventlog.Request
	for stage, sessions := range []int{2, 3} {
		for session := range sessions {
			for turn := range 2 {
				r := whole()
				r.Stage, r.Session, r.Turn = stage, 10*stage+session+1, turn
				list = append(list, r)
			}
		}
	}
	list[1].Reason = "http_500"
	plain := whole()
	plain.Stage = 2
	m := measured(t, Options{}, append(list, plain)...)
	require.Equal(t, &Sessions{Begun: 2, Calls: 4, Answered: 3}, m.Stages[0].Sessions)
	require.Equal(t, &Sessions{Begun: 3, Calls: 6, Answered: 6}, m.Stages[1].Sessions)
	require.Nil(t, m.Stages[2].Sessions)
	require.Equal(t, &Sessions{Begun: 5, Calls: 10, Answered: 9}, m.Total.Sessions)
}

// TestGapsByMode computes the gaps of an answer with events of 2, 1 and 3 tokens.
func TestGapsByMode(t *testing.T) {
	r := whole()
	r.OutputTokens, r.Events = 6, []eventlog.Event{{AtNS: 2e9, Tokens: 2}, {AtNS: 2e9 + 10*ms, Tokens: 1},
		{AtNS: 2e9 + 40*ms, Tokens: 3}}
	for name, want := range map[string]struct {
		count int64
		mean  float64
	}{
		"mlperf-go":                     {5, .008},
		"mlperf-go,itl.mode=burst":      {5, .008},
		"mlperf-go,itl.mode=smooth":     {4, .01},
		"mlperf-go,itl.mode=chunk":      {2, .02},
		"inference-perf,itl.mode=chunk": {2, .02},
		"vllm":                          {2, .02},
		"vllm,itl.mode=smooth":          {4, .01},
	} {
		m := measured(t, Options{Definition: name}, r)
		require.Equal(t, name, m.Definition)
		require.Equal(t, want.count, m.Total.Latency[nameITL].Count, name)
		require.InDelta(t, want.mean, m.Total.Latency[nameITL].Mean, 1e-9, name)
	}
	for name, want := range map[string]string{
		"guidellm,itl.mode=burst":  "no gaps between tokens",
		"mlperf-go,itl.mode=smoth": "smooth",
		"mlperf,itl.mode=smooth":   "mlperf-go",
	} {
		_, err := Define(name)
		require.ErrorContains(t, err, want, name)
	}
	require.NotNil(t, ours.Metrics[3].gaps, "the table of definitions is not changed")
	require.Equal(t, "mlperf-go", ours.Name)
}
