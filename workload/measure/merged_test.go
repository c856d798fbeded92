package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// merged is an answer of 10 tokens by the server's count in 4 events without ids, each of which counts as one token. It
// is sent at 1 s, and its events come 100, 120, 140 and 180 ms later.
func merged() eventlog.Request {
	at := func(v int64) int64 { return 1e9 + v*ms }
	return eventlog.Request{DueNS: at(0), SentNS: at(0), VisibleNS: at(100), EndNS: at(200), OutputTokens: 10,
		Events: []eventlog.Event{{AtNS: at(100), Tokens: 1}, {AtNS: at(120), Tokens: 1}, {AtNS: at(140), Tokens: 1},
			{AtNS: at(180), Tokens: 1}}}
}

// Each of the 10 tokens is followed by a gap, except the last one: 20, 20, 40 and six of 0. Divided evenly, the events
// have 3, 3, 2 and 2 tokens.
func TestTokensThatTheServerMerged(t *testing.T) {
	for definition, want := range map[string]struct {
		count int64
		sum   float64 // ms
		max   float64
	}{
		"mlperf-go": {9, 80, 40}, "mlperf-go,itl.mode=chunk": {3, 80, 40}, "vllm": {3, 80, 40},
		"mlperf-go,itl.mode=smooth": {7, 80, 20}, // 3 of 20/3, 2 of 10, 2 of 20
		"inference-perf":            {9, 80, 40},
	} {
		d := measured(t, Options{Definition: definition}, merged()).Total.Latency[nameITL]
		require.Equal(t, want.count, d.Count, definition)
		require.InDelta(t, want.sum, d.Mean*1e3*float64(d.Count), 1e-6, definition)
		require.InDelta(t, want.max, d.Max*1e3, 1e-6, definition)
	}
	require.InDelta(t, 80./9, measured(t, Options{}, merged()).Total.Latency[nameTPOT].Mean*1e3, 1e-9)

	var list []eventlog.Request
	for i := range int64(40) {
		r := merged()
		r.DueNS, r.SentNS, r.EndNS = r.DueNS+i*50*ms, r.SentNS+i*50*ms, r.EndNS+i*50*ms
		for k := range r.Events {
			r.Events[k].AtNS += i * 50 * ms
		}
		list = append(list, r)
	}
	require.InDelta(t, 200, measured(t, Options{}, list...).Steady.OutputTokenRate, 10, "20 requests/s of 10 tokens")
}

// An answer that ends within its reasoning has no first token outside of it, and no token at all for inference-perf.
func TestAnswersThatAreAllReasoning(t *testing.T) {
	r := merged()
	r.VisibleNS = 0
	for definition, want := range map[string][]string{
		"mlperf-go":      {"ttft", "tpot", "itl", "icl", "ntpot", "e2e", "token_end", "ttft_due", "e2e_due"},
		"guidellm":       {"ttft", "tpot", "itl", "e2e"},
		"inference-perf": {"ntpot", "e2e"},
	} {
		m := measured(t, Options{Definition: definition}, r)
		for _, name := range want {
			require.Contains(t, m.Total.Latency, name, definition)
		}
		require.Len(t, m.Total.Latency, len(want)+1, "%s: and the delay of the schedule", definition)
	}
	require.Zero(t, measured(t, Options{Definition: "inference-perf"}, r).Total.Latency[nameNTPOT].Max)
}

// A limit is not met by answers that cannot show it: those that came as a whole have no first token and no time between
// tokens. A stream of one token has no time between tokens either, and is within a limit of it.
func TestLimitsOfMissingFigures(t *testing.T) {
	limits, err := ParseLimits("ttft<1s,ttfo<1s,ttft_due<1s,tpot<1s,itl<1s,ntpot<1s,e2e<1s")
	require.NoError(t, err)
	whole := merged()
	whole.Events, whole.VisibleNS = nil, 0
	single := merged()
	single.Events, single.OutputTokens = single.Events[:1], 1
	reasoning := merged()
	reasoning.VisibleNS = 0
	embedding := whole
	embedding.OutputTokens = 0
	for name, c := range map[string]struct {
		r    eventlog.Request
		good []int64
		has  []int64
	}{
		"streamed":    {merged(), []int64{1, 1, 1, 1, 1, 1, 1}, []int64{1, 1, 1, 1, 1, 1, 1}},
		"whole":       {whole, []int64{0, 0, 0, 0, 0, 1, 1}, []int64{0, 0, 0, 0, 0, 1, 1}},
		"one token":   {single, []int64{1, 1, 1, 1, 1, 1, 1}, []int64{1, 1, 1, 0, 0, 1, 1}},
		"reasoning":   {reasoning, []int64{1, 0, 1, 1, 1, 1, 1}, []int64{1, 0, 1, 1, 1, 1, 1}},
		"no tokens":   {embedding, []int64{0, 0, 0, 0, 0, 0, 1}, []int64{0, 0, 0, 0, 0, 0, 1}},
		"failed":      {eventlog.Request{SentNS: 1, EndNS: 2, Reason: "x"}, make([]int64, 7), make([]int64, 7)},
		"interrupted": {eventlog.Request{SentNS: 1, EndNS: 2, Cancelled: true}, make([]int64, 7), make([]int64, 7)},
	} {
		g := measured(t, Options{Limits: limits}, c.r).Total.Goodput
		for i, l := range g.Limits {
			require.Equal(t, c.good[i], l.Good, "%s %s", name, l.Text)
			require.Equal(t, c.has[i], l.Measured, "%s %s", name, l.Text)
			require.Equal(t, l.Good == 1, l.Met, "%s %s", name, l.Text)
		}
	}
}

// The weights of guidellm's metrics count in a histogram too: one value of 1 s with weight 9 and one of 2 s with 1.
func TestWeightsOfAHistogram(t *testing.T) {
	for most := range 3 {
		v := newValues(most, 0)
		v.add(2, 1)
		v.add(1, 9)
		d := v.distribution(cumulative)
		require.InEpsilon(t, 1, d.Percentile["p80"], .01, "at most %d exact values", most)
		require.InEpsilon(t, 2, d.Percentile["p95"], .01, "at most %d exact values", most)
		require.InDelta(t, 1.1, d.Mean, 1e-9)
	}
}
