package engine

// queues are those of all loops.
type queues []*queue

// close releases what wakes the loops.
func (all queues) close() {
	for _, q := range all {
		q.bell.Close()
	}
}

// idle reports whether no prepared request will be sent and no request is in flight.
func (all queues) idle() bool {
	for _, q := range all {
		q.mu.Lock()
		busy := q.inFlight > 0 || len(q.ended) > 0 || q.timed.len() > 0 || q.usersWait()
		q.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

// notice lets a number of ended requests wake the director.
func (all queues) notice(enough int) {
	for _, q := range all {
		q.mu.Lock()
		q.enough = enough
		q.mu.Unlock()
	}
}

// expect lets each queue wake the director once half of what is prepared for it has been sent, unless that was all.
func (all queues) expect(fed bool) {
	for _, q := range all {
		q.mu.Lock()
		if q.low = (q.waiting() + 1) / 2; fed {
			q.low = 0
		}
		q.mu.Unlock()
	}
}

// empty removes the queued requests that were not sent.
func (all queues) empty() (list []*slot) {
	for _, q := range all {
		q.mu.Lock()
		list = append(list, q.timed.list...)
		list = append(list, q.stock[q.head:]...)
		q.timed.list, q.stock, q.head, q.users.list = nil, nil, 0, nil
		q.mu.Unlock()
	}
	return list
}

// shut ends the sources of the loops.
func (all queues) shut() {
	for _, q := range all {
		q.mu.Lock()
		q.closed = true
		q.mu.Unlock()
		q.bell.Set(0)
	}
}
