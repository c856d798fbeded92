// HOT PATH: Repeat runs once per event. No allocation once the shape is learned.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// The frame of an event of nearly every server. Events with another frame are still recognized by their document.
const (
	frameStart = "data: "
	frameEnd   = "\n\n"
)

// shape contains the bytes that the ordinary events of one answer have in common: all except text and token ids. An
// event of the same shape differs from the learned one in these two only, so that the rest needs no second walk, and
// the frame around it no search for its end.
type shape struct {
	before  []byte // frameStart, and the document up to the text; empty: no shape is learned
	between []byte // from behind the text up to the list of ids, or up to the end without such a list
	after   []byte // from behind the ids to the end, with frameEnd
	ids     bool
	names   names // in it
	learned int   // times in this answer
}

// maxLearned limits how often a shape is learned in one answer: a first event may have more members than later ones,
// and learning costs copies in vain if events never repeat.
const maxLearned = 4

func (s *shape) forget() { s.before, s.learned = s.before[:0], 0 }

// marks are the positions of the text and the ids in a document; 0: absent.
type marks struct {
	text, behindText int
	ids, behindIDs   int
}

// Repeat reads an event of the learned shape from the bytes of the stream. It returns its length, or 0 if the event has
// another shape or is not complete.
func (w *walker) Repeat(p []byte, e *reader.Event) int {
	s := &w.shape
	if len(s.before) == 0 || !bytes.HasPrefix(p, s.before) {
		return 0
	}
	e.ResetPiece()
	w.Start(p)
	if !w.varying(len(s.before), e) || !bytes.HasPrefix(p[w.I:], s.after) {
		return 0
	}
	return w.I + len(s.after)
}

// known reads a document of the learned shape. It returns false, with an empty e, if the document has another shape.
func (w *walker) known(doc []byte, e *reader.Event) bool {
	s := &w.shape
	if len(s.before) == 0 || !bytes.HasPrefix(doc, s.before[len(frameStart):]) {
		return false
	}
	if !w.varying(len(s.before)-len(frameStart), e) || string(doc[w.I:]) != string(s.after[:len(s.after)-len(frameEnd)]) {
		e.Reset()
		return false
	}
	e.Choices = 1
	s.names.set(e)
	return true
}

// varying reads from the text up to the end of the ids. It accepts no blanks, because a line break of the stream would
// pass for one inside the document.
func (w *walker) varying(text int, e *reader.Event) bool {
	s := &w.shape
	w.I = text
	if !w.PlainText(e) && !w.Text(e, true) || !bytes.HasPrefix(w.B[w.I:], s.between) {
		return false
	}
	w.I += len(s.between)
	return !s.ids || w.PlainIDs(e)
}

// learn keeps the shape of an ordinary event: one choice with text, with or without ids behind it, and no other
// content.
func (w *walker) learn(doc []byte, e *reader.Event) {
	m, s := &w.marks, &w.shape
	if s.learned == maxLearned || e.Choices != 1 || e.Index != 0 || e.Finish != nil || e.IsError || e.Prompt >= 0 ||
		e.Produced >= 0 ||
		e.Aside || e.Calls != nil || m.text == 0 || doc[m.text] != '"' || bytes.IndexByte(doc, '\n') >= 0 {
		return
	}
	if s.ids = m.ids > m.behindText && doc[m.ids] == '['; !s.ids && e.HasIDs {
		return
	}
	s.learned++
	s.names.learn(e)
	ids, behind := len(doc), len(doc)
	if s.ids {
		ids, behind = m.ids, m.behindIDs
	}
	s.before = append(append(s.before[:0], frameStart...), doc[:m.text]...)
	s.between = append(s.between[:0], doc[m.behindText:ids]...)
	s.after = append(append(s.after[:0], doc[behind:]...), frameEnd...)
}
