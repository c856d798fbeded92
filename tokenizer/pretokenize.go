package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// piece is a part of a text. Tokens never cross its ends.
type piece struct {
	text  string
	first bool // whether it starts where the input starts
}

// step is one pre-tokenizer: it calls emit for each part of a piece.
type step func(p piece, emit func(piece))

// behaviors reports, for each behaviour of Split, whether a stretch joins the previous one. The arguments are whether
// the previous and this stretch are matches.
var behaviors = map[string]func(previous, this bool) bool{
	"Isolated":           func(bool, bool) bool { return false },
	"Removed":            func(bool, bool) bool { return false },
	"MergedWithPrevious": func(previous, this bool) bool { return !previous && this },
	"MergedWithNext":     func(previous, this bool) bool { return previous && !this },
	"Contiguous":         func(previous, this bool) bool { return previous == this },
}

// splitter implements the pre-tokenizer Split and similar ones.
type splitter struct {
	find   finder
	joins  func(previous, this bool) bool
	invert bool // whether the text between matches counts as the matches
	remove bool // whether matches are dropped
}

func (s splitter) step(p piece, emit func(piece)) {
	held, heldMatch := 0, false // start and kind of the stretch that may still become longer
	to := 0
	stretch := func(end int, match bool) {
		if end == to {
			return
		}
		if to > held && !s.joins(heldMatch, match) {
			s.emit(p, held, to, heldMatch, emit)
			held = to
		}
		to, heldMatch = end, match
	}
	for to < len(p.text) {
		start, end := s.find(p.text, to)
		stretch(start, s.invert)
		stretch(end, !s.invert)
	}
	s.emit(p, held, to, heldMatch, emit)
}

func (s splitter) emit(p piece, start, end int, match bool, emit func(piece)) {
	if start < end && !(s.remove && match) {
		emit(piece{p.text[start:end], p.first && start == 0})
	}
}

// isolate returns a step that makes every match a piece. It is a faster splitter for the most common case.
func isolate(scan scanner) step {
	return func(p piece, emit func(piece)) {
		for from, at := 0, 0; at < len(p.text); {
			n := scan(p.text[at:])
			if n == 0 {
				_, size := classAt(p.text, at)
				if at += size; at == len(p.text) {
					emit(piece{p.text[from:], p.first && from == 0})
				}
				continue
			}
			if from < at {
				emit(piece{p.text[from:at], p.first && from == 0})
			}
			emit(piece{p.text[at : at+n], p.first && at == 0})
			at += n
			from = at
		}
	}
}

func (t *Tokenizer) loadPreTokenizer(doc *document) error {
	const where = "pre_tokenizer"
	steps, err := doc.PreTokenizer.steps(where)
	if err != nil {
		return err
	}
	for _, p := range steps {
		read, ok := preTokenizers[p.Type]
		switch {
		case !ok:
			return unsupported(where, "it has a step of type %q", p.Type)
		case t.model.byteLevel:
			return unsupported(where, "it has a step of type %q after ByteLevel", p.Type)
		}
		s, err := read(p)
		if err != nil {
			return err
		}
		t.model.byteLevel = p.Type == "ByteLevel"
		t.steps = append(t.steps, s)
	}
	return nil
}

// cutMarks cuts a text before each mark that follows another character. If no token contains such a position, the ids
// stay the same, and merging short pieces is faster.
func cutMarks(p piece, emit func(piece)) {
	for from := 0; from < len(p.text); {
		end := from + untilMark(p.text[from:])
		emit(piece{p.text[from:end], p.first && from == 0})
		from = end
	}
}

// untilMark returns the length of text up to the first mark that follows another character.
func untilMark(text string) int {
	at := len(text) - len(strings.TrimLeft(text, spaceMark))
	if n := strings.Index(text[at:], spaceMark); n >= 0 {
		return at + n
	}
	return len(text)
}

// mayCutMarks reports whether a vocabulary contains the mark, and no token with a mark after another character.
func mayCutMarks(vocab tokenIDs) bool {
	for token := range vocab {
		if untilMark(token) < len(token) {
			return false
		}
	}
	_, ok := vocab[spaceMark]
	return ok
}

var preTokenizers = map[string]func(*part) (step, error){
	"Split":     splitStep,
	"ByteLevel": byteLevelStep,
	"Digits":    digitsStep,
	"Metaspace": metaspaceStep,
}

func splitStep(p *part) (step, error) {
	const where = "pre_tokenizer"
	joins, ok := behaviors[p.Behavior]
	if !ok {
		return nil, unsupported(where, "its Split has the behaviour %q", p.Behavior)
	}
	find, err := p.Pattern.finder(where)
	if err != nil {
		return nil, err
	}
	if p.Behavior == "Isolated" && p.Pattern.Regex != nil {
		return isolate(knownPatterns[*p.Pattern.Regex]), nil
	}
	return splitter{find, joins, p.Invert, p.Behavior == "Removed"}.step, nil
}

// byteLevelStep leaves the conversion to byte letters to the model, which works on bytes.
func byteLevelStep(p *part) (step, error) {
	cut := func(p piece, emit func(piece)) { emit(p) }
	if p.UseRegex == nil || *p.UseRegex {
		cut = isolate(scanGPT2)
	}
	if p.AddPrefixSpace != nil && !*p.AddPrefixSpace {
		return cut, nil
	}
	return func(p piece, emit func(piece)) {
		if !strings.HasPrefix(p.text, " ") {
			p.text = " " + p.text
		}
		cut(p, emit)
	}, nil
}

func digitsStep(p *part) (step, error) {
	joins := behaviors["Contiguous"]
	if p.IndividualDigits {
		joins = behaviors["Isolated"]
	}
	return splitter{find: knownPatterns[patternDigit].finder(), joins: joins}.step, nil
}

// metaspace holds the settings of the pre-tokenizer and the decoder of that name.
type metaspace struct {
	mark   string // text that replaces a space
	scheme string // when a mark is put before the text: "always", "first" or "never"
}

func newMetaspace(where string, p *part) (metaspace, error) {
	m := metaspace{mark: p.Replacement, scheme: "always"}
	if utf8.RuneCountInString(m.mark) != 1 {
		return m, broken(where, "its Metaspace has the replacement %s, expected one character", shown(m.mark))
	}
	switch {
	case p.PrependScheme != nil:
		m.scheme = *p.PrependScheme
	case p.AddPrefixSpace != nil && !*p.AddPrefixSpace:
		m.scheme = "never"
	}
	switch m.scheme {
	case "always", "first", "never":
	default:
		return m, unsupported(where, "its Metaspace has the prepend_scheme %q", m.scheme)
	}
	if p.AddPrefixSpace != nil && !*p.AddPrefixSpace && m.scheme != "never" {
		return m, broken(where, "its Metaspace has add_prefix_space false and prepend_scheme %q", m.scheme)
	}
	return m, nil
}

func metaspaceStep(p *part) (step, error) {
	m, err := newMetaspace("pre_tokenizer", p)
	if err != nil {
		return nil, err
	}
	cut := func(p piece, emit func(piece)) { emit(p) }
	if p.Split == nil || *p.Split {
		cut = splitter{find: findString(m.mark), joins: behaviors["MergedWithNext"]}.step
	}
	return func(p piece, emit func(piece)) {
		p.text = strings.ReplaceAll(p.text, " ", m.mark)
		if m.scheme == "always" || m.scheme == "first" && p.first {
			if !strings.HasPrefix(p.text, m.mark) {
				p.text = m.mark + p.text
			}
		}
		cut(p, emit)
	}, nil
}
