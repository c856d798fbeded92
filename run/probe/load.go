package probe

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/alarm"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/sut"
)

// Load is one probe in progress: which queries are due when, and how they ended. Its shards replace LoadGen's
// rings, and take the stamps that LoadGen would take.
type Load struct {
	due     []int64 // due times in ns after the start, by query; nil: a closed loop
	index   []int   // sample index, by query
	flight  int     // maximum number of queries in flight in a closed loop
	base    time.Time
	wall    int64 // wall-clock time of base, in ns since 1970
	shards  []*queue
	stopped atomic.Bool // whether no more queries are issued
	issued  atomic.Int64
	starts  []int64 // ns after base from which latencies count, by query; in a closed loop set at the issue
	first   []int64 // first token in ns after base, by query; 0: no first token

	feeding sync.Mutex // protects feed
	feed    Feed       // nil: due and flight decide when a query is issued

	mu    sync.Mutex
	ended []End
}

// End is one query that has ended.
type End struct {
	Seq    int
	AtNS   int64 // time in ns after the start of the load's clock
	Tokens int   // number of tokens of the answer
}

// startIn is the time until the first query is due, so that all shards start before it.
const startIn = 20 * time.Millisecond

// New returns a load of len(index) queries: index has their samples. due has the times in ns at which they are to be
// sent; nil: a closed loop of flight queries at a time. The caller must call Close.
func New(due []int64, index []int, flight, shards int) (*Load, error) {
	l := &Load{due: due, index: index, flight: flight, base: time.Now(), starts: make([]int64, len(index)),
		first: make([]int64, len(index))}
	l.wall = l.base.UnixNano()
	for seq, d := range due {
		l.starts[seq] = int64(startIn) + d
	}
	for i := range shards {
		bell, err := alarm.New()
		if err != nil {
			return nil, err
		}
		q := &queue{Load: l, bell: bell, next: i, step: shards, room: flight / shards}
		if i < flight%shards {
			q.room++
		}
		l.shards = append(l.shards, q)
	}
	return l, nil
}

// Close frees the timers.
func (l *Load) Close() {
	for _, q := range l.shards {
		q.bell.Close()
	}
}

// StartNS returns the wall clock time from which the due times count.
func (l *Load) StartNS() int64 { return l.wall + int64(startIn) }

// Now returns the time of the load's clock in ns.
func (l *Load) Now() int64 { return int64(time.Since(l.base)) }

// Stop ends the issue. Queries in flight go on to their end.
func (l *Load) Stop() {
	l.stopped.Store(true)
	for _, q := range l.shards {
		q.bell.Set(0)
	}
}

// WallNS returns the wall clock time of a time of the load's clock.
func (l *Load) WallNS(atNS int64) int64 { return l.wall + atNS }

// Due returns the times of New.
func (l *Load) Due() []int64 { return l.due }

// Issued returns how many queries were issued so far.
func (l *Load) Issued() int { return int(l.issued.Load()) }

// Shards returns the queues, one for each shard of the client.
func (l *Load) Shards() []sut.Shard {
	list := make([]sut.Shard, len(l.shards))
	for i, q := range l.shards {
		list[i] = q
	}
	return list
}

// Take returns the queries that ended since the last call.
func (l *Load) Take(into []End) []End {
	l.mu.Lock()
	defer l.mu.Unlock()
	into = append(into[:0], l.ended...)
	l.ended = l.ended[:0]
	return into
}

// queue issues every step-th query from next on when it is due. A timer wakes its consumer, so that no other thread
// issues queries. The lag from due to sent is the client's, and is judged as in a run.
type queue struct {
	*Load
	bell       *alarm.Alarm
	next, step int
	room       int // queries that may be in flight in a closed loop
	inFlight   atomic.Int64
	asleep     atomic.Bool // the consumer sleeps, or is about to
}

// ring wakes a consumer that sleeps. One that works looks for queries before it sleeps, and setting a timer costs more
// than a query (docs/reference/measurements.md#timers).
func (q *queue) ring() {
	if q.asleep.Load() {
		q.bell.Set(0)
	}
}

// wait returns the time until the next query is due; 0: now. ended reports that no query is left.
func (q *queue) wait() (left time.Duration, ended bool) {
	switch {
	case q.feed != nil:
		return q.fed()
	case q.next >= len(q.index) || q.stopped.Load():
		return 0, true
	case q.due == nil && int(q.inFlight.Load()) < q.room:
		return 0, false
	case q.due == nil:
		return time.Second, false
	}
	return max(0, time.Duration(q.starts[q.next]-q.Now())), false
}

// Pop returns the queries that are due.
func (q *queue) Pop(dst []loadgen.Query) int {
	if q.feed != nil {
		return q.popFed(dst)
	}
	n := 0
	for n < len(dst) {
		left, ended := q.wait()
		if ended || left > 0 {
			break
		}
		now := q.Now()
		if q.due == nil {
			q.starts[q.next] = now
		}
		dst[n] = loadgen.Query{ID: loadgen.ResponseID(q.next + 1), Index: q.index[q.next], Seq: q.next, Call: q.next,
			IssuedNS: q.wall + now}
		q.next += q.step
		q.inFlight.Add(1)
		n++
	}
	q.issued.Add(int64(n))
	return n
}

// Wait is Pop that blocks until a query is due.
func (q *queue) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	deadline := time.Now().Add(timeout)
	for {
		if n := q.Pop(dst); n > 0 {
			return n, true
		}
		left, ended := q.wait()
		if ended {
			return 0, false
		}
		if left = min(left, time.Until(deadline)); left <= 0 {
			return 0, true
		}
		q.bell.Set(left)
		q.asleep.Store(true)
		if now, _ := q.wait(); now > 0 { // else the end of another query has come before
			q.bell.Sleep(left)
		}
		q.asleep.Store(false)
	}
}

// Park arms the timer for the next query. It returns false if one is due or all were issued.
func (q *queue) Park() bool {
	left, ended := q.wait()
	if ended || left == 0 {
		return false
	}
	q.bell.Set(left)
	q.asleep.Store(true)
	left, ended = q.wait() // stop, or the end of a query in another shard, may have come before the timer was set
	parked := !ended && left > 0
	q.asleep.Store(parked)
	return parked
}

// Unpark takes the wake-up back.
func (q *queue) Unpark() {
	q.asleep.Store(false)
	q.bell.Clear()
}

// FD returns the timer.
func (q *queue) FD() int { return q.bell.FD() }

// FirstTokenComplete stamps a first token as LoadGen does: on entry.
func (q *queue) FirstTokenComplete(id loadgen.ResponseID, _ []int32) { q.first[id-1] = q.Now() }

// QuerySamplesComplete stamps an answer as LoadGen does: on entry.
func (q *queue) QuerySamplesComplete(id loadgen.ResponseID, _ []int32, nTokens int) {
	e := End{int(id - 1), q.Now(), nTokens}
	q.mu.Lock()
	q.ended = append(q.ended, e)
	q.mu.Unlock()
	q.inFlight.Add(-1)
	switch {
	case q.feed != nil:
		q.release(e.Seq)
	case q.due == nil:
		q.ring()
	}
}

// QuerySamplesCompleteBytes is QuerySamplesComplete for texts.
func (q *queue) QuerySamplesCompleteBytes(id loadgen.ResponseID, _ []byte, nTokens int) {
	q.QuerySamplesComplete(id, nil, nTokens)
}

// Start returns the time in ns from which the latencies of an ended query count.
func (l *Load) Start(e End) int64 { return l.starts[e.Seq] }

// TTFT returns the time to first token of an ended query as LoadGen measures it.
func (l *Load) TTFT(e End) time.Duration { return time.Duration(l.first[e.Seq] - l.starts[e.Seq]) }

// TPOT returns the time per output token of an ended query as LoadGen measures it.
func (l *Load) TPOT(e End) time.Duration {
	return time.Duration((e.AtNS - l.first[e.Seq]) / int64(max(e.Tokens-1, 1)))
}

// Latency returns the time of the whole answer of an ended query as LoadGen measures it.
func (l *Load) Latency(e End) time.Duration { return time.Duration(e.AtNS - l.starts[e.Seq]) }
