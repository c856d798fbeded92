package tokenizer

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// finder returns the first match of a pattern at or after from; start == len(text) means no match.
type finder func(text string, from int) (start, end int)

// finder returns a search for the scanner's pattern.
func (s scanner) finder() finder {
	return func(text string, from int) (int, int) {
		for from < len(text) {
			if n := s(text[from:]); n > 0 {
				return from, from + n
			}
			_, size := classAt(text, from)
			from += size
		}
		return from, from
	}
}

func findString(wanted string) finder {
	return func(text string, from int) (int, int) {
		if at := strings.Index(text[from:], wanted); at >= 0 {
			return from + at, from + at + len(wanted)
		}
		return len(text), len(text)
	}
}

// finder returns the search for a pattern, which must be a plain string or one of knownPatterns.
func (p *pattern) finder(where string) (finder, error) {
	switch {
	case p == nil, p.String == nil && p.Regex == nil:
		return nil, broken(where, "a step has no pattern of type String or Regex")
	case p.Regex != nil:
		if scan, ok := knownPatterns[*p.Regex]; ok {
			return scan.finder(), nil
		}
		return nil, unsupported(where, "its regular expression %q is not a known split pattern", *p.Regex)
	case *p.String == "":
		return nil, broken(where, "a step has an empty pattern")
	}
	return findString(*p.String), nil
}

// replace returns a function that replaces each match by the content of a Replace step. grown is the factor by which
// all Replace steps so far may lengthen a text; replace multiplies it.
func (p *part) replace(where string, grown *int) (func(string) string, error) {
	find, err := p.Pattern.finder(where)
	if err != nil {
		return nil, err
	}
	shortest := 1 // length of the shortest match in bytes; 1 for a regular expression
	if p.Pattern.String != nil {
		shortest = len(*p.Pattern.String)
	}
	if *grown *= max(1, (len(p.Content)+shortest-1)/shortest); *grown > mostGrowth {
		return nil, broken(where, "its Replace steps could make a text more than %d times longer", mostGrowth)
	}
	content := p.Content
	return func(text string) string {
		var b strings.Builder
		for from := 0; ; {
			start, end := find(text, from)
			if start == len(text) {
				if from == 0 {
					return text
				}
				b.WriteString(text[from:])
				return b.String()
			}
			b.WriteString(text[from:start])
			b.WriteString(content)
			from = end
		}
	}, nil
}

var unicodeForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

func (t *Tokenizer) loadNormalizer(doc *document) error {
	const where = "normalizer"
	steps, err := doc.Normalizer.steps(where)
	if err != nil {
		return err
	}
	grown := 1
	for _, p := range steps {
		form, ok := unicodeForms[p.Type]
		switch {
		case ok:
			t.normalize = append(t.normalize, form.String)
		case p.Type == "Prepend":
			if len(p.Prepend) > mostAddedBytes {
				return broken(where, "its Prepend is longer than %d bytes", mostAddedBytes)
			}
			t.normalize = append(t.normalize, func(text string) string {
				if text == "" {
					return text
				}
				return p.Prepend + text
			})
		case p.Type == "Replace":
			change, err := p.replace(where, &grown)
			if err != nil {
				return err
			}
			t.normalize = append(t.normalize, change)
		default:
			return unsupported(where, "it has a step of type %q", p.Type)
		}
	}
	return nil
}

func (t *Tokenizer) normalized(text string) string {
	for _, n := range t.normalize {
		text = n(text)
	}
	return text
}
