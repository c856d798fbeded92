package wire

// Models are the names of models in the answers of one endpoint. A server may have another name for a model than the
// requests, so the first answer to requests for a model decides which name the later ones must have.
type Models struct {
	Served string            // in answers to requests for the run's model; empty: none has come
	others map[string]string // in answers to requests for another model, by its name in the request
}

// Expect sets which model an answer must name. asked is the model that its request names; empty: the run's.
func (m *Models) Expect(want *Expected, asked string) {
	want.Model = m.Served
	if asked != "" {
		want.Model, want.Asked, want.Served = m.others[asked], asked, m.Served
	}
	want.Learn = want.Model == ""
}

// Learn notes the name in a good answer. Empty names are ignored.
func (m *Models) Learn(asked, name string) {
	switch {
	case name == "":
	case asked == "":
		if m.Served == "" {
			m.Served = name
		}
	case m.others[asked] == "":
		if m.others == nil {
			m.others = map[string]string{}
		}
		m.others[asked] = name
	}
}
