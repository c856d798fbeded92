// HOT PATH: once a query. No lock, no allocation once a queue has its size.

package balance

// Queue is first in, first out. It grows by blocks and keeps them: Offline queues every query of the test at once, and
// a slice that doubles would leave as much garbage as it holds.
type Queue[T any] struct {
	first, last *block[T]
	head        int // in first: the element that Pop returns next, or the end of the block
	tail        int // in last: where Push puts an element, or the end of the block
	n           int
	free        *block[T]
}

// blockLen is a compromise: small for a queue per endpoint, large for a million queries.
const blockLen = 128

type block[T any] struct {
	elements [blockLen]T
	next     *block[T]
}

// Len returns the number of elements.
func (q *Queue[T]) Len() int { return q.n }

// Push adds an element at the end.
func (q *Queue[T]) Push(t T) {
	if q.last == nil || q.tail == blockLen {
		q.grow()
	}
	q.last.elements[q.tail] = t
	q.tail++
	q.n++
}

// Pop removes the first element. The queue must not be empty.
func (q *Queue[T]) Pop() T {
	if q.head == blockLen {
		used := q.first
		q.first, q.head = used.next, 0
		used.next, q.free = q.free, used
	}
	var none T
	t := q.first.elements[q.head]
	q.first.elements[q.head] = none
	q.head++
	q.n--
	return t
}

// Unpush adds an element in front.
func (q *Queue[T]) Unpush(t T) {
	if q.head == 0 {
		b := q.block()
		b.next = q.first
		if q.last == nil {
			q.last, q.tail = b, blockLen
		}
		q.first, q.head = b, blockLen
	}
	q.head--
	q.first.elements[q.head] = t
	q.n++
}

// grow adds a block at the end.
func (q *Queue[T]) grow() {
	b := q.block()
	if q.last == nil {
		q.first = b
	} else {
		q.last.next = b
	}
	q.last, q.tail = b, 0
}

// block returns a free block.
func (q *Queue[T]) block() *block[T] {
	b := q.free
	if b == nil {
		return &block[T]{}
	}
	q.free, b.next = b.next, nil
	return b
}
