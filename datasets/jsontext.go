package datasets

// validJSON tells whether b is one JSON value and nothing else.
func validJSON(b []byte) bool {
	s := scanner{b: b}
	s.space()
	if s.value() != nil {
		return false
	}
	s.space()
	return s.pos == len(b)
}

// kindsNamed returns what the schema accepts for a column called name; false: it does not know the name.
func (p *plan) kindsNamed(name string) (kind, bool) {
	ref, known := p.byName[name]
	if !known {
		return 0, false
	}
	return p.columns[ref.column].kinds, true
}
