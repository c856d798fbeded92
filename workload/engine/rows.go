package engine

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// Bounds of the bodies of rows: how many rows from the first one have a body, and the bytes of all.
const (
	keptRows  = 1 << 16
	keptBytes = 64 << 20
)

// rows keeps the requests of the rows that a source repeats, as a file does after its last one. From the third time on,
// the requests of a row share a body, and the source does not make them again. That would cost more than the work: most
// texts have left the processor's caches when they come again (docs/reference/measurements.md#a-workload-and-a-run).
type rows struct {
	count int // of the source; 0: it repeats none
	list  []row
	bytes int // of all bodies
}

// row is the request of a row that has come. A stage may send rows that never come again, so the first time leaves
// nothing but a mark.
type row struct {
	body                 []byte // never changed; nil: not kept
	input, output, group int
	came                 bool
}

// newRows returns the rows of an engine's source. Adapters and classes are drawn for each request, so they prevent that
// the requests of a row are equal.
func newRows(e *Engine) rows {
	if src, ok := e.Source.(prompts.Repeating); ok && len(e.Profile.API.Adapters)+len(e.Profile.API.Classes) == 0 {
		return rows{count: src.Rows()}
	}
	return rows{}
}

// of returns the row of a session; nil: it has none.
func (p *rows) of(session int) *row {
	if p.count == 0 || session%p.count >= keptRows {
		return nil
	}
	if p.list == nil {
		p.list = make([]row, min(p.count, keptRows))
	}
	return &p.list[session%p.count]
}

// fill makes a slot the next request of a row, and reports whether the row has one.
func (r *row) fill(s *slot) bool {
	if r == nil || r.body == nil {
		return false
	}
	s.body, s.rec.AskedInput, s.rec.AskedOutput, s.rec.Group = r.body, r.input, r.output, r.group
	return true
}

// learn keeps the request of a row, if the row has come before.
func (p *rows) learn(r *row, s *slot) {
	if r == nil {
		return
	}
	if !r.came {
		r.came = true
		return
	}
	if p.bytes+len(s.body) > keptBytes {
		return
	}
	p.bytes += len(s.body)
	*r = row{bytes.Clone(s.body), s.rec.AskedInput, s.rec.AskedOutput, s.rec.Group, true}
}
