// HOT PATH: set and next run while answers are read. No allocation; times are ns of the loop's own clock.

package http1

import "math"

const (
	tickShift = 23 // a tick is 2^23 ns, 8.4 ms: a deadline is late by at most that
	slots     = 1024
	never     = math.MaxInt64
)

// timer is one deadline in a wheel, or none. Its owner holds the true deadline, which may be later than the wheel
// knows: moving one on costs nothing that way, and the owner sets the timer again when it goes off early.
type timer struct {
	next, prev *timer
	tick       int64
	conn       *conn
	exchange   *exchange
}

// wheel is a hashed timer wheel. Timers further away than one turn stay in their slot and are passed over.
type wheel struct {
	slots [slots]timer // heads of rings
	used  [slots / 64]uint64
	over  timer // head of the ring of timers that went off
	tick  int64 // looked at last
}

func (w *wheel) init() {
	w.over.next, w.over.prev = &w.over, &w.over
	for i := range w.slots {
		w.slots[i].next, w.slots[i].prev = &w.slots[i], &w.slots[i]
	}
}

func (t *timer) link(head *timer) {
	t.prev, t.next = head.prev, head
	head.prev.next, head.prev = t, t
}

// stop takes a timer out; one that is not set stays so.
func (t *timer) stop() {
	if t.next != nil {
		t.prev.next, t.next.prev = t.next, t.prev
		t.next, t.prev = nil, nil
	}
}

// set makes t go off at the first tick behind at.
func (w *wheel) set(t *timer, at int64) {
	t.stop()
	t.tick = max(at>>tickShift, w.tick) + 1
	slot := t.tick % slots
	t.link(&w.slots[slot])
	w.used[slot/64] |= 1 << (slot % 64)
}

// by makes t go off at the given time or before.
func (w *wheel) by(t *timer, at int64) {
	if t.next == nil || at>>tickShift+1 < t.tick {
		w.set(t, at)
	}
}

// expired gives the next timer that has gone off, no longer set; nil: none.
func (w *wheel) expired(now int64) *timer {
	target := now >> tickShift
	for {
		if t := w.over.next; t != &w.over {
			t.stop()
			return t
		}
		if w.tick >= target {
			return nil
		}
		w.tick = max(w.tick+1, target-slots+1) // one turn sees every slot
		w.collect(w.tick%slots, target)
	}
}

func (w *wheel) collect(slot, target int64) {
	if w.used[slot/64]&(1<<(slot%64)) == 0 {
		return
	}
	head := &w.slots[slot]
	for t := head.next; t != head; {
		next := t.next
		if t.tick <= target {
			t.stop()
			t.link(&w.over)
		}
		t = next
	}
	if head.next == head {
		w.used[slot/64] &^= 1 << (slot % 64)
	}
}

// wait tells how long nothing can go off, or less; negative: no timer is set.
func (w *wheel) wait(now int64) int64 {
	for i := int64(1); i <= slots; {
		slot := (w.tick + i) % slots
		word := w.used[slot/64] >> (slot % 64)
		if word&1 != 0 {
			return max(0, (w.tick+i)<<tickShift-now)
		}
		if word == 0 {
			i += 64 - slot%64
		} else {
			i++
		}
	}
	return -1
}

// each calls f for every timer that is set. f may stop the timer it is given.
func (w *wheel) each(f func(*timer)) {
	for i := range w.slots {
		for t := w.slots[i].next; t != &w.slots[i]; {
			next := t.next
			f(t)
			t = next
		}
	}
}
