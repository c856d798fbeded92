package reader

import (
	"bytes"
)

// walked is a decoder of a small protocol of this package's tests. It walks over a document, and reads what the walk
// rejects with encoding/json, as the decoders of real protocols do.
type walked struct {
	Scanner
	mayRepeat bool
	slow      bool // never walk
	each      func(*Event)
	began     []byte // the document that Repeat compares others with; empty: not learned
}

const (
	wireChoices Keys = 1 << iota
	wireUsage
	wireText
	wireIDs
	wireFinish
	wireIndex
	wireID
	wireModel
)

var wireDocument, wireUsages, wireChoice *Table[*walked]

func init() {
	wireDocument = NewTable(
		On("id", wireID, func(w *walked, e *Event) bool { return w.ID(e) }),
		On("object", 0, func(w *walked, e *Event) bool { return w.Object(e) }),
		On("model", wireModel, func(w *walked, e *Event) bool { return w.Model(e) }),
		On("choices", wireChoices, (*walked).choices),
		On("usage", wireUsage, func(w *walked, e *Event) bool { return wireUsages.Value(&w.Scanner, w, e) }),
		On("error", 0, func(w *walked, e *Event) bool { return w.Error(e) }),
		On("errors", 0, func(w *walked, e *Event) bool { return w.Errors(e) }),
		On("last", 0, func(w *walked, e *Event) bool { return w.Bool(&e.Last) }),
	)
	wireUsages = NewTable(
		On("prompt", wireIndex, func(w *walked, e *Event) bool { return w.Prompt(e) }),
		On("produced", wireFinish, func(w *walked, e *Event) bool { return w.Produced(e) }),
		On("details", 0, func(w *walked, e *Event) bool { return w.Pass(e) }),
	)
	wireChoice = NewTable(
		On("id", wireID, func(w *walked, e *Event) bool { return w.ID(e) }), // of a part
		On("index", wireIndex, func(w *walked, e *Event) bool { return w.Index(e) }),
		On("text", wireText, func(w *walked, e *Event) bool { return w.Text(e, true) }),
		On("aside", 0, func(w *walked, e *Event) bool { return w.Text(e, false) }),
		On("tool_calls", 0, func(w *walked, e *Event) bool { return w.Calls(e) }),
		On("ids", wireIDs, func(w *walked, e *Event) bool { return w.IDs(e) }),
		On("prompt_ids", 0, func(w *walked, e *Event) bool { return w.SkipNumbers() }),
		On("finish", wireFinish, func(w *walked, e *Event) bool { return w.Finish(e) }),
		On("why", 0, func(w *walked, e *Event) bool { return w.Word(&e.Why) }),
	)
}

func (w *walked) choices(e *Event) bool {
	if w.Null() {
		return true
	}
	if !w.Open('[') {
		return false
	}
	defer w.partIDs(e)()
	index := e.Index
	for first := true; ; first = false {
		w.Blank()
		if w.Open(']') {
			return true
		}
		if !first && !w.Open(',') {
			return false
		}
		w.Blank()
		e.ResetPiece()
		e.Index, e.Finish, e.Calls, e.Why = index, nil, nil, nil
		if w.each != nil {
			e.ID = nil
		}
		if e.Choices++; !w.Open('{') {
			return false
		}
		if _, ok := wireChoice.Walk(&w.Scanner, w, e); !ok {
			return false
		}
		if w.each != nil {
			w.pass(e)
		}
	}
}

// partIDs returns a function that restores the id of the document behind those of its parts.
func (w *walked) partIDs(e *Event) func() {
	id := e.ID
	return func() {
		if w.each != nil {
			e.ID = id
		}
	}
}

// pass passes a choice to w.each, without the counts beside it, which are of the whole batch.
func (w *walked) pass(e *Event) {
	prompt, produced := e.Prompt, e.Produced
	e.Prompt, e.Produced = -1, -1
	w.each(e)
	e.Prompt, e.Produced = prompt, produced
}

func (w *walked) Forget() { w.began = w.began[:0] }

func (w *walked) Decode(doc []byte, e *Event) error {
	defer func() { e.MayRepeat = w.mayRepeat }()
	if !w.slow {
		e.Reset()
		w.Start(doc)
		w.Blank()
		if w.Open('{') {
			if _, ok := wireDocument.Walk(&w.Scanner, w, e); ok && w.AtEnd() && (e.Choices > 0 || e.IsError) {
				return nil
			}
		}
	}
	return w.parse(doc, e)
}

// parse reads a document with encoding/json.
func (w *walked) parse(doc []byte, e *Event) error {
	o := ParseObject(doc, e, "choices", "usage")
	w.members(o, e)
	return o.Err()
}

// members reads the members of a document.
func (w *walked) members(o Object, e *Event) {
	e.ID, e.Model, e.Last = o.Name("id"), o.Name("model"), o.Bool("last")
	usage := o.Object("usage")
	e.Prompt, e.Produced = usage.Count("prompt"), usage.Count("produced")
	defer w.partIDs(e)()
	for _, choice := range o.Objects("choices") {
		e.ResetPiece()
		if id := choice.Name("id"); id != nil || w.each != nil {
			e.ID = id
		}
		e.Choices++
		if e.Calls = nil; choice.IsNull() {
			o.Fail("a choice is null")
		}
		e.Index, e.Finish, e.Why = choice.Whole("index", 0), choice.String("finish"), choice.String("why")
		choice.IDs("ids", e)
		choice.Text("text", w.KeepText, e)
		choice.Aside("aside", e)
		choice.Calls(e)
		if w.each != nil && o.Err() == nil {
			w.pass(e)
		}
	}
}

func (w *walked) DecodeBatch(doc []byte, e *Event, clear func(), add func(*Event)) error {
	w.each = add
	defer func() { w.each = nil }()
	clear()
	e.Reset()
	w.Start(doc)
	w.Blank()
	if !w.slow && w.Open('{') {
		if _, ok := wireDocument.Walk(&w.Scanner, w, e); ok && w.AtEnd() {
			return nil
		}
	}
	clear()
	return w.parse(doc, e)
}

// repeated is walked with events that it recognizes: data: {"choices":[{"ids":[7]}]} with any ids.
type repeated struct{ *walked }

var (
	repeatedHead = []byte(`data: {"choices":[{"ids":`)
	repeatedTail = []byte("}]}\n\n")
)

func (r repeated) Repeat(p []byte, e *Event) int {
	if !bytes.HasPrefix(p, repeatedHead) {
		return 0
	}
	e.Reset()
	r.Start(p)
	r.I = len(repeatedHead)
	if !r.PlainIDs(e) || !bytes.HasPrefix(p[r.I:], repeatedTail) {
		return 0
	}
	return r.I + len(repeatedTail)
}
