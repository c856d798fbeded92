package datasets

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// FormatJSONL is one object per line. Only Convert distinguishes it from FormatJSON.
const FormatJSONL = "jsonl"

// Conversion is the result of Convert.
type Conversion struct {
	Records int
	From    []ConvertedFile // files in the order in which they were read
	Notes   []string        // remarks for users about how the files were read, as in Dataset.Notes

	lengths []int64 // prompt lengths in tokens, for FormatNPY
}

// ConvertedFile is a file that Convert read.
type ConvertedFile struct {
	Path    string `json:"path"`
	Format  string `json:"format"` // format for display
	SHA256  string `json:"sha256"`
	Records int    `json:"samples"`
}

// recordWriter writes records, each given as the JSON text of one object.
type recordWriter interface {
	write(record []byte, s *Sample) error
	close() error
}

// Convert reads the files at paths in order and writes their records to w as FormatJSON, FormatJSONL, FormatCSV,
// FormatParquet or FormatNPY. It checks the records of all files as one data set, like Open, and keeps every column,
// even those that are not in the schema. A .npy file contains only token ids; Conversion.WriteLengths writes the file
// of prompt lengths for it. Numbers keep their text in JSON and CSV and their value in Parquet and .npy. Convert
// returns the first fault, an *Error if it is in a file.
func Convert(w io.Writer, paths []string, o Options, to string) (*Conversion, error) {
	out, lengths, err := newRecordWriter(w, paths, o, to)
	if err != nil {
		return nil, err
	}
	done, err := walk(paths, o, out.write)
	if err != nil {
		return nil, err
	}
	done.lengths = lengths
	return done, out.close()
}

// newRecordWriter creates the writer for a format. For formats that need all columns or lengths before the first
// record, it reads the files once more.
func newRecordWriter(w io.Writer, paths []string, o Options, to string) (recordWriter, []int64, error) {
	columns := &columnCells{}
	switch to {
	case FormatJSON:
		return &jsonWriter{w: bufio.NewWriterSize(w, 1<<20), begin: "[\n", between: ",\n", end: "\n]\n"}, nil, nil
	case FormatJSONL:
		return &jsonWriter{w: bufio.NewWriterSize(w, 1<<20), between: "\n", end: "\n"}, nil, nil
	case FormatParquet, FormatCSV:
		if _, err := walk(paths, o, columns.look); err != nil {
			return nil, nil, err
		}
		if to == FormatCSV {
			return newCSVWriter(w, columns), nil, nil
		}
		return newParquetWriter(w, columns), nil, nil
	case FormatNPY:
		lengths := []int64{}
		_, err := walk(paths, o, func(_ []byte, s *Sample) error {
			lengths = append(lengths, int64(len(s.InputIDs)))
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		out, err := newNPYWriter(w, lengths)
		return out, lengths, err
	}
	return nil, nil, fmt.Errorf("%w: cannot write a data set as %q; use one of %s", ErrOption, to,
		strings.Join(writable, ", "))
}

// writable lists the formats that Convert writes.
var writable = []string{FormatJSON, FormatJSONL, FormatCSV, FormatParquet, FormatNPY}

// FormatOfName returns the format that a file name's suffix implies, or the empty string.
func FormatOfName(name string) string {
	for _, format := range writable {
		if strings.HasSuffix(strings.ToLower(name), "."+format) {
			return format
		}
	}
	return ""
}

// walk reads and checks files and calls take with each record, which has every column of its file.
func walk(paths []string, o Options, take func(record []byte, s *Sample) error) (*Conversion, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	done := &Conversion{}
	var check *validator // shared by all files, whose records form one set
	for _, path := range paths {
		r := newReader(path, o, p, 1)
		if check != nil {
			r.check = check
		}
		check = r.check
		from, err := r.walk(take)
		if err != nil {
			return nil, err
		}
		done.From = append(done.From, *from)
		done.Records += from.Records
		for _, note := range r.notes() {
			if len(paths) > 1 {
				note = path + ": " + note
			}
			done.Notes = append(done.Notes, note)
		}
		if o.Limit > 0 && o.Only == nil {
			if o.Limit -= from.Records; o.Limit <= 0 {
				break
			}
		}
	}
	return done, o.Only.whole()
}

// walk reads and checks one file of a conversion.
func (r *reader) walk(take func(record []byte, s *Sample) error) (*ConvertedFile, error) {
	src, err := openSource(r.path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	from := &ConvertedFile{Path: r.path}
	r.all = true
	r.keep = func(record []byte, s Sample, _ presence) error {
		if !r.o.Only.takes(record) {
			return nil
		}
		from.Records++
		return take(record, &s)
	}
	if r.read(src); len(r.errs) > 0 {
		return nil, r.errs[0]
	}
	from.Format = r.format
	if from.SHA256, err = src.sum(); err != nil {
		return nil, readFailed(r.path, err)
	}
	return from, nil
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
	_, _ = j.w.WriteString(j.end) // Flush returns its error
	return j.w.Flush()
}
