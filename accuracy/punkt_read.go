package accuracy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/neurosnap/sentences/data"
)

// Limits for sentence parameters. The English ones have 20366 entries of at most a few dozen characters.
const (
	maxPunktBytes   = 32 << 20
	maxPunktEntries = 1 << 20
)

// punktFiles lists the files of one language in a punkt_tab folder, with the function that parses a line of each.
var punktFiles = []struct {
	name string
	line func(p *Punkt, line string) error
}{
	{"abbrev_types.txt", func(p *Punkt, line string) error { p.abbreviations[line] = true; return nil }},
	{"sent_starters.txt", func(p *Punkt, line string) error { p.starters[line] = true; return nil }},
	{"collocations.tab", func(p *Punkt, line string) error {
		first, second, ok := strings.Cut(line, "\t")
		if !ok {
			return errors.New("expected two words separated by a tab")
		}
		p.collocations[[2]string{first, second}] = true
		return nil
	}},
	{"ortho_context.tab", func(p *Punkt, line string) error {
		word, flags, _ := strings.Cut(line, "\t")
		n, err := strconv.ParseUint(flags, 10, 7)
		if err != nil {
			return fmt.Errorf("expected a word, a tab and a number from 0 to 127: %w", err)
		}
		p.ortho[word] = orthoFlags(n)
		return nil
	}},
}

func newPunkt() *Punkt {
	return &Punkt{abbreviations: map[string]bool{}, collocations: map[[2]string]bool{}, starters: map[string]bool{},
		ortho: map[string]orthoFlags{}}
}

// ReadPunkt reads sentence parameters from a folder of NLTK's punkt_tab data, or from a JSON file.
func ReadPunkt(path string) (*Punkt, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading sentence parameters: %w; name a folder of NLTK's punkt_tab data or a JSON file of "+
			"them", err)
	}
	if info.IsDir() {
		return readPunktTab(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading sentence parameters: %w", err)
	}
	defer f.Close()
	p, err := readPunktJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// readPunktTab reads the sentence parameters in a language's folder of NLTK's punkt_tab data, or of English in the
// folder above it.
func readPunktTab(dir string) (*Punkt, error) {
	if !exists(filepath.Join(dir, punktFiles[0].name)) && exists(filepath.Join(dir, "english", punktFiles[0].name)) {
		dir = filepath.Join(dir, "english")
	}
	p := newPunkt()
	for _, file := range punktFiles {
		read := func(line string) error { return file.line(p, line) }
		if err := readPunktFile(filepath.Join(dir, file.name), read); err != nil {
			return nil, fmt.Errorf("reading sentence parameters: %w; name the folder english of NLTK's punkt_tab data, with "+
				"abbrev_types.txt, sent_starters.txt, collocations.tab and ortho_context.tab", err)
		}
	}
	return p, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readPunktFile(path string, fn func(line string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(io.LimitReader(f, maxPunktBytes))
	n := 0
	for s.Scan() {
		n++
		if n > maxPunktEntries {
			return fmt.Errorf("%s has more than %d lines", path, maxPunktEntries)
		}
		if line := strings.TrimRight(s.Text(), "\r"); line != "" {
			if err := fn(line); err != nil {
				return fmt.Errorf("%s line %d: %w", path, n, err)
			}
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s line %d: %w", path, n+1, err)
	}
	return nil
}

// readPunktJSON reads the JSON form of the English sentence parameters in Go module github.com/neurosnap/sentences. It
// drops the sentence starter "she", which punkt_tab does not have (docs/reference/scoring-rules.md#sentences).
func readPunktJSON(r io.Reader) (*Punkt, error) {
	var file struct {
		AbbrevTypes, Collocations, SentStarters map[string]json.Number
		OrthoContext                            map[string]orthoFlags
	}
	d := json.NewDecoder(io.LimitReader(r, maxPunktBytes))
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("reading sentence parameters from JSON: %w; expected an object with AbbrevTypes, "+
			"Collocations, "+
			"SentStarters and OrthoContext", err)
	}
	if len(file.AbbrevTypes) == 0 || len(file.OrthoContext) == 0 {
		return nil, errors.New("reading sentence parameters from JSON: AbbrevTypes or OrthoContext is missing or empty; " +
			"expected an " +
			"object with AbbrevTypes, Collocations, SentStarters and OrthoContext")
	}
	p := newPunkt()
	for w := range file.AbbrevTypes {
		p.abbreviations[w] = true
	}
	for w := range file.SentStarters {
		p.starters[w] = w != "she"
	}
	for pair := range file.Collocations {
		first, second, ok := strings.Cut(pair, ",")
		if !ok {
			return nil, fmt.Errorf("reading sentence parameters from JSON: the collocation %.60q is not two words separated "+
				"by a "+
				"comma", pair)
		}
		p.collocations[[2]string{first, second}] = true
	}
	for w, flags := range file.OrthoContext {
		p.ortho[w] = flags
	}
	return p, nil
}

// EnglishPunkt returns the built-in English sentence parameters. They are read once and shared.
var EnglishPunkt = sync.OnceValues(func() (*Punkt, error) {
	const name = "data/english.json"
	text, err := data.Asset(name)
	if err != nil {
		return nil, fmt.Errorf("reading the built-in sentence parameters %s: %w", name, err)
	}
	return readPunktJSON(bytes.NewReader(text))
})
