package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoding is the file's decoder, with the text of every id computed in advance.
type decoding struct {
	texts     []string              // text that a token adds, by id; raw bytes if the decoder is ByteLevel
	bytes     []int16               // byte of a byte-fallback token by id, else -1; nil: no ByteFallback
	first     func(id int32) string // text of the first token of an answer; nil: the same as in texts
	separator string                // text between tokens

	firstText  bool // whether the first token is the first that adds any text
	byteByByte bool // whether only the invalid bytes of a run are replaced
	strip      strip
	cleanUp    bool // the file's setting clean_up_tokenization_spaces
}

// strip removes up to start characters from the beginning and up to stop characters from the end.
type strip struct {
	char        string
	start, stop int
}

func (s strip) apply(text string) string {
	for range s.start {
		rest, ok := strings.CutPrefix(text, s.char)
		if !ok {
			break
		}
		text = rest
	}
	return text[:len(text)-len(s.tail(text))]
}

// tail returns what strip removes from the end of a text.
func (s strip) tail(text string) string {
	at := len(text)
	for n := 0; n < s.stop && strings.HasSuffix(text[:at], s.char); n++ {
		at -= len(s.char)
	}
	return text[at:]
}

// tokenStep changes one token; first reports whether it is the first of the text.
type tokenStep func(token string, first bool) string

// decoderLoader reads the decoder's steps: those that change single tokens, then at most one that joins them, then
// those that change the joined text.
type decoderLoader struct {
	t          *Tokenizer
	steps      []tokenStep
	firstCount bool   // whether a step depends on whether a token is the first
	joined     string // type of the step that joined the tokens; empty: none yet
	bytes      bool   // whether there was a ByteFallback step
	grown      int    // factor by which Replace steps lengthen a text; see part.replace
}

const decoderPart = "decoder"

func (t *Tokenizer) loadDecoder(doc *document) error {
	if doc.Decoder == nil {
		t.decoding.separator = " "
	}
	parts, err := doc.Decoder.steps(decoderPart)
	if err != nil {
		return err
	}
	l := decoderLoader{t: t, grown: 1}
	for _, p := range parts {
		if err := l.take(p); err != nil {
			return err
		}
	}
	return l.table()
}

// table computes the text of every id.
func (l *decoderLoader) table() error {
	t, d := l.t, &l.t.decoding
	text := func(id int32, first bool) string {
		token := t.tokens[id]
		for _, s := range l.steps {
			token = s(token, first)
		}
		return token
	}
	if l.firstCount {
		d.first = func(id int32) string { return text(id, true) }
	}
	d.texts = make([]string, len(t.tokens))
	if l.bytes {
		d.bytes = make([]int16, len(t.tokens))
	}
	total := 0
	for id := range t.tokens {
		if t.known[id] {
			d.texts[id] = text(int32(id), false)
		}
		if total += len(d.texts[id]); total > mostDecoded {
			return broken(decoderPart, "the texts of its tokens have more than %d bytes in total", mostDecoded)
		}
		if l.bytes {
			d.bytes[id] = fallbackByte(d.texts[id])
		}
	}
	return nil
}

// take reads one step.
func (l *decoderLoader) take(p *part) error {
	read, ok := decoderSteps[p.Type]
	if !ok {
		return unsupported(decoderPart, "it has a step of type %q", p.Type)
	}
	after := l.joined
	if after == "" && l.bytes {
		after = "ByteFallback"
	}
	if after != "" && p.Type != "Fuse" && (p.Type != "Strip" || l.joined == "") {
		return unsupported(decoderPart, "it has a step of type %q after %s", p.Type, after)
	}
	return read(l, p)
}

var decoderSteps = map[string]func(*decoderLoader, *part) error{
	"ByteLevel": func(l *decoderLoader, _ *part) error {
		l.joined = "ByteLevel"
		l.steps = append(l.steps, func(token string, _ bool) string {
			if raw, ok := rawBytes(token); ok {
				return raw
			}
			return token
		})
		return nil
	},
	"ByteFallback": func(l *decoderLoader, _ *part) error { l.bytes = true; return nil },
	"Fuse": func(l *decoderLoader, _ *part) error {
		if l.joined == "" {
			l.joined = "Fuse"
		}
		return nil
	},
	"Replace": func(l *decoderLoader, p *part) error {
		change, err := p.replace(decoderPart, &l.grown)
		if err != nil {
			return err
		}
		l.steps = append(l.steps, func(token string, _ bool) string { return change(token) })
		return nil
	},
	"Strip": readStrip,
	"Metaspace": func(l *decoderLoader, p *part) error {
		m, err := newMetaspace(decoderPart, p)
		if err != nil {
			return err
		}
		l.firstCount = l.firstCount || m.scheme != "never"
		l.steps = append(l.steps, func(token string, first bool) string {
			space := " "
			if first && m.scheme != "never" {
				space = ""
			}
			return strings.ReplaceAll(token, m.mark, space)
		})
		return nil
	},
}

func readStrip(l *decoderLoader, p *part) error {
	s := strip{p.Content, p.Start, p.Stop}
	switch {
	case utf8.RuneCountInString(s.char) != 1:
		return broken(decoderPart, "its Strip has the content %s, expected one character", shown(s.char))
	case s.start < 0 || s.stop < 0:
		return broken(decoderPart, "its Strip has start %d and stop %d", s.start, s.stop)
	case l.joined == "":
		l.steps = append(l.steps, func(token string, _ bool) string { return s.apply(token) })
	case l.t.decoding.strip.char != "":
		return unsupported(decoderPart, "it has two steps of type \"Strip\" after %s", l.joined)
	default:
		l.t.decoding.strip = s
	}
	return nil
}

// fallbackByte returns the byte of a token such as <0x0A>, or -1.
func fallbackByte(token string) int16 {
	if len(token) == 6 && strings.HasPrefix(token, "<0x") && token[5] == '>' {
		if b, err := strconv.ParseUint(token[3:5], 16, 8); err == nil {
			return int16(b)
		}
	}
	return -1
}

// Decode returns the text of ids. skipSpecial omits special tokens. Unused ids are ignored. Invalid UTF-8 becomes
// U+FFFD as with Python's errors="replace".
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	s := Stream{t: t, skipSpecial: skipSpecial, strip: t.decoding.strip.start, raw: make([]byte, 0, 6*len(ids))}
	for _, id := range ids {
		s.push(id)
	}
	return s.Flush()
}

// Piece returns the bytes that a token adds in the middle of a text. They may be part of a character. It returns nil
// for a special or unused id.
func (t *Tokenizer) Piece(id int32) []byte {
	if !t.has(id) || t.special[id] {
		return nil
	}
	if b := t.decoding.bytes; b != nil && b[id] >= 0 {
		return []byte{byte(b[id])}
	}
	return []byte(t.decoding.texts[id])
}
