// HOT PATH: Text, IDs and Integer run once per event. No allocation except for a text with escapes.

package reader

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// Text reads a string or null. keep is set for text of the answer, and unset for output that is not part of it.
func (s *Scanner) Text(e *Event, keep bool) bool {
	if s.Null() {
		return true
	}
	from := s.I
	raw, escaped, ok := s.Str()
	if !ok {
		return false
	}
	e.HasText = e.HasText || len(raw) > 0
	e.Aside = e.Aside || !keep && len(raw) > 0
	if !keep || !s.KeepText {
		return true
	}
	e.Text, ok = AppendDecoded(e.Text, s.B[from:s.I], raw, escaped)
	return ok
}

// PlainText reads a string without escapes if the text is not kept. If it returns false, it has read nothing.
func (s *Scanner) PlainText(e *Event) bool {
	b, i := s.B, s.I
	if s.KeepText || i >= len(b) || b[i] != '"' {
		return false
	}
	end := plainEnd(b, i+1)
	if end == len(b) || b[end] != '"' {
		return false
	}
	e.HasText, s.I = e.HasText || end > i+1, end+1
	return true
}

// AppendDecoded appends the text of a string to dst. quoted is the string with its quotes, and raw without.
func AppendDecoded(dst, quoted, raw []byte, escaped bool) ([]byte, bool) {
	if !escaped && utf8.Valid(raw) {
		return append(dst, raw...), true
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return dst, false
	}
	return append(dst, text...), true
}

// Calls reads the tool calls of a message, which are output beside the text.
func (s *Scanner) Calls(e *Event) bool {
	from := s.I
	if !s.Skip() {
		return false
	}
	e.setCalls(s.B[from:s.I])
	return true
}

// Bool reads true or false; null is false.
func (s *Scanner) Bool(into *bool) bool {
	*into = false
	switch {
	case s.I >= len(s.B):
		return false
	case s.B[s.I] == 't':
		*into = true
		return s.literal("true")
	case s.B[s.I] == 'f':
		return s.literal("false")
	}
	return s.Null()
}

// Word reads a string without escapes, or null as nil.
func (s *Scanner) Word(into *[]byte) bool {
	if s.Null() {
		*into = nil
		return true
	}
	raw, escaped, ok := s.Str()
	if !ok || escaped || !utf8.Valid(raw) {
		return false
	}
	*into = raw
	return true
}

// Name reads a string without escapes. An empty string and any other value are nil.
func (s *Scanner) Name(into *[]byte) bool {
	if s.I < len(s.B) && s.B[s.I] == '"' {
		ok := s.Word(into)
		if len(*into) == 0 {
			*into = nil
		}
		return ok
	}
	*into = nil
	return s.Skip()
}

// ID reads the id of the request.
func (s *Scanner) ID(e *Event) bool { return s.Name(&e.ID) }

// Model reads the name of the model.
func (s *Scanner) Model(e *Event) bool { return s.Name(&e.Model) }

// Prompt reads the number of tokens of the prompt.
func (s *Scanner) Prompt(e *Event) bool { return s.Count(&e.Prompt) }

// Cached reads the number of tokens of the prompt that came from a cache. Any other value is not an error, because no
// latency depends on it, and counts as absent. A number in an unusual form is left to Object.Cached.
func (s *Scanner) Cached(e *Event) bool {
	if s.I >= len(s.B) || s.B[s.I] != '-' && s.B[s.I]-'0' > 9 {
		e.Cached = -1
		return s.Skip()
	}
	if !s.Integer(&e.Cached, -1) {
		return false
	}
	if e.Cached < 0 || e.Cached > maxCount {
		e.Cached = -1
	}
	return true
}

// Produced reads the number of tokens of the answer so far.
func (s *Scanner) Produced(e *Event) bool { return s.Count(&e.Produced) }

// Index reads the index of a choice.
func (s *Scanner) Index(e *Event) bool { return s.Integer(&e.Index, 0) }

// Finish reads a finish reason.
func (s *Scanner) Finish(e *Event) bool { return s.Word(&e.Finish) }

// Pass steps over a value that nothing is read from. The row of its key lets the walk find the key without a search.
func (s *Scanner) Pass(*Event) bool { return s.Skip() }

// IDs reads an array of whole numbers, or null.
func (s *Scanner) IDs(e *Event) bool {
	if s.PlainIDs(e) || s.Null() {
		return true
	}
	if !s.Open('[') {
		return false
	}
	e.HasIDs = true
	s.Blank()
	if s.Open(']') {
		return true
	}
	return s.moreIDs(e)
}

// PlainIDs reads an array of numbers as servers write them: at least one, up to nine digits each, no blank. If it
// returns false, it has read nothing.
func (s *Scanner) PlainIDs(e *Event) bool {
	b, i, ids := s.B, s.I, e.IDs
	if i >= len(b) || b[i] != '[' {
		return false
	}
	for {
		i++
		from, id := i, int64(0)
		for i < len(b) && b[i]-'0' <= 9 {
			id = id*10 + int64(b[i]-'0')
			i++
		}
		digits := i - from
		if i == len(b) || digits == 0 || digits > 9 || (digits > 1 && b[from] == '0') || (b[i] != ',' && b[i] != ']') {
			return false
		}
		ids = append(ids, int32(id))
		if b[i] == ']' {
			e.IDs, e.HasIDs, s.I = ids, true, i+1
			return true
		}
	}
}

// moreIDs reads numbers up to the closing bracket.
func (s *Scanner) moreIDs(e *Event) bool {
	for {
		var id int64
		s.Blank()
		if !s.Integer(&id, -1) {
			return false
		}
		if id < 0 || id > math.MaxInt32 {
			e.BadID = true
			id = -1
		}
		e.IDs = append(e.IDs, int32(id))
		s.Blank()
		if s.Open(',') {
			continue
		}
		return s.Open(']')
	}
}

// maxCount is the largest number of tokens that a server may count in one answer or prompt.
const maxCount = math.MaxInt32

// Count reads a number of tokens; null is -1. It returns false for negative and huge numbers, which are errors of
// Object.Count.
func (s *Scanner) Count(into *int64) bool {
	return s.Null() && set(into, -1) || s.Integer(into, -1) && *into >= 0 && *into <= maxCount
}

func set(into *int64, v int64) bool {
	*into = v
	return true
}

// Integer reads a whole number without fraction or exponent. null has the value that the caller passes.
func (s *Scanner) Integer(into *int64, null int64) bool {
	if s.Null() {
		*into = null
		return true
	}
	b, i := s.B, s.I
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
	*into, s.I = v, i
	return true
}
