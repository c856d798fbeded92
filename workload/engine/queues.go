package engine

// queues are those of all loops.
type queues []*queue

// close releases what wakes the loops.
func (all queues) close() {
	for _, q := range all {
		q.bell.Close()
	}
}

// idle reports that nothing is prepared that will be sent, and nothing in flight.
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

// empty takes what is queued and not sent out of the queues.
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
