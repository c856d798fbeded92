//go:build cgo && !noloadgen

// HOT PATH: Pop, Wait and the completion calls run once per sample. They use no lock, no allocation, no channel, and no
// cgo call except the two completion calls.

package loadgen

// #include "bridge.h"
import "C"

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shard is the consumer's end of one ring. It is a Source and a Reporter for one goroutine, which must be locked to its
// thread.
type Shard struct {
	ring  *C.lg_ring
	slots []C.lg_query
	head  *uint64
	tail  *uint64
	done  *uint64
	park  *uint32
	ended *uint32
	held  held
}

func newShard(r *C.lg_ring) *Shard {
	return &Shard{
		ring:  r,
		slots: unsafe.Slice(r.slots, int(r.mask)+1),
		head:  (*uint64)(unsafe.Pointer(&r.head)),
		tail:  (*uint64)(unsafe.Pointer(&r.tail)),
		done:  (*uint64)(unsafe.Pointer(&r.done)),
		park:  (*uint32)(unsafe.Pointer(&r.parked)),
		ended: (*uint32)(unsafe.Pointer(&r.ended)),
		held:  newHeld(r),
	}
}

// Pop moves up to len(dst) queries into dst without blocking.
func (s *Shard) Pop(dst []Query) int {
	tail := *s.tail
	n := int(min(atomic.LoadUint64(s.head)-tail, uint64(len(dst))))
	mask := uint64(s.ring.mask)
	for i := range n {
		q := &s.slots[(tail+uint64(i))&mask]
		dst[i] = Query{ID: ResponseID(q.id), Index: int(q.index), Seq: int(q.seq), Call: int(q.call),
			IssuedNS: int64(q.issued_ns)}
	}
	if n > 0 {
		atomic.StoreUint64(s.tail, tail+uint64(n))
	}
	return n
}

// Park announces that the consumer is about to sleep on FD. It returns false if the consumer must not sleep, because
// there are queries to pop or the test has ended.
func (s *Shard) Park() bool {
	atomic.StoreUint32(s.park, 1)
	if atomic.LoadUint64(s.head) == *s.tail && atomic.LoadUint32(s.ended) == 0 {
		return true
	}
	atomic.StoreUint32(s.park, 0)
	return false
}

// Unpark cancels the announcement after FD became readable or the consumer stopped waiting. It reads the wake-up if
// there was one. The issue thread may be about to write another wake-up; FD then becomes readable once more and stays
// readable until the next wake-up. FD must therefore be watched edge-triggered.
func (s *Shard) Unpark() {
	if atomic.SwapUint32(s.park, 0) == 0 {
		s.swallow()
	}
}

// swallow reads the wake-up, so that FD is no longer readable.
func (s *Shard) swallow() {
	var counter [8]byte
	_, _ = unix.Read(int(s.ring.event_fd), counter[:]) // it fails with EAGAIN if no wake-up was written
}

// FD returns an eventfd that becomes readable when a parked consumer is woken. The ring owns it.
func (s *Shard) FD() int { return int(s.ring.event_fd) }

// Wait is like Pop but blocks its OS thread until there is a query, the timeout has passed (0, true) or the test has
// ended and the ring is empty (0, false). A blocked thread returns its P. The runtime's poller would look only every 10
// ms when all Ps are busy.
func (s *Shard) Wait(dst []Query, timeout time.Duration) (n int, open bool) {
	deadline := time.Now().Add(timeout)
	for {
		// ended is read before the ring, so that no query from before the end is missed.
		ended := atomic.LoadUint32(s.ended) != 0
		if n := s.Pop(dst); n > 0 {
			return n, true
		}
		if ended {
			return 0, false
		}
		left := time.Until(deadline)
		if left <= 0 {
			return 0, true
		}
		if s.Park() {
			fds := [1]unix.PollFd{{Fd: int32(s.ring.event_fd), Events: unix.POLLIN}}
			n, _ := unix.Poll(fds[:], int(left/time.Millisecond)+1) // an interrupted wait only returns earlier
			atomic.StoreUint32(s.park, 0)
			if n > 0 {
				s.swallow() // also after a late wake-up, which would end every later poll at once
			}
		}
	}
}

// FirstTokenComplete reports a first token from the shard's thread.
func (s *Shard) FirstTokenComplete(id ResponseID, tokens []int32) { FirstTokenComplete(id, tokens) }

// QuerySamplesComplete reports an answer from the shard's thread.
func (s *Shard) QuerySamplesComplete(id ResponseID, tokens []int32, nTokens int) {
	atomic.AddUint64(s.done, 1)
	QuerySamplesComplete(id, tokens, nTokens)
}

// QuerySamplesCompleteBytes reports an answer that is not token ids from the shard's thread.
func (s *Shard) QuerySamplesCompleteBytes(id ResponseID, data []byte, nTokens int) {
	atomic.AddUint64(s.done, 1)
	QuerySamplesCompleteBytes(id, data, nTokens)
}

// Wakes returns the number of times that the issue thread woke the consumer. Call it after the test.
func (s *Shard) Wakes() int { return int(s.ring.wakes) }

// FullWaits returns the number of times that IssueQuery slept because the ring was full. Call it after the test.
func (s *Shard) FullWaits() int { return int(s.ring.full_waits) }
