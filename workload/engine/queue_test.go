package engine

import (
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
				got := h.chat(&prompts.Request{Messages: []byte(list), Text: last})
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
