package engine

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// sessionsOf returns the sessions of a stage that has not begun, with an encoder.
func sessionsOf(t *testing.T, part Part, src *list, stage profile.Stage) *sessions {
	t.Helper()
	d := directorOf(t, 1, part, src, stage)
	e, _ := engineOf(t, serve(t, 0, nil), d.Engine.Profile, src, 0)
	require.NoError(t, e.Log.Close(eventlog.End{}))
	d.Encoder, d.Name = e.Encoder, "run"
	return &sessions{director: d, most: math.MaxInt, limit: math.MaxInt}
}

// due returns when the prepared requests are due, after the stage's start.
func due(d *director) (list []time.Duration) {
	for _, s := range d.pending {
		list = append(list, time.Duration(s.rec.DueNS))
	}
	return list
}

// A session begins when its user is free and its rate allows it, with all calls that wait for none.
func TestBeginOfASession(t *testing.T) {
	const after, s = int64(300), time.Second
	graph := []prompts.Call{{Delay: 5}, {}, {After: []int{0}}}
	both, later := []time.Duration{305, 300}, []time.Duration{2*s + 5, 2 * s}
	for name, c := range map[string]struct {
		part   Part
		stage  profile.Stage
		change func(k *sessions)
		want   []time.Duration
	}{
		"free":               {Part{}, profile.Stage{}, nil, both},
		"a rate":             {Part{}, profile.Stage{Rate: .5}, func(k *sessions) { k.begun = 1 }, later},
		"no time":            {Part{}, profile.Stage{Duration: 1}, nil, nil},
		"a rate, long ago":   {Part{}, profile.Stage{Rate: 2e9}, func(k *sessions) { k.begun = 4 }, both},
		"a rate, in parts":   {Part{1, 3}, profile.Stage{Rate: 2}, func(k *sessions) { k.begun = 1 }, later},
		"its duration":       {Part{}, profile.Stage{Duration: 301}, nil, both},
		"after its duration": {Part{}, profile.Stage{Duration: 300}, nil, nil},
		"the last one":       {Part{}, profile.Stage{}, func(k *sessions) { k.most, k.begun = 5, 4 }, both},
		"no more":            {Part{}, profile.Stage{}, func(k *sessions) { k.most, k.begun = 5, 5 }, nil},
		"the last of a part": {Part{1, 3}, profile.Stage{}, func(k *sessions) { k.most, k.begun = 5, 1 }, both},
		"no more of a part":  {Part{1, 3}, profile.Stage{}, func(k *sessions) { k.most, k.begun = 4, 1 }, nil},
		"users have no end":  {Part{}, profile.Stage{}, func(k *sessions) { k.most, k.rounds = 0, []int{0} }, both},
		"one request":        {Part{}, profile.Stage{}, func(k *sessions) { k.limit, k.issued = 9, 8 }, both[:1]},
		"no request":         {Part{}, profile.Stage{}, func(k *sessions) { k.limit, k.issued = 9, 9 }, nil},
		"users, in time": {Part{}, profile.Stage{Arrival: profile.Closed, Duration: 304},
			func(k *sessions) { k.rounds = []int{0} }, both[1:]},
	} {
		c.stage.Concurrency = 1
		k := sessionsOf(t, c.part, &list{sessions: [][]prompts.Call{graph}}, c.stage)
		if c.change != nil {
			c.change(k)
		}
		begun := k.begun
		require.NoError(t, k.another(0, after), name)
		require.Equal(t, c.want, due(k.director), name)
		require.Equal(t, min(len(c.want), 1), k.begun-begun, name)
		require.Equal(t, k.begun-begun, k.wait, name)
	}
	k := sessionsOf(t, Part{}, &list{}, profile.Stage{Arrival: profile.Closed, Duration: 1})
	s1 := newSession(0, 1, 0, graph)
	require.NoError(t, k.issue(s1, 0, 1))
	require.Equal(t, []bool{true, true}, []bool{s1.failed, s1.cut})
	k = sessionsOf(t, Part{}, &list{sessions: [][]prompts.Call{{}}}, profile.Stage{})
	require.NoError(t, k.another(0, after))
	require.Zero(t, k.wait, "a session without calls has ended")
}

// Each user begins one session, and the stage has more to prepare until all sessions have ended.
func TestUsersOfSessions(t *testing.T) {
	for part, want := range map[Part][]time.Duration{{}: {0, 1, 2, 3, 4}, {1, 3}: {1, 4}, {2, 3}: {2}} {
		k := sessionsOf(t, part, &list{sessions: [][]prompts.Call{{{}}}}, profile.Stage{})
		k.starts = []int64{0, 1, 2, 3, 4}
		for range 2 {
			fed, err := k.feed()
			require.NoError(t, err)
			require.False(t, fed)
			require.Equal(t, want, due(k.director))
		}
		k.wait = 0
		fed, err := k.feed()
		require.NoError(t, err)
		require.True(t, fed)
	}
}

// Which sessions of the source a part sends, and their numbers in the log.
func TestNumbersOfSessions(t *testing.T) {
	for name, c := range map[string]struct {
		part        Part
		rounds      []int
		users       []int
		number, ids []int
	}{
		"a list":             {Part{}, nil, []int{0, 1, 0}, []int{10, 11, 12}, []int{1, 2, 3}},
		"a list, in parts":   {Part{2, 3}, nil, []int{0, 1, 0}, []int{12, 15, 18}, []int{3, 6, 9}},
		"users":              {Part{}, make([]int, 4), []int{1, 1, 3, 1}, []int{11, 15, 13, 19}, []int{1, 2, 3, 4}},
		"users, in parts":    {Part{1, 2}, make([]int, 4), []int{1, 1, 3}, []int{11, 15, 13}, []int{2, 4, 6}},
		"the only user left": {Part{0, 2}, make([]int, 1), []int{0, 0}, []int{10, 11}, []int{1, 3}},
	} {
		k := sessionsOf(t, c.part, &list{sessions: [][]prompts.Call{{{}}}}, profile.Stage{})
		k.first, k.rounds = 10, c.rounds
		var number, ids []int
		for _, user := range c.users {
			s, err := k.newSession(user)
			require.NoError(t, err)
			require.Equal(t, user, s.user)
			number, ids = append(number, s.number), append(ids, s.id)
		}
		require.Equal(t, c.number, number, name)
		require.Equal(t, c.ids, ids, name)
	}
}

// The request of a call names its session, its turn and its number. An answer is kept only for calls that wait for it.
func TestRequestOfACall(t *testing.T) {
	for _, c := range []struct {
		part   Part
		header string
		seqs   []int
		head   string
	}{{Part{}, "", []int{0, 1}, ""}, {Part{0, 1}, "", []int{0, 1}, ""},
		{Part{2, 3}, "x-id", []int{102, 105}, "x-id: run-3\r\n"}} {
		k := sessionsOf(t, c.part, &list{sessions: [][]prompts.Call{chain(2, 0)}}, profile.Stage{})
		k.firstSeq, k.Profile.API.SessionHeader = 100, c.header
		s, err := k.newSession(0)
		require.NoError(t, err)
		for turn := range 2 {
			slot, err := k.call(s, turn)
			require.NoError(t, err)
			require.Equal(t, []any{s, turn == 0, s.id, turn, c.seqs[turn], c.head}, []any{slot.session, slot.keeps,
				slot.rec.Session, slot.rec.Turn, slot.rec.Seq, string(slot.head)}, "%+v", c)
		}
		require.Equal(t, []int{2, 2}, []int{s.flying, k.issued})
	}
}

// Only an answer without a failure lets calls follow it, each once all that it waits for have ended.
func TestCallsThatFollow(t *testing.T) {
	graph := []prompts.Call{{}, {}, {After: []int{0}}, {After: []int{0, 1}}}
	for name, c := range map[string]struct {
		rec      eventlog.Request
		stopping bool
		want     [2][]int
		failed   bool
	}{
		"answers":   {eventlog.Request{EndNS: 70}, false, [2][]int{{2}, {3}}, false},
		"failure":   {eventlog.Request{EndNS: 70, Reason: ledger.FailCancelled}, false, [2][]int{}, true},
		"cancelled": {eventlog.Request{EndNS: 70, Cancelled: true}, false, [2][]int{}, true},
		"stopping":  {eventlog.Request{EndNS: 70}, true, [2][]int{}, false},
	} {
		k := sessionsOf(t, Part{}, &list{sessions: [][]prompts.Call{graph}, answer: "a"}, profile.Stage{})
		k.stopping = c.stopping
		s, err := k.newSession(0)
		require.NoError(t, err)
		s.flying = 2
		for call, end := range []int64{70, 60} {
			sl := &slot{session: s, call: call, keeps: true, rec: c.rec}
			require.NoError(t, k.settle(sl), name)
			require.Equal(t, c.want[call], k.released(s, call, end), name)
			require.Equal(t, !c.failed, s.history[call] != nil, name)
		}
		require.Equal(t, []any{0, c.failed}, []any{s.flying, s.failed}, name)
		require.NoError(t, k.settle(&slot{session: s, call: 2}))
		require.Nil(t, s.history[2], "no call waits for it")
		if c.want[1] != nil {
			require.Equal(t, []int64{70, 70}, s.ready[2:], name)
		}
	}
}

// A turn is given to its conversation a second before it is due, and the number of those that wait decides the end.
func TestTurnsAreGivenAhead(t *testing.T) {
	const s = int64(time.Second)
	src := &list{sessions: [][]prompts.Call{chain(2, 0)}, conversations: 2}
	k := &turns{sessions: *sessionsOf(t, Part{}, src, profile.Stage{}), due: []int64{0, s, s + 1, 9 * s}}
	k.rounds = make([]int, 2)
	feed := func(at, left, issued int) {
		t.Helper()
		fed, err := k.feed()
		require.NoError(t, err)
		require.Equal(t, []any{false, at, left, issued}, []any{fed, k.at, k.left, k.issued})
	}
	feed(2, 0, 2)
	now := int64(1)
	k.base, k.director.now = 1, func() int64 { return now }
	feed(2, 0, 2)
	now++
	feed(3, 1, 2) // the first conversation waits for an answer
	now = 1 + 8*s
	fed, err := k.feed()
	require.NoError(t, err)
	require.False(t, fed)
	require.Equal(t, []int{4, 2}, []int{k.at, k.left})
	for _, sl := range k.pending {
		sl.rec.EndNS = 77
		require.NoError(t, k.after(sl))
	}
	fed, err = k.feed()
	require.NoError(t, err)
	require.True(t, fed)
}

// A turn may be sent when it is due, and when the answer before it, and its conversation's last session, have ended.
func TestATurnWaits(t *testing.T) {
	for _, c := range []struct {
		part            Part
		free, ready     int64
		notBefore, seqs int64
	}{{Part{}, 50, 0, 57, 0}, {Part{}, 0, 60, 67, 0}, {Part{1, 2}, 50, 60, 67, 105}} {
		src := &list{sessions: [][]prompts.Call{{{Delay: 7}}}, conversations: 2}
		k := &turns{sessions: *sessionsOf(t, c.part, src, profile.Stage{}), due: []int64{0, 0, 0, 0, 0, 33, 44}, left: 2}
		k.rounds, k.firstSeq = make([]int, 2), 100
		one := &chat{index: 1, call: -1, free: c.free, waiting: []int{5, 6}}
		var err error
		one.session, err = k.newSession(1)
		require.NoError(t, err)
		one.call, one.ready[0] = 0, c.ready
		require.NoError(t, k.step(one))
		require.Equal(t, []time.Duration{33}, due(k.director))
		require.Equal(t, []int64{c.notBefore, c.seqs}, []int64{k.pending[0].notBefore, int64(k.pending[0].rec.Seq)})
		require.Equal(t, []any{-1, []int{6}, 1}, []any{one.call, one.waiting, k.left})
		require.NoError(t, k.step(one))
		require.Len(t, k.pending, 1, "it waits for the answer")
	}
}

// The conversations of a part are every Of-th. Each goes on with its next call, or with its next session.
func TestConversationsOfAPart(t *testing.T) {
	src := &list{sessions: [][]prompts.Call{chain(2, 0)}, conversations: 3}
	k := &turns{sessions: *sessionsOf(t, Part{1, 3}, src, profile.Stage{}), due: make([]int64, 9)}
	k.rounds, k.first = make([]int, 3), 10
	var sent []string
	for range 3 {
		_, err := k.feed()
		require.NoError(t, err)
		require.Len(t, k.pending, 1)
		s := k.pending[0]
		sent = append(sent, fmt.Sprintf("%d.%d of %d", s.session.number, s.call, s.rec.Seq))
		k.pending, s.rec.EndNS = nil, 5
		require.NoError(t, k.after(s))
	}
	require.Equal(t, []string{"11.0 of 1", "11.1 of 4", "14.0 of 7"}, sent)
	require.EqualValues(t, 5, k.chats[1].free)
}

// A part that is the whole sends the numbers of the whole, stage after stage.
func TestOnePart(t *testing.T) {
	src := &list{sessions: [][]prompts.Call{chain(2, 0)}, conversations: 2}
	stage := profile.Stage{Arrival: profile.Closed, Concurrency: 2, Requests: 4}
	got, _ := sentBy(t, profileOf(stage, stage), src, 1)
	seqs := map[int]bool{}
	for _, r := range got {
		seqs[r.seq] = true
	}
	for n := range 8 {
		require.True(t, seqs[n], n)
	}
}
