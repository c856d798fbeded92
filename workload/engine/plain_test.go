package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// plainBreaker decides about a breaker from all requests so far, the longest way.
func plainBreaker(x *profile.Breaker, all []eventlog.Request) bool {
	concerns := func(r *eventlog.Request) bool {
		if r.Reason == "" || len(x.Match) == 0 {
			return r.Reason != ""
		}
		return slices.Contains(x.Match, string(r.Reason)) || slices.Contains(x.Match, strings.TrimPrefix(string(r.Reason),
			"http_"))
	}
	row := 0
	for i := len(all) - 1; i >= 0 && concerns(&all[i]); i-- {
		row++
	}
	if x.Consecutive > 0 && row >= x.Consecutive {
		return true
	}
	if x.Rate == 0 || len(all) == 0 {
		return false
	}
	now, within, bad := all[len(all)-1].EndNS, 0, 0
	for i := range all {
		if all[i].EndNS >= now-int64(x.Window) {
			within++
			if concerns(&all[i]) {
				bad++
			}
		}
	}
	return within >= x.MinRequests && float64(bad)/float64(within) >= x.Rate
}

// Breakers trip at the same request as a plain count of all requests.
func TestBreakersCountPlainly(t *testing.T) {
	reasons := []ledger.Reason{"", "", "", "http_503", "http_500", "connect", "timeout"}
	matches := [][]string{nil, {"503"}, {"connect", "500"}, {"timeout"}}
	tripped := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		load := &profile.Load{}
		for i := range 1 + r.IntN(3) {
			x := profile.Breaker{Name: fmt.Sprint("b", i), Match: matches[r.IntN(len(matches))]}
			if r.IntN(2) == 0 {
				x.Consecutive = 2 + r.IntN(4)
			} else {
				x.Rate, x.Window, x.MinRequests = float64(2+r.IntN(9))/10, time.Duration(5+r.IntN(40)), r.IntN(9)
			}
			load.Breakers = append(load.Breakers, x)
		}
		b := newBreakers(load, &profile.Stage{})
		var all []eventlog.Request
		now, want := int64(100), ""
		for range 60 {
			now += int64(r.IntN(4))
			all = append(all, eventlog.Request{EndNS: now, Reason: reasons[r.IntN(len(reasons))]})
			b.add(&all[len(all)-1])
			for i := range load.Breakers {
				if want == "" && plainBreaker(&load.Breakers[i], all) {
					want = load.Breakers[i].Name
				}
			}
			got := b.open(now, 1)
			require.Equal(t, want == "", got == "", "seed %d, after %d: %s", seed, len(all), got)
		}
		if want != "" {
			tripped++
		}
	}
	require.Greater(t, tripped, 100)
	require.Less(t, tripped, 390)
}

// The other reasons to end a stage, at their edges.
func TestEndsOfAStage(t *testing.T) {
	for _, c := range []struct {
		load          profile.Load
		timeout       time.Duration
		ended, failed int
		now, base     int64
		open          bool
	}{
		{profile.Load{}, 0, 100, 100, 1 << 40, 1, false},
		{profile.Load{MaxErrors: 3}, 0, 100, 2, 0, 0, false}, {profile.Load{MaxErrors: 3}, 0, 3, 3, 0, 0, true},
		{profile.Load{ErrorRate: .5}, 0, 19, 19, 0, 0, false}, {profile.Load{ErrorRate: .5}, 0, 20, 11, 0, 0, true},
		{profile.Load{ErrorRate: .5}, 0, 20, 10, 0, 0, false}, {profile.Load{}, 5, 0, 0, 15, 10, false},
		{profile.Load{}, 5, 0, 0, 16, 10, true}, {profile.Load{}, 5, 0, 0, 16, 0, false},
	} {
		b := newBreakers(&c.load, &profile.Stage{Timeout: c.timeout})
		b.ended, b.failed = c.ended, c.failed
		require.Equal(t, c.open, b.open(c.now, c.base) != "", "%+v", c)
	}
}

// broken is a source that fails at one of its answers.
type broken struct {
	prompts.Source
	left int // answers before the failure
}

var errSource = errors.New("the source is broken")

func (b *broken) fails() error {
	if b.left--; b.left == -1 {
		return errSource
	}
	return nil
}

func (b *broken) Calls(n int) ([]prompts.Call, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Source.Calls(n)
}

func (b *broken) Request(n, call int, r *prompts.Request) error {
	if err := b.fails(); err != nil {
		return err
	}
	return b.Source.Request(n, call, r)
}

// faultOf runs a stage and returns the error of the run.
func faultOf(t *testing.T, s *server, stage profile.Stage, src prompts.Source) error {
	t.Helper()
	e, _ := engineOf(t, s, profileOf(stage), src, 1)
	_, err := e.Run(t.Context())
	require.NoError(t, e.Log.Close(eventlog.End{}))
	return err
}

// A source that fails at any of its answers ends the run with its error.
func TestFaultsOfASource(t *testing.T) {
	two := [][]prompts.Call{chain(2, 0), chain(2, 0)}
	for name, c := range map[string]struct {
		stage profile.Stage
		src   *list
	}{
		"open":     {profile.Stage{Arrival: profile.Burst, Requests: 3}, &list{sessions: two}},
		"closed":   {profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 3}, &list{sessions: two}},
		"sessions": {profile.Stage{Arrival: profile.Sessions, Concurrency: 1}, &list{sessions: two}},
		"conversations": {profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 4},
			&list{sessions: two, conversations: 1}},
		"turns": {profile.Stage{Arrival: profile.Constant, Rate: 1000, Requests: 4},
			&list{sessions: two, conversations: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 0, nil)
			whole := &broken{c.src, math.MaxInt}
			require.NoError(t, faultOf(t, s, c.stage, whole))
			answers := math.MaxInt - whole.left
			require.GreaterOrEqual(t, answers, 3)
			for n := range answers {
				require.ErrorIs(t, faultOf(t, s, c.stage, &broken{c.src, n}), errSource, "after %d answers", n)
			}
		})
	}
}

// A session that has begun goes on after the stage's time. Users of conversations send nothing after it, and while they
// wait for a time after it, they begin no other conversation.
func TestTheTimeOfAStage(t *testing.T) {
	const long, pause = 40 * time.Millisecond, 60 * time.Millisecond
	fork := []prompts.Call{{}, {After: []int{0}, Delay: pause}, {After: []int{0}}}
	for name, c := range map[string]struct {
		arrival profile.Arrival
		calls   []prompts.Call
		want    int
	}{
		"sessions":                {profile.Sessions, chain(3, pause), 3},
		"conversations":           {profile.Closed, chain(3, pause), 1},
		"conversations that fork": {profile.Closed, fork, 2},
	} {
		src := &list{sessions: [][]prompts.Call{c.calls}}
		if c.arrival == profile.Closed {
			src.conversations = 1
		}
		stage := profile.Stage{Arrival: c.arrival, Concurrency: 1, Duration: long}
		if c.arrival == profile.Sessions {
			stage.Requests = 1
		}
		_, all, _ := run(t, t.Context(), serve(t, 0, nil), profileOf(stage), src, 1)
		require.Len(t, all, c.want, name)
	}
}

// Each stage has prompts and numbers of its own, however its length is given.
func TestPromptsOfTheNextStage(t *testing.T) {
	dist := profile.FixedAt(1)
	for _, c := range []struct {
		stage      profile.Stage
		chats      int
		rows, seqs int
		isEmpty    bool // for the last of four parts
	}{
		{profile.Stage{Arrival: profile.Closed, Concurrency: 4, Requests: 9}, 0, 9, 9, false},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 4, Duration: 1, ThinkTime: dist}, 0, reserved, reserved, false},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 4, Requests: 3}, 2, reserved, reserved, true},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 4, Requests: reserved + 5}, 2, reserved, reserved + 5, false},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 4, Duration: 1}, 2, reserved, reserved, false},
		{profile.Stage{Arrival: profile.Sessions, Concurrency: 4, Requests: 3}, 0, 3, reserved, true},
		{profile.Stage{Arrival: profile.Sessions, Concurrency: 4, Requests: 4, Duration: 1}, 0, 4, reserved, false},
		{profile.Stage{Arrival: profile.Sessions, Concurrency: 4, Duration: 1}, 0, reserved, reserved, false},
		{profile.Stage{Arrival: profile.Sessions, Concurrency: 4}, 0, 5, reserved, false},
		{profile.Stage{Arrival: profile.Burst, Requests: 8}, 0, 8, 8, false},
		{profile.Stage{Arrival: profile.Constant, Rate: 10, Requests: 3}, 0, 3, 3, true},
		{profile.Stage{Arrival: profile.Constant, Rate: 10, Requests: 4}, 0, 4, 4, false},
		{profile.Stage{Arrival: profile.Burst, Requests: 8}, 2, reserved, reserved, false},
		{profile.Stage{Arrival: profile.Burst, Requests: reserved + 8}, 2, reserved, reserved + 8, false},
	} {
		src := &list{sessions: make([][]prompts.Call, 12), conversations: c.chats}
		d := &director{maker: maker{Engine: &Engine{Profile: profileOf(c.stage), Source: src, Part: Part{3, 4}}},
			profile: &c.stage, rows: 7, seqs: 11}
		_, err := d.newKind()
		require.NoError(t, err)
		require.Equal(t, []int{7 + c.rows, 11 + c.seqs, 11}, []int{d.rows, d.seqs, d.firstSeq}, "%+v", c)
		require.Equal(t, !c.isEmpty, d.hasPart, "%+v", c)
	}
}

// Few requests are prepared ahead, fewer if they are large, and more once there is room again.
func TestPreparedAhead(t *testing.T) {
	for _, c := range []struct {
		stage profile.Stage
		ahead int
	}{
		{profile.Stage{Arrival: profile.Burst, Requests: 10_000}, 4096},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 3000}, 1024},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 1000, Requests: 6000}, 2000},
		{profile.Stage{Arrival: profile.Closed, Concurrency: 9000, Requests: 10_000}, 4096},
	} {
		stage := c.stage
		q := queueWith(t, 0, new(int))
		p := profileOf(stage)
		e, _ := engineOf(t, &server{Server: &httptest.Server{}}, p, randomIDs(t, p), 0)
		d := &director{maker: maker{Engine: e}, profile: &stage, now: func() int64 { return 1 }, queues: queues{q},
			active: queues{q}}
		waiting := func() int { return len(d.pending) + q.waiting() }
		k, err := d.newKind()
		require.NoError(t, err)
		fed, err := k.feed()
		require.NoError(t, err)
		require.False(t, fed)
		require.Equal(t, c.ahead, waiting())
		d.base = 1
		fed, err = k.feed()
		require.NoError(t, err)
		require.False(t, fed, "the stage has begun, and has no end but that of its requests")
		require.Equal(t, c.ahead, waiting(), "there is no room")
		d.bodies = int64(d.planned) * aheadBytes / 1000
		require.InDelta(t, 1000, d.room()+waiting(), 1)
		d.bodies = int64(d.planned) * aheadBytes
		require.Equal(t, 64, d.room()+waiting())
		d.bodies = 0
		for range 3 {
			d.drop()
			fed, err = k.feed()
			require.NoError(t, err)
		}
		require.True(t, fed, "the rest is prepared")
		require.NoError(t, e.Log.Close(eventlog.End{}))
	}
}

// A stage of users ends with its last request or after its duration, which begins with the stage.
func TestEndOfAStageOfUsers(t *testing.T) {
	const long, base = int64(time.Second), int64(5e9)
	for _, c := range []struct {
		base, now int64
		fed       bool
	}{{0, base + 2*long, false}, {base, base, false}, {base, base + long - 1, false}, {base, base + long, true},
		{1, 2 + long, true}} {
		stage := profile.Stage{Arrival: profile.Closed, Concurrency: 1, Duration: time.Second}
		p := profileOf(stage)
		e, _ := engineOf(t, &server{Server: &httptest.Server{}}, p, randomIDs(t, p), 0)
		q := queueWith(t, 0, new(int))
		d := &director{maker: maker{Engine: e}, profile: &stage, now: func() int64 { return c.now }, base: c.base,
			queues: queues{q}, active: queues{q}}
		fed, err := (&closed{director: d}).feed()
		require.NoError(t, err)
		require.Equal(t, c.fed, fed, "%+v", c)
		require.NoError(t, e.Log.Close(eventlog.End{}))
	}
}

// A conversation sends no further turn in a stage that is being stopped, nor without a due time.
func TestTurnsOfAStoppedStage(t *testing.T) {
	for _, waiting := range [][]int{nil, {3}} {
		k := &turns{sessions: sessions{director: &director{stopping: waiting != nil}}}
		c := &chat{call: -1, waiting: waiting}
		require.NoError(t, k.step(c))
		require.Nil(t, c.session)
		require.Equal(t, waiting, c.waiting)
	}
}

// failing is a loop that fails at once.
type failing struct{ backends.Backend }

func (failing) Serve(context.Context, loadgen.Source, backends.Sink) error {
	return errors.New("no descriptor")
}

// An event loop that fails ends the run with its error.
func TestALoopThatFails(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	e := &Engine{Backends: []backends.Backend{failing{}}}
	e.serve(ctx, cancel, &director{queues: make(queues, 1), sinks: make([]*sink, 1)})()
	require.EqualError(t, context.Cause(ctx), "event loop 0: no descriptor")
}

// A request is ready when it is due, or when there was room again if there was none.
func TestRoomMakesARequestReady(t *testing.T) {
	for name, c := range map[string]struct {
		room, sent int
		ready      int64
	}{"no limit": {0, 3, 10}, "room": {4, 3, 10}, "just room": {3, 2, 10}, "full": {3, 3, 500}} {
		q := queueWith(t, c.sent, new(int))
		q.room = c.room
		require.Equal(t, c.sent, q.Pop(make([]loadgen.Query, 9)), name)
		s := &slot{index: 9, notBefore: 10}
		q.timed.push(s)
		ended := &slot{index: 0}
		ended.rec.EndNS = 500
		q.end(ended, false)
		require.Equal(t, 1, q.Pop(make([]loadgen.Query, 9)), name)
		require.Equal(t, c.ready, s.rec.ReadyNS, name)
	}
}

// Adapters are drawn by their shares; the last one gets what rounding leaves.
func TestSharesOfAdapters(t *testing.T) {
	for _, shares := range [][]float64{{1}, {.5, .5}, {.7, .2, .1}, {.1, .1, .1}, {0, 1}} {
		p := &profile.Profile{Seed: 5}
		rest := 1.0
		want := map[string]float64{}
		for i, share := range shares {
			name := fmt.Sprint(i)
			p.API.Adapters = append(p.API.Adapters, profile.Adapter{Name: name, Share: share})
			if rest -= share; i == len(shares)-1 {
				share += rest
			}
			want[name] = share
		}
		m := maker{Engine: &Engine{Profile: p}}
		got := map[string]float64{}
		for n := range 2000 {
			name, number := m.adapter(n)
			require.Equal(t, name, p.API.Adapters[number-1].Name)
			got[name] += 1. / 2000
		}
		for name, share := range want {
			require.InDelta(t, share, got[name], .05, "%v: %s", shares, name)
		}
	}
	name, number := (&maker{Engine: &Engine{Profile: &profile.Profile{}}}).adapter(1)
	require.Empty(t, name)
	require.Zero(t, number)
}

// Queues that are emptied return every request that was not sent, once, and hold nothing afterwards.
func TestQueuesThatAreEmptied(t *testing.T) {
	for name, fill := range map[string]func(q *queue){
		"nothing":        func(*queue) {},
		"due":            func(q *queue) { q.timed.push(&slot{index: 1}); q.timed.push(&slot{index: 2}) },
		"users'":         func(q *queue) { q.stock = []*slot{nil, {index: 1}, {index: 2}}; q.head = 1; q.users.push(5) },
		"of both kinds":  func(q *queue) { q.timed.push(&slot{index: 1}); q.stock = []*slot{{index: 2}}; q.users.push(5) },
		"users that ask": func(q *queue) { q.users.push(5); q.users.push(6) },
	} {
		full, other := queueWith(t, 0, new(int)), queueWith(t, 0, new(int))
		fill(full)
		want := full.waiting()
		all := queues{other, full}
		require.Equal(t, want == 0, all.idle(), name)
		seen := map[int]bool{}
		for _, s := range all.empty() {
			seen[s.index] = true
		}
		require.Len(t, seen, want, name)
		require.Empty(t, all.empty(), name)
		require.True(t, all.idle(), name)
		full.stock = append(full.stock, &slot{})
		require.False(t, full.usersWait(), "%s: a user has stayed", name)
	}
}

// The loops have some time to cancel what is in flight, from the first look.
func TestLoopsThatAreAbandoned(t *testing.T) {
	now := int64(1000)
	d := &director{now: func() int64 { return now }}
	require.False(t, d.abandoned())
	now += int64(5 * time.Second)
	require.False(t, d.abandoned())
	now++
	require.True(t, d.abandoned())
}

// A sweep has the default of each value that it does not set.
func TestProbesOfASweep(t *testing.T) {
	const long = 7 * time.Second
	drain := func(rate float64, n int, timeout time.Duration) []profile.Stage {
		return []profile.Stage{{Name: "saturation", Arrival: profile.Constant, Rate: rate, Requests: n, Timeout: timeout,
			Warmup: true}}
	}
	loops := func(most int, long time.Duration) []profile.Stage {
		return []profile.Stage{
			{Name: "synchronous", Arrival: profile.Closed, Concurrency: 1, Duration: long, Warmup: true},
			{Name: "throughput", Arrival: profile.Closed, Concurrency: most, Duration: long, Warmup: true}}
	}
	for _, c := range []struct {
		sweep profile.Sweep
		want  []profile.Stage
	}{
		{profile.Sweep{Probe: "drain"}, drain(400, 2000, time.Minute)},
		{profile.Sweep{Probe: "drain", Requests: 50, Timeout: long}, drain(10, 50, long)},
		{profile.Sweep{Probe: "throughput"}, loops(512, time.Minute)},
		{profile.Sweep{Probe: "throughput", InFlight: 9, StageDuration: long}, loops(9, long)},
	} {
		require.Equal(t, c.want, probes(&c.sweep))
	}
	ramped := loops(9, long)
	ramped[1].Ramp = &profile.Ramp{Shape: "linear", Over: time.Second}
	require.Equal(t, ramped,
		probes(&profile.Sweep{Probe: "throughput", InFlight: 9, StageDuration: long, Ramp: time.Second}))
	require.Len(t, swept(&profile.Sweep{Kind: "linear"}, 1, 2), 5)
	require.Equal(t, []float64{8}, rates(swept(&profile.Sweep{Kind: "linear", Stages: 1}, 1, 8)))
}

// A sweep that is cancelled before a probe has sent anything ends like another run.
func TestASweepThatIsCancelled(t *testing.T) {
	why := errors.New("enough")
	for _, probe := range []string{"throughput", "drain"} {
		for stage := range 2 {
			p := profileOf()
			p.Load.Sweep = &profile.Sweep{Kind: "linear", Stages: 2, StageDuration: 20 * time.Millisecond, Probe: probe,
				Arrival: profile.Constant, InFlight: 2, Requests: 5}
			e, _ := engineOf(t, serve(t, 0, nil), p, randomIDs(t, p), 1)
			ctx, cancel := context.WithCancelCause(t.Context())
			e.Gate = func(_ context.Context, now int) (int64, error) {
				if now == stage {
					cancel(why)
				}
				return time.Now().Add(5 * time.Millisecond).UnixNano(), nil
			}
			o, err := e.Run(ctx)
			require.NoError(t, err)
			require.ErrorIs(t, o.Ended, why)
			require.Len(t, o.Spans, stage+1)
			require.NoError(t, e.Log.Close(eventlog.End{}))
		}
	}
}
