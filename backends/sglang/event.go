// HOT PATH: Decode runs once per event. No allocation; a document that it rejects goes to slow.go.

package sglang

import "github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"

// walker reads the documents of one answer. It walks over the JSON once, key by key, and stops (false) at anything
// unusual: decodeSlow then reads the document again.
type walker struct {
	reader.Scanner
	ids  grownIDs
	text grownText
}

const (
	keyText reader.Keys = 1 << iota
	keyIDs
	keyMeta
	keyIndex
	keyError
	keyObject
	keyFinish
	keyPrompt
	keyProduced
	keyType
	keyMessage
	keyID
	keyErrors
	keyCached
)

// Decode reads one document.
func (w *walker) Decode(doc []byte, e *reader.Event) error {
	if w.walk(doc, e) {
		return nil
	}
	w.Forget() // the walk may have learned half of the document
	return w.decodeSlow(doc, e)
}

// DecodeBatch reads one document with the answers to several prompts: an array in the order of the prompts.
func (w *walker) DecodeBatch(doc []byte, e *reader.Event, clear func(), add func(*reader.Event)) error {
	l := reader.List{
		Begin:   func(*reader.Event) { w.Forget() },
		Members: w.members,
	}
	clear()
	if l.Walk(&w.Scanner, doc, e, add) {
		return nil
	}
	w.Forget()
	clear()
	return reader.DecodeList(doc, e, parts, w.slowAnswer, add)
}

// Forget discards what was learned from the previous answer.
func (w *walker) Forget() {
	w.ids.forget()
	w.text.forget()
}

// walk reads one document into e, and returns false if it rejects the document.
func (w *walker) walk(doc []byte, e *reader.Event) bool {
	e.Reset()
	w.Start(doc)
	w.Blank()
	return w.Open('{') && w.members(e) && w.AtEnd()
}

// document lists the members of an answer.
var document = reader.NewTable(
	reader.On("text", keyText, (*walker).textOf),
	reader.On("output_ids", keyIDs, (*walker).idsOf),
	reader.On("meta_info", keyMeta, (*walker).meta),
	reader.On("index", keyIndex, (*walker).Index),
	reader.On("error", keyError, (*walker).Error),
	reader.On("errors", keyErrors, (*walker).Errors),
	reader.On("object", keyObject, (*walker).Object),
)

// members reads one answer.
func (w *walker) members(e *reader.Event) bool {
	e.MayRepeat = true
	seen, ok := document.Walk(&w.Scanner, w, e)
	if seen&(keyText|keyIDs|keyMeta) != 0 {
		e.Choices = 1
	}
	return ok && (e.Choices > 0 || e.IsError) // else encoding/json decides what the document is
}

var metaMembers = reader.NewTable(
	reader.On("id", keyID, (*walker).ID),
	reader.On("finish_reason", keyFinish, (*walker).finish),
	reader.On("prompt_tokens", keyPrompt, (*walker).Prompt),
	reader.On("completion_tokens", keyProduced, (*walker).Produced),
	reader.On("cached_tokens", keyCached, (*walker).Cached),
)

// meta reads the counts and the finish reason.
func (w *walker) meta(e *reader.Event) bool { return metaMembers.Value(&w.Scanner, w, e) }

var finishMembers = reader.NewTable(
	reader.On("type", keyType, (*walker).Finish),
	reader.On("message", keyMessage, func(w *walker, e *reader.Event) bool { return w.Word(&e.Why) }),
)

// finish reads a finish reason: null, an object with a type, or, of old servers, a word.
func (w *walker) finish(e *reader.Event) bool {
	if !w.Open('{') {
		return w.Word(&e.Finish)
	}
	_, ok := finishMembers.Walk(&w.Scanner, w, e)
	return ok && e.Finish != nil
}
