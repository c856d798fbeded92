package openai

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

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
