// HOT PATH: the walk runs once a document. No allocation.

package ollama

import "github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"

// walker reads documents of one answer. It goes over the JSON once, key by key, respects strings, and gives up (false)
// wherever it is not sure: then decodeSlow reads the document again.
type walker struct{ reader.Scanner }

const (
	keyResponse reader.Keys = 1 << iota
	keyThinking
	keyMessage
	keyDone
	keyReason
	keyPrompt
	keyProduced
	keyError
	keyContent
	keyToolCalls
	keyErrors
	keyModel
)

// Forget drops nothing: each document is read by itself.
func (w *walker) Forget() {}

// Decode reads one document.
func (w *walker) Decode(doc []byte, e *reader.Event) error {
	if w.walk(doc, e) {
		return nil
	}
	return decodeSlow(doc, w.KeepText, e)
}

// walk reads one document into e; false: not sure.
func (w *walker) walk(doc []byte, e *reader.Event) bool {
	e.Reset()
	w.Start(doc)
	w.Blank()
	return w.Open('{') && w.members(e) && w.AtEnd()
}

// members reads the document. What has none of an answer's parts is none. The ids under "context" are of prompt and
// answer together, for another request: they are none of the answer's.
func (w *walker) members(e *reader.Event) bool {
	var seen reader.Keys
	var reason []byte
	done := false
	first := true
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			if seen&(keyResponse|keyMessage|keyDone) != 0 {
				e.Choices = 1
			}
			finish(e, done, reason)
			// Where it is neither a part nor an error, encoding/json decides what the document is.
			return ok && seen&(keyResponse|keyMessage) != keyResponse|keyMessage && (e.Choices > 0 || e.IsError)
		}
		var k reader.Keys
		switch string(key) {
		case "response":
			k, ok = keyResponse, w.Text(e, true)
		case "thinking":
			k, ok = keyThinking, w.Text(e, false)
		case "message":
			k, ok = keyMessage, w.message(e)
		case "done":
			k, ok = keyDone, w.Bool(&done)
		case "done_reason":
			k, ok = keyReason, w.Word(&reason)
		case "prompt_eval_count":
			k, ok = keyPrompt, w.Count(&e.Prompt)
		case "eval_count":
			k, ok = keyProduced, w.Count(&e.Produced)
		case "model":
			k, ok = keyModel, w.Name(&e.Model)
		case "error":
			k, ok = keyError, w.Error(e)
		case "errors":
			k, ok = keyErrors, w.Errors(e)
		case "context":
			ok = w.SkipNumbers()
		case "object": // no key of Ollama's; a gateway's error has it
			ok = w.Object(e)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

// message reads a chat message or its part. Reasoning is output, and no part of the answer's text.
func (w *walker) message(e *reader.Event) bool {
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
		case "content":
			k, ok = keyContent, w.Text(e, true)
		case "thinking":
			k, ok = keyThinking, w.Text(e, false)
		case "tool_calls":
			k, ok = keyToolCalls, w.Calls(e)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

var finishStop = []byte("stop")

// finish puts the end of an answer into e. Servers before 0.1.40 give no reason.
func finish(e *reader.Event, done bool, reason []byte) {
	if !done || e.IsError {
		return
	}
	if e.Finish, e.Last = reason, true; len(reason) == 0 {
		e.Finish = finishStop
	}
}
