// HOT PATH: Decode runs once an event. No allocation; what it is not sure of goes to slow.go.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// walker reads documents of one answer. It goes over the JSON once, key by key, respects strings, and gives up (false)
// wherever it is not sure: then decodeSlow reads the document again.
//
// The bytes before "choices" are the same in every event of one answer (id, created, model). They are remembered from
// the first event and compared with the next ones: equal bytes lead to an equal state, so the walk starts behind them.
// In the same way the bytes between a choice's text and its token ids are remembered, and, where that is all that
// differs between two events, everything but these (shape.go).
type walker struct {
	reader.Scanner
	each   func(*reader.Event) // of a batch: gets every choice; nil: the last one counts
	prefix []byte              // up to and with the colon after "choices"; empty: not learned
	head   names               // that stand in prefix
	seen   reader.Keys         // keys of the top-level object inside prefix

	middle     []byte      // from behind the text of a choice up to and with the colon after "token_ids"
	middleFrom reader.Keys // keys of the choice before middle
	middleTo   reader.Keys // and behind it

	shape shape
	marks marks
}

// names are the request's id and the model of an event that others are compared with.
type names struct{ id, model []byte }

func (n *names) learn(e *reader.Event) {
	n.id, n.model = append(n.id[:0], e.ID...), append(n.model[:0], e.Model...)
}

func (n *names) give(e *reader.Event) { e.ID, e.Model = n.id, n.model }

const (
	keyChoices reader.Keys = 1 << iota
	keyUsage
	keyError
	keyObject
	keyIndex
	keyText
	keyTokenIDs
	keyFinish
	keyMessage
	keyReasoning
	keyReasoningContent
	keyToolCalls
	keyPrompt
	keyProduced
	keyID
	keyModel
	keyErrors
)

// Decode reads one document.
func (w *walker) Decode(doc []byte, e *reader.Event) error {
	if w.walk(doc, e) {
		return nil
	}
	return decodeSlow(doc, &w.Scanner, e, nil)
}

// DecodeBatch reads one document with the answers to several prompts.
func (w *walker) DecodeBatch(doc []byte, e *reader.Event, clear func(), add func(*reader.Event)) error {
	w.each = add
	defer func() { w.each = nil }()
	clear()
	if w.walk(doc, e) {
		return nil
	}
	clear()
	return decodeSlow(doc, &w.Scanner, e, add)
}

// Forget drops what was learned from the answer before.
func (w *walker) Forget() {
	w.prefix, w.middle = w.prefix[:0], w.middle[:0]
	w.shape.forget()
}

// walk reads one document into e; false: not sure.
func (w *walker) walk(doc []byte, e *reader.Event) bool {
	e.Reset()
	w.Start(doc)
	if w.known(doc, e) {
		return true
	}
	w.marks = marks{}
	if !w.whole(doc, e) {
		return false
	}
	w.learn(doc, e)
	return true
}

// whole reads every byte of a document, but for those before the choices where they are known.
func (w *walker) whole(doc []byte, e *reader.Event) bool {
	w.I = 0
	if n := len(w.prefix); n > 0 && len(doc) > n && bytes.Equal(doc[:n], w.prefix) {
		w.I = n
		w.head.give(e)
		return w.choicesOf(e) && w.members(e, w.seen, false) && w.AtEnd()
	}
	w.Blank()
	return w.Open('{') && w.members(e, 0, true) && w.AtEnd()
}

// members reads the members of the top-level object: from its first on, or from behind a value.
func (w *walker) members(e *reader.Event, seen reader.Keys, first bool) bool {
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			return ok && (seen&(keyChoices|keyUsage) != 0 || e.IsError) // else encoding/json decides what the document is
		}
		var k reader.Keys
		switch string(key) {
		case "choices":
			if k = keyChoices; seen&(keyUsage|keyError|keyErrors|k) == 0 && !e.IsError {
				w.prefix = append(w.prefix[:0], w.B[:w.I]...)
				w.seen = seen | k
				w.head.learn(e)
			}
			ok = w.choicesOf(e)
		case "usage":
			k, ok = keyUsage, w.usageOf(e)
		case "error":
			k, ok = keyError, w.Error(e)
		case "errors":
			k, ok = keyErrors, w.Errors(e)
		case "object":
			k, ok = keyObject, w.Object(e)
		case "id", "request_id": // the latter on vLLM's generate route
			k, ok = keyID, w.Name(&e.ID)
		case "model":
			k, ok = keyModel, w.Name(&e.Model)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}
