// HOT PATH: repeat runs once per answer. No I/O, no clock; it allocates nothing. learn runs for each header that
// differs from the previous one, and allocates until its memory has the size of a header.

package http1

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// knownHead is the header of an earlier answer. A server's headers differ in their date and their length only, so that
// most of a header is compared and not parsed. Any other difference leads to the parser.
type knownHead struct {
	bytes       []byte // all of it, with the empty line; empty: nothing is known
	spans       [2]headSpan
	n           int // of spans
	missed      int // headers in a row that had other differences
	keepAlive   bool
	chunked     bool
	old         bool
	typed       bool
	contentType string
}

// headSpan is a value that may differ.
type headSpan struct {
	from, to int
	isLength bool // else it is the date, which nothing reads
}

const (
	maxKnownHead = 1 << 10 // bytes
	dateLen      = 29      // bytes of "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 §5.6.7)
	maxLengthLen = 18      // digits of a length that fits into an int64
	maxHeads     = 16      // headers in a row with other differences; then they have too little in common
)

// repeat reads the header at the start of b if it equals the known one except for date and length. rest is what
// follows.
func (p *parser) repeat(b []byte) (rest []byte, ok bool) {
	k := &p.known
	if len(k.bytes) == 0 {
		return nil, false
	}
	rest, length, at := b, int64(-1), 0
	for _, s := range k.spans[:k.n] {
		if rest, ok = bytes.CutPrefix(rest, k.bytes[at:s.from]); !ok {
			return nil, false
		}
		at = s.to
		n := dateLen
		if s.isLength {
			length, n = leadingNumber(rest)
		} else if len(rest) < n || bytes.IndexByte(rest[:n], '\n') >= 0 {
			return nil, false
		}
		if n == 0 {
			return nil, false
		}
		rest = rest[n:]
	}
	if rest, ok = bytes.CutPrefix(rest, k.bytes[at:]); !ok {
		return nil, false
	}
	p.seen = len(b) - len(rest)
	p.status, p.length = 200, length
	p.keepAlive, p.chunked, p.old = k.keepAlive, k.chunked, k.old
	if p.typed = k.typed; p.typed {
		p.contentType = k.contentType
	}
	p.body()
	k.missed = 0
	return rest, true
}

// leadingNumber returns the number at the start of b and the number of its digits; 0: there is no digit, or too many.
func leadingNumber(b []byte) (v int64, digits int) {
	for digits < len(b) && digit(b[digits]) {
		if digits == maxLengthLen {
			return 0, 0
		}
		v = v*10 + int64(b[digits]-'0')
		digits++
	}
	return v, digits
}

// learn keeps a header that the parser has read in one piece.
func (p *parser) learn(head []byte) {
	k := &p.known
	k.bytes, k.n = k.bytes[:0], 0
	if k.missed == maxHeads {
		return
	}
	k.missed++
	if p.status != 200 || p.interim > 0 || p.untilEOF || len(head) > maxKnownHead ||
		p.encoding != "" || p.location != "" || p.retryAfter != "" {
		return
	}
	dates, lengths, at := 0, 0, 0
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, colon)
		value = trim(bytes.TrimRight(value, "\r\n"))
		from := at + len(name) + 1 + bytes.Index(line[min(len(name)+1, len(line)):], value)
		at += len(line)
		isLength := is(name, "content-length")
		switch {
		case isLength:
			if lengths++; lengths > 1 || len(value) > maxLengthLen {
				return
			}
		case is(name, "date") && len(value) == dateLen && dates == 0:
			dates++
		default:
			continue
		}
		k.spans[k.n] = headSpan{from, from + len(value), isLength}
		k.n++
	}
	k.keepAlive, k.chunked, k.old, k.typed, k.contentType = p.keepAlive, p.chunked, p.old, p.typed, p.contentType
	k.bytes = append(k.bytes, head...)
}

var colon = []byte(":")

// head reads a header up to its end or that of b.
func (p *parser) head(b []byte) (ev event, body, rest []byte) {
	isWhole := p.phase == atStatus && p.seen == 0 && len(p.line) == 0
	if isWhole {
		if rest, ok := p.repeat(b); ok {
			return evHead, nil, rest
		}
	}
	for from := b; ; {
		end := bytes.IndexByte(b, '\n')
		if p.seen += end + 1; end < 0 {
			p.seen += len(b)
		}
		if p.seen > policy.MaxHead {
			return p.fail("the header is longer than 256 KiB")
		}
		if end < 0 {
			p.line = append(p.line, b...)
			return evMore, nil, nil
		}
		line := b[:end]
		b = b[end+1:]
		if len(p.line) > 0 {
			p.line = append(p.line, line...)
			line, p.line = p.line, p.line[:0]
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if done := p.header(line); p.phase == atFault {
			return evBad, nil, nil
		} else if done {
			if isWhole {
				p.learn(from[:len(from)-len(b)])
			}
			return evHead, nil, b
		}
	}
}
