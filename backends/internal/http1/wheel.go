// HOT PATH: set and next run while answers are read. No allocation; times are ns of the loop's own clock.

package http1

import "math"

const (
	tickShift = 23 // a tick is 2^23 ns, 8.4 ms: a deadline is late by at most that
	slots     = 1024
	never     = math.MaxInt64
)

// timer is one deadline in a wheel, if it is set. Its owner may have a later deadline by now: a deadline is postponed
// without the wheel, and the owner sets the timer again when it expires too early.
type timer struct {
	next, prev *timer
	tick       int64
	conn       *conn
	exchange   *exchange
}

// wheel is a hashed timer wheel. Timers that are further away than one turn stay in their slot.
type wheel struct {
	slots [slots]timer // heads of rings
	used  [slots / 64]uint64
	over  timer // head of the ring of expired timers
	tick  int64 // handled last
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

// stop removes a timer, if it is set.
func (t *timer) stop() {
	if t.next != nil {
		t.prev.next, t.next.prev = t.next, t.prev
		t.next, t.prev = nil, nil
	}
}

// set makes t expire at the first tick after at.
func (w *wheel) set(t *timer, at int64) {
	t.stop()
	t.tick = max(at>>tickShift, w.tick) + 1
	slot := t.tick % slots
	t.link(&w.slots[slot])
	w.used[slot/64] |= 1 << (slot % 64)
}

// by makes t expire at the given time or before.
func (w *wheel) by(t *timer, at int64) {
	if t.next == nil || at>>tickShift+1 < t.tick {
		w.set(t, at)
	}
}

// expired returns the next expired timer, which is not set any more; nil: none.
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
		w.tick = max(w.tick+1, target-slots+1) // one turn covers every slot
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

// wait returns a time within which no timer expires; negative: no timer is set.
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

// each calls f for every timer that is set. f may stop that timer.
func (w *wheel) each(f func(*timer)) {
	for i := range w.slots {
		for t := w.slots[i].next; t != &w.slots[i]; {
			next := t.next
			f(t)
			t = next
		}
	}
}
