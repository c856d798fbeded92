package openai

import "bytes"

// choicesOf reads the array of choices.
func (w *walker) choicesOf(e *event) bool {
	w.blank()
	if w.null() {
		return true
	}
	if !w.open('[') {
		return false
	}
	w.blank()
	if w.open(']') {
		return true
	}
	for {
		e.choices++
		w.blank()
		if !w.choice(e) {
			return false
		}
		w.blank()
		if w.open(']') {
			return true
		}
		if !w.open(',') {
			return false
		}
	}
}

// choice reads one choice; what an earlier choice said is forgotten, but for the number of choices.
func (w *walker) choice(e *event) bool {
	e.index, e.ids, e.hasIDs, e.badID = 0, e.ids[:0], false, false
	e.text, e.hasText, e.finish = e.text[:0], false, nil
	if !w.open('{') {
		return false
	}
	var seen, atText keys
	first, behindText := true, 0
	for {
		key, more, ok := w.member(&first)
		if !ok || !more {
			return ok
		}
		var k keys
		switch string(key) {
		case "index":
			k, ok = keyIndex, w.integer(&e.index, 0)
		case "text":
			k, ok = keyText, w.textOf(e, true)
		case "token_ids":
			if k = keyTokenIDs; behindText > 0 && e.finish == nil && seen&^keyFinish == atText&^keyFinish {
				w.middle = append(w.middle[:0], w.b[behindText:w.i]...)
				w.middleFrom, w.middleTo = atText, seen
			}
			ok = w.idsOf(e)
		case "finish_reason":
			k, ok = keyFinish, w.finishOf(e)
		case "prompt_token_ids":
			ok = w.skipNumbers()
		case "delta", "message":
			k, ok = keyMessage, w.message(e)
		default:
			ok = w.skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		if seen |= k; seen&(keyText|keyMessage) == keyText|keyMessage {
			return false
		}
		if k == keyText {
			behindText, atText = w.i, seen
			if len(w.middle) > 0 && seen == w.middleFrom && bytes.HasPrefix(w.b[w.i:], w.middle) {
				w.i += len(w.middle)
				if !w.idsOf(e) {
					return false
				}
				seen = w.middleTo | keyTokenIDs
			}
		}
	}
}

// message reads a chat message or its delta. Reasoning is output, and no part of the answer's text.
func (w *walker) message(e *event) bool {
	if w.null() {
		return true
	}
	if !w.open('{') {
		return false
	}
	var seen keys
	first := true
	for {
		key, more, ok := w.member(&first)
		if !ok || !more {
			return ok
		}
		var k keys
		switch string(key) {
		case "content":
			k, ok = keyText, w.textOf(e, true)
		case "reasoning":
			k, ok = keyReasoning, w.textOf(e, false)
		case "reasoning_content":
			k, ok = keyReasoningContent, w.textOf(e, false)
		default:
			ok = w.skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}

func (w *walker) usageOf(e *event) bool {
	if w.null() {
		return true
	}
	if !w.open('{') {
		return false
	}
	var seen keys
	first := true
	for {
		key, more, ok := w.member(&first)
		if !ok || !more {
			return ok
		}
		var k keys
		switch string(key) {
		case "prompt_tokens":
			k, ok = keyPrompt, w.integer(&e.prompt, -1)
		case "completion_tokens":
			k, ok = keyProduced, w.integer(&e.produced, -1)
		default:
			ok = w.skip(0)
		}
		if !ok || seen&k != 0 {
			return false
		}
		seen |= k
	}
}
