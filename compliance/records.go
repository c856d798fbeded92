package compliance

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// record is an entry of an accuracy log in any of the forms that the official script of TEST09 reads.
type record struct {
	number   int // number of the record, starting at 1
	seq      int64
	sample   int64
	data     []byte
	dataErr  error // reason why data cannot be decoded; the data then counts as empty
	tokens   int64
	hasCount bool
}

// form describes the format of the log's records.
type form struct {
	array     bool // whether the records are in a JSON array
	truncated bool // whether the last record or the closing bracket is missing
}

// readRecords calls fn for every record of a JSON array, of a log with one object per line, or of consecutive objects.
// Unlike mllog.ReadAccuracy it continues after data that is not hexadecimal. Text outside objects is an error.
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
			return f, fmt.Errorf("found %q, expected record %d", c, number)
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

// maxObject is the maximum length of a record in bytes, enough for four million tokens.
const maxObject = 32 << 20

// objectReader splits a stream into objects without parsing them.
type objectReader struct {
	r   *bufio.Reader
	buf []byte
}

// object returns the bytes of an object whose opening brace was read, or io.EOF if it does not end.
func (o *objectReader) object() ([]byte, error) {
	o.buf = append(o.buf[:0], '{')
	n := nesting{depth: 1}
	for {
		if _, err := o.r.Peek(1); err != nil {
			return nil, err
		}
		part, _ := o.r.Peek(o.r.Buffered()) // buffered bytes can always be peeked
		end := n.end(part)
		o.buf = append(o.buf, part[:end]...)
		if len(o.buf) > maxObject {
			return nil, fmt.Errorf("it is longer than %d MiB", maxObject>>20)
		}
		if _, err := o.r.Discard(end); err != nil {
			return nil, err
		}
		if n.depth == 0 {
			return o.buf, nil
		}
	}
}

// nesting is the state of the scan inside an object.
type nesting struct {
	depth           int
	quoted, escaped bool
}

// end returns the number of bytes of the next part that belong to the object. If the object continues, these are all
// bytes.
func (n *nesting) end(part []byte) int {
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case n.escaped:
			n.escaped = false
		case n.quoted && c != '"' && c != '\\':
			if skip := bytes.IndexAny(part[i:], `"\`); skip > 0 { // skip quickly, since most of a log is inside quotes
				i += skip - 1
			} else {
				return len(part)
			}
		case n.quoted && c == '\\':
			n.escaped = true
		case c == '"':
			n.quoted = !n.quoted
		case c == '{':
			n.depth++
		case c == '}':
			if n.depth--; n.depth == 0 {
				return i + 1
			}
		}
	}
	return len(part)
}

func decode(object []byte) (record, error) {
	rec := record{seq: -1, sample: -1}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err != nil {
		return rec, fmt.Errorf("it is not JSON: %w", err)
	}
	for name, to := range map[string]*int64{"seq_id": &rec.seq, "qsl_idx": &rec.sample, "token_count": &rec.tokens} {
		text, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(text, to); err != nil {
			return rec, fmt.Errorf("its %s is not a whole number: %.40q", name, text)
		}
		rec.hasCount = rec.hasCount || name == "token_count"
	}
	rec.data, rec.dataErr = decodeData(fields["data"])
	return rec, nil
}

func decodeData(text json.RawMessage) ([]byte, error) {
	if text == nil || string(text) == "null" {
		return nil, nil
	}
	if plain := bytes.Trim(text, `"`); len(plain) == len(text)-2 {
		data := make([]byte, hex.DecodedLen(len(plain)))
		if _, err := hex.Decode(data, plain); err == nil {
			return data, nil
		}
	}
	var digits string
	if err := json.Unmarshal(text, &digits); err != nil {
		return nil, fmt.Errorf("its data is not a string: %.40q", text)
	}
	data, err := pyHex(digits)
	if err != nil {
		return nil, fmt.Errorf("its data is not hexadecimal: %w", err)
	}
	return data, nil
}
