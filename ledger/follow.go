package ledger

// Entry returns the seq-th issued sample; ok is false if it was not issued yet. If the sample is being written, Entry
// returns its previous state.
func (l *Ledger) Entry(seq int) (Entry, bool) {
	if seq < 0 || seq>>chunkBits >= maxChunks {
		return Entry{}, false
	}
	c := l.chunks[seq>>chunkBits].Load()
	if c == nil {
		return Entry{}, false
	}
	return c.read(seq & (chunkSize - 1))
}

// Issued reports whether a sample was issued. It is cheaper than Entry.
func (l *Ledger) Issued(seq int) bool {
	state, _ := l.slot(seq)
	return state != nil && state.Load() != absent
}

// Ended returns the entry of a sample that has ended, which is final; nil if it has not. It copies nothing, because
// readers of a running test read every ended sample.
func (l *Ledger) Ended(seq int) *Entry {
	if state, e := l.slot(seq); state != nil && state.Load() == done {
		return e
	}
	return nil
}
