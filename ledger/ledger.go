// HOT PATH: Shard's methods run per query and per token. No lock except for a new reason, no allocation except for a
// new chunk.

package ledger

import (
	"slices"
	"sync/atomic"
)

const (
	chunkBits = 12
	chunkSize = 1 << chunkBits // entries allocated together: 400 KiB
	maxChunks = 1 << 15        // 134 million samples, ten times the longest official run
)

// States of an entry. The two states that end in -ing are set while fields are being written, so that a reader never
// sees a partial write.
const (
	absent uint32 = iota
	issuing
	issued
	firstTokening
	firstTokened
	completing
	done
)

type chunk struct {
	state [chunkSize]atomic.Uint32
	entry [chunkSize]Entry
}

// Ledger holds the entries of one test. Shards write; any goroutine may read at any time.
type Ledger struct {
	chunks  [maxChunks]atomic.Pointer[chunk]
	shards  []*Shard
	reasons names[Reason]
	sources names[TokenSource]
	ends    *names[string] // table of finish reasons
}

// Shard is the writer of one thread. A sample may be issued by one shard and completed by another, but only one
// thread at a time owns a sample, and only one thread calls the methods of a shard.
type Shard struct {
	ledger *Ledger
	tally  tally
	ttft   Histogram // times from issue to first token, in ns
	itl    Histogram // gaps between tokens, in ns
	_      [64]byte  // padding, so that the next shard's counters start on another cache line
}

type tally struct {
	issued, completed, failed, firstTokens, retried, empty atomic.Int64
	duplicates, unknown, cancelled                         atomic.Int64
	inputTokens, outputTokens, events, merged              atomic.Int64
}

// New returns a ledger with a number of shards. It allocates chunks for the expected samples; further chunks are
// allocated on demand.
func New(shards, expected int) *Ledger {
	l := &Ledger{shards: make([]*Shard, max(shards, 1)), ends: finishes()}
	for i := range l.shards {
		l.shards[i] = &Shard{ledger: l}
	}
	chunks := make([]chunk, min((max(expected, 0)+chunkSize-1)>>chunkBits, maxChunks))
	reside(chunks)
	for i := range chunks {
		l.chunks[i].Store(&chunks[i])
	}
	return l
}

// Shard returns the i-th shard.
func (l *Ledger) Shard(i int) *Shard { return l.shards[i] }

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
	l := s.ledger
	if uint(seq)>>chunkBits >= maxChunks {
		s.tally.unknown.Add(1)
		return false
	}
	if l.chunks[seq>>chunkBits].Load() == nil {
		l.chunks[seq>>chunkBits].CompareAndSwap(nil, new(chunk))
	}
	state, e := l.slot(seq)
	if !state.CompareAndSwap(absent, issuing) {
		s.tally.unknown.Add(1)
		return false
	}
	e.Seq, e.Index, e.IssuedNS = int32(seq), int32(index), atNS
	s.tally.issued.Add(1) // counted before another thread can end the sample, so that Counts.InFlight is never negative
	state.Store(issued)
	return true
}

// FirstToken records the first output token of a sample. It returns false if the sample was never issued (counted in
// Unknown), or already has its first token or is completed (counted in Duplicates).
func (s *Shard) FirstToken(seq int, atNS int64) bool {
	state, e := s.ledger.slot(seq)
	if state == nil || state.Load() == absent {
		s.tally.unknown.Add(1)
		return false
	}
	if !state.CompareAndSwap(issued, firstTokening) {
		s.tally.duplicates.Add(1)
		return false
	}
	e.FirstTokenNS = atNS
	state.Store(firstTokened)
	s.tally.firstTokens.Add(1)
	s.ttft.Record(atNS - e.IssuedNS)
	return true
}

// HasFirstToken reports whether FirstToken was accepted for a sample that has not ended.
func (s *Shard) HasFirstToken(seq int) bool {
	state, _ := s.ledger.slot(seq)
	return state != nil && state.Load() == firstTokened
}

// Gap records n tokens that arrived gapNS after the previous ones of the same answer.
func (s *Shard) Gap(gapNS int64, n int) { s.itl.RecordN(gapNS, n) }

// Complete records the end of a sample. It returns false and changes nothing if the sample was never issued (counted in
// Unknown) or is completed already (counted in Duplicates).
func (s *Shard) Complete(seq int, c *Completion) bool {
	state, e := s.ledger.slot(seq)
	if state == nil || state.Load() == absent {
		s.tally.unknown.Add(1)
		return false
	}
	first := state.CompareAndSwap(issued, completing)
	if !first && !state.CompareAndSwap(firstTokened, completing) {
		s.tally.duplicates.Add(1)
		return false
	}
	if first {
		e.FirstTokenNS = c.FirstTokenNS
	}
	reason := s.ledger.reasons.code(c.Reason)
	e.Endpoint, e.Retries = int16(c.Endpoint), uint16(min(max(c.Retries, 0), 1<<16-1))
	e.Reason, e.Source = reason, s.ledger.sources.code(c.Source)
	e.Finish = s.ledger.ends.code(c.FinishReason[:min(len(c.FinishReason), maxFinishBytes)])
	e.InputTokens, e.OutputTokens = int32(max(c.InputTokens, 0)), int32(max(c.OutputTokens, 0))
	e.Events, e.Merged = int32(c.Events), int32(c.Merged)
	e.DequeuedNS, e.SentNS, e.FirstByteNS = c.DequeuedNS, c.SentNS, c.FirstByteNS
	e.LastTokenNS, e.ReadableNS, e.DoneNS = c.LastTokenNS, c.ReadableNS, c.DoneNS
	state.Store(done)
	s.tally.end(e, c.Reason)
	return true
}

func (t *tally) end(e *Entry, reason Reason) {
	if e.Retries > 0 {
		t.retried.Add(1)
	}
	if e.Reason != 0 {
		t.failed.Add(1)
		if reason == FailCancelled {
			t.cancelled.Add(1)
		}
		return
	}
	t.completed.Add(1)
	t.inputTokens.Add(int64(e.InputTokens))
	t.outputTokens.Add(int64(e.OutputTokens))
	if e.Events != 0 { // answers that are not streamed have none
		t.events.Add(int64(e.Events))
		t.merged.Add(int64(e.Merged))
	}
	if e.OutputTokens == 0 {
		t.empty.Add(1)
	}
}

// Entries returns a copy of every issued sample in the order of issue. A sample that is being written appears in its
// previous state.
func (l *Ledger) Entries() []Entry {
	entries := make([]Entry, 0, l.Counts().Issued)
	for i := range l.chunks {
		c := l.chunks[i].Load()
		if c == nil {
			continue
		}
		for j := range c.state {
			if e, ok := c.read(j); ok {
				entries = append(entries, e)
			}
		}
	}
	return slices.Clip(entries)
}

// read copies the fields that can no longer change in the entry's current state.
func (c *chunk) read(i int) (Entry, bool) {
	e := &c.entry[i]
	switch state := c.state[i].Load(); state {
	case absent, issuing:
		return Entry{}, false
	case done:
		return *e, true
	default:
		settled := Entry{Seq: e.Seq, Index: e.Index, IssuedNS: e.IssuedNS}
		if state == firstTokened {
			settled.FirstTokenNS = e.FirstTokenNS
		}
		return settled, true
	}
}
