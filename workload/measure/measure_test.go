package measure

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

const ms = int64(time.Millisecond)

// logOf returns a reader of requests.
func logOf(list ...eventlog.Request) reader {
	return func(each ...visit) (*eventlog.End, error) {
		h := &eventlog.Header{ID: "test"}
		for i := range list {
			for _, f := range each {
				if err := f(h, &list[i]); err != nil {
					return nil, err
				}
			}
		}
		return &eventlog.End{Complete: true, Requests: int64(len(list))}, nil
	}
}

// small is a log whose figures can be computed by hand, in ms after 1 s:
//
//	A: due 0, sent 10, events at 110 (1 token), 130 (2 tokens), 150 (1): 4 tokens, ends at 160
//	B: due 100, sent 100, one token at 140, ends at 150
//	C: due 200, sent 205, fails at 300
//	D: due 300, sent 300, reasoning at 320, first visible token at 360, 400: 3 tokens, ends at 400
func small() []eventlog.Request {
	at := func(v int64) int64 { return int64(time.Second) + v*ms }
	return []eventlog.Request{
		{DueNS: at(0), ReadyNS: at(0), SentNS: at(10), FirstByteNS: at(100), EndNS: at(160), InputTokens: 10, OutputTokens: 4,
			VisibleNS: at(110),
			Events:    []eventlog.Event{{AtNS: at(110), Tokens: 1}, {AtNS: at(130), Tokens: 2}, {AtNS: at(150), Tokens: 1}}},
		{DueNS: at(100), ReadyNS: at(100), SentNS: at(100), EndNS: at(150), InputTokens: 20, OutputTokens: 1,
			VisibleNS: at(140), Events: []eventlog.Event{{AtNS: at(140), Tokens: 1}}, Session: 1},
		{DueNS: at(200), ReadyNS: at(204), SentNS: at(205), EndNS: at(300), Reason: "http_500", Stage: 1},
		{DueNS: at(300), ReadyNS: at(300), SentNS: at(300), EndNS: at(400), InputTokens: 30, OutputTokens: 3, Stage: 1,
			VisibleNS: at(360), Session: 1, Turn: 1, Group: 2, Events: []eventlog.Event{{AtNS: at(320), Tokens: 1},
				{AtNS: at(360), Tokens: 1}, {AtNS: at(400), Tokens: 1}}},
	}
}

func measured(t *testing.T, o Options, list ...eventlog.Request) *Measured {
	t.Helper()
	m, err := measure(logOf(list...), o)
	require.NoError(t, err)
	return m
}

// golden are figures in ms, computed by hand.
type golden struct {
	metric    string
	count     int64
	mean, p50 float64
	max       float64
}

func TestFiguresByHand(t *testing.T) {
	for definition, list := range map[string][]golden{
		"mlperf-go": {
			{"ttft", 3, 160. / 3, 40, 100}, // 100, 40, 20
			{"ttfo", 3, 200. / 3, 60, 100}, // 100, 40, 60
			{"tpot", 2, (40./3 + 40) / 2, 40, 40},
			{"itl", 5, 24, 20, 40}, // 20, 0, 20, 40, 40
			{"icl", 4, 30, 40, 40}, // 20, 20, 40, 40
			{"ntpot", 3, (37.5 + 50 + 100./3) / 3, 37.5, 50},
			{"e2e", 3, 100, 100, 150},             // 150, 50, 100
			{"token_end", 3, 280. / 3, 100, 140},  // 140, 40, 100
			{"ttft_due", 3, 170. / 3, 40, 110},    // 110, 40, 20
			{"e2e_due", 3, 310. / 3, 100, 160},    // 160, 50, 100
			{"schedule_delay", 4, 15. / 4, 5, 10}, // 10, 0, 5, 0: the failure was sent too
			{"client_delay", 4, 11. / 4, 1, 10},   // 10, 0, 1, 0
		},
		"inference-perf": {
			{"ttft", 2, 80, 80, 100},                            // 100, 60: not of the answer of one token
			{"tpot", 2, (40./3 + 40) / 2, (40./3 + 40) / 2, 40}, // D: from 360 to 400, two tokens
			{"itl", 4, 20, 20, 40},                              // 20, 0, 20, 40
			{"ntpot", 3, (37.5 + 50 + 50) / 3, 50, 50},
			{"e2e", 3, 100, 100, 150},
		},
		"guidellm": {
			{"ttft", 3, 160. / 3, 40, 100},
			{"ttfo", 3, 200. / 3, 60, 100},
			{"tpot", 3, (140. + 40 + 100) / 8, 35, 40}, // 35 x4, 40 x1, 33.3 x3
			{"itl", 2, (40. + 80) / 5, 40. / 3, 40},    // 13.3 x3, 40 x2
			{"e2e", 3, 100, 100, 150},
		},
		"vllm": {
			{"ttft", 3, 160. / 3, 40, 100},
			{"tpot", 2, (40./3 + 40) / 2, (40./3 + 40) / 2, 40},
			{"itl", 4, 30, 30, 40},
			{"e2e", 3, 280. / 3, 100, 140},
		},
		"aiperf": {
			{"ttft", 3, 160. / 3, 40, 100},
			{"itl", 2, (40./3 + 40) / 2, (40./3 + 40) / 2, 40},
			{"icl", 4, 30, 30, 40},
			{"e2e", 3, 280. / 3, 100, 140},
		},
		"loadgen": {
			{"ttft", 3, 170. / 3, 40, 110},
			{"tpot", 2, (50./3 + 40) / 2, 40, 40},
			{"e2e", 3, 310. / 3, 100, 160},
		},
	} {
		t.Run(definition, func(t *testing.T) {
			m := measured(t, Options{Definition: definition}, small()...)
			for _, want := range list {
				d := m.Total.Latency[want.metric]
				require.NotNil(t, d, want.metric)
				require.Equal(t, want.count, d.Count, want.metric)
				require.InDelta(t, want.mean, d.Mean*1e3, 1e-9, "%s mean", want.metric)
				require.InDelta(t, want.p50, d.Percentile["p50"]*1e3, 1e-9, "%s p50", want.metric)
				require.InDelta(t, want.max, d.Max*1e3, 1e-9, "%s max", want.metric)
			}
		})
	}
}

func TestCountsByHand(t *testing.T) {
	m := measured(t, Options{}, small()...)
	f := m.Total
	require.Equal(t, Counts{Total: 4, OK: 3, Failed: 1, Measured: 3, FailureRate: .25,
		ByCause: map[ledger.Reason]int64{"http_500": 1}},
		f.Requests)
	require.EqualValues(t, 60, f.Tokens.Input)
	require.EqualValues(t, 8, f.Tokens.Output)
	require.InDelta(t, .39, f.DurationS, 1e-9, "from 10 to 400")
	require.InDelta(t, 3/.39, f.Throughput.Requests, 1e-9)
	require.InDelta(t, 8/.39, f.Throughput.OutputTokens, 1e-9)
	require.InDelta(t, 68/.39, f.Throughput.TotalTokens, 1e-9)
	require.InDelta(t, 4/.29, f.Throughput.SendRate, 1e-9, "four requests from 10 to 300")
	require.Len(t, m.Stages, 2)
	require.EqualValues(t, 2, m.Stages[0].Requests.Total)
	require.EqualValues(t, 1, m.Stages[1].Requests.Failed)
	require.Equal(t, []int{0, 1}, []int{m.Turns[0].Number, m.Turns[1].Number})
	require.Equal(t, 2, m.Groups[0].Number)
	require.EqualValues(t, 1, m.Groups[0].Requests.OK)
	require.Empty(t, m.Groups[0].Name, "of a prefix")
	classes := []profile.Class{{Name: "low"}, {Name: "high"}}
	require.Equal(t, "high", measured(t, Options{Classes: classes}, small()...).Groups[0].Name)
	first, each, n := 160./3, (40./3+40)/2, 8./3
	require.InDelta(t, 100-(first+each*n), f.Consistency.E2E*1e3, 1e-9)
	require.InDelta(t, (37.5+50+100./3)/3-(first/n+each), f.Consistency.NTPOT*1e3, 1e-9)
}

func TestGoodput(t *testing.T) {
	limits, err := ParseLimits("ttft:p50<60ms, e2e<=150ms,tpot:p99<0.02s")
	require.NoError(t, err)
	g := measured(t, Options{Limits: limits}, small()...).Total.Goodput
	require.EqualValues(t, []int64{2, 3, 2}, []int64{g.Limits[0].Good, g.Limits[1].Good, g.Limits[2].Good})
	require.Equal(t, []bool{true, false, false}, []bool{g.Limits[0].Met, g.Limits[1].Met, g.Limits[2].Met})
	require.EqualValues(t, 1, g.Good, "B: its answer of one token has no time per token")
	require.InDelta(t, .25, g.Share, 1e-9, "failures count")
	require.False(t, g.Met)
	require.InDelta(t, 1/.39, g.RequestsPerS, 1e-9, "A is sent after 10 ms")
	require.InDelta(t, 1/.39, g.TokensPerS, 1e-9, "the token of B")
	most, err := ParseLimits("ttft:p100<1s,e2e:p0.1<1ns")
	require.NoError(t, err)
	require.Equal(t, []Limit{{nameTTFT, 100, time.Second}, {nameE2E, 0.1, 1}}, most)
	for text, want := range map[string]string{"ttft": "no <", "speed<1s": "no metric", "ttft:99<1s": "percentile",
		"ttft:p0<1s": "percentile", "ttft<-1s": "not a time", "ttft<0s": "not a time",
		"ttft:p99<fast": `"fast" is not a time above 0; write it as ttft:p99<500ms`,
		"ttft:p99<500":  `the limit "ttft:p99<500": "500" has no unit: is it 500ms or 500s?; write it as ttft:p99<500ms`,
		"tpot<=0.04":    `"0.04" has no unit`,
		"ttft:p101<1s":  "percentile"} {
		_, err := ParseLimits(text)
		require.ErrorContains(t, err, want, text)
	}
}

// A log that cannot be read is no empty one.
func TestALogThatCannotBeRead(t *testing.T) {
	broken := errors.New("broken")
	_, err := measure(func(...visit) (*eventlog.End, error) {
		return nil, broken
	}, Options{})
	require.ErrorIs(t, err, broken)
	m, err := measure(logOf(), Options{})
	require.NoError(t, err)
	require.Zero(t, m.Total.Requests.Total)
}

// An answer without a token has no time per token in any definition.
func TestAnswersWithoutATokenHaveNoTimePerToken(t *testing.T) {
	empty := small()[0]
	empty.OutputTokens, empty.Events = 0, nil
	for _, name := range DefinitionNames() {
		m := measured(t, Options{Definition: name}, empty, small()[0])
		for metric, d := range m.Total.Latency {
			if metric == nameTPOT {
				require.EqualValues(t, 1, d.Count, "%s of %s", metric, name)
			}
		}
	}
}

// Warm-up omits requests from the total, but not from their stage.
func TestWindows(t *testing.T) {
	load := &profile.Load{Stages: []profile.Stage{{Warmup: true}, {}}}
	m := measured(t, Options{Load: load}, small()...)
	require.EqualValues(t, 2, m.Total.Requests.Total)
	require.EqualValues(t, 2, m.LeftOut)
	require.EqualValues(t, 2, m.Stages[0].Requests.Total)
	for name, w := range map[string]profile.Load{
		"requests": {Warmup: profile.Window{Requests: 1}},
		"time":     {Warmup: profile.Window{Duration: 50 * time.Millisecond}},
		"share":    {Warmup: profile.Window{Share: .3}, Cooldown: profile.Window{Share: .01}},
	} {
		w.Stages = []profile.Stage{{}, {}}
		m := measured(t, Options{Load: &w}, small()...)
		require.EqualValues(t, 2, m.Total.Requests.Total, name)
		require.EqualValues(t, 2, m.LeftOut, name)
	}
}

// Each limit of a window omits its requests at one end of every stage. Of several limits, the first that is reached
// counts. Two stages send one request each 10 ms, and the last answer comes 195 ms after the first request.
func TestLimitsOfWindows(t *testing.T) {
	var list []eventlog.Request
	for i := range int64(40) {
		at := int64(time.Second) + i%20*10*ms + i/20*500*ms
		list = append(list, eventlog.Request{DueNS: at, ReadyNS: at, SentNS: at, EndNS: at + 5*ms, OutputTokens: 1,
			Stage: int(i / 20), Events: []eventlog.Event{{AtNS: at + ms, Tokens: 1}}})
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	for _, c := range []struct {
		w    profile.Window
		want int64 // requests of a stage that it leaves out
	}{
		{profile.Window{}, 0},
		{profile.Window{Requests: 1}, 1},
		{profile.Window{Requests: 3}, 3},
		{profile.Window{Requests: 19}, 19},
		{profile.Window{Requests: 20}, 20},
		{profile.Window{Requests: 50}, 20},
		{profile.Window{Duration: 95 * time.Millisecond}, 10},
		{profile.Window{Share: .25}, 5},
		{profile.Window{Requests: 8, Duration: 45 * time.Millisecond}, 5},
		{profile.Window{Requests: 2, Duration: 45 * time.Millisecond}, 2},
		{profile.Window{Share: .25, Duration: 195 * time.Millisecond}, 5},
		{profile.Window{Share: .9, Duration: 25 * time.Millisecond}, 3},
	} {
		stages := []profile.Stage{{}, {}}
		for _, load := range []profile.Load{{Warmup: c.w, Stages: stages}, {Cooldown: c.w, Stages: stages}} {
			m := measured(t, Options{Load: &load}, list...)
			require.Equal(t, []int64{2 * c.want, 40 - 2*c.want}, []int64{m.LeftOut, m.Total.Requests.Total}, "%+v", load)
			require.EqualValues(t, 20, m.Stages[1].Requests.Total)
		}
	}
	both := &profile.Load{Warmup: profile.Window{Requests: 2}, Cooldown: profile.Window{Requests: 5}}
	require.EqualValues(t, 2*7, measured(t, Options{Load: both}, list...).LeftOut)
}

// A ramp up, a plateau of 10 in flight, and a tail: the window is the plateau.
func TestSteadyWindow(t *testing.T) {
	var list []eventlog.Request
	at := func(s float64) int64 { return int64(time.Second) + int64(s*1e9) }
	for user := range 10 {
		for sent := float64(user); sent < 30+float64(user)*.5; sent++ {
			r := eventlog.Request{DueNS: at(sent), SentNS: at(sent), EndNS: at(sent + 1), OutputTokens: 10}
			for i := range 10 {
				r.Events = append(r.Events, eventlog.Event{AtNS: at(sent + float64(i+1)/10), Tokens: 1})
			}
			list = append(list, r)
		}
	}
	s := measured(t, Options{}, list...).Steady
	require.NotNil(t, s)
	require.InDelta(t, 9, float64(s.StartNS)/1e9-1, 1.1)
	require.InDelta(t, 31, float64(s.EndNS)/1e9-1, 1.1)
	require.InDelta(t, 10, s.InFlight, .3)
	require.InDelta(t, 100, s.OutputTokenRate, 4)
	require.Nil(t, measured(t, Options{}, small()...).Steady, "four requests have no steady state")
}

// The value with which the histogram begins is counted like the earlier and later ones.
func TestTheFirstOfManyValues(t *testing.T) {
	for most := range 5 {
		v := newValues(most, 0)
		for range 5 {
			v.add(.5, 1)
		}
		d := v.distribution(nearest)
		require.EqualValues(t, 5, d.Count)
		require.False(t, d.Exact)
		for name, at := range d.Percentile {
			require.InEpsilon(t, .5, at, .01, "%s of at most %d exact values", name, most)
		}
	}
}

// Each rule finds the value of its definition for a share, with and without weights.
func TestPercentilesByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(0, 9), 1, 30).Draw(t, "values")
		whole := rapid.SliceOfN(rapid.IntRange(1, 4), len(list), len(list)).Draw(t, "weights")
		share := float64(rapid.IntRange(0, 1000).Draw(t, "share")) / 1000
		plain, weighted := newValues(99, 0), newValues(99, 0)
		var repeated []float64
		for i, v := range list {
			plain.add(v, 1)
			weighted.add(v, float64(whole[i]))
			repeated = append(repeated, slices.Repeat([]float64{v}, whole[i])...)
		}
		sorted := slices.Sorted(slices.Values(list))
		n := float64(len(sorted))
		reached := func(of []float64) float64 { // the first value that as many values are not above
			of = slices.Sorted(slices.Values(of))
			for i, v := range of {
				if float64(i+1) >= share*float64(len(of)) {
					return v
				}
			}
			return of[len(of)-1]
		}
		require.Equal(t, reached(list), plain.percentiles(cumulative)(share))
		require.Equal(t, reached(repeated), weighted.percentiles(nearest)(share), "as if each were there so many times")
		require.Equal(t, sorted[min(int(n*share), len(sorted)-1)], plain.percentiles(nearest)(share))
		at := share * (n - 1)
		low, high := sorted[int(math.Floor(at))], sorted[int(math.Ceil(at))]
		require.InDelta(t, low+(high-low)*(at-math.Floor(at)), plain.percentiles(linear)(share), 1e-9)
	})
}

// The longest stage that is not a warm-up is used; of equally long ones, the first.
func TestLongestStage(t *testing.T) {
	lasting := func(seconds ...int64) map[int]*extent {
		stages := map[int]*extent{}
		for n, s := range seconds {
			stages[n] = &extent{start: 5, end: 5 + s}
		}
		return stages
	}
	load := &profile.Load{Stages: []profile.Stage{{Warmup: true}, {}}}
	for range 20 { // a map has no order
		for want, w := range map[int]*windows{0: {stages: lasting(3, 3, 2)}, 2: {stages: lasting(2, 3, 4)},
			1: {stages: lasting(9, 4, 4), load: load}} {
			n, of := w.longest()
			require.Equal(t, want, n)
			require.Equal(t, w.stages[want], of)
		}
	}
	_, of := (&windows{stages: lasting(1), load: load}).longest()
	require.Nil(t, of)
}

// Above the bound, percentiles come from a histogram, within its error.
func TestManyValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	exact, rough := newValues(100_000, 10), newValues(1000, 0)
	for range 50_000 {
		v := r.ExpFloat64()
		exact.add(v, 1)
		rough.add(v, 1)
	}
	a, b := exact.distribution(nearest), rough.distribution(nearest)
	require.True(t, a.Exact)
	require.False(t, b.Exact)
	for name, v := range a.Percentile {
		require.InEpsilon(t, v, b.Percentile[name], .0081, name)
	}
	require.Equal(t, a.Mean, b.Mean)
	require.InDelta(t, 1, a.StdDev, .05)
}

// A long log is read once for each metric, with the same figures.
func TestPassesAgree(t *testing.T) {
	d, err := Define("")
	require.NoError(t, err)
	one := measured(t, Options{}, small()...)
	m := &Measured{}
	w, err := m.windows(logOf(small()...), &Options{})
	require.NoError(t, err)
	for i := range d.Metrics {
		require.NoError(t, m.total(logOf(small()...), d, &Options{}, w, d.Metrics[i:i+1], i == 0))
		require.NoError(t, m.parts(logOf(small()...), d, &Options{}, w, d.Metrics[i:i+1], i == 0))
	}
	require.Equal(t, one.Total, m.Total)
	require.Equal(t, one.Stages, m.Stages)
	_, err = Define("nonsense")
	require.ErrorContains(t, err, "vllm")
}

// The metrics of a pass fit its memory, and every metric is in one pass.
func TestPasses(t *testing.T) {
	d, err := Define("")
	require.NoError(t, err)
	for _, c := range []struct {
		requests int64
		most     int
		want     int // passes
	}{
		{manyRequests, Most, 1},
		{manyRequests + 1, Most, 2}, // two metrics have a value for each gap
		{3_000_000, Most, 3},
		{Most, Most, len(d.Metrics) / 2},
		{Most + 1, 0, 1}, // histograms
	} {
		list := (&windows{requests: c.requests, most: c.most}).passes(d.Metrics)
		require.Len(t, list, c.want, "%d requests", c.requests)
		require.Equal(t, d.Metrics[len(d.Metrics)-1].Name, list[len(list)-1][len(list[len(list)-1])-1].Name)
		require.Len(t, slices.Concat(list...), len(d.Metrics))
		for _, pass := range list {
			bytes := int64(0)
			for _, m := range pass {
				if bytes += min(c.requests, int64(c.most)) * valueBytes; m.gaps != nil {
					bytes += int64(c.most)*valueBytes - min(c.requests, int64(c.most))*valueBytes
				}
			}
			few := c.requests <= manyRequests
			require.True(t, few || len(pass) == 1 || bytes <= passBytes, "%d requests: %d bytes", c.requests, bytes)
		}
	}
}

// A run with more requests than are kept one by one has histograms only, and reads its log three times.
func TestMoreRequestsThanAreKept(t *testing.T) {
	passes := 0
	var list []eventlog.Request
	for i := range int64(100) {
		at := int64(time.Second) + i*20*ms
		list = append(list, eventlog.Request{DueNS: at, ReadyNS: at, SentNS: at, EndNS: at + 500*ms, OutputTokens: 1,
			Events: []eventlog.Event{{AtNS: at + 100*ms, Tokens: 1}}})
	}
	read := logOf(list...)
	m, err := measure(func(each ...visit) (*eventlog.End, error) {
		passes++
		return read(each...)
	}, Options{most: 99})
	require.NoError(t, err)
	require.Equal(t, 3, passes)
	for name, d := range m.Total.Latency {
		require.False(t, d.Exact, name)
		require.EqualValues(t, 100, d.Count, name)
	}
	require.InEpsilon(t, .1, m.Total.Latency[nameTTFT].Percentile["p50"], .01)
	require.NotNil(t, m.Steady)
}

// TestScanSavesAPass computes the same figures of warm-up and cool-down from an earlier scan of the log.
func TestScanSavesAPass(t *testing.T) {
	load := &profile.Load{Warmup: profile.Window{Requests: 5}, Cooldown: profile.Window{Share: .1}}
	var list []eventlog.Request
	scan := NewScan(load)
	for i := range int64(100) {
		at := int64(time.Second) + i*20*ms
		list = append(list, eventlog.Request{Seq: int(i), DueNS: at, ReadyNS: at, SentNS: at, EndNS: at + 500*ms,
			OutputTokens: 1, Stage: int(i / 50), Events: []eventlog.Event{{AtNS: at + 100*ms, Tokens: 1}}})
		scan.Add(&list[i])
	}
	passes := 0
	read := func(each ...visit) (*eventlog.End, error) {
		passes++
		return logOf(list...)(each...)
	}
	want, err := measure(read, Options{Load: load})
	require.NoError(t, err)
	require.NotZero(t, want.LeftOut)
	before := passes
	passes = 0
	got, err := measure(read, Options{Load: load, Scan: scan})
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, before-1, passes)
}

// What happens at the last sending counts in a window that reaches to it.
func TestSteadyWindowHasTheLastSending(t *testing.T) {
	var list []eventlog.Request
	for i := range int64(40) {
		at := int64(time.Second) + i*100*ms
		list = append(list, eventlog.Request{DueNS: at, ReadyNS: at, SentNS: at, EndNS: at + 100*ms, OutputTokens: 1,
			Events: []eventlog.Event{{AtNS: at + 100*ms, Tokens: 1}}})
	}
	s := measured(t, Options{}, list...).Steady
	require.NotNil(t, s)
	require.InDelta(t, 10, s.RequestRate, 1e-9, "39 in 3.9 s")
	require.InDelta(t, 10, s.OutputTokenRate, 1e-9)
}

// Requests in flight at an interruption have not failed.
func TestInterruptedRequestsAreCancelled(t *testing.T) {
	list := small()
	list[2].Reason = "cancelled"
	c := measured(t, Options{}, list...).Total.Requests
	require.Equal(t, Counts{Total: 4, OK: 3, Cancelled: 1, Measured: 3, ByCause: map[ledger.Reason]int64{}}, c)
}

// TestClientsThatLeaveOrReadSlowly: their requests are counted, but in no latency and no goodput.
func TestClientsThatLeaveOrReadSlowly(t *testing.T) {
	odd := small()
	odd[0].Slow = true                           // 4 tokens
	odd[1].Leaver = true                         // answered before it left
	odd[3].Leaver, odd[3].Cancelled = true, true // 3 tokens until then
	limits := []Limit{{Metric: nameE2E, Percent: 50, Below: time.Second}}
	m := measured(t, Options{Limits: limits}, append(odd, small()[:1]...)...)
	n := m.Total.Requests
	require.Equal(t, Counts{Total: 5, OK: 3, Failed: 1, Cancelled: 1, Leavers: 2, Slow: 1, Measured: 1, FailureRate: 0.25,
		ByCause: map[ledger.Reason]int64{"http_500": 1}}, n)
	require.EqualValues(t, 4+1+4, m.Total.Tokens.Output)
	require.EqualValues(t, 3, m.Total.Tokens.Cancelled)
	require.EqualValues(t, 1, m.Total.Latency[nameTTFT].Count)
	require.EqualValues(t, 5, m.Total.Latency["schedule_delay"].Count)
	require.Equal(t, 0.5, m.Total.Goodput.Share, "of the ordinary answer and the failure")
	require.Nil(t, m.Total.Consistency)
}

// TestTheFirstValueOfAHistogram: the value that exceeds the number of exact ones is counted like every other.
func TestTheFirstValueOfAHistogram(t *testing.T) {
	v := newValues(4, 0)
	for _, s := range []float64{1, 2, 4, 8, 100} {
		v.add(s, 1)
	}
	d := v.distribution(linear)
	require.False(t, d.Exact)
	require.InEpsilon(t, 4, d.Percentile["p50"], 0.01)
	require.InEpsilon(t, 100, d.Percentile["p99"], 0.01)
	require.EqualValues(t, 5, d.Count)
}

// The error for an unknown set of definitions lists the known ones and the most similar.
func TestUnknownDefinitions(t *testing.T) {
	_, err := Define("vlm")
	require.ErrorContains(t, err, `--definitions "vlm" is not one of mlperf-go, `)
	require.ErrorContains(t, err, "did you mean vllm?")
}
