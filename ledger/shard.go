// HOT PATH: Shard's methods run per query and per token. No lock except for a new reason, no allocation except for a
// new chunk or more samples at once than ever before.

package ledger

import "sync/atomic"

// Shard is the writer of one thread. A sample may be issued by one shard and completed by another, but only one
// thread at a time owns a sample, and only one thread calls the methods of a shard.
//
// Issue and Complete publish each sample. Enter and Hold let several samples wait for Announce and Release, which cost
// less for all of them than for each: a store that other threads may see waits for the stores before it, and an entry
// that is written for the first time is not in the processor's caches (docs/reference/measurements.md).
type Shard struct {
	ledger  *Ledger
	tally   tally
	ttft    Histogram // times from issue to first token, in ns
	itl     Histogram // gaps between tokens, in ns
	entered []*atomic.Uint32
	held    []ended
	_       [64]byte // padding, so that the next shard's counters start on another cache line
}

// ended is a sample that waits for Release.
type ended struct {
	state  *atomic.Uint32
	entry  *Entry
	reason Reason
}

// held is the DoneNS of a sample that waits for Release.
const held = -1

// slot returns the state and the entry of a sample. Both are nil if seq is outside the ledger or its chunk does not
// exist.
func (l *Ledger) slot(seq int) (*atomic.Uint32, *Entry) {
	if uint(seq)>>chunkBits >= maxChunks {
		return nil, nil
	}
	c := l.chunks[seq>>chunkBits].Load()
	if c == nil {
		return nil, nil
	}
	i := seq & (chunkSize - 1)
	return &c.state[i], &c.entry[i]
}

// Issue records that LoadGen issued sample index as the seq-th of the test. It returns false and counts the call in
// Unknown if seq was issued before or is outside the ledger.
func (s *Shard) Issue(seq, index int, atNS int64) bool {
	ok := s.Enter(seq, index, atNS)
	s.Announce()
	return ok
}

// Enter is Issue at the next Announce. Until then, the sample does not exist for readers and for the other methods, and
// the caller does not enter it again.
func (s *Shard) Enter(seq, index int, atNS int64) bool {
	l := s.ledger
	if uint(seq)>>chunkBits >= maxChunks {
		s.tally.add(nUnknown, 1)
		return false
	}
	if l.chunks[seq>>chunkBits].Load() == nil {
		l.addChunk(seq>>chunkBits, new(chunk))
	}
	state, e := l.slot(seq)
	if state.Load() != absent {
		s.tally.add(nUnknown, 1)
		return false
	}
	e.Seq, e.Index, e.IssuedNS = int32(seq), int32(index), atNS
	e.DoneNS = 0 // brings the end of the entry into the caches too
	s.entered = append(s.entered, state)
	return true
}

// Announce issues the samples that were entered. They are counted before another thread can end one, so that
// Counts.InFlight is never negative.
func (s *Shard) Announce() {
	s.tally.add(nIssued, int64(len(s.entered)))
	for _, state := range s.entered {
		state.Store(issued)
	}
	s.entered = s.entered[:0]
}

// FirstToken records the first output token of a sample. It returns false if the sample was never issued (counted in
// Unknown), or already has its first token or is completed (counted in Duplicates).
func (s *Shard) FirstToken(seq int, atNS int64) bool {
	state, e := s.ledger.slot(seq)
	if state == nil || state.Load() == absent {
		s.tally.add(nUnknown, 1)
		return false
	}
	if state.Load() != issued || e.DoneNS != 0 {
		s.tally.add(nDuplicates, 1)
		return false
	}
	e.FirstTokenNS = atNS
	state.Store(firstTokened)
	s.tally.add(nFirstTokens, 1)
	s.ttft.Record(atNS - e.IssuedNS)
	return true
}

// HasFirstToken reports whether FirstToken was accepted for a sample that has not ended.
func (s *Shard) HasFirstToken(seq int) bool {
	state, e := s.ledger.slot(seq)
	return state != nil && state.Load() == firstTokened && e.DoneNS == 0
}

// Gap records n tokens that arrived gapNS after the previous ones of the same answer.
func (s *Shard) Gap(gapNS int64, n int) { s.itl.RecordN(gapNS, n) }

// Complete records the end of a sample. It returns false and changes nothing if the sample was never issued (counted in
// Unknown) or is completed already (counted in Duplicates).
func (s *Shard) Complete(seq int, c *Completion) bool {
	ok := s.Hold(seq, c)
	s.Release(c.DoneNS)
	return ok
}

// Hold is Complete at the next Release, whose time counts instead of c.DoneNS. Until then, readers see the sample
// unchanged, but no method accepts it.
func (s *Shard) Hold(seq int, c *Completion) bool {
	state, e := s.ledger.slot(seq)
	if state == nil || state.Load() == absent {
		s.tally.add(nUnknown, 1)
		return false
	}
	if state.Load() == done || e.DoneNS != 0 {
		s.tally.add(nDuplicates, 1)
		return false
	}
	if state.Load() == issued {
		e.FirstTokenNS = c.FirstTokenNS
	}
	l := s.ledger
	e.Endpoint, e.Retries = int16(c.Endpoint), uint16(min(max(c.Retries, 0), 1<<16-1))
	e.Reason, e.Source = l.reasons.code(c.Reason), l.sources.code(c.Source)
	e.Finish = l.ends.code(c.FinishReason[:min(len(c.FinishReason), maxFinishBytes)])
	e.InputTokens, e.OutputTokens = int32(max(c.InputTokens, 0)), int32(max(c.OutputTokens, 0))
	e.Events, e.Merged = int32(c.Events), int32(c.Merged)
	e.DequeuedNS, e.SentNS, e.FirstByteNS = c.DequeuedNS, c.SentNS, c.FirstByteNS
	e.LastTokenNS, e.ReadableNS, e.DoneNS = c.LastTokenNS, c.ReadableNS, held
	s.held = append(s.held, ended{state, e, c.Reason})
	return true
}

// Held returns the number of samples that wait for Release.
func (s *Shard) Held() int { return len(s.held) }

// Release completes the samples that were held, at a time in ns since 1970.
func (s *Shard) Release(atNS int64) {
	var n counters
	for _, h := range s.held {
		h.entry.DoneNS = atNS
		n.end(h.entry, h.reason)
	}
	for _, h := range s.held {
		h.state.Store(done)
	}
	s.held = s.held[:0]
	for i := range n {
		if n[i] != 0 {
			s.tally.add(counter(i), n[i])
		}
	}
}
