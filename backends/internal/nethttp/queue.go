package nethttp

import (
	"sync"

	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
)

// queue hands requests to workers first in, first out, each with the endpoint that it goes to, and starts a worker
// where none is idle and the limit allows it. Workers stay for the next request until the queue is closed.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	line    *balance.Line[*request]
	idle    int
	running int
	limit   int // 0: none
	closed  bool
	stopped bool // nothing more is sent
	start   func()
}

func (q *queue) init(limit int, line *balance.Line[*request], start func()) {
	q.limit, q.line, q.start = limit, line, start
	q.ready.L = &q.mu
}

func (q *queue) push(r *request) {
	q.mu.Lock()
	q.line.Push(r)
	more := q.line.Len() > q.idle && (q.limit == 0 || q.running < q.limit)
	if more {
		q.running++
	}
	q.mu.Unlock()
	if more {
		q.start()
		return
	}
	q.ready.Signal()
}

// pop waits for a request and room for it; nil: the queue is closed and empty. A request that will not be sent goes
// Nowhere.
func (q *queue) pop() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		r, endpoint, ok := q.next()
		if ok {
			r.endpoint = endpoint
		}
		empty := q.closed && q.line.Len() == 0
		if empty {
			q.ready.Broadcast()
		}
		if ok || empty {
			return r
		}
		q.idle++
		q.ready.Wait()
		q.idle--
	}
}

func (q *queue) next() (*request, int, bool) {
	q.line.Heard()
	if q.stopped || q.line.Hopeless() {
		r, ok := q.line.Give()
		return r, balance.Nowhere, ok
	}
	return q.line.Next()
}

// again looks for an endpoint for a request that has left its own; hopeless: none will come back in time.
func (q *queue) again(r *request) (endpoint int, room, hopeless bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line.Heard()
	endpoint, room = q.line.Pick(r.key)
	return endpoint, room, q.line.Hopeless()
}

// done gives back the room of a request.
func (q *queue) done(endpoint int) {
	q.mu.Lock()
	q.line.Done(endpoint)
	q.mu.Unlock()
	q.ready.Signal()
}

// well says that an endpoint has answered.
func (q *queue) well(endpoint int) {
	q.mu.Lock()
	q.line.Well(endpoint)
	q.mu.Unlock()
}

// strike counts an attempt that found its endpoint absent.
func (q *queue) strike(endpoint int) {
	q.mu.Lock()
	q.line.Strike(endpoint)
	q.mu.Unlock()
	q.ready.Broadcast()
}

// stop makes pop give out what waits without an endpoint.
func (q *queue) stop() { q.raise(&q.stopped) }

// wake lets the workers look again.
func (q *queue) wake() {
	q.mu.Lock()
	q.ready.Broadcast()
	q.mu.Unlock()
}

// close says that nothing more is pushed.
func (q *queue) close() { q.raise(&q.closed) }

// raise sets one of its flags, and lets the workers look again.
func (q *queue) raise(flag *bool) {
	q.mu.Lock()
	*flag = true
	q.mu.Unlock()
	q.ready.Broadcast()
}
