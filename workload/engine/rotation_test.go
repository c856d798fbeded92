package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// Two users send the first turn of all five conversations, then the second of each. A conversation that has ended
// begins again.
func TestRotation(t *testing.T) {
	s := serve(t, time.Millisecond, nil)
	src := &list{sessions: [][]prompts.Call{chain(3, 0), chain(1, 0), chain(3, 0), chain(3, 0), chain(3, 0)},
		conversations: 5}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 2, Requests: 15})
	p.Data.Rotate = true
	_, all, _ := run(t, t.Context(), s, p, src, 1)
	require.Len(t, all, 15)
	require.LessOrEqual(t, s.most.Load(), int64(2))
	slices.SortFunc(all, func(a, b eventlog.Request) int { return cmp.Compare(a.Seq, b.Seq) })
	turns := ""
	for _, r := range all {
		turns += fmt.Sprint(r.Turn)
	}
	require.Equal(t, "000001011120222", turns)
	require.Contains(t, strings.Join(s.bodies[13:], ""), // the last two users' requests come in any order
		`"prompt":"[s4 c0]answer[s4 c1]answer[s4 c2]"`)
}

// A user whose conversation uses a tool waits for it, and so does the user that would send its next turn.
func TestUsersOfARotationWaitForTools(t *testing.T) {
	const tool = 50 * time.Millisecond
	s := serve(t, time.Millisecond, nil)
	src := &list{sessions: [][]prompts.Call{{{Delay: tool}, {Delay: tool, After: []int{0}}}}, conversations: 1}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 3, Requests: 4})
	p.Data.Rotate = true
	_, all, _ := run(t, t.Context(), s, p, src, 1)
	require.Len(t, all, 4)
	for i := 1; i < len(all); i++ {
		require.Equal(t, int64(tool), all[i].DueNS-all[i-1].EndNS, "also after the last turn of a conversation")
	}

	p = profileOf(profile.Stage{Arrival: profile.Constant, Rate: 1000, Requests: 4})
	p.Data.Rotate = true
	_, all, _ = run(t, t.Context(), s, p, src, 1)
	require.Len(t, all, 4)
	for i := 1; i < len(all); i++ {
		require.GreaterOrEqual(t, all[i].ReadyNS-all[i-1].EndNS, int64(tool), "at a rate")
	}
}

// No turn is sent after the stage's duration, and users that waited for one send none.
func TestRotationEnds(t *testing.T) {
	s := serve(t, 30*time.Millisecond, nil)
	src := &list{sessions: [][]prompts.Call{chain(9, 0)}, conversations: 1}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 2, Duration: 100 * time.Millisecond})
	p.Data.Rotate = true
	o, all, _ := run(t, t.Context(), s, p, src, 1)
	require.NotEmpty(t, all)
	for _, r := range all {
		require.Less(t, r.DueNS, o.Spans[0].StartNS+int64(100*time.Millisecond))
	}
	require.EqualValues(t, 1, s.most.Load())
}

// Every conversation belongs to one part of a divided rotation, and the parts send all requests together.
func TestPartsOfARotation(t *testing.T) {
	src := &list{sessions: [][]prompts.Call{chain(3, 0), chain(2, 0)}, conversations: 6}
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 4, Requests: 24})
	p.Data.Rotate = true
	for _, of := range []int{1, 2, 3} {
		all, _ := sentBy(t, p, src, of)
		require.Len(t, all, 24)
	}
}

// With restart, each stage begins with the first prompt; without it, it continues after those of the stages before it.
func TestRestart(t *testing.T) {
	for restart, want := range map[bool][]string{
		false: {"[s0 c0]", "[s1 c0]", "[s2 c0]", "[s3 c0]", "[s4 c0]"},
		true:  {"[s0 c0]", "[s1 c0]", "[s2 c0]", "[s0 c0]", "[s1 c0]"},
	} {
		s := serve(t, 0, nil)
		src := &list{sessions: make([][]prompts.Call, 9)}
		for i := range src.sessions {
			src.sessions[i] = []prompts.Call{{}}
		}
		p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 3},
			profile.Stage{Arrival: profile.Constant, Rate: 100, Requests: 2})
		p.Data.Restart = restart
		_, all, _ := run(t, t.Context(), s, p, src, 1)
		require.Len(t, all, 5)
		for i, body := range s.bodies {
			require.Contains(t, body, want[i])
		}
	}
}
