// HOT PATH: Decode runs once an event. No allocation; what it is not sure of goes to slow.go.

package sglang

import "github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"

// walker reads documents of one answer. It goes over the JSON once, key by key, respects strings, and gives up (false)
// wherever it is not sure: then decodeSlow reads the document again.
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
)

// Decode reads one document.
func (w *walker) Decode(doc []byte, e *reader.Event) error {
	if w.walk(doc, e) {
		return nil
	}
	w.Forget() // half of the document may have been learned
	return w.decodeSlow(doc, e)
}

// DecodeBatch reads one document with the answers to several prompts: an array in the order of the prompts.
func (w *walker) DecodeBatch(doc []byte, e *reader.Event, clear func(), add func(*reader.Event)) error {
	l := reader.List{
		Begin:   func(e *reader.Event) { w.Forget(); e.Running = true },
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

// Forget drops what was learned from the answer before.
func (w *walker) Forget() {
	w.ids.forget()
	w.text.forget()
}

// walk reads one document into e; false: not sure.
func (w *walker) walk(doc []byte, e *reader.Event) bool {
	e.Reset()
	e.Running = true
	w.Start(doc)
	w.Blank()
	return w.Open('{') && w.members(e) && w.AtEnd()
}

// members reads the document. What has none of an answer's parts is none.
func (w *walker) members(e *reader.Event) bool {
	var seen reader.Keys
	first := true
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			if seen&(keyText|keyIDs|keyMeta) != 0 {
				e.Choices = 1
			}
			return ok && (e.Choices > 0 || e.IsError) // else encoding/json decides what the document is
		}
		var k reader.Keys
		switch string(key) {
		case "text":
			k, ok = keyText, w.textOf(e)
		case "output_ids":
			k, ok = keyIDs, w.idsOf(e)
		case "meta_info":
			k, ok = keyMeta, w.meta(e)
		case "index":
			k, ok = keyIndex, w.Integer(&e.Index, 0)
		case "error":
			k, ok = keyError, w.Error(e)
		case "errors":
			k, ok = keyErrors, w.Errors(e)
		case "object":
			k, ok = keyObject, w.Object(e)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

// meta reads the counts and the finish reason.
func (w *walker) meta(e *reader.Event) bool {
	if w.Null() {
		return true
	}
	if !w.Open('{') {
		return false
	}
	var seen reader.Keys
	first := true
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			return ok
		}
		var k reader.Keys
		switch string(key) {
		case "finish_reason":
			k, ok = keyFinish, w.finish(e)
		case "prompt_tokens":
			k, ok = keyPrompt, w.Count(&e.Prompt)
		case "completion_tokens":
			k, ok = keyProduced, w.Count(&e.Produced)
		case "id":
			k, ok = keyID, w.Name(&e.ID)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

// finish reads a finish reason: null, an object with a type, or, of old servers, a word.
func (w *walker) finish(e *reader.Event) bool {
	if !w.Open('{') {
		return w.Word(&e.Finish)
	}
	var seen reader.Keys
	first := true
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			return ok && e.Finish != nil
		}
		var k reader.Keys
		switch string(key) {
		case "type":
			k, ok = keyType, w.Word(&e.Finish)
		case "message":
			k, ok = keyMessage, w.Word(&e.Why)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}
