package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// queueWith returns a queue with n due requests, and counts what wakes the director.
func queueWith(t *testing.T, n int, woken *int) *queue {
	t.Helper()
	q, err := newQueue(func() int64 { return 1000 }, func() { *woken++ })
	require.NoError(t, err)
	t.Cleanup(q.bell.Close)
	for i := range n {
		q.timed.push(&slot{index: i, notBefore: int64(i)})
	}
	return q
}

// TestAnswersWakeTheDirector lists which of ten answers wake the director: every one if it decides what comes next, and
// otherwise each third, and the last, after which the stage may be over.
func TestAnswersWakeTheDirector(t *testing.T) {
	for enough, want := range map[int]int{1: 10, 3: 4, lookAfter: 1} {
		woken := 0
		q := queueWith(t, 10, &woken)
		q.enough = enough
		require.Equal(t, 10, q.Pop(make([]loadgen.Query, 10)))
		require.Zero(t, woken, "nothing has to be prepared")
		for i := range 10 {
			before := woken
			q.end(&slot{index: i}, false)
			if woken > before {
				q.ended = q.ended[:0] // the director collects them
			}
		}
		require.Equal(t, want, woken, "%d answers wake the director", enough)
	}
}

// TestOnlySleepersAreRung: setting a timer costs more than a request, so a loop that works is not rung.
func TestOnlySleepersAreRung(t *testing.T) {
	var late int64 = 1 << 40
	rings := func(q *queue) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ring()
		fds := []unix.PollFd{{Fd: int32(q.FD()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 20)
		for err == unix.EINTR { // by a signal of the scheduler, or because the machine stopped this process
			n, err = unix.Poll(fds, 20)
		}
		require.NoError(t, err)
		return n > 0
	}
	q := queueWith(t, 0, new(int))
	require.False(t, rings(q), "it has not begun")
	q.timed.push(&slot{notBefore: late})
	require.True(t, q.Park())
	require.True(t, rings(q))
	q.Unpark()
	q.Pop(make([]loadgen.Query, 1))
	require.False(t, rings(q), "it works")
	require.True(t, q.Park())
	q.Unpark()
	q.timed.push(&slot{notBefore: 1})
	require.False(t, q.Park(), "a request is due")
	require.False(t, rings(q))
	q.parked, q.sleeps = false, true
	require.True(t, rings(q), "a thread is in Wait")
}

// TestFewPreparedRequestsWakeTheDirector sends requests until the director has to prepare others, which wakes it once.
func TestFewPreparedRequestsWakeTheDirector(t *testing.T) {
	woken := 0
	q := queueWith(t, 10, &woken)
	q.low = 5
	one := make([]loadgen.Query, 1)
	for range 5 {
		q.Pop(one)
	}
	require.Zero(t, woken)
	for range 5 {
		q.Pop(one)
	}
	require.Equal(t, 1, woken)
}

// Taken requests leave room for the next ones, in their order, even if the queue is never empty.
func TestRestock(t *testing.T) {
	q := &queue{users: heap[int64]{before: func(a, b int64) bool { return a < b }}}
	in, out := 0, 0
	for range 1000 {
		q.restock()
		for range 64 {
			q.stock = append(q.stock, &slot{index: in})
			in++
		}
		for q.waiting() > 64 {
			q.users.push(0)
			require.Equal(t, out, q.take(1).index)
			out++
		}
	}
	require.Equal(t, 64, q.waiting())
	require.Less(t, cap(q.stock), 1024)
}

// TestAnAnswerWakesASleeper: a thread that sleeps in Wait sends at once for the user whose answer another thread read,
// and for the room in flight that the answer left.
func TestAnAnswerWakesASleeper(t *testing.T) {
	for name, user := range map[string]bool{"user": true, "room": false} {
		t.Run(name, func(t *testing.T) {
			q, err := newQueue(wallClock(), func() {})
			require.NoError(t, err)
			t.Cleanup(q.bell.Close)
			if user {
				q.stock = []*slot{{}}
			} else {
				q.timed.push(&slot{})
				q.room, q.inFlight = 1, 1
			}
			got := make(chan int)
			go func() {
				n, _ := q.Wait(make([]loadgen.Query, 1), time.Hour)
				got <- n
			}()
			require.Eventually(t, func() bool {
				q.mu.Lock()
				defer q.mu.Unlock()
				return q.sleeps
			}, time.Minute, time.Millisecond)
			q.end(&slot{}, user)
			select {
			case n := <-got:
				require.Equal(t, 1, n)
			case <-time.After(time.Minute):
				t.Fatal("the thread sleeps")
			}
		})
	}
}

// A thread that waits for a request sets the timer to the lead before it, since a poll counts whole milliseconds.
func TestASleeperSetsTheTimer(t *testing.T) {
	q, err := newQueue(wallClock(), func() {})
	require.NoError(t, err)
	t.Cleanup(q.bell.Close)
	q.timed.push(&slot{notBefore: q.now() + int64(time.Hour)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.Wait(make([]loadgen.Query, 1), 2*time.Hour)
	}()
	require.Eventually(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.sleeps
	}, time.Minute, time.Millisecond)
	var left unix.ItimerSpec
	require.NoError(t, unix.TimerfdGettime(q.bell.FD(), &left))
	require.Less(t, left.Value.Nano(), int64(time.Hour)-q.lead.ns)
	require.Greater(t, left.Value.Nano(), int64(30*time.Minute))
	q.mu.Lock()
	q.closed, q.timed = true, heap[*slot]{before: q.timed.before}
	q.mu.Unlock()
	q.bell.Set(0)
	<-done
}

// Requests for users wake a sleeping loop if its stock was empty, once the stage has begun.
func TestStockWakesTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		base  int64
		stock []*slot
		rings bool
	}{"empty": {1, nil, true}, "before the stage": {0, nil, false}, "not empty": {1, []*slot{{}}, false}} {
		q := queueWith(t, 0, new(int))
		q.stock, q.parked = c.stock, true
		d := &director{maker: maker{Engine: &Engine{}}, base: c.base, active: queues{q}}
		k := &closed{director: d, fresh: []*slot{{index: 7}}}
		k.stock()
		require.Equal(t, 7, q.stock[len(c.stock)].index, name)
		require.Empty(t, k.fresh, name)
		wait := 0
		if c.rings {
			wait = 60_000
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(q.bell.FD()), Events: unix.POLLIN}}, wait)
		require.NoError(t, err)
		require.Equal(t, c.rings, n == 1, name)
	}
}

// If the first report has several tokens, the next one counts as part of its event.
func TestEventsOfARequest(t *testing.T) {
	for first, want := range map[int][]int{0: {1, 3}, 1: {1, 3}, 2: {4}, 3: {4}} {
		k := &sink{table: &table{}}
		s := k.table.get()
		k.FirstToken(loadgen.Query{Seq: s.index}, make([]int32, first), 10)
		k.Tokens(loadgen.Query{Seq: s.index}, 3, 20, 0)
		var got []int
		for _, e := range s.rec.Events {
			got = append(got, int(e.Tokens))
		}
		require.Equal(t, want, got, first)
	}
}

// The report lag of a request counts from when its last token was readable, if it had one.
func TestReportLagOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		last, readable int64
		count          int64
	}{"tokens": {60, 70, 1}, "no token": {0, 70, 0}, "not known": {60, 0, 0}} {
		k := &sink{table: &table{}, queue: queueWith(t, 0, new(int)), now: func() int64 { return 100 },
			isUsers: func() bool { return false }}
		s := k.table.get()
		k.Complete(loadgen.Query{Seq: s.index}, &backends.Outcome{LastTokenNS: c.last, ReadableNS: c.readable})
		var report ledger.Histogram
		k.report.MoveTo(&report)
		require.Equal(t, c.count, report.Count(), name)
		require.Equal(t, 30*c.count, report.Max(), name)
	}
}

// The messages of a chat are given to the protocol as checked.
func TestMessagesAreCheckedOnce(t *testing.T) {
	s, _ := (&Encoder{chat: true}).Sample(&prompts.Request{Text: "b"}, nil)
	require.Equal(t, `[{"role":"user","content":"b"}]`, string(s.Messages))
	require.Equal(t, len(s.Messages), s.MessageBytes)
}

// Messages of a request are inserted without the brackets of their list, and commas only stand between messages.
func TestMessagesOfAChat(t *testing.T) {
	const before, text = `{"role":"user","content":"a"}`, `{"role":"user","content":"b"}`
	for list, want := range map[string]string{"": "", "[]": "", " [ ] ": "", "[{}]": "{}", " [ {} ,[1]\n]": "{} ,[1]",
		"[1]": "1"} {
		for _, h := range []*History{nil, {Messages: []byte(before)}} {
			for _, last := range []string{"", "b"} {
				var all []string
				if h != nil {
					all = append(all, before)
				}
				if want != "" {
					all = append(all, want)
				}
				if last != "" {
					all = append(all, text)
				}
				got := h.chat(nil, &prompts.Request{Messages: []byte(list), Text: last})
				require.Equal(t, strings.Join(all, ","), string(got), "%q %q", list, last)
			}
		}
	}
}

// Others are prepared when half of the queued requests have been sent, rounded up, and never after the last.
func TestHalfOfAQueueIsLow(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 2: 1, 3: 2, 10: 5, 11: 6} {
		woken := 0
		q := queueWith(t, n, &woken)
		all := queues{q}
		all.expect(false)
		require.Equal(t, want, q.low, n)
		all.expect(true)
		require.Zero(t, q.low, n)
	}
}

// A loop sleeps until the lead before the next request, as long as there may be one, and not if it is due by then.
func TestParking(t *testing.T) {
	const lead = firstLead
	for name, c := range map[string]struct {
		due    []int64 // the clock always reads 1000
		closed bool
		parks  bool
		alarm  int64
	}{
		"nothing yet":      {nil, false, true, 0},
		"nothing any more": {nil, true, false, 0},
		"later":            {[]int64{1000 + lead + 9}, false, true, 1009},
		"the last":         {[]int64{1000 + lead + 9}, true, true, 1009},
		"just outside":     {[]int64{1000 + lead + 1}, false, true, 1001},
		"within the lead":  {[]int64{1000 + lead}, false, false, 0},
		"the first counts": {[]int64{5000 + lead, 2000 + lead}, false, true, 2000},
	} {
		q := queueWith(t, 0, new(int))
		for _, at := range c.due {
			q.timed.push(&slot{notBefore: at})
		}
		q.closed, q.parked = c.closed, true
		require.Equal(t, c.parks, q.Park(), name)
		require.Equal(t, c.parks, q.parked, name)
		require.Equal(t, c.alarm, q.alarm, name)
		var left unix.ItimerSpec
		require.NoError(t, unix.TimerfdGettime(q.bell.FD(), &left))
		require.Equal(t, c.alarm != 0, left.Value.Nano() > 0 || isRung(t, q), name)
		for within, soon := range map[time.Duration]bool{0: !c.parks && !c.closed, time.Hour: len(c.due) > 0} {
			require.Equal(t, soon, q.Soon(within), name)
		}
		q.Pop(nil)
		require.False(t, q.parked, name)
	}
	q := queueWith(t, 0, new(int))
	q.timed.push(&slot{notBefore: 1000 + lead + 70})
	require.False(t, q.Soon(69))
	require.True(t, q.Soon(70))
}

// The lead learns from each wake-up once.
func TestWakeUpsAreCounted(t *testing.T) {
	now := int64(1000)
	q := queueWith(t, 0, new(int))
	q.now = func() int64 { return now }
	for _, c := range []struct{ alarm, now, lead, left int64 }{{0, 1000, firstLead, 0}, {1001, 1000, firstLead, 1001},
		{1000, 1000, firstLead - 50, 0}, {1000, 1000 + firstLead, firstLead - 50, 0},
		{1000, 1001 + firstLead, firstLead + 1000, 0}} {
		q.alarm, now, q.lead = c.alarm, c.now, lead{ns: firstLead}
		q.Pop(nil)
		require.Equal(t, []int64{c.lead, c.left}, []int64{q.lead.ns, q.alarm}, "%+v", c)
	}
}

// A request of a user is due when the user is free, and before the end of his stage. Timed requests go first.
func TestRequestsOfUsers(t *testing.T) {
	for name, c := range map[string]struct {
		users       []int64
		until, next int64
		freed       int64
		want        [][2]int64 // when each is due and ready, as far as they are sent
	}{
		"free":          {[]int64{30, 20}, 0, 20, 0, [][2]int64{{20, 20}, {30, 30}}},
		"one user":      {[]int64{20}, 0, 20, 0, [][2]int64{{20, 20}}},
		"room":          {[]int64{20, 30}, 0, 20, 25, [][2]int64{{20, 25}, {30, 30}}},
		"the end":       {[]int64{20, 30}, 30, 20, 0, [][2]int64{{20, 20}}},
		"after the end": {[]int64{30}, 30, 1 << 62, 0, nil},
		"no user":       {nil, 0, 1 << 62, 0, nil},
		"later":         {[]int64{2000}, 0, 2000, 0, nil},
	} {
		q := queueWith(t, 0, new(int))
		var all []*slot
		for i := range 3 {
			all = append(all, &slot{index: 5 + i})
		}
		q.stock, q.until, q.freed = append([]*slot{}, all...), c.until, c.freed
		for _, at := range c.users {
			q.users.push(at)
		}
		require.Equal(t, c.next, min(q.next(), 1<<62), name)
		got := make([]loadgen.Query, 4)
		n := q.Pop(got)
		require.Equal(t, []int{len(c.want), len(c.want), 3 - len(c.want)}, []int{n, q.inFlight, q.waiting()}, name)
		require.EqualValues(t, n, q.sent, name)
		for i := range n {
			require.Equal(t, loadgen.Query{ID: loadgen.ResponseID(6 + i), Index: 5 + i, Seq: 5 + i, Call: 5 + i,
				IssuedNS: 1000}, got[i], name)
			require.Equal(t, c.want[i], [2]int64{all[i].rec.DueNS, all[i].rec.ReadyNS}, name)
			require.Nil(t, q.stock[i], "%s: its memory is not held", name)
		}
	}
	q := queueWith(t, 1, new(int))
	q.stock = []*slot{{index: 7}}
	q.users.push(0)
	got := make([]loadgen.Query, 2)
	require.Equal(t, 2, q.Pop(got))
	require.Equal(t, []int{0, 7}, []int{got[0].Index, got[1].Index})
	require.Equal(t, []int{0, 0}, []int{len(q.stock), q.head}, "its memory is used again")
}

// No more requests are sent than there is room for, nor than were asked for.
func TestRoomOfAQueue(t *testing.T) {
	for _, c := range []struct{ room, inFlight, asked, want int }{{0, 9, 9, 5}, {3, 0, 9, 3}, {3, 2, 9, 1}, {3, 3, 9, 0},
		{0, 0, 2, 2}, {1, 0, 9, 1}} {
		q := queueWith(t, 5, new(int))
		q.room, q.inFlight = c.room, c.inFlight
		require.Equal(t, c.want, q.Pop(make([]loadgen.Query, c.asked)), "%+v", c)
		require.Equal(t, c.inFlight+c.want, q.inFlight)
	}
}

// Which answers wake the director: the last one in flight, unless others are prepared that somebody will send.
func TestLastAnswersWakeTheDirector(t *testing.T) {
	for name, c := range map[string]struct {
		inFlight, timed, stock, users int
		woken                         bool
	}{
		"the last": {1, 0, 0, 0, true}, "others": {2, 0, 0, 0, false}, "a due one": {1, 1, 0, 0, false},
		"a user": {1, 0, 1, 1, false}, "no user": {1, 0, 1, 0, true}, "no stock": {1, 0, 0, 1, true},
	} {
		woken := 0
		q := queueWith(t, c.timed, &woken)
		q.inFlight, q.enough, q.stock = c.inFlight, 99, make([]*slot, c.stock)
		for range c.users {
			q.users.push(0)
		}
		q.end(&slot{}, false)
		require.Equal(t, c.woken, woken == 1, name)
	}
}

// Wait returns at its deadline, at once if nothing more comes, and with the last requests.
func TestEndOfWaiting(t *testing.T) {
	var batch [9]loadgen.Query
	for name, c := range map[string]struct {
		due, n int
		closed bool
		open   bool
	}{"a request": {1, 1, false, true}, "the last": {2, 2, true, true}, "nothing more": {0, 0, true, false},
		"nothing yet": {0, 0, false, true}} {
		q := queueWith(t, c.due, new(int))
		q.closed = c.closed
		timeout := time.Duration(0)
		if c.closed {
			timeout = time.Hour
		}
		n, open := q.Wait(batch[:], timeout)
		require.Equal(t, []any{c.n, c.open}, []any{n, open}, name)
		require.False(t, q.sleeps, name)
	}
	q, err := newQueue(wallClock(), func() {})
	require.NoError(t, err)
	t.Cleanup(q.bell.Close)
	q.timed.push(&slot{notBefore: q.now() + int64(time.Hour)})
	began := time.Now()
	n, open := q.Wait(batch[:], 30*time.Millisecond)
	require.Equal(t, []any{0, true}, []any{n, open})
	require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
	require.Less(t, time.Since(began), 30*time.Minute)
	queues{q}.shut()
	require.True(t, q.closed)
	require.True(t, isRung(t, q))
}

// The memory of requests that were sent is used again once half of it is free.
func TestHalfOfTheStockIsFree(t *testing.T) {
	for _, c := range []struct{ all, head, left, then int }{{2, 1, 1, 0}, {3, 1, 2, 1}, {4, 2, 2, 0}, {5, 2, 3, 2},
		{0, 0, 0, 0}} {
		q := &queue{head: c.head}
		for i := range c.all {
			q.stock = append(q.stock, &slot{index: i})
		}
		whole := q.stock
		require.Equal(t, c.left == 0, q.restock(), "%+v", c)
		require.Equal(t, []int{c.left, c.then}, []int{q.waiting(), q.head}, "%+v", c)
		if c.left > 0 {
			require.Equal(t, c.head, q.stock[q.head].index, "%+v", c)
		}
		for i := len(q.stock); i < c.all; i++ {
			require.Nil(t, whole[i], "%+v", c)
		}
	}
	q := &queue{stock: []*slot{nil, nil, nil}, head: 3}
	require.True(t, q.restock())
}

// A stage is not over while a request is in flight, or waits for the director or for its time.
func TestQueuesThatAreBusy(t *testing.T) {
	for name, fill := range map[string]func(q *queue){
		"in flight": func(q *queue) { q.inFlight = 1 }, "ended": func(q *queue) { q.ended = []*slot{{}} },
		"due":      func(q *queue) { q.timed.push(&slot{}) },
		"a user's": func(q *queue) { q.stock = []*slot{{}}; q.users.push(1) },
	} {
		all := queues{queueWith(t, 0, new(int)), queueWith(t, 0, new(int))}
		require.True(t, all.idle())
		fill(all[1])
		require.False(t, all.idle(), name)
	}
}

// A heap returns its values in order, whatever comes between, and holds no value that it returned.
func TestRandomHeaps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		h := heap[*slot]{before: func(a, b *slot) bool { return a.notBefore < b.notBefore }}
		var want []int64
		for range 60 {
			if len(want) > 0 && r.IntN(3) == 0 {
				require.Equal(t, want[0], h.first().notBefore)
				require.Equal(t, want[0], h.pop().notBefore)
				require.Nil(t, h.list[:len(want)][len(want)-1])
				want = want[1:]
			} else {
				v := int64(r.IntN(20))
				h.push(&slot{notBefore: v})
				want = append(want, v)
				slices.Sort(want)
			}
			require.Equal(t, len(want), h.len())
		}
	}
}
