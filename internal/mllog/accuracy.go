package mllog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// MaxRecord is the maximum length of a record in an accuracy log, in bytes of hexadecimal text: 128 MiB of answer
// bytes.
const MaxRecord = 256 << 20

// AccuracyEntry is one answer of the accuracy log. Its byte slices are valid only during the callback.
type AccuracyEntry struct {
	SeqID      int64
	QSLIdx     int64
	Data       []byte // bytes of the answer
	TokenData  []byte // bytes of the first token report; nil if absent
	TokenCount int64
	HasTokens  bool // whether the record has token_count
	Record     int  // number of the record in the log, starting at 1
}

// Accuracy summarizes the reading of an accuracy log.
type Accuracy struct {
	Records   int
	Truncated bool // whether the closing bracket is missing or the last record is incomplete
}

// ReadAccuracyFile calls ReadAccuracy for a file.
func ReadAccuracyFile(path string, fn func(*AccuracyEntry) error) (Accuracy, error) {
	f, err := openLog(path)
	if err != nil {
		return Accuracy{}, fmt.Errorf("reading LoadGen's accuracy log %s: %w", path, err)
	}
	defer f.Close()
	a, err := ReadAccuracy(f, fn)
	if err != nil {
		return a, fmt.Errorf("reading LoadGen's accuracy log %s: %w", path, err)
	}
	return a, nil
}

// ReadAccuracy calls fn for every record of an accuracy log, in file order, and stops at fn's first error. It reads a
// file that ends early up to its last whole record and reports it as Truncated. A malformed record is an error.
func ReadAccuracy(r io.Reader, fn func(*AccuracyEntry) error) (Accuracy, error) {
	s := recordScanner{r: bufio.NewReaderSize(r, readBuffer)}
	var a Accuracy
	var d recordDecoder
	if c, err := s.skip(); err != nil || c != '[' {
		if errors.Is(err, io.EOF) {
			return Accuracy{Truncated: true}, nil
		}
		return a, s.unexpected(c, err, "the opening [")
	}
	for {
		c, err := s.skip()
		if err == nil && c == ',' && a.Records > 0 {
			c, err = s.skip()
		}
		switch {
		case errors.Is(err, io.EOF):
			a.Truncated = true
			return a, nil
		case err == nil && c == ']':
			return a, s.atEnd()
		case err != nil || c != '{':
			return a, fmt.Errorf("after record %d: %w", a.Records, s.unexpected(c, err, "a record or the closing ]"))
		}
		record, err := s.record()
		if errors.Is(err, io.EOF) {
			a.Truncated = true
			return a, nil
		}
		a.Records++
		if err == nil {
			err = d.decode(record)
		}
		if err == nil {
			d.entry.Record = a.Records
			err = fn(&d.entry)
		}
		if err != nil {
			return a, fmt.Errorf("record %d: %w", a.Records, err)
		}
	}
}

// recordScanner splits the array into records without decoding their strings.
type recordScanner struct {
	r   *bufio.Reader
	buf []byte
}

// skip returns the next byte that is not white space.
func (s *recordScanner) skip() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil || (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
			return c, err
		}
	}
}

func (s *recordScanner) unexpected(c byte, err error, want string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("found %q, expected %s", c, want)
}

func (s *recordScanner) atEnd() error {
	if c, err := s.skip(); !errors.Is(err, io.EOF) {
		return s.unexpected(c, err, "the end of the file")
	}
	return nil
}

// record returns the bytes between { and }. Records contain no nested objects.
func (s *recordScanner) record() ([]byte, error) {
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('}')
		s.buf = append(s.buf, part...)
		switch {
		case len(s.buf) > MaxRecord:
			return nil, fmt.Errorf("it is longer than %d MiB: not a LoadGen accuracy log", MaxRecord>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		return s.buf[:len(s.buf)-1], nil
	}
}

// recordDecoder reads one record after the other into the same buffers.
type recordDecoder struct {
	entry           AccuracyEntry
	data, tokenData []byte
}

var errShape = errors.New(`it is not of the form "name" : value, "name" : value`)

func (d *recordDecoder) decode(record []byte) error {
	d.entry = AccuracyEntry{SeqID: -1, QSLIdx: -1}
	for {
		record = bytes.TrimLeft(record, " \t\r\n")
		name, rest, ok := quoted(record)
		if !ok {
			return errShape
		}
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) == 0 || rest[0] != ':' {
			return errShape
		}
		rest, err := d.field(name, bytes.TrimLeft(rest[1:], " \t\r\n"))
		if err != nil {
			return err
		}
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) == 0 {
			return d.whole()
		}
		if rest[0] != ',' {
			return errShape
		}
		record = rest[1:]
	}
}

func (d *recordDecoder) whole() error {
	switch {
	case d.entry.SeqID < 0:
		return errors.New("it has no seq_id")
	case d.entry.QSLIdx < 0:
		return errors.New("it has no qsl_idx")
	case d.entry.Data == nil:
		return errors.New("it has no data")
	}
	return nil
}

// field reads the value of one field and returns the rest of the record.
func (d *recordDecoder) field(name, rest []byte) (after []byte, err error) {
	switch string(name) {
	case "seq_id":
		d.entry.SeqID, after, err = integer("seq_id", rest)
	case "qsl_idx":
		d.entry.QSLIdx, after, err = integer("qsl_idx", rest)
	case "token_count":
		d.entry.HasTokens = true
		d.entry.TokenCount, after, err = integer("token_count", rest)
	case "data":
		d.entry.Data, after, err = hexBytes(&d.data, "data", rest)
	case "token_data":
		d.entry.TokenData, after, err = hexBytes(&d.tokenData, "token_data", rest)
	default:
		return nil, fmt.Errorf("it has the unknown field %.40q", name)
	}
	return after, err
}

// quoted returns the string at the start of b and the rest. It supports no escapes, since names and hexadecimal data
// need none.
func quoted(b []byte) (inner, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(b[1:], '"')
	if end < 0 {
		return nil, nil, false
	}
	return b[1 : 1+end], b[2+end:], true
}

func integer(name string, b []byte) (int64, []byte, error) {
	end, negative := 0, false
	if len(b) > 0 && b[0] == '-' {
		end, negative = 1, true
	}
	start, v := end, int64(0)
	for end < len(b) && b[end] >= '0' && b[end] <= '9' && end-start < 19 {
		v = v*10 + int64(b[end]-'0')
		end++
	}
	if end == start || v < 0 || (end < len(b) && b[end] >= '0' && b[end] <= '9') {
		return 0, nil, fmt.Errorf("its %s is not an integer: %.40q", name, b)
	}
	if negative {
		v = -v
	}
	return v, b[end:], nil
}

// hexBytes decodes hexadecimal text into *buf, which it enlarges if needed.
func hexBytes(buf *[]byte, name string, b []byte) (data, rest []byte, err error) {
	digits, rest, ok := quoted(b)
	if !ok {
		return nil, nil, fmt.Errorf("its %s is not a string: %.40q", name, b)
	}
	n := hex.DecodedLen(len(digits))
	if cap(*buf) < n || *buf == nil {
		*buf = make([]byte, max(n, 64), max(n*5/4, 64))
	}
	data = (*buf)[:n]
	if _, err := hex.Decode(data, digits); err != nil {
		return nil, nil, fmt.Errorf("its %s is not hexadecimal (%d characters): %w", name, len(digits), err)
	}
	return data, rest, nil
}
