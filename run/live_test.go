package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/earlystop"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

const (
	testTTFT = int64(time.Second)
	testTPOT = int64(50 * time.Millisecond)
)

// following returns a live view of its own ledger.
func following(queries int) (*ledger.Shard, *live) {
	l := ledger.New(1, 64)
	bearable := earlystop.Bearable(.99, queries)
	v := &live{ledger: l}
	for _, t := range []tail{
		{Tail: record.Tail{What: "time to first token", Limit: time.Duration(testTTFT)}, late: lateFirstToken},
		{Tail: record.Tail{What: "time per output token", Limit: time.Duration(testTPOT)}, late: lateTokens},
	} {
		t.Queries, t.Bearable = queries, bearable
		v.tails = append(v.tails, t)
	}
	return l.Shard(0), v
}

// life is one sample: the times of its first token and its end after the issue; 0: it did not happen.
type life struct {
	first, done int64
	tokens      int
	failed      bool
}

func (x life) play(s *ledger.Shard, seq int, at int64) {
	s.Issue(seq, seq, at)
	if x.first > 0 {
		s.FirstToken(seq, at+x.first)
	}
	if x.done > 0 {
		c := &ledger.Completion{OutputTokens: x.tokens, DoneNS: at + x.done}
		if x.failed {
			c.Reason = "reset"
		}
		s.Complete(seq, c)
	}
}

func TestLiveCountsEachSampleOnce(t *testing.T) {
	const start = int64(1e18)
	s, v := following(10000)
	for i, x := range []life{
		{first: testTTFT - 1, done: 2 * testTTFT, tokens: 100},                  // in time
		{first: testTTFT + 1, done: 2 * testTTFT, tokens: 100},                  // late first token
		{first: 1000, done: 1000 + int64(reportSlack) + 9*testTPOT, tokens: 10}, // exactly at the limit
		{first: 1000, done: 1001 + int64(reportSlack) + 9*testTPOT, tokens: 10}, // slow
		{first: 0, done: 0}, // waiting
		// late, in flight
		{first: testTTFT + 5, done: 0},
		// failed samples are reported elsewhere
		{first: 0, done: 3 * testTTFT, failed: true}, {first: 5, done: 9 * testTTFT, tokens: 2, failed: true},
	} {
		x.play(s, i, start)
	}
	over := func(now int64) []int {
		tails := v.look(now)
		return []int{tails[0].Over, tails[1].Over}
	}
	require.Equal(t, []int{2, 1}, over(start+testTTFT))
	require.Equal(t, []int{2, 1}, over(start+testTTFT), "a second look counts nobody twice")
	require.Equal(t, 4, v.from, "what has ended is not read again")
	require.Equal(t, []int{3, 1}, over(start+testTTFT+1), "who still waits is late now")
	life{}.play(s, 8, start+5*testTTFT)
	require.Equal(t, []int{3, 1}, over(start+5*testTTFT))
}

// The final sum does not depend on the order in which samples end.
func TestLiveAgreesWithACountOfEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, v := following(5000)
		n := rapid.IntRange(1, 40).Draw(t, "samples")
		want := 0
		order := rapid.Permutation(makeRange(n)).Draw(t, "order")
		firsts := rapid.SliceOfN(rapid.Int64Range(1, 2*testTTFT), n, n).Draw(t, "first tokens")
		for i := range n {
			s.Issue(i, i, 1)
		}
		for _, i := range order {
			s.FirstToken(i, 1+firsts[i])
			if rapid.Bool().Draw(t, "look") {
				v.look(2)
			}
			s.Complete(i, &ledger.Completion{OutputTokens: 2, DoneNS: 1 + firsts[i] + 5})
			if firsts[i] > testTTFT {
				want++
			}
		}
		require.Equal(t, want, v.look(1)[0].Over)
		require.Equal(t, n, v.from)
	})
}

func makeRange(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestNothingIsFollowedWithoutLimits(t *testing.T) {
	var none *live
	require.Nil(t, none.look(5))
}

// With --fail-fast a Server run whose limit is out of reach ends within its first seconds, and reports the numbers that
// decided.
func TestFailFastEndsAServerRunThatIsLost(t *testing.T) {
	server := simulate(t, "--ttft", "400ms", "--tpot", "0", "--answers", "random", "--output-tokens", "4",
		"--max-num-seqs", "4096")
	args := []string{"--model", "llama3.1-8b", "--scenario", "Server", "--endpoint", server.url, "--samples", "64",
		"--ttft-limit", "200ms",
		"--target-qps", "100", "--min-duration", "0", "--min-tokens", "1"}
	r := start(t, append(args, "--min-queries", "6000", "--fail-fast")...)
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, ExitInvalid, r.Exit)
	require.Equal(t, record.CodeScenarioLimit, r.Reasons[0].Code)
	require.Contains(t, r.Reasons[0].Text, "can no longer become valid (--fail-fast)")
	require.Less(t, r.Samples.Issued, int64(5000), "it did not run to its end")
	require.Len(t, r.Tails, 2)
	require.Equal(t, 6016, r.Tails[0].Queries, "a multiple of the 64 samples")
	require.Equal(t, earlystop.Bearable(.99, 6016), r.Tails[0].Bearable)
	require.True(t, r.Tails[0].Lost())
	require.False(t, r.Tails[1].Lost())

	r = start(t, append(args, "--min-queries", "640")...)
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, int64(640), r.Samples.Completed, "without --fail-fast it does")
	require.Equal(t, r.Samples.Completed, int64(r.Tails[0].Over))
	require.Zero(t, r.Samples.Failed)
}
