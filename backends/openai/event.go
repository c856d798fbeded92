// HOT PATH: Decode runs once per event. No allocation; a document that it rejects goes to slow.go.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// walker reads the documents of one answer. It walks over the JSON once, key by key, and stops (false) at anything
// unusual: decodeSlow then reads the document again.
//
// The bytes before "choices" are the same in every event of one answer (id, created, model). The walker keeps those of
// the first event and compares them with later ones: equal bytes lead to an equal state, so the walk starts behind
// them. In the same way it keeps the bytes between a choice's text and its token ids. If two events differ in text and
// ids only, it keeps everything else (shape.go).
type walker struct {
	reader.Scanner
	each   func(*reader.Event) // receives every choice of a batch; nil: the last one counts
	prefix []byte              // up to and with the colon after "choices"; empty: not learned
	head   names               // in prefix
	seen   reader.Keys         // keys of the top-level object inside prefix

	middle     []byte      // from behind the text of a choice up to and with the colon after "token_ids"
	middleFrom reader.Keys // keys of the choice before middle
	middleTo   reader.Keys // and behind it
	behindText int         // end of the text of the choice that is read; 0: it had none yet
	atText     reader.Keys // keys of that choice up to its text

	shape shape
	marks marks

	layout *layout // of whole answers; nil: answers are streamed, or to several prompts
	spans  spans
}

// names are the request's id and the model of an event with which others are compared.
type names struct{ id, model []byte }

func (n *names) learn(e *reader.Event) {
	n.id, n.model = append(n.id[:0], e.ID...), append(n.model[:0], e.Model...)
}

func (n *names) set(e *reader.Event) { e.ID, e.Model = n.id, n.model }

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
	keyDetails
	keyCached
	keyID
	keyModel
	keyErrors
	keyToken
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

// Forget discards the shape that was learned from the previous answer.
func (w *walker) Forget() {
	w.prefix, w.middle = w.prefix[:0], w.middle[:0]
	w.shape.forget()
}

// walk reads one document into e, and returns false if it rejects the document.
func (w *walker) walk(doc []byte, e *reader.Event) bool {
	if w.layout != nil && w.layout.read(w, doc, e) {
		w.layout.missed = 0
		return true
	}
	e.Reset()
	w.Start(doc)
	if w.known(doc, e) {
		return true
	}
	w.marks, w.spans.n = marks{}, 0
	if !w.whole(doc, e) {
		return false
	}
	if w.layout != nil {
		w.layout.learn(w, doc, e)
		return true
	}
	w.learn(doc, e)
	return true
}

// whole reads all bytes of a document, except those before the choices if they are known.
func (w *walker) whole(doc []byte, e *reader.Event) (ok bool) {
	w.I = 0
	var seen reader.Keys
	if n := len(w.prefix); n > 0 && len(doc) > n && bytes.Equal(doc[:n], w.prefix) {
		w.I = n
		w.head.set(e)
		if !w.choicesOf(e) {
			return false
		}
		seen, ok = document.Resume(&w.Scanner, w, e, w.seen)
	} else {
		w.Blank()
		if !w.Open('{') {
			return false
		}
		seen, ok = document.Walk(&w.Scanner, w, e)
	}
	// encoding/json decides what a document is that is neither an answer nor an error
	return ok && (seen&(keyChoices|keyUsage) != 0 || e.IsError) && w.AtEnd()
}

// document lists the members of the top-level object.
var document = reader.NewTable(
	reader.On("id", keyID, noted(answerID)),
	reader.On("object", keyObject, (*walker).Object),
	reader.On("created", 0, noted(anything)),
	reader.On("model", keyModel, (*walker).Model),
	reader.On("choices", keyChoices, (*walker).firstChoices),
	reader.On("usage", keyUsage, (*walker).usageOf),
	reader.On("error", keyError, (*walker).Error),
	reader.On("errors", keyErrors, (*walker).Errors),
	reader.On("request_id", keyID, noted(answerID)), // on vLLM's generate route
)

// firstChoices reads the choices, and keeps the bytes before them if they contain no counts and no error.
func (w *walker) firstChoices(e *reader.Event) bool {
	if w.Seen&(keyUsage|keyError|keyErrors) == 0 && !e.IsError {
		w.prefix = append(w.prefix[:0], w.B[:w.I]...)
		w.seen = w.Seen | keyChoices
		w.head.learn(e)
	}
	return w.choicesOf(e)
}

var usage = reader.NewTable(
	reader.On("prompt_tokens", keyPrompt, noted(promptCount)),
	reader.On("total_tokens", 0, noted(anything)),
	reader.On("completion_tokens", keyProduced, noted(answerCount)),
	reader.On("prompt_tokens_details", keyDetails, (*walker).promptDetails),
)

// promptDetails are the members of a usage about the prompt.
var promptDetails = reader.NewTable(
	reader.On("cached_tokens", keyCached, noted(cachedCount)),
)

func (w *walker) usageOf(e *reader.Event) bool { return usage.Value(&w.Scanner, w, e) }

// promptDetails reads what the server reports about the prompt. Anything but an object is absent.
func (w *walker) promptDetails(e *reader.Event) bool {
	if !w.Open('{') {
		return w.Skip()
	}
	_, ok := promptDetails.Walk(&w.Scanner, w, e)
	return ok
}
