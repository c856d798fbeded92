package reader

import "encoding/json"

// List is how a protocol reads an array of answers, one to a prompt and in their order.
type List struct {
	// Begin is called before each answer of a document is read, in the order of the prompts.
	Begin func(e *Event)
	// Members reads one object, from behind its opening brace.
	Members func(e *Event) bool
	// Slow reads one object with encoding/json.
	Slow func(top map[string]json.RawMessage, e *Event) error
}

// Walk reads a document with s and gives every answer to add; false: not sure.
func (l *List) Walk(s *Scanner, doc []byte, e *Event, add func(*Event)) bool {
	s.Start(doc)
	s.Blank()
	if !s.Open('[') {
		return false
	}
	first := true
	for n := int64(0); ; n++ {
		s.Blank()
		if s.Open(']') {
			e.Reset()
			return s.AtEnd()
		}
		if !first && !s.Open(',') {
			return false
		}
		first = false
		e.Reset()
		e.Index = n
		l.Begin(e)
		s.Blank()
		if !s.Open('{') || !l.Members(e) || (e.Choices == 0 && !e.IsError) {
			return false
		}
		add(e)
	}
}

// Decode is Walk with encoding/json. A document that is no array says something about the whole batch: one reads that.
func (l *List) Decode(doc []byte, e *Event, one func(doc []byte, e *Event) error, add func(*Event)) error {
	var list []json.RawMessage
	if json.Unmarshal(doc, &list) != nil {
		if err := one(doc, e); err != nil || e.IsError {
			return err
		}
		return &ShapeError{"a list of answers was expected"}
	}
	for n, item := range list {
		top, err := Members(item, e)
		if err != nil {
			return err
		}
		l.Begin(e)
		if err := l.Slow(top, e); err != nil {
			return err
		}
		if _, own := top["index"]; !own {
			e.Index = int64(n)
		}
		if e.Choices == 0 && !e.IsError {
			return &ShapeError{"an element of the list is no answer"}
		}
		add(e)
	}
	e.Reset()
	return nil
}
