package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// TestConductsAreDrawn: shares and values equal those of the profile, and equal seeds draw equal conducts.
func TestConductsAreDrawn(t *testing.T) {
	load := &profile.Load{
		Leave: &profile.Leave{Share: 0.3, Tokens: &profile.Distribution{Kind: "uniform", Min: 2, Max: 9}},
		Slow:  &profile.Slow{Share: 0.1, Rate: profile.FixedAt(20)}}
	draw := func(i int) backends.Conduct {
		return conduct(load, func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(7, stream^uint64(i))) })
	}
	const requests = 20_000
	leave, slow, both := 0, 0, 0
	for i := range requests {
		c := draw(i)
		require.Equal(t, c, draw(i))
		if c.Leaves() {
			leave++
			require.True(t, c.LeaveTokens >= 2 && c.LeaveTokens <= 9)
		}
		if c.IsSlow() {
			slow++
			require.Equal(t, 50*time.Millisecond, c.PerToken)
		}
		if c.Leaves() && c.IsSlow() {
			both++
		}
	}
	require.InDelta(t, 0.3*requests, leave, 400)
	require.InDelta(t, 0.1*requests, slow, 250)
	require.InDelta(t, 0.03*requests, both, 150)
	load = &profile.Load{Leave: &profile.Leave{Share: 1, After: profile.FixedAt(0.25)},
		Slow: &profile.Slow{Share: 1, Pause: profile.FixedAt(0.5)}}
	require.Equal(t, backends.Conduct{LeaveAfter: 250 * time.Millisecond, PerRead: 500 * time.Millisecond}, draw(0))
}

// TestLeavers: the log marks requests that were to leave, those that did, and the tokens until then.
func TestLeavers(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 3, Requests: 30})
	p.Load.Leave = &profile.Leave{Share: 0.5, Tokens: profile.FixedAt(1)}
	s := serve(t, 20*time.Millisecond, nil)
	_, log, _ := run(t, t.Context(), s, p, randomIDs(t, p), 1)
	require.Len(t, log, 30)
	left := 0
	for i, r := range log {
		require.Empty(t, r.Reason)
		require.Equal(t, r.Leaver, r.Cancelled, "request %d", i)
		if r.Cancelled {
			left++
			require.Equal(t, 1, r.OutputTokens)
		} else {
			require.Equal(t, 2, r.OutputTokens)
		}
	}
	require.True(t, left > 5 && left < 25, "%d", left)
	_, again, _ := run(t, t.Context(), serve(t, 0, nil), p, randomIDs(t, p), 2)
	require.Equal(t, leavers(log), leavers(again))
}

// leavers returns the numbers of the requests whose clients were to leave.
func leavers(log []eventlog.Request) map[int]bool {
	list := map[int]bool{}
	for _, r := range log {
		list[r.Seq] = r.Leaver
	}
	return list
}

// TestAConversationEndsWithItsClient: after a client left, the further turns are not sent.
func TestAConversationEndsWithItsClient(t *testing.T) {
	src := &list{sessions: [][]prompts.Call{chain(3, 0)}, conversations: 1}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 3})
	p.Load.Leave = &profile.Leave{Share: 1, Tokens: profile.FixedAt(1)}
	_, all, _ := run(t, t.Context(), serve(t, 20*time.Millisecond, nil), p, src, 1)
	require.Equal(t, []int{1, 2, 3}, []int{all[0].Session, all[1].Session, all[2].Session})
	require.Equal(t, []int{0, 0, 0}, []int{all[0].Turn, all[1].Turn, all[2].Turn})
}
