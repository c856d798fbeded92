// HOT PATH: Push and Next run once a query. No lock, no allocation once a queue has its size.

package balance

// Line holds the queries of a shard that wait for an endpoint, first in, first out. A query that its strategy binds to
// an endpoint without room does not delay the queries behind it.
type Line[T any] struct {
	*Balancer
	key     func(T) uint64
	waiting Queue[T]
	bound   []Queue[T] // by endpoint: queries that wait for room at it
	held    int        // queries in bound
}

// NewLine returns a line. key returns what strategies choose by.
func NewLine[T any](b *Balancer, key func(T) uint64) *Line[T] {
	return &Line[T]{Balancer: b, key: key, bound: make([]Queue[T], len(b.inflight))}
}

// Len returns the number of waiting queries.
func (l *Line[T]) Len() int { return l.waiting.Len() + l.held }

// Push adds a query.
func (l *Line[T]) Push(t T) { l.waiting.Push(t) }

// Unpush puts back the query that Next returned. The caller calls Done.
func (l *Line[T]) Unpush(t T) { l.waiting.Unpush(t) }

// Next removes a query that an endpoint has room for, and counts it as in flight there.
func (l *Line[T]) Next() (t T, endpoint int, ok bool) {
	if l.held > 0 {
		for e := range l.bound {
			if l.bound[e].Len() > 0 && l.Take(e) {
				l.held--
				return l.bound[e].Pop(), e, true
			}
		}
	}
	for l.waiting.Len() > 0 {
		t = l.waiting.Pop()
		e, room := l.Pick(l.key(t))
		switch {
		case room:
			return t, e, true
		case e == Nowhere:
			l.waiting.Unpush(t)
			return t, Nowhere, false
		}
		l.bound[e].Push(t)
		l.held++
	}
	return t, Nowhere, false
}

// Give removes any query. It is for queries that will not be sent.
func (l *Line[T]) Give() (t T, ok bool) {
	l.unbind()
	if l.waiting.Len() == 0 {
		return t, false
	}
	return l.waiting.Pop(), true
}

// Strike counts a failed attempt. If it excludes the endpoint, other endpoints are chosen for the queries bound to it.
func (l *Line[T]) Strike(endpoint int) {
	if l.Balancer.Strike(endpoint) {
		l.unbind()
	}
}

// unbind lets all bound queries choose again.
func (l *Line[T]) unbind() {
	for e := range l.bound {
		for l.bound[e].Len() > 0 {
			l.waiting.Push(l.bound[e].Pop())
			l.held--
		}
	}
}
