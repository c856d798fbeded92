package datasets

const hexDigits = "0123456789abcdef"

// appendQuoted appends text as a JSON string. Bytes that are no UTF-8 pass as they are: the decoder names them.
func appendQuoted[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, text[from:]...), '"')
}

// appendKey appends an object's key with its colon, after a comma where it is not the first.
func appendKey(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(appendQuoted(dst, name), ':')
}

// validJSON tells whether b is one JSON value and nothing else.
func validJSON(b []byte) bool {
	s := scanner{b: b}
	s.space()
	if s.value() != nil {
		return false
	}
	s.space()
	return s.pos == len(b)
}

// kindsNamed returns what the schema accepts for a column called name; false: it does not know the name.
func (p *plan) kindsNamed(name string) (kind, bool) {
	ref, known := p.byName[name]
	if !known {
		return 0, false
	}
	return p.columns[ref.column].kinds, true
}
