// HOT PATH: Member runs once per key of an event. No allocation; a document that it rejects goes to object.go.

package reader

import "github.com/mlperf-go/mlperf-go/backends"

// Scanner is a position in a JSON document. Its methods step over one thing, and return false to give up: the document
// is then read with encoding/json.
type Scanner struct {
	B        []byte
	I        int
	KeepText bool

	IDsInLogprobs bool // Config's

	Seen Keys // of the object that a Table reads
}

// NewScanner returns a scanner for answers to the requests of c.
func NewScanner(c *backends.Config) Scanner {
	return Scanner{KeepText: KeepsText(c), IDsInLogprobs: c.IDsInLogprobs}
}

// maxDepth limits the nesting of values that a walk skips; encoding/json reads deeper ones, with its own limit.
const maxDepth = 64

// Start begins a document.
func (s *Scanner) Start(doc []byte) { s.B, s.I = doc, 0 }

// AtEnd reports whether only white space follows.
func (s *Scanner) AtEnd() bool {
	s.Blank()
	return s.I == len(s.B)
}

// Member steps to the next member of an object and past its colon; more is false behind the closing brace.
func (s *Scanner) Member(first *bool) (key []byte, more, ok bool) {
	if key = s.nextKey(*first); key != nil {
		return key, true, true
	}
	s.Blank()
	if s.I >= len(s.B) {
		return nil, false, false
	}
	c := s.B[s.I]
	if c == '}' {
		s.I++
		return nil, false, true
	}
	if !*first {
		if c != ',' {
			return nil, false, false
		}
		s.I++
		s.Blank()
	}
	*first = false
	key, escaped, ok := s.Str()
	if !ok || escaped {
		return nil, false, false
	}
	s.Blank()
	if !s.Open(':') {
		return nil, false, false
	}
	s.Blank()
	return key, true, true
}

// nextKey steps over ,"key": if there is no blank in it and a value follows at once; nil: there is another form.
func (s *Scanner) nextKey(first bool) []byte {
	b, i := s.B, s.I
	if first || i+1 >= len(b) || b[i] != ',' || b[i+1] != '"' {
		return nil
	}
	from := i + 2
	i = plainEnd(b, from)
	if i+2 >= len(b) || b[i] != '"' || b[i+1] != ':' || b[i+2] <= ' ' {
		return nil
	}
	s.I = i + 2
	return b[from:i:i]
}

// Error reads the value of "error", which is an error of the server unless it is null.
func (s *Scanner) Error(e *Event) bool {
	from := s.I
	if !s.Skip() {
		return false
	}
	if string(s.B[from:s.I]) != "null" {
		e.IsError, e.Message = true, s.B[from:s.I]
	}
	return true
}

// Errors reads the value of "errors", which are errors of the server unless it is empty.
func (s *Scanner) Errors(e *Event) bool {
	from := s.I
	if !s.Skip() {
		return false
	}
	if raw := s.B[from:s.I]; !empty(raw) {
		e.IsError, e.Message = true, raw
	}
	return true
}

// Object reads the value of "object". Older servers write "error" there, and the whole document is the error.
func (s *Scanner) Object(e *Event) bool {
	from := s.I
	if !s.Skip() {
		return false
	}
	if string(s.B[from:s.I]) == `"error"` {
		e.IsError, e.Message = true, s.B
	}
	return true
}
