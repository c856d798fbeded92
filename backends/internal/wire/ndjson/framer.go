// HOT PATH: Next runs once a document. No I/O, no clock, no lock; a buffer grows only for a line that comes in pieces.

package ndjson

import (
	"bytes"
	"errors"
)

// MaxLine is the longest line, in bytes.
const MaxLine = 16 << 20

// ErrTooLarge says that a line is longer than MaxLine.
var ErrTooLarge = errors.New("a line of JSON is longer than 64 MiB")

// keepBuffer is the largest buffer, in bytes, that outlives a Reset: one giant line must not cost its memory for ever.
const keepBuffer = 1 << 20

// Framer holds what is left of the pieces before. The zero value is ready; it is used by one goroutine.
type Framer struct {
	line []byte // a line whose end has not come
	give bool   // line was given out by the call before
	err  error
}

// Reset forgets everything but the buffer.
func (f *Framer) Reset() {
	if cap(f.line) > keepBuffer {
		f.line = nil
	}
	*f = Framer{line: f.line[:0]}
}

// Err is ErrTooLarge after a line was too large; no document follows it.
func (f *Framer) Err() error { return f.err }

// Next gives the next document in p and what follows it in p. ok is false when p is used up. The document is valid
// until the next call and as long as p is.
func (f *Framer) Next(p []byte) (doc, rest []byte, ok bool) {
	f.forget()
	for f.err == nil {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			f.keep(p)
			return nil, nil, false
		}
		doc, p = p[:end], p[end+1:]
		if len(f.line) > 0 {
			if f.keep(doc); f.err != nil {
				break
			}
			doc, f.give = f.line, true
		}
		if doc = bytes.TrimSpace(doc); len(doc) > 0 {
			return doc, p, true
		}
		f.forget()
	}
	return nil, nil, false
}

// End gives the document that the stream ended in, without its line end. Call it once, after the last Next.
func (f *Framer) End() (doc []byte, ok bool) {
	f.forget()
	if f.err != nil {
		return nil, false
	}
	doc = bytes.TrimSpace(f.line)
	f.give = true
	return doc, len(doc) > 0
}

// forget drops a line that was given out.
func (f *Framer) forget() {
	if f.give {
		f.line, f.give = f.line[:0], false
	}
}

// keep holds back a part of a line.
func (f *Framer) keep(part []byte) {
	if len(f.line)+len(part) > MaxLine {
		f.err = ErrTooLarge
		return
	}
	f.line = append(f.line, part...)
}
