package openai

import "bytes"

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
