// HOT PATH: next runs for each piece of each answer. No I/O, no clock; it allocates only for a header that comes in
// pieces or has a new Content-Type.

package http1

import (
	"bytes"
	"fmt"
)

// event is what a parser has found.
type event uint8

const (
	evMore event = iota // more bytes are needed
	evHead              // the header is complete
	evBody              // a piece of the body
	evEnd               // the end of the answer
	evBad               // the bytes are not HTTP; parser.bad is the reason
)

// phase is where in an answer a parser is.
type phase uint8

const (
	atStatus phase = iota
	atField
	atBody  // inside a body of known length, or up to the end of the connection
	atChunk // inside a chunked body; chunks has its own phases
	atEnd
	atFault
)

// maxInterim is the largest number of interim answers (1xx) before an answer, as in net/http.
const maxInterim = 5

// parser reads one HTTP/1.1 answer after another from pieces of any length.
type parser struct {
	phase     phase
	keepAlive bool
	untilEOF  bool // the body ends with the connection
	chunked   bool
	old       bool // HTTP/1.0
	interim   int8
	status    int
	length    int64 // Content-Length, then the rest of the body; -1: not sent
	seen      int   // bytes of the header so far
	line      []byte
	chunks    chunks
	bad       string

	contentType string // kept for further answers, so that the same type costs no allocation
	typed       bool   // contentType belongs to this answer
	encoding    string
	location    string
	retryAfter  string

	known knownHead
}

// reset prepares for the next answer of the connection.
func (p *parser) reset() {
	p.phase, p.interim, p.seen, p.line = atStatus, 0, 0, p.line[:0]
	p.clear()
}

// clear discards one header.
func (p *parser) clear() {
	p.keepAlive, p.untilEOF, p.chunked, p.old, p.typed = true, false, false, false, false
	p.length = -1
	if p.encoding != "" || p.location != "" || p.retryAfter != "" {
		p.encoding, p.location, p.retryAfter = "", "", ""
	}
}

// kind returns the answer's Content-Type.
func (p *parser) kind() string {
	if !p.typed {
		return ""
	}
	return p.contentType
}

// next reads b up to and including the next event. body is a part of b.
func (p *parser) next(b []byte) (ev event, body, rest []byte) {
	for {
		switch p.phase {
		case atStatus, atField:
			return p.head(b)
		case atBody:
			if p.length == 0 {
				p.phase = atEnd
				continue
			}
			if len(b) == 0 {
				return evMore, nil, nil
			}
			if p.untilEOF {
				return evBody, b, nil
			}
			n := min(int64(len(b)), p.length)
			p.length -= n
			return evBody, b[:n], b[n:]
		case atChunk:
			ev, body, rest = p.chunks.next(b)
			if ev == evEnd {
				p.phase = atEnd
			} else if ev == evBad {
				return p.fail(p.chunks.bad)
			}
			return ev, body, rest
		case atEnd:
			return evEnd, nil, b
		default:
			return evBad, nil, nil
		}
	}
}

// ended reports whether the end of the connection is the end of the answer.
func (p *parser) ended() bool { return p.phase == atEnd || (p.phase == atBody && p.untilEOF) }

func (p *parser) fail(why string) (event, []byte, []byte) {
	p.phase, p.bad = atFault, why
	return evBad, nil, nil
}

// header reads one line, and reports whether it was the last one of the answer's own header.
func (p *parser) header(line []byte) bool {
	if p.phase == atStatus {
		if !p.statusLine(line) {
			p.fail(fmt.Sprintf("%.80q is not a status line of HTTP/1.1", line))
		}
		p.phase = max(p.phase, atField)
		return false
	}
	if len(line) > 0 {
		if !p.field(line) {
			p.phase = atFault
		}
		return false
	}
	if p.status/100 == 1 && p.status != 101 {
		if p.interim++; p.interim > maxInterim {
			p.fail("more than 5 interim answers came before the answer")
		} else {
			p.phase = atStatus
			p.clear()
		}
		return false
	}
	p.body()
	return true
}

// body decides how the body ends (RFC 9112 §6.3).
func (p *parser) body() {
	p.phase = atBody
	switch {
	case p.status == 101 || p.status == 204 || p.status == 304:
		p.length = 0
		p.keepAlive = p.keepAlive && p.status != 101 // the server now uses another protocol
	case p.chunked && !p.old:
		p.phase = atChunk
		p.chunks.reset()
	case p.length < 0:
		p.untilEOF, p.keepAlive = true, false
	}
}

// statusLine reads "HTTP/1.1 200 OK".
func (p *parser) statusLine(line []byte) bool {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || !digit(line[7]) || line[8] != ' ' {
		return false
	}
	code := line[9:]
	if code[0] == ' ' {
		code = bytes.TrimLeft(code, " ")
	}
	if len(code) < 3 || !digit(code[0]) || !digit(code[1]) || !digit(code[2]) || (len(code) > 3 && code[3] != ' ') {
		return false
	}
	p.status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	p.old = line[7] == '0'
	p.keepAlive = !p.old
	return true
}

func digit(c byte) bool { return c-'0' < 10 }
