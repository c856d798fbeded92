package nethttp

import "sync"

// queue hands requests to workers first in, first out, and starts a worker where none is idle and the limit allows it.
// Workers stay for the next request until the queue is closed.
type queue struct {
	mu      sync.Mutex
	ready   sync.Cond
	waiting []*request
	head    int
	idle    int
	running int
	limit   int // 0: none
	closed  bool
	start   func()
}

func (q *queue) init(limit int, start func()) {
	q.limit, q.start = limit, start
	q.ready.L = &q.mu
}

func (q *queue) push(r *request) {
	q.mu.Lock()
	if q.head > 1024 && q.head > len(q.waiting)/2 {
		n := copy(q.waiting, q.waiting[q.head:])
		clear(q.waiting[n:])
		q.waiting, q.head = q.waiting[:n], 0
	}
	q.waiting = append(q.waiting, r)
	more := len(q.waiting)-q.head > q.idle && (q.limit == 0 || q.running < q.limit)
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

// pop waits for a request; nil: the queue is closed and empty.
func (q *queue) pop() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.waiting) {
		q.waiting, q.head = q.waiting[:0], 0
		if q.closed {
			return nil
		}
		q.idle++
		q.ready.Wait()
		q.idle--
	}
	r := q.waiting[q.head]
	q.waiting[q.head] = nil
	q.head++
	return r
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.ready.Broadcast()
}
