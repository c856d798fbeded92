// HOT PATH: Walk runs once per object of an event. No allocation; a document that it rejects goes to object.go.

package reader

import (
	"fmt"
)

// Keys is a set of keys of an object, as the bits of their rows.
type Keys uint32

// Row describes how the value of one key is read. W is the protocol's decoder.
type Row[W any] struct {
	name   string
	behind string // the row as it follows another member without a blank: ,"name":
	key    Keys
	read   func(w W, e *Event) bool
}

// On returns a row. key is its bit among the keys that were seen: a walk stops at a bit that it has seen before,
// because encoding/json lets the last key win. So rows with the same bit exclude each other, and a row without a bit
// may come again. read reads the value into e and returns false to reject the document.
func On[W any](name string, key Keys, read func(w W, e *Event) bool) Row[W] {
	return Row[W]{name, fmt.Sprintf(",%q:", name), key, read}
}

// Table lists the members of a JSON object that a protocol reads; the walk skips the others. Rows in the order in which
// servers send them are found fastest. A Table is safe for concurrent use.
type Table[W any] struct {
	rows []Row[W]
	slot [64]int8 // of a key's hash: the first row that has it; -1: none
}

// NewTable makes a table of rows.
func NewTable[W any](rows ...Row[W]) *Table[W] {
	t := &Table[W]{rows: rows}
	for i := range t.slot {
		t.slot[i] = -1
	}
	for i := len(rows) - 1; i >= 0; i-- {
		t.slot[hash([]byte(rows[i].name))] = int8(i)
	}
	return t
}

// hash returns the slot of a key by its length and its ends, which tell the keys of one object apart.
func hash(key []byte) int {
	if len(key) == 0 {
		return 0
	}
	return (len(key) + int(key[0]) + int(key[len(key)-1])*4) % 64
}

// find returns the row of a key, or -1.
func (t *Table[W]) find(key []byte) int {
	for i := int(t.slot[hash(key)]); i >= 0 && i < len(t.rows); i++ {
		if string(key) == t.rows[i].name {
			return i
		}
	}
	return -1
}

// Walk reads an object from behind its opening brace to behind its closing one, and returns the keys that it had. While
// a value is read, s.Seen has the keys before it. Where ok is false the walk has given up: encoding/json has to read
// the document.
func (t *Table[W]) Walk(s *Scanner, w W, e *Event) (seen Keys, ok bool) {
	return t.walk(s, w, e, 0, true)
}

// Resume is Walk from behind the value of a member on. seen are the keys up to there.
func (t *Table[W]) Resume(s *Scanner, w W, e *Event, seen Keys) (Keys, bool) {
	return t.walk(s, w, e, seen, false)
}

// Value reads a value that is an object or null.
func (t *Table[W]) Value(s *Scanner, w W, e *Event) bool {
	if s.Null() {
		return true
	}
	if !s.Open('{') {
		return false
	}
	_, ok := t.walk(s, w, e, 0, true)
	return ok
}

func (t *Table[W]) walk(s *Scanner, w W, e *Event, seen Keys, first bool) (Keys, bool) {
	outer := s.Seen
	s.Seen = seen
	for next := 0; ; {
		at := next
		if at == len(t.rows) || !s.expected(t.rows[at].behind, first) {
			key, more, ok := s.Member(&first)
			if !ok {
				return 0, false
			}
			if !more {
				seen, s.Seen = s.Seen, outer
				return seen, true
			}
			if at = t.find(key); at < 0 {
				if !s.Skip() {
					return 0, false
				}
				continue
			}
		}
		first = false
		row := &t.rows[at]
		if s.Seen&row.key != 0 || !row.read(w, e) {
			return 0, false
		}
		s.Seen |= row.key
		next = at + 1
	}
}

// expected steps over the key that is expected next, with the comma before it, unless it is the first, and the colon
// behind it, if a value follows at once.
func (s *Scanner) expected(behind string, first bool) bool {
	if first {
		behind = behind[1:]
	}
	end := s.I + len(behind)
	if end >= len(s.B) || string(s.B[s.I:end]) != behind || s.B[end] <= ' ' {
		return false
	}
	s.I = end
	return true
}
