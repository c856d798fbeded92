// HOT PATH: known runs once an event. No allocation once the shape is learned.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/reader"
)

// shape is what the ordinary events of one answer have in common: every byte but their text and their token ids. An event of
// the same shape differs from the one it was learned from in these two alone, so the rest of it needs no second walk.
type shape struct {
	before  []byte // up to the text; empty: none is learned
	between []byte // from behind the text up to the list of ids
	after   []byte // from behind the ids to the end
	index   int64
}

// marks are where a walk found the text and the ids of a document's choice; 0: it did not.
type marks struct {
	text, behindText int
	ids, behindIDs   int
	more             bool // it has other output than these
}

// known reads a document of the learned shape; false: it is of another, and e is as it was.
func (w *walker) known(doc []byte, e *reader.Event) bool {
	s := &w.shape
	if len(s.before) == 0 || len(doc) < len(s.before)+len(s.after) ||
		!bytes.HasPrefix(doc, s.before) || !bytes.HasSuffix(doc, s.after) {
		return false
	}
	w.I = len(s.before)
	if !w.Text(e, true) || !bytes.HasPrefix(doc[w.I:], s.between) {
		e.Reset()
		return false
	}
	w.I += len(s.between)
	if !w.IDs(e) || len(doc)-w.I != len(s.after) {
		e.Reset()
		return false
	}
	e.Choices, e.Index = 1, s.index
	return true
}

// learn remembers the shape of an ordinary event: one choice with text, then ids, and nothing else to tell.
func (w *walker) learn(doc []byte, e *reader.Event) {
	m := &w.marks
	if len(w.shape.before) > 0 || e.Choices != 1 || e.Finish != nil || e.IsError || e.Prompt >= 0 || e.Produced >= 0 ||
		m.more || m.text == 0 || m.ids < m.behindText || doc[m.text] != '"' {
		return
	}
	w.shape.before = append(w.shape.before, doc[:m.text]...)
	w.shape.between = append(w.shape.between[:0], doc[m.behindText:m.ids]...)
	w.shape.after = append(w.shape.after[:0], doc[m.behindIDs:]...)
	w.shape.index = e.Index
}
