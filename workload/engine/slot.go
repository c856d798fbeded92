package engine

import (
	"sync/atomic"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// slot is one request on its way. The director owns it until it is queued and after it has ended; in between the
// thread of its loop does. Most slots have left the processor's caches when their turn comes, so what every request
// needs comes first, within 64 bytes.
type slot struct {
	index   int      // in the table
	body    []byte   // own, or what requests share
	thinkNS int64    // of a closed stage: from its end to the user's next request
	session *session // nil: it belongs to none
	more    int      // tokens of the first event that are still to be reported
	keeps   bool     // the answer is part of a later prompt

	rec       eventlog.Request
	notBefore int64  // wall ns from which it may be sent: due, and what it waited for has come
	number    int    // of the request within its stage, or of its session: chooses the queue
	head      []byte // further header fields
	conduct   backends.Conduct
	call      int
	own       []byte // memory of a body of its own
	ids       []int32
	text      []byte
	model     string   // that the profile or its data set; empty: neither does
	_         [48]byte // 512 bytes begin where a line of the cache does
}

// reset empties a slot and keeps its memory.
func (s *slot) reset() {
	events, own, head := s.rec.Events[:0], s.own[:0], s.head[:0]
	*s = slot{index: s.index, own: own, head: head, ids: s.ids[:0], text: s.text[:0]}
	s.rec.Events = events
}

// keepBody is the largest memory of a request, in bytes, that is kept for the next one.
const keepBody = 256 << 10

// table holds all slots by their index. The director adds; any goroutine may look up.
type table struct {
	slots atomic.Pointer[[]*slot]
	free  []*slot
}

func (t *table) at(i int) *slot { return (*t.slots.Load())[i] }

// get returns an empty slot.
func (t *table) get() *slot {
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		return s
	}
	var list []*slot
	if old := t.slots.Load(); old != nil {
		list = *old
	}
	s := &slot{index: len(list)}
	list = append(list, s) // readers use the old length, so a shared array does no harm
	t.slots.Store(&list)
	return s
}

// put returns a slot to the list.
func (t *table) put(s *slot) {
	if cap(s.own) > keepBody {
		s.own = nil
	}
	s.reset()
	t.free = append(t.free, s)
}
