package nethttp

import (
	"sync"

	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
)

// queue passes requests to workers, first in, first out, each with its endpoint. It starts a worker if no worker is
// idle and the limit allows it. Workers wait for further requests until the queue is closed.
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

// pop waits for a request that an endpoint has room for; nil: the queue is closed and empty. A request that must not be
// sent has the endpoint balance.Nowhere.
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

// again returns an endpoint for a request that has left its own, and whether it has room. hopeless is set if no
// endpoint returned in time.
func (q *queue) again(r *request) (endpoint int, room, hopeless bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line.Heard()
	endpoint, room = q.line.Pick(r.key)
	return endpoint, room, q.line.Hopeless()
}

// done ends a request of an endpoint.
func (q *queue) done(endpoint int) {
	q.mu.Lock()
	q.line.Done(endpoint)
	q.mu.Unlock()
	q.ready.Signal()
}

// well notes that an endpoint has answered.
func (q *queue) well(endpoint int) {
	q.mu.Lock()
	q.line.Well(endpoint)
	q.mu.Unlock()
}

// strike counts an attempt that could not reach its endpoint.
func (q *queue) strike(endpoint int) {
	q.mu.Lock()
	q.line.Strike(endpoint)
	q.mu.Unlock()
	q.ready.Broadcast()
}

// stop makes pop return waiting requests without an endpoint.
func (q *queue) stop() { q.raise(&q.stopped) }

// wake lets waiting workers check the queue again.
func (q *queue) wake() {
	q.mu.Lock()
	q.ready.Broadcast()
	q.mu.Unlock()
}

// close declares that no more requests are pushed.
func (q *queue) close() { q.raise(&q.closed) }

// raise sets a flag and lets waiting workers check the queue again.
func (q *queue) raise(flag *bool) {
	q.mu.Lock()
	*flag = true
	q.mu.Unlock()
	q.ready.Broadcast()
}
