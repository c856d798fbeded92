// HOT PATH: Repeat runs once an event. No allocation once the shape is learned.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// How nearly every server frames an event. What is framed otherwise is still known by its document.
const (
	frameStart = "data: "
	frameEnd   = "\n\n"
)

// shape is what the ordinary events of one answer have in common: every byte but their text and their token ids. An
// event of the same shape differs from the one it was learned from in these two alone, so the rest of it needs no
// second walk, and the frame around it no search for its end.
type shape struct {
	before  []byte // frameStart, and the document up to the text; empty: none is learned
	between []byte // from behind the text up to the list of ids; up to the end where there is none
	after   []byte // from behind the ids to the end, with frameEnd
	ids     bool
	names   names // that stand in it
	learned int   // times in this answer
}

// maxLearned bounds how often a shape is learned in one answer: a first event may say more than those behind it, and
// events that never repeat are not worth the copies.
const maxLearned = 4

func (s *shape) forget() { s.before, s.learned = s.before[:0], 0 }

// marks are where a walk found the text and the ids of a document's choice; 0: it did not.
type marks struct {
	text, behindText int
	ids, behindIDs   int
}

// Repeat reads an event of the learned shape from the bytes of the stream; 0: it is of another, or not all there.
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

// known reads a document of the learned shape; false: it is of another, and e is as it was.
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
	s.names.give(e)
	return true
}

// varying reads what differs, from the text on up to what stands behind the ids. It takes no blank, so that no line
// break of a stream can pass for one of a document.
func (w *walker) varying(text int, e *reader.Event) bool {
	s := &w.shape
	w.I = text
	if !w.PlainText(e) && !w.Text(e, true) || !bytes.HasPrefix(w.B[w.I:], s.between) {
		return false
	}
	w.I += len(s.between)
	return !s.ids || w.PlainIDs(e)
}

// learn remembers the shape of an ordinary event: one choice with text, ids behind it where there are any, and nothing
// else to tell.
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
