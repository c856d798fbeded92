// HOT PATH: Next runs once a document. No I/O, no clock, no lock; a buffer grows only for a line that comes in pieces.

package ndjson

import (
	"bytes"
	"errors"
)

// MaxLine is the longest line, in bytes.
const MaxLine = 16 << 20

// ErrTooLarge is the error for a line longer than MaxLine.
var ErrTooLarge = errors.New("a line of JSON is longer than 16 MiB")

// keepBuffer is the largest buffer, in bytes, that Reset keeps, so that one giant line does not occupy memory forever.
const keepBuffer = 1 << 20

// Framer splits one stream, and keeps the rest of earlier pieces. The zero value is ready. One goroutine may use it.
type Framer struct {
	line []byte // a line whose end has not come
	give bool   // line was returned by the previous call
	err  error
}

// Reset prepares for another stream and keeps the buffer.
func (f *Framer) Reset() {
	if cap(f.line) > keepBuffer {
		f.line = nil
	}
	*f = Framer{line: f.line[:0]}
}

// Err returns ErrTooLarge after a line was too long. No document follows it.
func (f *Framer) Err() error { return f.err }

// Next returns the next document in p, and the rest of p behind it. ok is false if p contains no further document. The
// document is valid until the next call and as long as p is.
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

// End returns the document of a last line without an end. Call it once, after the last Next.
func (f *Framer) End() (doc []byte, ok bool) {
	f.forget()
	if f.err != nil {
		return nil, false
	}
	doc = bytes.TrimSpace(f.line)
	return doc, len(doc) > 0
}

// forget drops a line that was returned.
func (f *Framer) forget() {
	if f.give {
		f.line, f.give = f.line[:0], false
	}
}

// keep stores a part of a line.
func (f *Framer) keep(part []byte) {
	if len(f.line)+len(part) > MaxLine {
		f.err = ErrTooLarge
		return
	}
	f.line = append(f.line, part...)
}
