package accuracy

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/neurosnap/sentences/data"
)

// EnglishPunkt gives the English sentence parameters that the program carries. They are read once and shared.
var EnglishPunkt = sync.OnceValues(func() (*Punkt, error) {
	const name = "data/english.json"
	text, err := data.Asset(name)
	if err != nil {
		return nil, fmt.Errorf("reading the built-in sentence parameters %s: %w", name, err)
	}
	return ReadPunktJSON(bytes.NewReader(text))
})
