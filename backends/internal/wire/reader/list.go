package reader

// List describes how a protocol walks over an array of answers, one per prompt and in the order of the prompts.
type List struct {
	// Begin is called before each answer of a document is read.
	Begin func(e *Event)
	// Members reads one object from behind its opening brace; false: give up.
	Members func(e *Event) bool
}

// Walk reads a document with s and calls add with every answer. It returns false if it rejects the document.
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
