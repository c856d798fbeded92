package ledger

// Entry gives the sample that was issued as the seq-th; it is false while there is none. A sample that is being written
// at this moment appears as it was before.
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
