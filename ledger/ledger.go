package ledger

import (
	"slices"
	"sync/atomic"
)

const (
	chunkBits = 12
	chunkSize = 1 << chunkBits // entries published together: 400 KiB
	maxChunks = 1 << 15        // 134 million samples, ten times the longest official run
)

// maxReserved bounds the entries that are one piece of memory: 208 MiB of addresses, and of memory what is used.
const maxReserved = 1 << 21

// States of an entry. A state is stored after the fields that belong to it, so that a reader never sees a partial
// write.
const (
	absent uint32 = iota
	issued
	firstTokened
	done
)

type chunk struct {
	entry *[chunkSize]Entry
	state [chunkSize]atomic.Uint32
}

// Ledger holds the entries of one test. Shards write; any goroutine may read at any time.
type Ledger struct {
	chunks  [maxChunks]atomic.Pointer[chunk]
	memory  []Entry // entries of the first chunks
	shards  []*Shard
	reasons names[Reason]
	sources names[TokenSource]
	ends    *names[string] // table of finish reasons
}

// New returns a ledger with a number of shards. It reserves memory for the expected samples, and allocates chunks for
// the first MaxResident of them; further chunks are allocated on demand.
func New(shards, expected int) *Ledger {
	l := &Ledger{shards: make([]*Shard, max(shards, 1)), ends: finishes()}
	for i := range l.shards {
		l.shards[i] = &Shard{ledger: l}
	}
	n := min(max(expected, 0), maxReserved)
	l.memory = make([]Entry, wholeChunks(n+n/16)) // a Server test may have more samples than its rate promises
	resident := l.memory[:wholeChunks(min(n, MaxResident))]
	reside(resident)
	chunks := make([]chunk, len(resident)>>chunkBits)
	reside(chunks)
	for i := range chunks {
		l.addChunk(i, &chunks[i])
	}
	return l
}

// wholeChunks rounds a number of samples up.
func wholeChunks(n int) int { return (n + chunkSize - 1) >> chunkBits << chunkBits }

// addChunk makes c the i-th chunk unless another thread has added one.
func (l *Ledger) addChunk(i int, c *chunk) {
	if first := i << chunkBits; first < len(l.memory) {
		c.entry = (*[chunkSize]Entry)(l.memory[first:])
	} else {
		c.entry = new([chunkSize]Entry)
	}
	l.chunks[i].CompareAndSwap(nil, c)
}

// Shard returns the i-th shard.
func (l *Ledger) Shard(i int) *Shard { return l.shards[i] }

// Entries returns every issued sample in the order of issue. A sample that is being written appears in its previous
// state. The caller must not change the entries: if all samples have ended, they are the ledger's own, without a copy.
func (l *Ledger) Entries() []Entry {
	n := int(l.Counts().Issued)
	if n <= len(l.memory) && l.haveEnded(n) {
		return l.memory[:n:n]
	}
	entries := make([]Entry, 0, n)
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

// haveEnded reports whether the first n samples have ended. Their entries no longer change.
func (l *Ledger) haveEnded(n int) bool {
	for seq := range n {
		if state, _ := l.slot(seq); state == nil || state.Load() != done {
			return false
		}
	}
	return true
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
