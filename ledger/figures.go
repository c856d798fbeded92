package ledger

// figures sorts the durations of all samples, one kind after another, in the same memory.
type figures struct {
	test        *Test
	keys, other []uint64
}

func (t *Test) figures() *figures {
	return &figures{test: t, keys: make([]uint64, len(t.Entries)), other: make([]uint64, len(t.Entries))}
}

// sorted contains the durations of one kind in ascending order. It is valid until figures sorts the next kind.
type sorted struct {
	keys    []uint64
	seconds func(key uint64) float64
}

// ns sorts a kind of duration that is an integer number of ns.
func (f *figures) ns(of nsOf) sorted {
	n := 0
	for i := range f.test.Entries {
		e := &f.test.Entries[i]
		if ns, ok := of(e, f.test.due(e)); ok {
			f.keys[n] = keyOfNS(ns)
			n++
		}
	}
	return f.sort(n, secondsOfNS)
}

// quotients sorts a kind of duration that is not an integer number of ns.
func (f *figures) quotients(of secondsOf) sorted {
	n := 0
	for i := range f.test.Entries {
		e := &f.test.Entries[i]
		if s, ok := of(e, f.test.due(e)); ok {
			f.keys[n] = keyOf(s)
			n++
		}
	}
	return f.sort(n, valueOf)
}

func (f *figures) sort(n int, seconds func(uint64) float64) sorted {
	keys, other := sortKeys(f.keys[:n], f.other[:n])
	f.keys, f.other = keys[:cap(keys)], other[:cap(other)]
	return sorted{keys, seconds}
}

// at returns the value at the index that percentileIndex returns, in seconds.
func (s sorted) at(p float64) float64 { return s.seconds(s.keys[percentileIndex(len(s.keys), p)]) }

// stats returns the figures of the values, or nil without values.
func (s sorted) stats() *Stats {
	n := len(s.keys)
	if n == 0 {
		return nil
	}
	sum := 0.0
	for _, k := range s.keys {
		sum += s.seconds(k)
	}
	return &Stats{
		Mean: sum / float64(n), P50: s.at(.5), P90: s.at(.9), P95: s.at(.95), P99: s.at(.99), P999: s.at(.999),
		Max: s.seconds(s.keys[n-1]),
	}
}

// percentiles returns the requested percentiles in seconds, or nil if there are no values.
func (s sorted) percentiles(percents []float64) []float64 {
	if len(s.keys) == 0 {
		return nil
	}
	list := make([]float64, len(percents))
	for i, p := range percents {
		list[i] = s.at(Share(p))
	}
	return list
}
