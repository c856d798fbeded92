// HOT PATH: next runs for each piece of a chunked body, in streams once a token. No allocation.

package http1

// chunkPhase is where in a chunked body (RFC 9112 §7.1) a reader is.
type chunkPhase uint8

const (
	inSize    chunkPhase = iota // hexadecimal digits
	inBlank                     // blanks behind the digits
	inExtra                     // an extension, which is ignored
	inSizeLF                    // the LF behind the size
	inData                      //
	inDataCR                    // the CR behind the data
	inDataLF                    // and its LF
	inTrailer                   // behind the last chunk
)

// Limits of bytes that are not data, as in net/http.
const (
	maxSizeLine = 4096
	maxExcess   = 16 << 10
	maxTrailer  = 64 << 10
)

// chunks reads a chunked body.
type chunks struct {
	phase  chunkPhase
	digits int    // digits of the size so far
	line   int    // bytes of the line of the size, or of the trailer
	left   uint64 // bytes left of the chunk
	excess int    // bytes that are not data, beyond what short chunks need
	bad    string

	last  uint32 // last bytes of the trailer
	place trailerPlace
	wrong bool // its fields are invalid
}

func (c *chunks) reset() { *c = chunks{} }

func (c *chunks) next(b []byte) (ev event, body, rest []byte) {
	for i := 0; i < len(b); {
		if c.phase == inData {
			n := min(uint64(len(b)-i), c.left)
			if c.left -= n; c.left == 0 {
				c.phase = inDataCR
			}
			return evBody, b[i : i+int(n)], b[i+int(n):]
		}
		ch := b[i]
		i++
		switch c.phase {
		case inSize, inBlank, inExtra, inSizeLF:
			if !c.size(ch) {
				return evBad, nil, nil
			}
		case inDataCR:
			if ch != '\r' {
				c.bad = "a chunk is longer than its size"
				return evBad, nil, nil
			}
			c.phase = inDataLF
		case inDataLF:
			if ch != '\n' {
				c.bad = "a chunk does not end with CR LF"
				return evBad, nil, nil
			}
			c.phase, c.digits, c.line, c.left = inSize, 0, 0, 0
		default:
			end, ok := c.trailer(ch)
			if !ok {
				return evBad, nil, nil
			}
			if end {
				return evEnd, nil, b[i:]
			}
		}
	}
	return evMore, nil, nil
}

// size reads one byte of the line with a chunk's size.
func (c *chunks) size(ch byte) bool {
	if c.line++; c.line > maxSizeLine {
		c.bad = "the line of a chunk's size is longer than 4096 bytes"
		return false
	}
	switch c.phase {
	case inSizeLF:
		return c.begin(ch)
	case inExtra:
		switch ch {
		case '\r':
			c.phase = inSizeLF
		case '\n':
			return c.refuse()
		}
		return true
	case inSize:
		if v := unhex[ch]; v != notHex {
			if c.digits++; c.digits > 16 {
				c.bad = "a chunk's size has more than 16 digits"
				return false
			}
			c.left = c.left<<4 | uint64(v)
			return true
		}
	}
	switch {
	case c.digits == 0:
		return c.refuse()
	case ch == '\r':
		c.phase = inSizeLF
	case ch == ';':
		c.phase = inExtra
	case ch == ' ' || ch == '\t':
		c.phase = inBlank
	default:
		return c.refuse()
	}
	return true
}

// begin begins the data of a chunk, or the trailer behind the last chunk.
func (c *chunks) begin(ch byte) bool {
	if ch != '\n' {
		return c.refuse()
	}
	if c.left == 0 {
		c.phase, c.line, c.last, c.place, c.wrong = inTrailer, 0, 0, atLine, false
		return true
	}
	c.phase = inData
	c.excess = max(0, c.excess+c.line-16-2*int(min(c.left, 1<<20)))
	if c.excess > maxExcess {
		c.bad = "the chunks carry more extensions than data"
		return false
	}
	return true
}

const notHex = 0xff

// unhex are the values of hexadecimal digits, or notHex.
var unhex = func() (t [256]uint8) {
	for i := range t {
		t[i] = notHex
	}
	for i := range 16 {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = uint8(i), uint8(i)
	}
	return t
}()

func (c *chunks) refuse() bool {
	c.bad = "a chunk's size is not a hexadecimal number followed by CR LF"
	return false
}

// trailerPlace is where in the fields behind the last chunk a reader is.
type trailerPlace uint8

const (
	atLine  trailerPlace = iota
	atCR                 // a line that begins with CR
	inName               // of a field
	inValue              //
	behind               // an empty line
)

const (
	crlf     = '\r'<<8 | '\n'
	crlfCRLF = crlf<<16 | crlf
)

// trailer reads one byte behind the last chunk: CR LF, or fields up to the first CR LF CR LF, as net/http reads them.
// Until then the answer is incomplete, whatever the fields contain.
func (c *chunks) trailer(ch byte) (end, ok bool) {
	if c.line++; c.line > maxTrailer {
		c.bad = "what follows the last chunk is longer than 64 KiB"
		return false, false
	}
	c.last = c.last<<8 | uint32(ch)
	c.field(ch)
	switch {
	case c.line == 2 && c.last == crlf:
		return true, true
	case c.line < 4 || c.last != crlfCRLF:
		return false, true
	case c.wrong:
		c.bad = "the text after the last chunk is not a header field"
		return false, false
	}
	return true, true
}

// field reads one byte of a field, and notes invalid bytes.
func (c *chunks) field(ch byte) {
	switch c.place {
	case atLine:
		switch {
		case ch == '\n':
			c.place = behind
		case ch == '\r':
			c.place = atCR
		case ch == ' ' || ch == '\t': // the previous line continues
			c.wrong = c.wrong || c.line == 1
			c.place = inValue
		default:
			c.place, c.wrong = inName, c.wrong || ch == ':' // without a name
			c.name(ch)
		}
	case atCR:
		if c.place = behind; ch != '\n' {
			c.wrong = true
		}
	case inName:
		c.name(ch)
	case inValue:
		switch before := byte(c.last >> 8); {
		case ch == '\n':
			c.place = atLine
		case before == '\r', ch < ' ' && ch != '\t' && ch != '\r', ch == 0x7f:
			c.wrong = true
		}
	}
}

// name reads a byte of a field's name. Blanks inside it are accepted, as by net/http.
func (c *chunks) name(ch byte) {
	switch {
	case ch == ':':
		c.place = inValue
	case ch == '\n': // no colon
		c.place, c.wrong = atLine, true
	case !token[ch]:
		c.wrong = true
	}
}
