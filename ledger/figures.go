package ledger

// figures holds the durations of all samples, one kind after another, in the same memory.
type figures struct {
	test        *Test
	keys, other []uint64
	counts      []int32
}

func (t *Test) figures() *figures {
	n := len(t.Entries)
	return &figures{test: t, keys: make([]uint64, n), other: make([]uint64, n), counts: make([]int32, 1<<rankBits)}
}

// durations contains the durations of one kind in no order. It is valid until figures collects the next kind, and at
// may be called once, because it uses the memory of the keys.
type durations struct {
	f       *figures
	keys    []uint64
	seconds func(key uint64) float64
	sum     float64 // in s
}

// ns collects a kind of duration that is an integer number of ns.
func (f *figures) ns(of nsOf) durations {
	d := durations{f: f, keys: f.keys[:0], seconds: secondsOfNS}
	for i := range f.test.Entries {
		e := &f.test.Entries[i]
		if ns, ok := of(e, f.test.due(e)); ok {
			d.keys = append(d.keys, keyOfNS(ns))
			d.sum += seconds(ns)
		}
	}
	return d
}

// quotients collects a kind of duration that is not an integer number of ns.
func (f *figures) quotients(of secondsOf) durations {
	d := durations{f: f, keys: f.keys[:0], seconds: valueOf}
	for i := range f.test.Entries {
		e := &f.test.Entries[i]
		if s, ok := of(e, f.test.due(e)); ok {
			d.keys = append(d.keys, keyOf(s))
			d.sum += s
		}
	}
	return d
}

// at returns the values at indices of the ascending order, in seconds.
func (d durations) at(indices ...int) []float64 {
	values := make([]float64, len(indices))
	for i, key := range ranked(d.keys, d.f.other, d.f.counts, indices) {
		values[i] = d.seconds(key)
	}
	return values
}

// stats returns the figures of the values, or nil without values.
func (d durations) stats() *Stats {
	n := len(d.keys)
	if n == 0 {
		return nil
	}
	at := d.at(percentileIndex(n, .5), percentileIndex(n, .9), percentileIndex(n, .95), percentileIndex(n, .99),
		percentileIndex(n, .999), n-1)
	return &Stats{Mean: d.sum / float64(n), P50: at[0], P90: at[1], P95: at[2], P99: at[3], P999: at[4], Max: at[5]}
}

// percentiles returns the requested percentiles in seconds, or nil if there are no values.
func (d durations) percentiles(percents []float64) []float64 {
	if len(d.keys) == 0 {
		return nil
	}
	indices := make([]int, len(percents))
	for i, p := range percents {
		indices[i] = percentileIndex(len(d.keys), Share(p))
	}
	return d.at(indices...)
}
