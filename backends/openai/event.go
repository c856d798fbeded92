package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"
)

// event is what one JSON document of the server says, an event of a stream or a whole answer. Its slices are valid as
// long as the document is, and until the next document.
type event struct {
	choices  int     // elements of "choices"
	index    int64   // of the last choice
	ids      []int32 // token_ids of the last choice
	hasIDs   bool    // token_ids was there and an array
	badID    bool    // one id does not fit into 31 bits or is negative
	text     []byte  // text of the answer, decoded; only where it is wanted
	hasText  bool    // text, content or reasoning was not empty
	finish   []byte  // finish_reason; nil: null or not there
	prompt   int64   // usage.prompt_tokens; -1: not there
	produced int64   // usage.completion_tokens; -1: not there
	isError  bool    // an error object
	message  []byte  // the error, as JSON
}

func (e *event) reset() {
	*e = event{ids: e.ids[:0], text: e.text[:0], prompt: -1, produced: -1}
}

// walker reads documents of one answer. It goes over the JSON once, key by key, respects strings, and gives up (false)
// wherever it is not sure: then decodeSlow reads the document again.
//
// The bytes before "choices" are the same in every event of one answer (id, created, model). They are remembered from
// the first event and compared with the next ones: equal bytes lead to an equal state, so the walk starts behind them.
// In the same way the bytes between a choice's text and its token ids are remembered.
type walker struct {
	b        []byte
	i        int
	keepText bool
	prefix   []byte // up to and with the colon after "choices"; empty: not learned
	seen     keys   // keys of the top-level object inside prefix

	middle     []byte // from behind the text of a choice up to and with the colon after "token_ids"
	middleFrom keys   // keys of the choice before middle
	middleTo   keys   // and behind it
}

// keys is a set of the keys that the walk reads; a repeated one makes it give up, since the last would have to win.
type keys uint16

const (
	keyChoices keys = 1 << iota
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
	keyPrompt
	keyProduced
)

// maxDepth bounds the nesting of values that the walk skips; deeper ones go to encoding/json, which has its own bound.
const maxDepth = 64

// forget drops what was learned from the answer before.
func (w *walker) forget() { w.prefix, w.middle = w.prefix[:0], w.middle[:0] }

// walk reads one document into e; false: not sure.
func (w *walker) walk(doc []byte, e *event) bool {
	e.reset()
	w.b, w.i = doc, 0
	if n := len(w.prefix); n > 0 && len(doc) > n && bytes.Equal(doc[:n], w.prefix) {
		w.i = n
		return w.choicesOf(e) && w.members(e, w.seen, false) && w.atEnd()
	}
	w.blank()
	return w.open('{') && w.members(e, 0, true) && w.atEnd()
}

func (w *walker) atEnd() bool {
	w.blank()
	return w.i == len(w.b)
}

// members reads the members of the top-level object: from its first on, or from behind a value.
func (w *walker) members(e *event, seen keys, first bool) bool {
	for {
		key, more, ok := w.member(&first)
		if !ok || !more {
			return ok
		}
		var k keys
		switch string(key) {
		case "choices":
			k = keyChoices
		case "usage":
			k = keyUsage
		case "error":
			k = keyError
		case "object":
			k = keyObject
		}
		if seen&k != 0 {
			return false
		}
		seen |= k
		from := w.i
		switch k {
		case keyChoices:
			if seen&(keyUsage|keyError) == 0 && !e.isError {
				w.prefix = append(w.prefix[:0], w.b[:w.i]...)
				w.seen = seen
			}
			ok = w.choicesOf(e)
		case keyUsage:
			ok = w.usageOf(e)
		case keyError:
			if ok = w.skip(0); ok && string(w.b[from:w.i]) != "null" {
				e.isError, e.message = true, w.b[from:w.i]
			}
		case keyObject:
			if ok = w.skip(0); ok && string(w.b[from:w.i]) == `"error"` {
				e.isError, e.message = true, w.b
			}
		default:
			ok = w.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// member steps to the next member of an object and past its colon; more is false behind the closing brace.
func (w *walker) member(first *bool) (key []byte, more, ok bool) {
	w.blank()
	if w.i >= len(w.b) {
		return nil, false, false
	}
	c := w.b[w.i]
	if c == '}' {
		w.i++
		return nil, false, true
	}
	if !*first {
		if c != ',' {
			return nil, false, false
		}
		w.i++
		w.blank()
	}
	*first = false
	key, escaped, ok := w.str()
	if !ok || escaped {
		return nil, false, false
	}
	w.blank()
	if !w.open(':') {
		return nil, false, false
	}
	w.blank()
	return key, true, true
}

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

// textOf reads a string or null; the text is kept where it is wanted and keep is set.
func (w *walker) textOf(e *event, keep bool) bool {
	if w.null() {
		return true
	}
	from := w.i
	raw, escaped, ok := w.str()
	if !ok {
		return false
	}
	e.hasText = e.hasText || len(raw) > 0
	if !keep || !w.keepText {
		return true
	}
	if !escaped && utf8.Valid(raw) {
		e.text = append(e.text, raw...)
		return true
	}
	var text string
	if json.Unmarshal(w.b[from:w.i], &text) != nil {
		return false
	}
	e.text = append(e.text, text...)
	return true
}

func (w *walker) finishOf(e *event) bool {
	if w.null() {
		return true
	}
	raw, escaped, ok := w.str()
	if !ok || escaped || !utf8.Valid(raw) {
		return false
	}
	e.finish = raw
	return true
}

// idsOf reads an array of whole numbers, or null.
func (w *walker) idsOf(e *event) bool {
	if w.null() {
		return true
	}
	if !w.open('[') {
		return false
	}
	e.hasIDs = true
	w.blank()
	if w.open(']') {
		return true
	}
	for {
		var id int64
		w.blank()
		if !w.integer(&id, -1) {
			return false
		}
		if id < 0 || id > math.MaxInt32 {
			e.badID = true
			id = -1
		}
		e.ids = append(e.ids, int32(id))
		w.blank()
		if w.open(',') {
			continue
		}
		return w.open(']')
	}
}

// integer reads a whole number without fraction or exponent; null gives what is said for it.
func (w *walker) integer(into *int64, null int64) bool {
	if w.null() {
		*into = null
		return true
	}
	b, i := w.b, w.i
	negative := i < len(b) && b[i] == '-'
	if negative {
		i++
	}
	from := i
	var v int64
	for i < len(b) && b[i]-'0' <= 9 {
		v = v*10 + int64(b[i]-'0')
		i++
	}
	digits := i - from
	if digits == 0 || digits > 18 || (digits > 1 && b[from] == '0') {
		return false
	}
	if i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e') {
		return false
	}
	if negative {
		v = -v
	}
	*into, w.i = v, i
	return true
}
