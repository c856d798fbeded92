package datasets

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// FormatJSONL is one object per line; only Convert tells it from FormatJSON.
const FormatJSONL = "jsonl"

// Conversion is what Convert did.
type Conversion struct {
	Records int
	From    string   // format of the file read, for people
	SHA256  string   // of the file read
	Notes   []string // as Dataset.Notes

	lengths []int64 // of the prompts, to FormatNPY
}

// recordWriter writes records, each the JSON text of one object.
type recordWriter interface {
	write(record []byte, s *Sample) error
	close() error
}

// Convert writes the data set at path to w in the format FormatJSON, FormatJSONL, FormatCSV, FormatParquet or FormatNPY. Every record is
// checked as Open checks it, and carries every column of the file, those that the schema does not know included; a .npy file has the token ids
// alone, and Conversion.WriteLengths writes the file that belongs to it. Numbers, token ids among them, keep their text in JSON and CSV and
// their value in Parquet and .npy. The first thing wrong is returned, an *Error where it is the file.
func Convert(w io.Writer, path string, o Options, to string) (*Conversion, error) {
	out, lengths, err := newRecordWriter(w, path, o, to)
	if err != nil {
		return nil, err
	}
	done, err := walk(path, o, out.write)
	if err != nil {
		return nil, err
	}
	done.lengths = lengths
	return done, out.close()
}

// newRecordWriter opens a writer. A format that must know all columns or lengths before its first record has the file read once before.
func newRecordWriter(w io.Writer, path string, o Options, to string) (recordWriter, []int64, error) {
	columns := &columnCells{}
	switch to {
	case FormatJSON:
		return &jsonWriter{w: bufio.NewWriterSize(w, 1<<20), begin: "[\n", between: ",\n", end: "\n]\n"}, nil, nil
	case FormatJSONL:
		return &jsonWriter{w: bufio.NewWriterSize(w, 1<<20), between: "\n", end: "\n"}, nil, nil
	case FormatParquet, FormatCSV:
		if _, err := walk(path, o, columns.look); err != nil {
			return nil, nil, err
		}
		if to == FormatCSV {
			return newCSVWriter(w, columns), nil, nil
		}
		return newParquetWriter(w, columns), nil, nil
	case FormatNPY:
		lengths := []int64{}
		_, err := walk(path, o, func(_ []byte, s *Sample) error {
			lengths = append(lengths, int64(len(s.InputIDs)))
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		out, err := newNPYWriter(w, lengths)
		return out, lengths, err
	}
	return nil, nil, fmt.Errorf("%w: a data set cannot be written as %q; use one of %s", ErrOption, to, strings.Join(writable, ", "))
}

// writable are the formats that Convert writes.
var writable = []string{FormatJSON, FormatJSONL, FormatCSV, FormatParquet, FormatNPY}

// FormatOfName returns the format that a file called name is written in, by its suffix; empty where that tells nothing.
func FormatOfName(name string) string {
	for _, format := range writable {
		if strings.HasSuffix(strings.ToLower(name), "."+format) {
			return format
		}
	}
	return ""
}

// walk reads and checks a file and hands each record on, with every column.
func walk(path string, o Options, take func(record []byte, s *Sample) error) (*Conversion, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	r := newReader(path, o, p, 1)
	r.all = true
	done := &Conversion{}
	r.keep = func(record []byte, s Sample, _ presence) error {
		done.Records++
		return take(record, &s)
	}
	if r.read(src); len(r.errs) > 0 {
		return nil, r.errs[0]
	}
	done.From, done.Notes = r.format, r.notes()
	if done.SHA256, err = src.sum(); err != nil {
		return nil, readFailed(path, err)
	}
	return done, nil
}

// jsonWriter writes records as JSON text.
type jsonWriter struct {
	w                   *bufio.Writer
	begin, between, end string
	compact             bytes.Buffer
	n                   int
}

func (j *jsonWriter) write(record []byte, _ *Sample) error {
	before := j.between
	if j.n == 0 {
		before = j.begin
	}
	j.n++
	j.compact.Reset()
	j.compact.WriteString(before)
	if err := json.Compact(&j.compact, record); err != nil {
		return fmt.Errorf("writing record %d as JSON: %w", j.n, err)
	}
	_, err := j.w.Write(j.compact.Bytes())
	return err
}

func (j *jsonWriter) close() error {
	if _, err := j.w.WriteString(j.end); err != nil {
		return err
	}
	return j.w.Flush()
}
