package engine

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// directorOf returns a director of one stage with a number of queues, whose clock always reads 1000.
func directorOf(t *testing.T, loops int, part Part, src prompts.Source, stage profile.Stage) *director {
	t.Helper()
	d := &director{maker: maker{Engine: &Engine{Profile: profileOf(stage), Source: src, Part: part}}, ctx: t.Context(),
		profile: &stage, now: func() int64 { return 1000 }, look: time.NewTimer(time.Hour)}
	for range loops {
		d.queues = append(d.queues, queueWith(t, 0, new(int)))
	}
	d.active = d.queues
	return d
}

// isRung reports whether the loop of a queue would wake up now.
func isRung(t *testing.T, q *queue) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(q.bell.FD()), Events: unix.POLLIN}}, 50)
	require.NoError(t, err)
	return n > 0
}

// A stage uses as many queues as it can have requests in flight, and divides the limit between them. Only answers that
// decide what is sent next wake the director one by one.
func TestLimitsOfQueues(t *testing.T) {
	single, chats := &list{sessions: [][]prompts.Call{{{}}}}, &list{sessions: [][]prompts.Call{{{}}}, conversations: 9}
	burst := func(n int) profile.Stage { return profile.Stage{Arrival: profile.Burst, Requests: 9, Concurrency: n} }
	users := func(n int) profile.Stage { return profile.Stage{Arrival: profile.Closed, Requests: 9, Concurrency: n} }
	lists := func(n int) profile.Stage {
		return profile.Stage{Arrival: profile.Sessions, Requests: 9, Concurrency: n}
	}
	for _, c := range []struct {
		stage    profile.Stage
		src      *list
		inFlight int
		part     Part
		rooms    []int
		enough   int
	}{
		{burst(0), single, 0, Part{}, []int{0, 0, 0}, 256},
		{burst(0), single, 7, Part{}, []int{3, 2, 2}, 256},
		{burst(0), single, 2, Part{}, []int{1, 1}, 256},
		{burst(0), single, 1, Part{}, []int{1}, 256},
		{burst(4), single, 0, Part{}, []int{2, 1, 1}, 256},
		{burst(1), single, 0, Part{}, []int{1}, 256},
		{burst(5), single, 3, Part{}, []int{1, 1, 1}, 256},
		{burst(3), single, 5, Part{}, []int{1, 1, 1}, 256},
		{burst(0), chats, 0, Part{}, []int{0, 0, 0}, 1},
		{burst(0), single, 8, Part{2, 3}, []int{1, 1}, 256},
		{burst(8), single, 0, Part{0, 3}, []int{1, 1, 1}, 256},
		{users(2), single, 0, Part{}, []int{0, 0}, 256},
		{users(9), single, 0, Part{}, []int{0, 0, 0}, 256},
		{users(9), single, 4, Part{}, []int{2, 1, 1}, 256},
		{users(5), single, 0, Part{1, 3}, []int{0, 0}, 256},
		{users(5), single, 0, Part{2, 3}, []int{0}, 256},
		{users(2), chats, 0, Part{}, []int{0, 0}, 1},
		{lists(2), single, 0, Part{}, []int{0, 0, 0}, 1},
		{lists(2), single, 4, Part{}, []int{2, 1, 1}, 1},
	} {
		d := directorOf(t, 3, c.part, c.src, c.stage)
		d.Profile.Load.InFlight = c.inFlight
		for _, q := range d.queues {
			q.freed, q.until = 5, 5 // of the stage before
		}
		require.NoError(t, d.choose())
		var rooms []int
		for _, q := range d.active {
			rooms = append(rooms, q.room)
			require.Equal(t, []int64{0, 0}, []int64{q.freed, q.until})
			require.Equal(t, c.enough, q.enough, "%+v", c)
		}
		require.Equal(t, c.rooms, rooms, "%+v", c)
	}
	d := directorOf(t, 1, Part{}, single, profile.Stage{Arrival: "unknown"})
	require.Error(t, d.choose())
}

// Users begin at their times, each on its queue, and send nothing after the stage's duration.
func TestUsersBegin(t *testing.T) {
	const s = int64(time.Second)
	ramp := &profile.Ramp{Over: 5 * time.Second}
	for _, c := range []struct {
		part     Part
		ramp     *profile.Ramp
		duration time.Duration
		want     [2][]int64
		until    int64
	}{
		{Part{}, ramp, 9 * time.Second, [2][]int64{{50, 50 + 2*s, 50 + 4*s}, {50 + s, 50 + 3*s}}, 50 + 9*s},
		{Part{1, 3}, ramp, 0, [2][]int64{{50 + s}, {50 + 4*s}}, 0},
		{Part{}, nil, 1, [2][]int64{{50, 50, 50}, {50, 50}}, 51},
	} {
		d := directorOf(t, 2, c.part, &list{}, profile.Stage{Arrival: profile.Closed, Concurrency: 5, Ramp: c.ramp,
			Duration: c.duration})
		d.base = 50
		(&closed{director: d}).begin()
		require.True(t, d.users.Load())
		for i, q := range d.queues {
			require.Equal(t, c.want[i], q.users.list, "%+v", c)
			require.Equal(t, c.until, q.until, "%+v", c)
		}
	}
}

// A request of a stage of users ends the stage's preparation, even if it is the only one.
func TestOneRequestIsAStage(t *testing.T) {
	for _, chats := range []int{0, 1} {
		p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 1})
		src := &list{sessions: [][]prompts.Call{chain(3, 0)}, conversations: chats}
		_, all, _ := run(t, t.Context(), serve(t, 0, nil), p, src, 1)
		require.Len(t, all, 1)
	}
}

// Requests enter the queues in groups, so that users need not wait until all are prepared.
func TestRequestsEnterTheQueuesInGroups(t *testing.T) {
	d := directorOf(t, 1, Part{}, nil, profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 999})
	e, _ := engineOf(t, serve(t, 0, nil), d.Engine.Profile, nil, 0)
	defer func() { require.NoError(t, e.Log.Close(eventlog.End{})) }()
	d.Encoder, d.Source = e.Encoder, &broken{&list{sessions: [][]prompts.Call{{{}}}}, 130}
	k := &closed{director: d}
	_, err := k.feed()
	require.ErrorIs(t, err, errSource)
	require.Len(t, d.queues[0].stock, 128)
	require.Len(t, k.fresh, 2)
}

// Requests that were prepared before the start are due after it, and no earlier than what they wait for.
func TestStartOfAStage(t *testing.T) {
	why := errors.New("no gate")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		gate func(context.Context, int) (int64, error)
		ctx  context.Context
		base int64
		err  error
	}{
		"no gate":     {nil, t.Context(), 1000 + int64(20*time.Millisecond), nil},
		"a gate":      {func(context.Context, int) (int64, error) { return 7000, nil }, t.Context(), 7000, nil},
		"it fails":    {func(context.Context, int) (int64, error) { return 1, why }, t.Context(), 0, why},
		"it is ended": {func(context.Context, int) (int64, error) { return 1, why }, ended, 0, nil},
	} {
		d := directorOf(t, 2, Part{}, &list{}, profile.Stage{Arrival: profile.Burst})
		d.Gate, d.ctx, d.kind = c.gate, c.ctx, &open{}
		early, late := &slot{number: 0}, &slot{number: 1, notBefore: 1 << 50}
		d.schedule(early, 5)
		d.schedule(late, 6)
		require.ErrorIs(t, d.start(), c.err, name)
		require.Equal(t, c.base, d.base, name)
		if c.base == 0 {
			require.Len(t, d.pending, 2, name)
			continue
		}
		require.Empty(t, d.pending, name)
		require.Equal(t, []*slot{early}, d.queues[0].timed.list, name)
		require.Equal(t, []*slot{late}, d.queues[1].timed.list, name)
		require.Equal(t, []int64{c.base + 5, c.base + 5, c.base + 6, 1 << 50},
			[]int64{early.rec.DueNS, early.notBefore, late.rec.DueNS, late.notBefore}, name)
		require.True(t, isRung(t, d.queues[0]) && isRung(t, d.queues[1]), name)
		next := &slot{number: 2}
		d.schedule(next, 7)
		require.Equal(t, []int64{c.base + 7, c.base + 7}, []int64{next.rec.DueNS, next.notBefore}, name)
		require.Equal(t, 2, d.queues[0].waiting(), name)
	}
}

// A loop is woken for a request that is due before all others.
func TestAnEarlierRequestWakesTheLoop(t *testing.T) {
	for at, rung := range map[int64]bool{99: true, 100: false, 101: false} {
		d := directorOf(t, 1, Part{}, &list{}, profile.Stage{Arrival: profile.Burst})
		q := d.queues[0]
		q.parked = true
		d.push(&slot{}, 100)
		require.True(t, isRung(t, q), "the first one")
		q.bell.Clear()
		d.push(&slot{}, at)
		require.Equal(t, rung, isRung(t, q), at)
	}
}

// The requests of a part take its queues in turn.
func TestQueuesOfAPart(t *testing.T) {
	d := directorOf(t, 2, Part{1, 3}, &list{}, profile.Stage{})
	for i, number := range []int{1, 4, 7, 10} {
		require.Same(t, d.queues[i%2], d.queueOf(number), number)
	}
}

// Requests that ended are counted by how they ended, written, passed on, and their memory is used again.
func TestRequestsThatEnded(t *testing.T) {
	d := directorOf(t, 2, Part{}, &list{}, profile.Stage{Arrival: profile.Burst})
	log, err := eventlog.Create(filepath.Join(t.TempDir(), eventlog.FileName), eventlog.Header{})
	require.NoError(t, err)
	d.Log = log
	d.breakers = newBreakers(&d.Profile.Load, d.profile)
	var seen []int
	d.Ended = func(r *eventlog.Request) { seen = append(seen, r.Seq) }
	for i, reason := range []ledger.Reason{"", ledger.FailCancelled, "http_500", "connect", ""} {
		q, s := d.queues[i%2], d.table.get()
		s.rec = eventlog.Request{Seq: i, Reason: reason, OutputTokens: 10 + i}
		q.ended = append(q.ended, s)
		q.sent += 2
	}
	d.live[liveStage].Store(4)
	require.NoError(t, d.collect())
	require.Equal(t, Live{Stage: 4, Sent: 10, Ended: 5, Failed: 2, Cancelled: 1, OutputTokens: 60}, d.Live())
	require.Equal(t, []int{0, 2, 4, 1, 3}, seen)
	require.Equal(t, []int{5, 3}, []int{d.breakers.ended, d.breakers.failed})
	require.Len(t, d.table.free, 5)
	require.NoError(t, d.collect())
	require.EqualValues(t, 5, d.Live().Ended, "each once")
	require.NoError(t, log.Close(eventlog.End{}))
}

// A sweep keeps the times of its probes, by stage.
func TestTimesOfProbes(t *testing.T) {
	d := directorOf(t, 0, Part{}, &list{}, profile.Stage{})
	d.stages = []profile.Stage{{Warmup: true}, {Warmup: true}, {}}
	add := func(stage int) {
		s := &slot{}
		s.rec = eventlog.Request{Stage: stage, SentNS: int64(10 + stage), EndNS: int64(20 + stage)}
		d.remember(s)
	}
	add(1)
	require.Empty(t, d.ends, "no sweep")
	d.Profile.Load.Sweep = &profile.Sweep{}
	for _, stage := range []int{1, 0, 1, 2} {
		add(stage)
	}
	require.Equal(t, [][]int64{{10}, {11, 11}}, d.begins)
	require.Equal(t, [][]int64{{20}, {21, 21}}, d.ends)
}

// Requests that are dropped are counted, and their memory is used again.
func TestRequestsThatAreDropped(t *testing.T) {
	d := directorOf(t, 2, Part{}, &list{}, profile.Stage{Arrival: profile.Burst})
	d.pending = []*slot{d.table.get()}
	d.queues[1].timed.push(d.table.get())
	d.queues[1].stock = []*slot{d.table.get()}
	require.EqualValues(t, 3, d.drop())
	require.Empty(t, d.pending)
	require.Len(t, d.table.free, 3)
	require.Zero(t, d.drop())
}

// fixed is a backend that reports figures of its loop, or none.
type fixed struct {
	backends.Backend
	loop func() backends.LoopStats
}

func (f fixed) Features() backends.Features { return backends.Features{Loop: f.loop} }

// The outcome contains the figures of all loops. It is empty if no stage has a request for this part.
func TestOutcomes(t *testing.T) {
	d := directorOf(t, 0, Part{}, &list{}, profile.Stage{})
	d.Backends = []backends.Backend{fixed{loop: func() backends.LoopStats { return backends.LoopStats{QueueMax: 7} }},
		fixed{}}
	d.sinks = []*sink{{}, {}}
	o := d.outcome()
	require.Equal(t, []backends.LoopStats{{QueueMax: 7}}, o.Loops)
	require.Nil(t, o.ReportLag)
	require.NoError(t, o.Ended)
	d.sinks[1].report.Record(40)
	require.NotNil(t, d.outcome().ReportLag)
	for _, c := range []struct {
		part     Part
		hasPart  bool
		requests int64
		isEmpty  bool
	}{{Part{}, false, 0, false}, {Part{0, 1}, false, 0, false}, {Part{1, 2}, false, 0, true}, {Part{1, 2}, true, 0, false},
		{Part{1, 2}, false, 1, false}} {
		d := directorOf(t, 0, c.part, &list{}, profile.Stage{})
		d.hasPart = c.hasPart
		d.live[liveEnded].Store(c.requests)
		require.Equal(t, c.isEmpty, d.outcome().IsEmpty, "%+v", c)
	}
}

// A stage that is stopped counts what it did not send, and the next one counts its failures anew.
func TestStagesThatAreStopped(t *testing.T) {
	fails := func(int64) int { return http.StatusServiceUnavailable }
	p := profileOf(profile.Stage{Arrival: profile.Constant, Rate: 20, Requests: 9},
		profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 1},
		profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 5000})
	p.Load.MaxErrors = 2
	o, all, _ := run(t, t.Context(), serve(t, 0, fails), p, randomIDs(t, p), 2)
	require.Len(t, o.Spans, 3)
	first, second, third := o.Spans[0], o.Spans[1], o.Spans[2]
	require.Equal(t, "load.max_errors: 2 requests failed", first.Stopped)
	require.EqualValues(t, 9, first.Requests+first.Unsent)
	require.GreaterOrEqual(t, first.Requests, int64(2))
	require.Equal(t, []any{"", int64(1), int64(0)}, []any{second.Stopped, second.Requests, second.Unsent})
	require.Contains(t, third.Stopped, "requests failed")
	require.Less(t, third.Requests, int64(5000))
	for i, span := range o.Spans {
		require.Equal(t, i, span.Stage)
	}
	require.EqualValues(t, len(all), first.Requests+1+third.Requests)
}

// Users of conversations, and sessions, send nothing more once their stage is stopped, and the next stage begins.
func TestUsersOfAStageThatIsStopped(t *testing.T) {
	for _, arrival := range []profile.Arrival{profile.Closed, profile.Sessions, profile.Constant} {
		src := &list{sessions: [][]prompts.Call{chain(2, 0)}}
		stage := profile.Stage{Arrival: arrival, Concurrency: 2, Requests: 400}
		if arrival != profile.Sessions {
			src.conversations = 2
		}
		if arrival == profile.Constant {
			stage.Rate = 1000
		}
		p := profileOf(stage, stage)
		p.Load.MaxErrors = 3
		s := serve(t, 0, func(n int64) int {
			if n == 2 { // in flight when the others have failed
				time.Sleep(100 * time.Millisecond)
			}
			return http.StatusServiceUnavailable
		})
		o, _, _ := run(t, t.Context(), s, p, src, 1)
		require.Len(t, o.Spans, 2)
		for _, span := range o.Spans {
			require.Contains(t, span.Stopped, "requests failed", arrival)
			require.LessOrEqual(t, span.Requests, int64(3+2), "%s: and those in flight", arrival)
		}
	}
}

// The span of a stage states why the run was ended. No stage begins after a pause that was cut short.
func TestARunThatIsEndedInAPause(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 1}, profile.Stage{Arrival: profile.Burst, Requests: 1})
	p.Load.Pause = time.Hour
	e, _ := engineOf(t, serve(t, 0, nil), p, randomIDs(t, p), 1)
	e.Ended = func(*eventlog.Request) { time.AfterFunc(300*time.Millisecond, func() { cancel(why) }) }
	o, err := e.Run(ctx)
	require.NoError(t, err)
	require.NoError(t, e.Log.Close(eventlog.End{}))
	require.ErrorIs(t, o.Ended, why)
	require.Len(t, o.Spans, 1)

	d := directorOf(t, 1, Part{}, &list{}, profile.Stage{})
	require.True(t, d.pause(0))
	d.ctx = ctx
	require.False(t, d.pause(time.Hour))
}

// kept is a backend that keeps its context.
type kept struct {
	backends.Backend
	ctx *context.Context
}

func (k kept) Serve(ctx context.Context, src loadgen.Source, to backends.Sink) error {
	*k.ctx = ctx
	return k.Backend.Serve(ctx, src, to)
}

// A run leaves no descriptor open, and ends its context.
func TestARunLeavesNothing(t *testing.T) {
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	s := serve(t, 0, nil)
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 1}, profile.Stage{Arrival: profile.Burst, Requests: 1})
	e, _ := engineOf(t, s, p, randomIDs(t, p), 3)
	e.Ended = func(r *eventlog.Request) { require.Equal(t, r.Stage, e.Live().Stage) }
	var ctx context.Context
	e.Backends[0] = kept{e.Backends[0], &ctx}
	before := descriptors()
	_, err := e.Run(t.Context())
	require.NoError(t, err)
	require.Error(t, ctx.Err())
	require.Eventually(t, func() bool { s.CloseClientConnections(); return descriptors() <= before }, time.Minute,
		10*time.Millisecond)
	require.NoError(t, e.Log.Close(eventlog.End{}))
}

// A disk that is full ends the run.
func TestALogThatCannotBeWritten(t *testing.T) {
	p := profileOf(profile.Stage{Arrival: profile.Closed, Concurrency: 1, Duration: time.Hour})
	e, path := engineOf(t, serve(t, 0, nil), p, randomIDs(t, p), 1)
	full, err := unix.Open("/dev/full", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(full)
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, fd := range list {
		if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); name == path {
			n, err := strconv.Atoi(fd.Name())
			require.NoError(t, err)
			require.NoError(t, unix.Dup3(full, n, unix.O_CLOEXEC))
		}
	}
	require.ErrorIs(t, e.Log.Close(eventlog.End{}), unix.ENOSPC)
	_, err = e.Run(t.Context())
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, "stage 0: the event log cannot be written")
}

// A fault of the source ends the run although the server has not answered, and what was in flight is recorded.
func TestAFaultWhileTheServerIsSilent(t *testing.T) {
	silent := make(chan struct{})
	s := serve(t, 0, func(n int64) int {
		if n == 2 {
			<-silent
		}
		return http.StatusOK
	})
	t.Cleanup(func() { close(silent) })
	src := &broken{&list{sessions: [][]prompts.Call{chain(2, 0)}}, 6} // two calls are prepared by six answers
	e, _ := engineOf(t, s, profileOf(profile.Stage{Arrival: profile.Sessions, Concurrency: 2, Requests: 2}), src, 1)
	var ended []ledger.Reason
	e.Ended = func(r *eventlog.Request) { ended = append(ended, r.Reason) }
	_, err := e.Run(t.Context())
	require.ErrorIs(t, err, errSource)
	require.NoError(t, e.Log.Close(eventlog.End{}))
	require.Equal(t, []ledger.Reason{"", ledger.FailCancelled}, ended)
}

// A loop that leaves a request in flight after the run's end does not hold the run for ever.
func TestALoopThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	stage := profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 1}
	d := directorOf(t, 1, Part{}, &list{sessions: [][]prompts.Call{{{}}}}, stage)
	now := int64(0)
	d.ctx, d.stages, d.wake = ctx, []profile.Stage{stage}, make(chan struct{})
	d.now = func() int64 { now += int64(time.Second); return now }
	d.users.Store(true)
	d.queues[0].inFlight = 1
	require.NoError(t, d.runStage(0))
	require.Len(t, d.spans, 1)
	require.Equal(t, "enough", d.spans[0].Stopped)
	require.Zero(t, d.spans[0].StartNS)
	require.Greater(t, now, int64(abandonAfter))
	require.False(t, d.users.Load())
}
