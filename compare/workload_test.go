package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// requestsOf returns requests that are sent every 10 ms and answered after a random time around a mean.
func requestsOf(n int, mean float64, seed uint64) *Requests {
	random := rand.New(rand.NewPCG(seed, 0))
	r := &Requests{Latency: map[string][]float64{}}
	for i := range n {
		seconds := mean * (0.9 + 0.2*random.Float64())
		r.Seq, r.OK, r.Tokens = append(r.Seq, i), append(r.OK, true), append(r.Tokens, 5)
		r.EndNS = append(r.EndNS, int64(i)*1e7+int64(seconds*1e9))
		r.Latency["e2e"] = append(r.Latency["e2e"], seconds)
	}
	return r
}

func TestWorkloadRows(t *testing.T) {
	judged := func(name string, a, b *Requests) *Row {
		row := workloadRow(name, 0.5, 1, 1, a, b)
		judgeAll([]*Row{row}, DefaultConfidence)
		return row
	}
	a := requestsOf(400, 1, 1)
	require.Equal(t, Same, judged("e2e", a, requestsOf(400, 1, 2)).Verdict)
	slower := judged("e2e", a, requestsOf(400, 1.2, 2))
	require.Equal(t, Worse, slower.Verdict)
	require.Less(t, slower.Interval.Low, 0.2)
	require.Greater(t, slower.Interval.High, 0.2)
	require.True(t, slower.Interval.Paired)
	require.Equal(t, Same, judged(OutputRate, a, a).Verdict)
	few := judged("e2e", requestsOf(12, 1, 1), requestsOf(12, 1.5, 2))
	require.Equal(t, NotJudged, few.Verdict)
	require.Contains(t, few.Why, "too short for an interval")
	require.Contains(t, judged("itl", a, a).Why, "each request has several values of it")
}

// Rates do not include failed requests, but the time until their end is part of the run.
func TestFlowOfFailures(t *testing.T) {
	r := &Requests{Seq: []int{0, 1, 2}, EndNS: []int64{1e9, 3e9, 2e9}, OK: []bool{true, false, true},
		Tokens: []float64{4, 0, 6}}
	require.Equal(t, flow{[]float64{1, 0, 1}, []float64{1, 2, 0}}, r.flow(RequestRate))
	require.Equal(t, flow{[]float64{4, 0, 6}, []float64{1, 2, 0}}, r.flow(OutputRate))
}

func TestWorkloadGate(t *testing.T) {
	rows := func(b *Requests) []*Row {
		list := []*Row{workloadRow("e2e", 0.5, 1, 1, requestsOf(400, 1, 1), b)}
		judgeAll(list, DefaultConfidence)
		return list
	}
	same, slower, few := rows(requestsOf(400, 1, 2)), rows(requestsOf(400, 1.2, 2)), rows(requestsOf(12, 1.2, 2))
	for _, c := range []struct {
		name      string
		threshold float64
		why       []string
		rows      []*Row
		failure   string // regular expression; empty: the gate passes
	}{
		{"no difference", 0, nil, same, ""},
		{"slower", 0, nil, slower, `^b against a: e2e is worse by 1\d\.\d % to 2\d\.\d %$`},
		{"slower within the threshold", 0.3, nil, slower, ""},
		{"not ranked", 0.3, []string{"other rules"}, same, `^b against a: not ranked: other rules$`},
		{"too few requests", 0.3, nil, few, `^b against a: nothing can be judged`},
		{"no figures", 0.3, nil, nil, `^b against a: nothing can be judged`},
	} {
		g := newGate(c.threshold)
		g.addWorkload("b against a", c.why, c.rows)
		require.Equal(t, c.failure == "", g.Passed, c.name)
		if c.failure != "" {
			require.Len(t, g.Failures, 1, c.name)
			require.Regexp(t, c.failure, g.Failures[0], c.name)
		}
		g.addWorkload("c against a", nil, same)
		require.Equal(t, c.failure == "", g.Passed, "a later pair changes nothing of %s", c.name)
	}
}
