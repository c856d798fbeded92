package openai

import "bytes"

// blank steps over white space.
func (w *walker) blank() {
	for w.i < len(w.b) {
		switch w.b[w.i] {
		case ' ', '\t', '\n', '\r':
			w.i++
		default:
			return
		}
	}
}

// open steps over c; false: something else is there.
func (w *walker) open(c byte) bool {
	if w.i < len(w.b) && w.b[w.i] == c {
		w.i++
		return true
	}
	return false
}

// literal steps over a word.
func (w *walker) literal(word string) bool {
	if len(w.b)-w.i >= len(word) && string(w.b[w.i:w.i+len(word)]) == word {
		w.i += len(word)
		return true
	}
	return false
}

func (w *walker) null() bool {
	return w.i < len(w.b) && w.b[w.i] == 'n' && w.literal("null")
}

// plain are the bytes of a string that need no look: all but the quote, the backslash and control characters.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// str steps over a string and gives what is between its quotes, escapes as they are.
func (w *walker) str() (raw []byte, escaped, ok bool) {
	if !w.open('"') {
		return nil, false, false
	}
	b, from := w.b, w.i
	for i := from; i < len(b); i++ {
		if plain[b[i]] {
			continue
		}
		switch b[i] {
		case '"':
			w.i = i + 1
			return b[from:i], escaped, true
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return nil, false, false
			}
			escaped = true
			i += n - 1
		default:
			return nil, false, false
		}
	}
	return nil, false, false
}

// escapeLen is the length of the escape at the start of b; 0: it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if c-'0' > 9 && (c|0x20)-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}

// skip steps over any value and checks its grammar.
func (w *walker) skip(depth int) bool {
	if w.i >= len(w.b) || depth > maxDepth {
		return false
	}
	switch c := w.b[w.i]; {
	case c == '"':
		_, _, ok := w.str()
		return ok
	case c == 'n':
		return w.literal("null")
	case c == 't':
		return w.literal("true")
	case c == 'f':
		return w.literal("false")
	case c == '{':
		return w.skipObject(depth)
	case c == '[':
		return w.skipArray(depth)
	}
	return w.skipNumber()
}

func (w *walker) skipObject(depth int) bool {
	w.i++
	first := true
	for {
		w.blank()
		if w.open('}') {
			return true
		}
		if !first {
			if !w.open(',') {
				return false
			}
			w.blank()
		}
		first = false
		if _, _, ok := w.str(); !ok {
			return false
		}
		w.blank()
		if !w.open(':') {
			return false
		}
		w.blank()
		if !w.skip(depth + 1) {
			return false
		}
	}
}

func (w *walker) skipArray(depth int) bool {
	w.i++
	w.blank()
	if w.open(']') {
		return true
	}
	for {
		w.blank()
		if !w.skip(depth + 1) {
			return false
		}
		w.blank()
		if w.open(']') {
			return true
		}
		if !w.open(',') {
			return false
		}
	}
}

// skipNumber follows JSON's grammar: minus, digits without a leading zero, fraction, exponent.
func (w *walker) skipNumber() bool {
	b, i := w.b, w.i
	if i < len(b) && b[i] == '-' {
		i++
	}
	from := i
	i = digitsEnd(b, i)
	if i == from || (i-from > 1 && b[from] == '0') {
		return false
	}
	if i < len(b) && b[i] == '.' {
		from = i + 1
		if i = digitsEnd(b, from); i == from {
			return false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from = i
		if i = digitsEnd(b, from); i == from {
			return false
		}
	}
	w.i = i
	return true
}

func digitsEnd(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// skipNumbers steps over an array of numbers at the speed of memchr: a prompt of 40,000 ids comes back with its answer.
// Without a quote and an inner bracket before it, the first closing bracket ends the array, whatever else is in it, so
// the walk can not lose its place; only the numbers' grammar is not checked.
func (w *walker) skipNumbers() bool {
	if w.i >= len(w.b) || w.b[w.i] != '[' {
		return w.skip(0)
	}
	rest := w.b[w.i+1:]
	end := bytes.IndexByte(rest, ']')
	if end < 0 || bytes.IndexByte(rest[:end], '"') >= 0 || bytes.IndexByte(rest[:end], '[') >= 0 {
		return w.skip(0)
	}
	w.i += 1 + end + 1
	return true
}
