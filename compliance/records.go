package compliance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// record is an entry of an accuracy log in any of the forms that the official script of TEST09 reads.
type record struct {
	number   int // from 1
	seq      int64
	sample   int64
	data     []byte
	dataErr  error // why data can not be decoded; it then counts as empty
	tokens   int64
	hasCount bool
}

// form says in which form records were found.
type form struct {
	array     bool // in [ ]
	truncated bool // the last record, or the closing bracket, is missing
}

// readRecords hands over every record of a JSON array, of objects one a line, or of objects behind one another. Unlike mllog.ReadAccuracy it
// goes on after data that is no hex. Text outside of objects is an error.
func readRecords(r io.Reader, fn func(*record) error) (form, error) {
	in := objectReader{r: bufio.NewReaderSize(r, 256<<10)}
	var f form
	closed := false
	for number := 1; ; {
		c, err := in.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			f.truncated = f.truncated || f.array && !closed
			return f, nil
		case err != nil:
			return f, err
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',' && number > 1:
			continue
		case c == '[' && number == 1 && !f.array:
			f.array = true
			continue
		case c == ']' && f.array && !closed:
			closed = true
			continue
		case c != '{' || closed:
			return f, fmt.Errorf("%q stands where record %d is expected", c, number)
		}
		object, err := in.object()
		if errors.Is(err, io.EOF) {
			f.truncated = true
			return f, nil
		}
		var rec record
		if err == nil {
			rec, err = decode(object)
		}
		if err == nil {
			rec.number = number
			err = fn(&rec)
		}
		if err != nil {
			return f, fmt.Errorf("record %d: %w", number, err)
		}
		number++
	}
}

// maxObject bounds a record: four million tokens.
const maxObject = 32 << 20

// objectReader cuts objects out of a stream without understanding them.
type objectReader struct {
	r   *bufio.Reader
	buf []byte
}

// object gives the bytes of an object whose opening brace was read; io.EOF where it does not end.
func (o *objectReader) object() ([]byte, error) {
	o.buf = append(o.buf[:0], '{')
	depth, quoted, escaped := 1, false, false
	for depth > 0 {
		c, err := o.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if len(o.buf) == maxObject {
			return nil, fmt.Errorf("it is longer than %d MiB", maxObject>>20)
		}
		o.buf = append(o.buf, c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && c == '{':
			depth++
		case !quoted && c == '}':
			depth--
		}
	}
	return o.buf, nil
}

func decode(object []byte) (record, error) {
	rec := record{seq: -1, sample: -1}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err != nil {
		return rec, fmt.Errorf("it is no JSON: %w", err)
	}
	for name, to := range map[string]*int64{"seq_id": &rec.seq, "qsl_idx": &rec.sample, "token_count": &rec.tokens} {
		text, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(text, to); err != nil {
			return rec, fmt.Errorf("its %s is no whole number: %.40q", name, text)
		}
		rec.hasCount = rec.hasCount || name == "token_count"
	}
	rec.data, rec.dataErr = decodeData(fields["data"])
	return rec, nil
}

func decodeData(text json.RawMessage) ([]byte, error) {
	var digits string
	if text == nil || string(text) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(text, &digits); err != nil {
		return nil, fmt.Errorf("its data is no string: %.40q", text)
	}
	data, err := pyHex(digits)
	if err != nil {
		return nil, fmt.Errorf("its data is not hexadecimal: %w", err)
	}
	return data, nil
}
