package reader

// List is how a protocol reads an array of answers, one to a prompt and in their order.
type List struct {
	// Begin is called before each answer of a document is read, in the order of the prompts.
	Begin func(e *Event)
	// Members reads one object, from behind its opening brace.
	Members func(e *Event) bool
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
