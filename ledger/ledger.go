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

// States of an entry. A state is stored after the fields that belong to it, so that a reader never sees a partial
// write.
const (
	absent uint32 = iota
	issued
	firstTokened
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
	case absent:
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
