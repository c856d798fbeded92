// HOT PATH: field runs for each line of each header. No I/O, no lock; it allocates only for a value that is new on the
// connection.

package http1

import (
	"bytes"
	"fmt"
)

// token contains the bytes of a field's name (RFC 9110 §5.6.2) and the blank that some servers write before the colon.
var token = func() (t [256]bool) {
	for _, c := range " !#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" {
		t[c] = true
	}
	return t
}()

// field reads one line of a header. It returns false, with the reason in p.bad, if the line is not a field.
func (p *parser) field(line []byte) bool {
	if line[0] == ' ' || line[0] == '\t' {
		return true // a folded line continues a value; the values that are read here are never that long
	}
	n := 0
	for n < len(line) && token[line[n]] {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' {
		p.bad = fmt.Sprintf("%.80q is not a line of a header", line)
		return false
	}
	switch n { // most other fields have another length
	case 8, 10, 11, 12, 14, 16, 17:
		return p.value(line[:n], trim(line[n+1:]))
	}
	return true
}

func (p *parser) value(name, value []byte) bool {
	switch {
	case is(name, "content-length"):
		return p.contentLength(value)
	case is(name, "content-type"):
		if p.typed = true; string(value) != p.contentType {
			p.contentType = string(value)
		}
	case is(name, "connection"):
		if has(value, "close") {
			p.keepAlive = false
		} else if p.old && has(value, "keep-alive") {
			p.keepAlive = true
		}
	case is(name, "transfer-encoding"):
		if p.old {
			return true
		}
		if p.chunked || !is(value, "chunked") {
			p.bad = fmt.Sprintf("the transfer encoding %.80q is not known", value)
			return false
		}
		p.chunked = true
	case is(name, "content-encoding"):
		p.encoding = string(value)
	case is(name, "location"):
		p.location = string(value)
	case is(name, "retry-after"):
		p.retryAfter = string(value)
	}
	return true
}

func (p *parser) contentLength(value []byte) bool {
	n := int64(0)
	for _, c := range value {
		if !digit(c) || n > (1<<63-1-9)/10 {
			n = -1
			break
		}
		n = n*10 + int64(c-'0')
	}
	if len(value) == 0 || n < 0 {
		p.bad = fmt.Sprintf("the Content-Length %.80q is not a number", value)
		return false
	}
	if p.length >= 0 && p.length != n {
		p.bad = fmt.Sprintf("the header has two Content-Length fields, %d and %d", p.length, n)
		return false
	}
	p.length = n
	return true
}

// trim removes blanks from both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// is compares with a text in lower case, ignoring case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// has reports whether a comma-separated list contains a word.
func has(list []byte, word string) bool {
	for len(list) > 0 {
		part := list
		if i := bytes.IndexByte(list, ','); i >= 0 {
			part, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		if is(trim(part), word) {
			return true
		}
	}
	return false
}
