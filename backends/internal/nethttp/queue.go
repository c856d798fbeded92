package nethttp

import (
	"math"
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
	busy    int // requests in flight
	limit   int // of requests in flight, and of workers; math.MaxInt: none
	closed  bool
	stopped bool // nothing more is sent
	start   func()
}

func (q *queue) init(limit int, line *balance.Line[*request], start func()) {
	if limit == 0 {
		limit = math.MaxInt
	}
	q.limit, q.line, q.start = limit, line, start
	q.ready.L = &q.mu
}

func (q *queue) push(r *request) {
	q.mu.Lock()
	q.line.Push(r)
	more := q.line.Len() > q.idle && q.running < q.limit
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
			q.busy++
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
	if q.busy >= q.limit {
		return nil, balance.Nowhere, false
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

// leave frees the place of a request at an endpoint, while the request waits for another attempt.
func (q *queue) leave(endpoint int) {
	q.mu.Lock()
	q.line.Done(endpoint)
	q.mu.Unlock()
	q.ready.Signal()
}

// end ends a request that pop returned. endpoint is where it is in flight; balance.Nowhere: at none.
func (q *queue) end(endpoint int) {
	q.mu.Lock()
	q.busy--
	if endpoint != balance.Nowhere {
		q.line.Done(endpoint)
	}
	q.mu.Unlock()
	q.ready.Signal()
}

// putBack returns a request to the front of the line if this machine allows no more connections, and lowers the limit
// to the requests that are in flight now. It reports false if waiting would not help.
func (q *queue) putBack(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy < 2 {
		return false
	}
	q.busy--
	q.limit = q.busy
	q.line.Done(r.endpoint)
	r.begin(r.query, r.key, r.out.DequeuedNS)
	q.line.Unpush(r)
	return true
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
