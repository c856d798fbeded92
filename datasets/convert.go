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
}

// recordWriter writes records, each the JSON text of one object.
type recordWriter interface {
	write(record []byte) error
	close() error
}

// Convert writes the data set at path to w in the format FormatJSON, FormatJSONL or FormatParquet. Every record is checked as
// Open checks it, and carries every column of the file, those that the schema does not know included. Numbers, token ids among
// them, keep their text in JSON and their value in Parquet. The first thing wrong is returned, an *Error where it is the file.
func Convert(w io.Writer, path string, o Options, to string) (*Conversion, error) {
	var out recordWriter
	switch to {
	case FormatJSON:
		out = &jsonWriter{w: bufio.NewWriterSize(w, 1<<20), begin: "[\n", between: ",\n", end: "\n]\n"}
	case FormatJSONL:
		out = &jsonWriter{w: bufio.NewWriterSize(w, 1<<20), between: "\n", end: "\n"}
	case FormatParquet:
		columns := &columnCells{}
		if _, err := walk(path, o, columns.look); err != nil {
			return nil, err
		}
		out = newParquetWriter(w, columns)
	default:
		return nil, fmt.Errorf("%w: a data set cannot be written as %q; use one of %s", ErrOption, to, strings.Join([]string{FormatJSON, FormatJSONL, FormatParquet}, ", "))
	}
	done, err := walk(path, o, out.write)
	if err != nil {
		return nil, err
	}
	return done, out.close()
}

// FormatOfName returns the format that a file called name is written in, by its suffix; empty where that tells nothing.
func FormatOfName(name string) string {
	for _, format := range []string{FormatJSON, FormatJSONL, FormatParquet} {
		if strings.HasSuffix(strings.ToLower(name), "."+format) {
			return format
		}
	}
	return ""
}

// walk reads and checks a file and hands each record on, with every column.
func walk(path string, o Options, take func(record []byte) error) (*Conversion, error) {
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
	r.keep = func(record []byte, _ Sample, _ presence) error {
		done.Records++
		return take(record)
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

func (j *jsonWriter) write(record []byte) error {
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
