package run

import (
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/ledger"
)

func values(look iter.Seq2[*ledger.Entry, int64]) (list []*ledger.Entry) {
	for e, due := range look {
		if due == e.IssuedNS {
			list = append(list, e)
		}
	}
	return list
}

// TestEndsAreFoundOnce: each sample that ended appears in one look, whatever the order of the ends.
func TestEndsAreFoundOnce(t *testing.T) {
	const n = 10_000 // more than a chunk of the ledger
	l := ledger.New(1, 16)
	pen, f := l.Shard(0), &ends{}
	look := func() []*ledger.Entry {
		f.rest = time.Time{}
		return values(f.look(l, time.Now()))
	}
	found := map[int32]int{}
	note := func(list []*ledger.Entry) {
		for _, e := range list {
			found[e.Seq]++
			require.NotZero(t, e.DoneNS)
		}
	}
	end := func(i int) {
		pen.Complete(i, &ledger.Completion{OutputTokens: 11, FirstTokenNS: 1000, LastTokenNS: 1000 + 10*int64(1+i)*1000,
			DoneNS: int64(1e9)})
	}
	for i := range n {
		pen.Issue(i, i, 100)
		if i%3 == 0 {
			end(i)
		}
	}
	note(look())
	require.Len(t, found, n/3+1)
	require.Len(t, f.open, n-n/3-1)
	for i := n - 1; i >= 0; i-- {
		if i%3 == 1 {
			end(i)
		}
	}
	note(look())
	require.Empty(t, look())
	for i := range n {
		if i%3 == 2 {
			end(i)
		}
	}
	note(look())
	require.Len(t, found, n)
	for seq, times := range found {
		require.Equal(t, 1, times, "sample %d", seq)
	}
	require.Empty(t, f.open)
	require.InEpsilon(t, .99*n*1000, float64(f.tpot.Quantile(.99)), .02, "TPOT is (last - first)/(n-1)")
}

// TestLooksRest: a slow look is followed by a rest, during which ended samples are not reported.
func TestLooksRest(t *testing.T) {
	l := ledger.New(1, 16)
	l.Shard(0).Issue(0, 0, 100)
	f, began := &ends{}, time.Now().Add(-time.Second)
	require.Empty(t, values(f.look(l, began)), "a look that took a second")
	l.Shard(0).Complete(0, &ledger.Completion{DoneNS: 200})
	require.Empty(t, values(f.look(l, began.Add(100*time.Second))))
	require.Equal(t, began, f.till)
	later := began.Add(300 * time.Second)
	require.Len(t, values(f.look(l, later)), 1)
	require.Equal(t, later, f.till)
}

// TestLeftIsUntilTheLastQueryIsDue where the schedule is known.
func TestLeftIsUntilTheLastQueryIsDue(t *testing.T) {
	p := planned(t, 64, Settings{"model": "llama3.1-8b", "scenario": "Server", "target-qps": "10", "min-duration": "60",
		"min-queries": "100"})
	run := newTest(p, nil, "")
	run.ledger = ledger.New(1, 16)
	run.settings.ServerTargetQPS, run.settings.MinDurationMS, run.settings.MinQueryCount = 10, 60_000, 100
	run.planned = run.newPlanned()
	n := schedule.ServerCount(run.serverLoad())
	require.Len(t, run.planned, n)
	require.EqualValues(t, n, run.total())
	deltas := schedule.ServerDeltas(run.settings.ScheduleRNGSeed, 10, n)
	require.Equal(t, deltas, run.planned)

	now := time.Now()
	require.Zero(t, run.left(&Progress{}, now), "nothing was issued")
	run.ledger.Shard(0).Issue(0, 0, now.Add(-10*time.Second).UnixNano())
	left := time.Duration(deltas[n-1]) - 10*time.Second
	require.InDelta(t, left.Seconds(), run.left(&Progress{RatePerS: 1}, now).Seconds(), 1e-6)
	require.Zero(t, run.left(&Progress{}, now.Add(time.Hour)))
	run.planned = nil
	require.Equal(t, 5*time.Second, run.left(&Progress{Total: 110, Done: 60, RatePerS: 10}, now))
}

// TestRecentFailures: the progress receives a bounded number of failures, on one line each and without secrets.
func TestRecentFailures(t *testing.T) {
	secrets := new(secret.Redactor)
	secrets.Add("sk-0123456789abcdef")
	f := &failures{path: t.TempDir() + "/failures.jsonl", secrets: secrets, urls: []string{"http://a", "http://b"}}
	for range 50 {
		f.add(backends.Attempt{Endpoint: 1, Reason: ledger.FailReset,
			Detail: "key sk-0123456789abcdef\n" + strings.Repeat("x", 999), AtNS: 5e9, Retried: true})
	}
	list := f.take()
	require.Len(t, list, maxRecent)
	require.Equal(t, "http://b", list[0].Endpoint)
	require.True(t, list[0].Retried)
	require.EqualValues(t, 5, list[0].At.Unix())
	require.NotContains(t, list[0].Detail, "sk-0123")
	require.NotContains(t, list[0].Detail, "\n")
	require.LessOrEqual(t, len(list[0].Detail), maxDetail+10)
	require.Empty(t, f.take())
	require.NoError(t, f.close())
}
