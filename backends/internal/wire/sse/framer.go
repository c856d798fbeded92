// HOT PATH: Next, take and lineEnd run once an event. No I/O, no clock, no lock; a buffer grows only for an event that
// comes in pieces.

package sse

import (
	"bytes"
	"errors"
)

// MaxEvent is the longest line, and the longest data of one event, in bytes.
const MaxEvent = 16 << 20

// ErrTooLarge is the error for a line or an event longer than MaxEvent.
var ErrTooLarge = errors.New("a server-sent event is longer than 16 MiB")

// window is how far a search for a line end looks at once. A stream with one kind of line ends would otherwise be
// searched for the other kind to its end, once for each line.
const window = 512

// Framer splits one stream, and keeps the rest of earlier pieces. The zero value is ready. One goroutine may use it.
type Framer struct {
	line   []byte // a line whose end has not come
	data   []byte // data lines of an event whose end has not come
	inData bool   // data holds at least one line
	skipLF bool   // the previous line ended with CR: an LF behind it belongs to it
	begun  bool   // the first line is over
	give   bool   // data was returned by the previous call
	fault  bool   // the event has a line "event: error"
	failed []byte // the first error that the stream reported
	err    error
}

// keepBuffer is the largest buffer, in bytes, that Reset keeps, so that one giant event does not occupy memory forever.
const keepBuffer = 1 << 20

// Reset prepares for another stream and keeps the buffers.
func (f *Framer) Reset() {
	*f = Framer{line: emptied(f.line), data: emptied(f.data)}
}

func emptied(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// Err returns ErrTooLarge after an event was too large. No event follows it.
func (f *Framer) Err() error { return f.err }

// maxFailure is the length to which an error line is kept, in bytes.
const maxFailure = 1 << 10

// Failure returns the beginning of the first error that the stream reported; nil: none. That is the data of an event of
// type "error" (NVIDIA Dynamo, gateways), or a line "error:", which is not in the standard: older llama.cpp servers end
// a stream with it (docs/reference/wire-protocols.md#differences-between-servers). Next returns no event behind it.
func (f *Framer) Failure() []byte { return f.failed }

// fail keeps the first error.
func (f *Framer) fail(said []byte) {
	if f.failed == nil {
		f.failed = append([]byte{}, said[:min(len(said), maxFailure)]...)
	}
}

// Next returns the data of the next event in p, and the rest of p behind it. ok is false if p contains no further
// event. The data is valid until the next call and as long as p is.
func (f *Framer) Next(p []byte) (data, rest []byte, ok bool) {
	if f.give {
		f.data, f.inData, f.give = f.data[:0], false, false
	}
	for f.err == nil && f.failed == nil {
		if f.skipLF && len(p) > 0 {
			f.skipLF = false
			if p[0] == '\n' {
				p = p[1:]
			}
		}
		end := lineEnd(p)
		if end < 0 {
			f.keep(p)
			return nil, nil, false
		}
		line := p[:end]
		f.skipLF = p[end] == '\r'
		p = p[end+1:]
		if len(f.line) > 0 {
			if f.keep(line); f.err != nil {
				break
			}
			line = f.line
			f.line = f.line[:0]
		}
		if data, ok = f.take(line, p); ok {
			return data, p, true
		}
	}
	return nil, nil, false
}

// Between reports whether the next byte begins a line and no part of an event is kept. A caller may then skip a whole
// event with its blank line without calling Next.
func (f *Framer) Between() bool {
	return f.begun && !f.inData && !f.give && !f.skipLF && !f.fault && len(f.line) == 0 && f.err == nil && f.failed == nil
}

// End returns the data of an event whose blank line is missing at the end of the stream. Call it once, after the last
// Next.
func (f *Framer) End() (data []byte, ok bool) {
	if f.give {
		f.data, f.inData, f.give = f.data[:0], false, false
	}
	if f.err != nil {
		return nil, false
	}
	line := f.line
	f.line = f.line[:0]
	f.take(line, nil)
	if f.fault {
		f.fail(f.message())
	}
	return f.data, f.inData && len(f.data) > 0 && f.failed == nil
}

// take reads one line. next is the rest behind it: if it begins with the blank line that ends the event, a single data
// line is returned without a copy, and that blank line is ignored later.
func (f *Framer) take(line, next []byte) ([]byte, bool) {
	if !f.begun {
		f.begun = true
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	if len(line) == 0 {
		if f.fault {
			f.fail(f.message())
			return nil, false
		}
		f.give = len(f.data) > 0
		f.inData = f.give
		return f.data, f.give
	}
	value, isData := dataOf(line)
	if !isData {
		if said, ok := bytes.CutPrefix(line, errorField); ok {
			f.fail(bytes.TrimSpace(said))
		}
		if kind, ok := bytes.CutPrefix(line, eventField); ok {
			f.fault = bytes.EqualFold(bytes.TrimSpace(kind), errorKind)
		}
		return nil, false
	}
	if !f.inData && !f.fault {
		if f.skipLF && len(next) > 0 && next[0] == '\n' {
			next = next[1:]
		}
		if len(next) > 0 && (next[0] == '\n' || next[0] == '\r') {
			return value, len(value) > 0
		}
	} else if f.inData {
		f.data = append(f.data, '\n')
	}
	if len(f.data)+len(value) > MaxEvent {
		f.err = ErrTooLarge
		return nil, false
	}
	f.data = append(f.data, value...)
	f.inData = true
	return nil, false
}

// keep stores the beginning of a line.
func (f *Framer) keep(part []byte) {
	if len(f.line)+len(part) > MaxEvent {
		f.err = ErrTooLarge
		return
	}
	f.line = append(f.line, part...)
}

var (
	errorField = []byte("error:")
	eventField = []byte("event:")
	errorKind  = []byte("error")
)

// message returns the data of an event of type "error", or its type if it has no data.
func (f *Framer) message() []byte {
	if len(f.data) == 0 {
		return []byte("event: error")
	}
	return f.data
}

// dataOf returns the value of a data line: behind "data:" and at most one blank, or empty for "data" alone.
func dataOf(line []byte) ([]byte, bool) {
	if len(line) < 4 || string(line[:4]) != "data" {
		return nil, false
	}
	switch {
	case len(line) == 4:
		return nil, true
	case line[4] != ':':
		return nil, false
	case len(line) > 5 && line[5] == ' ':
		return line[6:], true
	}
	return line[5:], true
}

// lineEnd returns the index of the first CR or LF; -1: none.
func lineEnd(p []byte) int {
	if len(p) > 0 && (p[0] == '\n' || p[0] == '\r') { // every second line of a stream is blank
		return 0
	}
	for from := 0; from < len(p); from += window {
		part := p[from:min(from+window, len(p))]
		lf := bytes.IndexByte(part, '\n')
		if lf >= 0 {
			part = part[:lf]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			return from + cr
		}
		if lf >= 0 {
			return from + lf
		}
	}
	return -1
}
