//go:build cgo && !noloadgen

// HOT PATH: Hold runs once per sample, Flush once for several. No lock, no allocation, no cgo call except Flush's.

package loadgen

// #cgo noescape lg_complete_all
// #cgo nocallback lg_complete_all
// #include "bridge.h"
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// held are the answers that a shard's consumer reports together. They are in C memory, because LoadGen receives
// pointers to their data.
type held struct {
	answers []C.lg_answer
	bytes   []byte
	n, used int
}

func newHeld(r *C.lg_ring) held {
	return held{answers: unsafe.Slice(r.held, C.LG_HELD_ANSWERS),
		bytes: unsafe.Slice((*byte)(r.held_bytes), C.LG_HELD_BYTES)}
}

// Hold is QuerySamplesComplete at the next Flush, which LoadGen uses as the time of the answer. One call for several
// answers costs less than half of a call for each. Hold copies the ids, and flushes when there is no more room.
func (s *Shard) Hold(id ResponseID, tokens []int32, nTokens int) {
	if n := 4 * len(tokens); n <= len(s.held.bytes) {
		s.HoldBytes(id, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(tokens))), n), nTokens)
		return
	}
	s.QuerySamplesComplete(id, tokens, nTokens)
}

// HoldBytes is Hold for answers that are not token ids.
func (s *Shard) HoldBytes(id ResponseID, data []byte, nTokens int) {
	h := &s.held
	if len(data) > len(h.bytes) {
		s.QuerySamplesCompleteBytes(id, data, nTokens)
		return
	}
	if h.n == len(h.answers) || len(data) > len(h.bytes)-h.used {
		s.Flush()
	}
	to := h.bytes[h.used:]
	h.used += copy(to, data)
	h.answers[h.n] = C.lg_answer{id: C.uint64_t(id), data: C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(to)))),
		size: C.size_t(len(data)), n_tokens: C.int64_t(nTokens)}
	h.n++
}

// Flush reports the held answers.
func (s *Shard) Flush() {
	h := &s.held
	if h.n == 0 {
		return
	}
	n := h.n
	h.n, h.used = 0, 0
	atomic.AddUint64(s.done, uint64(n))
	C.lg_complete_all(unsafe.SliceData(h.answers), C.size_t(n))
}
