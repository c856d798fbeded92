package datasets

import (
	"bytes"
	"errors"
	"io"
)

// maxRecord is the maximum size of a record in bytes.
const maxRecord = 64 << 20

var (
	errCut     = errors.New("the file ends inside a record")
	errTooLong = errors.New("record too long")
)

// framer splits a stream into records: the elements of one JSON array, or consecutive objects (JSON Lines). It only
// looks at brackets and quotes; the scanner checks whether a record is valid JSON.
type framer struct {
	r          io.Reader
	buf        []byte
	start, end int // the unread bytes are buf[start:end]
	line       int // line of buf[start], 1-based
	eof        bool
	readErr    error // read error other than io.EOF

	begun, inArray, ended bool
	records               int
}

func newFramer(r io.Reader) *framer {
	return &framer{r: r, buf: make([]byte, 256<<10), line: 1}
}

// fill reads more bytes into the window. It returns false at the end of the stream or if readErr is set.
func (f *framer) fill() bool {
	if f.eof || f.readErr != nil {
		return false
	}
	if f.start > 0 {
		f.end = copy(f.buf, f.buf[f.start:f.end])
		f.start = 0
	}
	if f.end == len(f.buf) {
		f.buf = append(f.buf, make([]byte, len(f.buf))...)
	}
	n, err := f.r.Read(f.buf[f.end:])
	f.end += n
	switch {
	case err == io.EOF:
		f.eof = true
	case err != nil:
		f.readErr = err
	}
	return n > 0 || (err == nil && f.fill())
}

// take consumes n bytes of the window.
func (f *framer) take(n int) []byte {
	b := f.buf[f.start : f.start+n]
	f.line += bytes.Count(b, []byte{'\n'})
	f.start += n
	return b
}

// peek skips white space and returns the next byte without consuming it, or false at the end of the stream.
func (f *framer) peek() (byte, bool) {
	for {
		w := f.buf[f.start:f.end]
		n := 0
		for n < len(w) && (w[n] == ' ' || w[n] == '\n' || w[n] == '\t' || w[n] == '\r') {
			n++
		}
		f.take(n)
		if f.start < f.end {
			return f.buf[f.start], true
		}
		if !f.fill() {
			return 0, false
		}
	}
}

// head returns the stream's first bytes, at most n, without consuming them.
func (f *framer) head(n int) []byte {
	for f.end-f.start < n && f.fill() {
	}
	return f.buf[f.start:min(f.start+n, f.end)]
}

// rest returns the rest of the stream for a reader of another format.
func (f *framer) rest() io.Reader {
	return io.MultiReader(bytes.NewReader(f.buf[f.start:f.end]), f.r)
}

// next returns the next record and the line it begins on, and io.EOF after the last. The bytes are valid until the next
// call. With errCut and errTooLong it returns the part of the record that was read.
func (f *framer) next() (record []byte, line int, err error) {
	c, more := f.peek()
	if f.readErr != nil {
		return nil, f.line, f.readErr
	}
	if !f.begun {
		f.begun = true
		if f.inArray = more && c == '['; f.inArray {
			f.take(1)
			c, more = f.peek()
			if more && c == ']' {
				return nil, f.line, f.close()
			}
			if !more {
				return nil, f.line, f.cut()
			}
		}
	} else if f.inArray && !f.ended {
		switch {
		case !more:
			return nil, f.line, f.cut()
		case c == ']':
			return nil, f.line, f.close()
		case c != ',':
			return nil, f.line, f.unexpected("a comma or the end of the array after the record")
		}
		f.take(1)
		if c, more = f.peek(); !more {
			return nil, f.line, f.cut()
		}
	}
	if !more {
		if f.readErr != nil {
			return nil, f.line, f.readErr
		}
		return nil, f.line, io.EOF
	}
	if c != '{' {
		return nil, f.line, f.unexpected("a JSON object")
	}
	line = f.line
	n, err := f.measure()
	f.records++
	return f.take(n), line, err
}

// close consumes the end of the array; only white space may follow.
func (f *framer) close() error {
	f.take(1)
	f.ended = true
	if _, more := f.peek(); more {
		return f.unexpected("nothing after the end of the array")
	}
	if f.readErr != nil {
		return f.readErr
	}
	return io.EOF
}

func (f *framer) cut() error {
	if f.readErr != nil {
		return f.readErr
	}
	return errCut
}

// measure returns the length of the object, array or string at the start of the window, reading as much as needed.
func (f *framer) measure() (int, error) {
	depth, inText, skip := 0, false, false
	for n := 0; ; {
		w := f.buf[f.start:min(f.end, f.start+maxRecord)]
		for ; n < len(w); n++ {
			c := w[n]
			switch {
			case skip:
				skip = false
			case inText:
				if c == '"' {
					if inText = false; depth == 0 {
						return n + 1, nil
					}
				} else if c == '\\' {
					skip = true
				}
			case c == '"':
				inText = true
			case c == '{' || c == '[':
				if depth++; depth > maxDepth {
					return n, &framingError{tooDeep(n)}
				}
			case c == '}' || c == ']':
				if depth--; depth == 0 {
					return n + 1, nil
				}
			}
		}
		if n == maxRecord {
			return n, errTooLong
		}
		if !f.fill() {
			return n, f.cut()
		}
	}
}

// each calls element for every element of a list whose opening bracket has been consumed, and consumes end. The
// argument of element is the next byte; element must consume the element. expected describes the byte after an element.
func (f *framer) each(end byte, expected string, element func(next byte) error) error {
	for first := true; ; first = false {
		b, more := f.peek()
		if more && b == end {
			f.take(1)
			return nil
		}
		if more && !first {
			if b != ',' {
				return f.unexpected(expected)
			}
			f.take(1)
			b, more = f.peek()
		}
		if !more {
			return f.cut()
		}
		if err := element(b); err != nil {
			return err
		}
	}
}

// measureValue returns the length of the value of any kind at the start of the window, or 0.
func (f *framer) measureValue() (int, error) {
	if c := f.buf[f.start]; c == '{' || c == '[' || c == '"' {
		return f.measure()
	}
	for n := 0; ; {
		for w := f.buf[f.start:f.end]; n < len(w); n++ {
			if bytes.IndexByte([]byte(" \t\r\n,]}"), w[n]) >= 0 {
				return n, nil
			}
		}
		if n > maxRecord {
			return n, errTooLong
		}
		if !f.fill() {
			return n, f.cut()
		}
	}
}

func (f *framer) passed() int { return f.records }

func (f *framer) shape() string {
	if f.inArray {
		return shapeArray
	}
	return shapeLines
}

// framingError is a fault between records. Its offset counts from the start of the window.
type framingError struct{ fault *fault }

func (e *framingError) Error() string { return e.fault.found }

func (f *framer) unexpected(expected string) error {
	c := f.buf[f.start]
	found := shown(f.head(16))
	if c == '[' || c == '"' {
		found = kindName(c) + ", " + found
	}
	return &framingError{&fault{found: found, expected: expected,
		try: "write the data set as one JSON array of objects, or one object per line (JSON Lines)"}}
}
