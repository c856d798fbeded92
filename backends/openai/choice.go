// HOT PATH: choice runs once an event. No allocation; what it is not sure of goes to slow.go.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// choicesOf reads the array of choices.
func (w *walker) choicesOf(e *reader.Event) bool {
	w.Blank()
	return w.list(e, w.counted)
}

// counted reads one choice of the array, and gives it to who wants each of them.
func (w *walker) counted(e *reader.Event) bool {
	e.Choices++
	if !w.choice(e) {
		return false
	}
	if w.each != nil {
		prompt, produced := e.Prompt, e.Produced // of the whole batch
		e.Prompt, e.Produced = -1, -1
		w.each(e)
		e.Prompt, e.Produced = prompt, produced
	}
	return true
}

// choice reads one choice; what an earlier choice said is forgotten, but for the number of choices.
func (w *walker) choice(e *reader.Event) bool {
	e.Index, e.IDs, e.HasIDs, e.BadID = 0, e.IDs[:0], false, false
	e.Text, e.HasText, e.Finish, e.Calls = e.Text[:0], false, nil, nil
	if !w.Open('{') {
		return false
	}
	var seen, atText reader.Keys
	first, behindText := true, 0
	for {
		key, more, ok := w.Member(&first)
		if !ok || !more {
			return ok
		}
		var k reader.Keys
		switch string(key) {
		case "index":
			k, ok = keyIndex, w.Integer(&e.Index, 0)
		case "text":
			k, ok = keyText, w.text(e)
		case "response_token_ids": // SGLang's chat (docs/reference/wire-protocols.md#differences-between-servers)
			k, ok = keyTokenIDs, w.IDs(e)
		case "logprobs":
			ok = w.logprobs(e)
		case "token_ids":
			if w.IDsInLogprobs {
				ok = w.Skip(0)
				break
			}
			if k = keyTokenIDs; behindText > 0 && e.Finish == nil && seen&^keyFinish == atText&^keyFinish {
				w.middle = append(w.middle[:0], w.B[behindText:w.I]...)
				w.middleFrom, w.middleTo = atText, seen
			}
			ok = w.ids(e)
		case "finish_reason":
			k, ok = keyFinish, w.Word(&e.Finish)
		case "prompt_token_ids":
			ok = w.SkipNumbers()
		case "error": // of one choice, as OpenRouter sends it: encoding/json reads the choices apart
			k, ok = keyError, w.Null()
		case "delta", "message":
			k, ok = keyMessage, w.message(e)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		if seen |= k; seen&(keyText|keyMessage) == keyText|keyMessage {
			return false
		}
		if k == keyText {
			behindText, atText = w.I, seen
			if len(w.middle) > 0 && seen == w.middleFrom && bytes.HasPrefix(w.B[w.I:], w.middle) {
				w.I += len(w.middle)
				if !w.ids(e) {
					return false
				}
				seen = w.middleTo | keyTokenIDs
			}
		}
	}
}

// text reads the text of the answer, and marks where it stands.
func (w *walker) text(e *reader.Event) bool {
	w.marks.text = w.I
	ok := w.Text(e, true)
	w.marks.behindText = w.I
	return ok
}

// ids reads the token ids, and marks where they stand.
func (w *walker) ids(e *reader.Event) bool {
	w.marks.ids = w.I
	ok := w.IDs(e)
	w.marks.behindIDs = w.I
	return ok
}

// message reads a chat message or its delta. Reasoning is output, and no part of the answer's text.
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
			k, ok = keyText, w.text(e)
		case "reasoning":
			k, ok = keyReasoning, w.Text(e, false)
		case "reasoning_content":
			k, ok = keyReasoningContent, w.Text(e, false)
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

func (w *walker) usageOf(e *reader.Event) bool {
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
		case "prompt_tokens":
			k, ok = keyPrompt, w.Count(&e.Prompt)
		case "completion_tokens":
			k, ok = keyProduced, w.Count(&e.Produced)
		default:
			ok = w.Skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}
