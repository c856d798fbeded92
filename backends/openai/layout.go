// HOT PATH: read runs once per answer that is not streamed. No allocation.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// layout is what the whole answers of one server have in common: all bytes except the values that differ from answer to
// answer. The walk reads one byte after the other, so equal bytes around values that the same methods read lead to an
// equal event. An answer with any other byte is walked over, and its layout is learned.
type layout struct {
	values  [maxValues]value
	n       int          // of values; 0: nothing is learned
	literal []byte       // all bytes except the values
	event   reader.Event // the content of these bytes
	model   []byte       // of it
	missed  int          // answers in a row that had another layout
	probe   reader.Event
}

// value is the place of one value.
type value struct {
	field  field
	before int // length of the literal up to the value
}

// field is how a value is read.
type field uint8

const (
	anything field = iota // it is skipped
	answerID
	answerText
	answerFinish
	answerIDs
	promptCount
	cachedCount
	answerCount
)

const (
	maxValues  = 12      // more are not learned
	maxLiteral = 4 << 10 // bytes; an answer may repeat its prompt
	maxMissed  = 16      // then the answers have no layout in common
)

// span is the place of a value in a document.
type span struct {
	field    field
	from, to int
}

// spans are the places that a walk has noted. If there are more than maxValues, the rest is only counted.
type spans struct {
	list [maxValues]span
	n    int
}

// noted reads the value of a field, and notes its place.
func (w *walker) noted(f field, e *reader.Event) bool {
	from := w.I
	if !w.value(f, e) {
		return false
	}
	if w.spans.n < maxValues {
		w.spans.list[w.spans.n] = span{f, from, w.I}
	}
	w.spans.n++
	return true
}

// noted returns the method noted for a row of a table.
func noted(f field) func(*walker, *reader.Event) bool {
	return func(w *walker, e *reader.Event) bool { return w.noted(f, e) }
}

// value reads the value of a field.
func (w *walker) value(f field, e *reader.Event) bool {
	switch f {
	case answerID:
		return w.ID(e)
	case answerText:
		return w.Text(e, true)
	case answerFinish:
		return w.Finish(e)
	case answerIDs:
		return w.IDs(e)
	case promptCount:
		return w.Prompt(e)
	case cachedCount:
		return w.Cached(e)
	case answerCount:
		return w.Produced(e)
	}
	return w.Skip()
}

// read reads a document of the learned layout. It returns false, with e undefined, if the document has another one.
func (l *layout) read(w *walker, doc []byte, e *reader.Event) bool {
	if l.n == 0 {
		return false
	}
	ids, text := e.IDs[:0], e.Text[:0]
	*e = l.event
	e.IDs, e.Text = ids, text
	w.Start(doc)
	at := 0
	for _, v := range l.values[:l.n] {
		before := l.literal[at:v.before]
		if !bytes.HasPrefix(doc[w.I:], before) {
			return false
		}
		w.I += len(before)
		at = v.before
		if !w.value(v.field, e) {
			return false
		}
	}
	return string(doc[w.I:]) == string(l.literal[at:])
}

// learn keeps the layout of a document that the walk has read as e: an answer with one choice and nothing unusual.
func (l *layout) learn(w *walker, doc []byte, e *reader.Event) {
	if l.n = 0; l.missed == maxMissed {
		return
	}
	l.missed++
	noted := &w.spans
	if e.Choices != 1 || e.Finish == nil || e.IsError || e.Aside || e.Calls != nil || noted.n == 0 || noted.n > maxValues {
		return
	}
	l.literal = l.literal[:0]
	behind := 0
	for i, s := range noted.list[:noted.n] {
		if s.from < behind || len(l.literal)+s.from-behind > maxLiteral {
			return
		}
		l.literal = append(l.literal, doc[behind:s.from]...)
		l.values[i] = value{s.field, len(l.literal)}
		behind = s.to
	}
	if len(l.literal)+len(doc)-behind > maxLiteral {
		return
	}
	l.literal = append(l.literal, doc[behind:]...)
	l.model = append(l.model[:0], e.Model...)
	l.event.Reset()
	l.event.Choices, l.event.Index, l.event.Model = e.Choices, e.Index, l.model
	l.n = noted.n
	if !l.read(w, doc, &l.probe) || !equal(&l.probe, e) {
		l.n = 0 // there is more in the document than its values
	}
}

// equal compares two events of one document.
func equal(a, b *reader.Event) bool {
	if len(a.IDs) != len(b.IDs) {
		return false
	}
	for i := range a.IDs {
		if a.IDs[i] != b.IDs[i] {
			return false
		}
	}
	return a.Choices == b.Choices && a.Index == b.Index && a.HasIDs == b.HasIDs && a.BadID == b.BadID &&
		string(a.Text) == string(b.Text) && a.HasText == b.HasText && a.Aside == b.Aside && a.IsCall == b.IsCall &&
		string(a.Calls) == string(b.Calls) && string(a.Finish) == string(b.Finish) &&
		(a.Finish == nil) == (b.Finish == nil) && string(a.Why) == string(b.Why) && a.Prompt == b.Prompt &&
		a.Cached == b.Cached && a.Produced == b.Produced && a.IsError == b.IsError &&
		string(a.Message) == string(b.Message) && a.Last == b.Last &&
		string(a.ID) == string(b.ID) && string(a.Model) == string(b.Model) && a.MayRepeat == b.MayRepeat &&
		a.Known == b.Known
}
