package tune

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/sut"
)

// load is one probe in progress: which queries are due when, and how they ended. Its shards take the place of
// LoadGen's rings and of LoadGen's stamps.
type load struct {
	due     []int64 // ns after the start, by query; nil: a closed loop
	index   []int   // of the sample, by query
	flight  int     // most queries in flight in a closed loop
	base    time.Time
	wall    int64 // of base
	shards  []*queue
	stopped atomic.Bool // nothing more is issued
	issued  atomic.Int64
	starts  []int64 // ns after base from which latencies count, by query; in a closed loop set at the issue
	first   []int64 // ns after base; 0: no first token

	mu    sync.Mutex
	ended []end
}

// end is one query that has ended.
type end struct {
	seq    int
	at     int64 // ns after base
	tokens int
}

// startIn is when the first query is due, so that every shard waits for it.
const startIn = 20 * time.Millisecond

// newLoad returns a load of len(index) queries.
func newLoad(due []int64, index []int, flight, shards int) (*load, error) {
	l := &load{due: due, index: index, flight: flight, base: time.Now(), starts: make([]int64, len(index)),
		first: make([]int64, len(index))}
	l.wall = l.base.UnixNano()
	for seq, d := range due {
		l.starts[seq] = int64(startIn) + d
	}
	for i := range shards {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil {
			return nil, err
		}
		q := &queue{load: l, fd: fd, next: i, step: shards, room: flight / shards}
		if i < flight%shards {
			q.room++
		}
		l.shards = append(l.shards, q)
	}
	return l, nil
}

func (l *load) close() {
	for _, q := range l.shards {
		_ = unix.Close(q.fd)
	}
}

// startNS returns the wall clock time from which the due times count.
func (l *load) startNS() int64 { return l.wall + int64(startIn) }

func (l *load) now() int64 { return int64(time.Since(l.base)) }

// stop ends the issue. Queries in flight go on to their end.
func (l *load) stop() {
	l.stopped.Store(true)
	for _, q := range l.shards {
		q.arm(1)
	}
}

func (l *load) sutShards() []sut.Shard {
	list := make([]sut.Shard, len(l.shards))
	for i, q := range l.shards {
		list[i] = q
	}
	return list
}

// take returns the queries that ended since the last call.
func (l *load) take(into []end) []end {
	l.mu.Lock()
	defer l.mu.Unlock()
	into = append(into[:0], l.ended...)
	l.ended = l.ended[:0]
	return into
}

// queue issues every step-th query from next on when it is due. A timer wakes its consumer, so no thread of its own
// issues: the lag from due to sent is the client's, and is judged as in a run.
type queue struct {
	*load
	fd, next, step int
	room           int // queries that may be in flight in a closed loop
	inFlight       atomic.Int64
}

// wait returns how long until the next query is due; 0: it is. ended reports that no query is left.
func (q *queue) wait() (left time.Duration, ended bool) {
	switch {
	case q.next >= len(q.index) || q.stopped.Load():
		return 0, true
	case q.due == nil && int(q.inFlight.Load()) < q.room:
		return 0, false
	case q.due == nil:
		return time.Second, false
	}
	return max(0, time.Duration(q.starts[q.next]-q.now())), false
}

// Pop returns the queries that are due.
func (q *queue) Pop(dst []loadgen.Query) int {
	n := 0
	for n < len(dst) {
		left, ended := q.wait()
		if ended || left > 0 {
			break
		}
		now := q.now()
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
		q.arm(left)
		fds := [1]unix.PollFd{{Fd: int32(q.fd), Events: unix.POLLIN}}
		_, _ = unix.Poll(fds[:], int(left/time.Millisecond)+1) // an interrupted wait is a short one
		q.swallow()
	}
}

// Park arms the timer for the next query. It returns false if one is due or all were issued.
func (q *queue) Park() bool {
	left, ended := q.wait()
	if ended || left == 0 {
		return false
	}
	q.arm(left)
	_, ended = q.wait() // stop may have come between
	return !ended
}

// Unpark takes the wake-up back.
func (q *queue) Unpark() { q.swallow() }

// FD returns the timer.
func (q *queue) FD() int { return q.fd }

// arm lets FD become readable after a time above 0.
func (q *queue) arm(after time.Duration) {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(after, 1)))}
	_ = unix.TimerfdSettime(q.fd, 0, &at, nil) // it fails only for other descriptors
}

func (q *queue) swallow() {
	var expirations [8]byte
	_, _ = unix.Read(q.fd, expirations[:]) // EAGAIN: the timer has not expired
}

// FirstTokenComplete stamps a first token as LoadGen does: on entry.
func (q *queue) FirstTokenComplete(id loadgen.ResponseID, _ []int32) { q.first[id-1] = q.now() }

// QuerySamplesComplete stamps an answer as LoadGen does: on entry.
func (q *queue) QuerySamplesComplete(id loadgen.ResponseID, _ []int32, nTokens int) {
	e := end{int(id - 1), q.now(), nTokens}
	q.mu.Lock()
	q.ended = append(q.ended, e)
	q.mu.Unlock()
	if q.inFlight.Add(-1); q.due == nil {
		q.arm(1)
	}
}

// QuerySamplesCompleteBytes is QuerySamplesComplete for texts.
func (q *queue) QuerySamplesCompleteBytes(id loadgen.ResponseID, _ []byte, nTokens int) {
	q.QuerySamplesComplete(id, nil, nTokens)
}

// value returns what LoadGen compares with a limit (docs/reference/loadgen.md#validity).
func (l *load) value(e end, of Limit) time.Duration {
	switch of.Metric {
	case TTFT:
		return time.Duration(l.first[e.seq] - l.starts[e.seq])
	case TPOT:
		return time.Duration((e.at - l.first[e.seq]) / int64(max(e.tokens-1, 1)))
	default:
		return time.Duration(e.at - l.starts[e.seq])
	}
}

// follow feeds the meter every few milliseconds with queries that ended, until done is closed or the meter decides, and
// calls stop then. It returns the decision.
func (l *load) follow(m *Meter, decides bool, done <-chan struct{}, seen func(e end, values []time.Duration)) Decision {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	decision, over := Neither, false
	var batch []end
	values := make([]time.Duration, len(m.goal.Limits))
	for !over {
		select {
		case <-done:
			over = true
		case <-tick.C:
		}
		batch = l.take(batch)
		for _, e := range batch {
			for i, limit := range m.goal.Limits {
				values[i] = l.value(e, limit)
			}
			m.Ended(e.seq, values)
			seen(e, values)
			if decides && decision == Neither {
				if decision = m.Decide(); decision != Neither {
					l.stop()
				}
			}
		}
	}
	return decision
}

const lookEvery = 20 * time.Millisecond

// quantile returns element trunc(n*p) of values, which it sorts, as LoadGen does; 0 for none.
func quantile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(float64(len(values))*p), len(values)-1)]
}
