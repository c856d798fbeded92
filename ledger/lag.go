package ledger

import "math/bits"

// LagCounts counts lags by powers of two: the first bucket ends at 1 µs, each further one at twice the previous end.
// One thread writes it.
type LagCounts [36]int64

// Add counts one lag in ns; a negative lag counts as 0. Hot path: it runs once per round of an event loop.
func (c *LagCounts) Add(ns int64) {
	c[min(bits.Len64(uint64(max(ns-1, 0))/1000), len(c)-1)]++
}

// Bucket counts the lags that are longer than the previous bucket's limit and at most UpToUS.
type Bucket struct {
	UpToUS float64 `json:"up_to_us"`
	Count  int64   `json:"count"`
}

// Buckets returns the counts up to the last that is not 0; the list is empty if all are 0.
func (c *LagCounts) Buckets() []Bucket {
	buckets := []Bucket{}
	last := 0
	for i, n := range c {
		if n == 0 && len(buckets) == 0 {
			continue
		}
		buckets = append(buckets, Bucket{UpToUS: float64(int64(1) << i), Count: n})
		if n > 0 {
			last = len(buckets)
		}
	}
	return buckets[:last]
}

// stages are the parts of a sample's time, each from one timestamp to the next (run.json's client.stages_us).
var stages = []struct {
	name string
	from func(e *Entry, due int64) int64
	to   func(e *Entry) int64
}{
	{"scheduled_to_issued", func(_ *Entry, due int64) int64 { return due }, func(e *Entry) int64 { return e.IssuedNS }},
	{"issued_to_dequeued", func(e *Entry, _ int64) int64 { return e.IssuedNS },
		func(e *Entry) int64 { return e.DequeuedNS }},
	{"dequeued_to_sent", func(e *Entry, _ int64) int64 { return e.DequeuedNS }, func(e *Entry) int64 { return e.SentNS }},
	{"sent_to_first_byte", func(e *Entry, _ int64) int64 { return e.SentNS },
		func(e *Entry) int64 { return e.FirstByteNS }},
	{"first_byte_to_first_token", func(e *Entry, _ int64) int64 { return e.FirstByteNS },
		func(e *Entry) int64 { return e.FirstTokenNS }},
	{"first_token_to_last_token", func(e *Entry, _ int64) int64 { return e.FirstTokenNS },
		func(e *Entry) int64 { return e.LastTokenNS }},
	{"last_token_to_completed", func(e *Entry, _ int64) int64 { return e.LastTokenNS },
		func(e *Entry) int64 { return e.DoneNS }},
}

// Stages returns figures of each stage in µs, over the samples that have both timestamps of the stage.
func (t *Test) Stages() map[string]LagUS {
	out, f := make(map[string]LagUS, len(stages)), t.figures()
	for _, s := range stages {
		out[s.name] = f.ns(func(e *Entry, due int64) (int64, bool) {
			from, to := s.from(e, due), s.to(e)
			return to - from, from != 0 && to != 0
		}).stats().LagUS()
	}
	return out
}

// LagHistograms returns the distributions of how late samples were issued and sent.
func (t *Test) LagHistograms() (issue, dispatch []Bucket) {
	var issued, sent LagCounts
	for i := range t.Entries {
		e := &t.Entries[i]
		due := t.due(e)
		issued.Add(e.IssuedNS - due)
		if e.SentNS != 0 {
			sent.Add(e.SentNS - due)
		}
	}
	return issued.Buckets(), sent.Buckets()
}
