package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// Hot path: Next runs per token of a response.

// Stream decodes ids one by one. The concatenated results of Next and Flush equal Decode of all the ids. A Stream
// serves one response at a time and is not safe for concurrent use.
type Stream struct {
	t           *Tokenizer
	skipSpecial bool
	taken       bool   // whether a token was decoded
	strip       int    // number of characters that may still be stripped from the start
	run         []byte // bytes of the byte-fallback tokens of the current run
	raw         []byte // bytes not yet returned
	text        []byte // whole characters that later ids may still change
}

// NewStream returns a stream for one response. skipSpecial omits special tokens.
func (t *Tokenizer) NewStream(skipSpecial bool) *Stream {
	return &Stream{t: t, skipSpecial: skipSpecial, strip: t.decoding.strip.start}
}

// Next adds an id and returns the text that can no longer change. It consists of whole characters and is often empty.
func (s *Stream) Next(id int32) string {
	s.push(id)
	return s.settle(false)
}

// Flush returns the remaining text and ends the response. The next id starts another response.
func (s *Stream) Flush() string {
	s.endRun()
	text := s.settle(true)
	s.taken, s.strip = false, s.t.decoding.strip.start
	return text
}

// push appends the bytes of a token.
func (s *Stream) push(id int32) {
	t, d := s.t, &s.t.decoding
	if !t.has(id) || s.skipSpecial && t.special[id] {
		return
	}
	if d.bytes != nil {
		if b := d.bytes[id]; b >= 0 {
			s.run = append(s.run, byte(b))
			s.taken = true
			return
		}
		s.endRun()
	}
	text := d.texts[id]
	if s.taken {
		s.raw = append(s.raw, d.separator...)
	} else if d.first != nil {
		text = d.first(id)
	}
	s.raw = append(s.raw, text...)
	s.taken = text != "" || !d.firstText
}

// endRun decodes a run of byte-fallback tokens. The reference library replaces every byte of a run that is not entirely
// valid UTF-8, unless byteByByte is set.
func (s *Stream) endRun() {
	if len(s.run) == 0 {
		return
	}
	switch {
	case utf8.Valid(s.run):
		s.raw = append(s.raw, s.run...)
	case s.t.decoding.byteByByte:
		for _, r := range string(s.run) { // string conversion replaces each invalid byte by U+FFFD
			s.raw = utf8.AppendRune(s.raw, r)
		}
	default:
		for range s.run {
			s.raw = utf8.AppendRune(s.raw, utf8.RuneError)
		}
	}
	s.run = s.run[:0]
}

// settle returns the text that later ids cannot change. If end is set, that is all of it.
func (s *Stream) settle(end bool) string {
	d := &s.t.decoding
	cut := len(s.raw)
	if !end {
		cut -= openTail(s.raw)
	}
	if d.strip.char == "" && !d.cleanUp {
		text := validText(s.raw[:cut])
		s.raw = append(s.raw[:0], s.raw[cut:]...)
		return text
	}
	s.text = append(s.text, validText(s.raw[:cut])...)
	s.raw = append(s.raw[:0], s.raw[cut:]...)
	return s.finish(end)
}

// finish strips and cleans up the joined text.
func (s *Stream) finish(end bool) string {
	d := &s.t.decoding
	text := string(s.text)
	for s.strip > 0 && text != "" {
		rest, ok := strings.CutPrefix(text, d.strip.char)
		s.strip--
		if !ok {
			s.strip = 0
		}
		text = rest
	}
	sure := len(text) - len(d.strip.tail(text))
	if end {
		s.text = s.text[:0]
		return d.tidied(text[:sure])
	}
	if d.cleanUp {
		sure = settled(text[:sure])
	}
	s.text = append(s.text[:0], text[sure:]...)
	return d.tidied(text[:sure])
}
