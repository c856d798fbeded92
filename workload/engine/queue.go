// HOT PATH: Pop and Park run once a round of an event loop, end once a request. One lock, which only the director
// contends for; no allocation except for more requests than ever before.

package engine

import (
	"math"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/alarm"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// queue is the source of one event loop: requests with a time, and users who wait to send.
type queue struct {
	now    func() int64 // wall clock, ns
	bell   *alarm.Alarm
	notify func() // wakes the director

	mu       sync.Mutex
	timed    heap[*slot] // by the time from which they may be sent
	stock    []*slot     // requests of users, in their order; from head on
	head     int
	users    heap[int64] // when each user that waits may send
	until    int64       // users send nothing from then on; 0: no end
	room     int         // requests in flight at most; 0: no limit
	inFlight int
	freed    int64   // when there was room again
	ended    []*slot // for the director
	enough   int     // so many of them wake the director
	low      int     // fewer prepared requests wake the director, once; 0: they do not
	closed   bool    // nothing more will come
	sleeps   bool    // a thread is in Wait, and answers come from others
	parked   bool    // the loop sleeps on FD, or is about to
	lead     lead
	alarm    int64 // when the loop is to be woken for a due time; 0: it is not
	sent     int64 // requests so far
}

func newQueue(now func() int64, notify func()) (*queue, error) {
	bell, err := alarm.New()
	if err != nil {
		return nil, err
	}
	return &queue{now: now, bell: bell, notify: notify, lead: lead{ns: firstLead},
		timed: heap[*slot]{before: func(a, b *slot) bool { return a.notBefore < b.notBefore }},
		users: heap[int64]{before: func(a, b int64) bool { return a < b }}}, nil
}

// next returns when the next request may be sent; math.MaxInt64: not before something ends or is added.
func (q *queue) next() int64 {
	if q.room > 0 && q.inFlight >= q.room {
		return math.MaxInt64
	}
	at := int64(math.MaxInt64)
	if q.timed.len() > 0 {
		at = q.timed.first().notBefore
	}
	if q.usersWait() {
		at = min(at, q.users.first())
	}
	return at
}

// waiting returns how many requests are prepared and not sent.
func (q *queue) waiting() int { return q.timed.len() + len(q.stock) - q.head }

// usersWait reports whether a user is going to send a prepared request.
func (q *queue) usersWait() bool {
	return q.head < len(q.stock) && q.users.len() > 0 && (q.until == 0 || q.users.first() < q.until)
}

// take removes the request that next announced.
func (q *queue) take(at int64) *slot {
	if q.timed.len() > 0 && q.timed.first().notBefore == at {
		s := q.timed.pop()
		s.rec.ReadyNS = max(s.notBefore, q.freed)
		return s
	}
	s := q.stock[q.head]
	q.stock[q.head] = nil
	if q.head++; q.head == len(q.stock) {
		q.stock, q.head = q.stock[:0], 0
	}
	s.rec.DueNS = q.users.pop()
	s.rec.ReadyNS = max(s.rec.DueNS, q.freed)
	return s
}

// ring wakes whoever sleeps. A thread that works looks for requests before it sleeps.
func (q *queue) ring() {
	if q.sleeps || q.parked {
		q.bell.Set(0)
	}
}

// restock makes the memory of requests that users took free for others, if most of it is, and reports that there is no
// request left.
func (q *queue) restock() bool {
	if left := q.stock[q.head:]; 2*len(left) <= len(q.stock) {
		n := copy(q.stock, left)
		clear(q.stock[n:])
		q.stock, q.head = q.stock[:n], 0
	}
	return q.head == len(q.stock)
}

// Pop returns the requests that are due.
func (q *queue) Pop(dst []loadgen.Query) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pop(dst)
}

func (q *queue) pop(dst []loadgen.Query) int {
	q.parked = false
	n, now := 0, q.now()
	if q.alarm != 0 && now >= q.alarm {
		q.lead.woke(now - q.alarm)
		q.alarm = 0
	}
	for ; n < len(dst); n++ {
		at := q.next()
		if at > now {
			break
		}
		s := q.take(at)
		dst[n] = loadgen.Query{ID: loadgen.ResponseID(s.index + 1), Index: s.index, Seq: s.index, Call: s.index,
			IssuedNS: now}
		q.inFlight++
		q.sent++
	}
	if q.waiting() < q.low {
		q.low = 0
		q.notify()
	}
	return n
}

// over reports whether every request was taken.
func (q *queue) over() bool { return q.closed && q.timed.len() == 0 }

// Wait is Pop that blocks until a request is due. It spins if one is due within the lead.
func (q *queue) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	deadline := q.now() + int64(timeout)
	for {
		q.mu.Lock()
		n, over, at := q.pop(dst), q.over(), q.next()
		if n == 0 && q.spin(at) {
			n = q.pop(dst)
		}
		now := q.now()
		left := min(at-q.lead.ns, deadline) - now
		ready := n > 0 || over || deadline <= now
		if q.sleeps = !ready && left > 0; q.sleeps {
			q.bell.Set(time.Duration(left)) // here, so that it cannot replace the ring of a request that has come since
		}
		q.mu.Unlock()
		if ready {
			return n, !over || n > 0
		}
		if left > 0 {
			q.bell.Sleep(time.Duration(left))
		}
	}
}

// Park sets the timer to the next request. It returns false if one is due, or if all were taken.
func (q *queue) Park() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.parked = false
	at, now := q.next(), q.now()
	early := q.lead.allowed(now)
	left := at - now - early
	if q.over() || left <= 0 {
		return false
	}
	if at != math.MaxInt64 {
		q.alarm = now + left
		q.bell.Set(time.Duration(left))
	}
	q.parked = true
	return true
}

// spin waits for a due time that is within the lead, and reports whether it has come. It keeps the lock: the director
// loses less by that than a request.
func (q *queue) spin(at int64) bool {
	now := q.now()
	if left := at - now; left <= 0 || left > q.lead.allowed(now) {
		return false
	}
	began := now
	for now < at {
		now = q.now()
	}
	q.lead.spun += now - began
	return true
}

// Soon reports that a request is due within a time, or is to be waited for without sleeping.
func (q *queue) Soon(within time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	return q.next() <= now+int64(within)+q.lead.allowed(now)
}

// Unpark takes the wake-up back.
func (q *queue) Unpark() { q.bell.Clear() }

// FD returns the timer.
func (q *queue) FD() int { return q.bell.FD() }

// end passes a request that has ended to the director. Its user, if there is one, sends the next.
func (q *queue) end(s *slot, isUser bool) {
	q.mu.Lock()
	if q.room > 0 && q.inFlight == q.room {
		q.freed = s.rec.EndNS
	}
	q.inFlight--
	if isUser {
		q.users.push(s.rec.EndNS + s.thinkNS)
	}
	if q.sleeps { // it looks for a request of the user, or in the room that is free now
		q.bell.Set(0)
	}
	q.ended = append(q.ended, s)
	wake := len(q.ended) >= q.enough || q.inFlight == 0 && q.timed.len() == 0 && !q.usersWait()
	q.mu.Unlock()
	if wake {
		q.notify()
	}
}
