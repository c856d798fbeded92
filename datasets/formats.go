package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Formats that Options.Format may name. Without one the content decides, whatever the file is called.
const (
	FormatJSON    = "json" // array of objects, JSON Lines, one object, or one object of columns
	FormatCSV     = "csv"
	FormatParquet = "parquet"
	FormatNPY     = "npy"
	FormatPickle  = "pickle" // pandas DataFrame, list of dicts or dict of columns; "pkl" too
)

// What Dataset.Format calls the shapes of JSON.
const (
	shapeArray   = "JSON array"
	shapeLines   = "JSON Lines"
	shapeColumns = "JSON columns"
)

// ErrOption is what is wrong with the options, whatever the file.
var ErrOption = errors.New("cannot read the data set as asked")

// records is an opened file cut into records, each the JSON text of one object, whatever the file's own format.
type records interface {
	// next returns the next record and the line it begins on (0: the format has no lines); io.EOF after the last. The
	// bytes are valid until the next call. After a *recordError, and only then, the next call goes on behind the bad
	// record.
	next() (record []byte, line int, err error)
	passed() int   // records so far, a bad one included
	shape() string // format, for people
}

// recordError is what is wrong with one record of a format whose next record can still be found.
type recordError struct{ fault *fault }

func (e *recordError) Error() string { return e.fault.found }

// fileError is what is wrong with the file as a whole, or with a record after which nothing can be read.
type fileError struct {
	fault *fault
	err   error // cause, where a library reported it
}

func (e *fileError) Error() string { return e.fault.found }
func (e *fileError) Unwrap() error { return e.err }

// begin finds out the format of the content and opens it.
func (r *reader) begin(src *source) (records, error) {
	frames := newFramer(src.content)
	format, err := formatOf(r.o.Format, frames, r.dec.plan)
	if err != nil {
		return nil, err
	}
	switch format {
	case FormatCSV:
		return newCSV(frames, r.dec.plan, r.all), nil
	case FormatParquet:
		file, size, err := src.whole(frames)
		if err != nil {
			return nil, err
		}
		return newParquet(file, size, r.dec.plan, r.all)
	case FormatNPY:
		return newNPY(frames.rest(), src.mapped(), r.dec.fieldOf(roleIDs), r.o.Padding)
	case FormatPickle:
		return newPickle(frames.rest(), r.dec.plan, r.all)
	default:
		if columnar(frames, r.dec.plan) {
			return newColumns(frames, r.dec.plan, r.all), nil
		}
		return frames, nil
	}
}

// formatOf returns the wanted format, or the one that the content begins like.
func formatOf(wanted string, frames *framer, p *plan) (string, error) {
	known := []string{FormatJSON, FormatCSV, FormatParquet, FormatNPY, FormatPickle}
	wanted = strings.ToLower(wanted)
	if other, ok := map[string]string{FormatJSONL: FormatJSON, "pkl": FormatPickle}[wanted]; ok {
		wanted = other
	}
	if wanted != "" && wanted != "auto" && !slices.Contains(known, wanted) {
		return "", fmt.Errorf("%w: the format %q is unknown; use one of auto, %s, or leave it out: the content tells",
			ErrOption, wanted, strings.Join(known, ", "))
	}
	head := frames.head(24)
	for _, h := range heads {
		if bytes.HasPrefix(head, []byte(h.begins)) {
			return "", &fileError{fault: &fault{found: h.what,
				expected: "a data set in JSON, JSON Lines, CSV, Parquet, .npy or pickle", try: h.try}}
		}
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		frames.take(3)
	}
	if wanted != "" && wanted != "auto" {
		return wanted, nil
	}
	if bytes.HasPrefix(head, []byte("PAR1")) {
		return FormatParquet, nil
	}
	if bytes.HasPrefix(head, []byte("\x93NUMPY")) {
		return FormatNPY, nil
	}
	if len(head) > 1 && head[0] == 0x80 && head[1] <= 9 { // the opcode that tells the protocol, since version 2
		return FormatPickle, nil
	}
	if looksLikeCSV(frames.head(64<<10), p) {
		return FormatCSV, nil
	}
	return FormatJSON, nil
}

// heads are the beginnings of files that no reader takes, by what they are.
var heads = []struct{ begins, what, try string }{
	{"PARE", "an encrypted Parquet file", "write it without encryption"},
	{"PK\x03\x04", "a zip archive", "unpack it"},
	{"\xff\xfe", "UTF-16 text", "write the file again in UTF-8"},
	{"\xfe\xff", "UTF-16 text", "write the file again in UTF-8"},
	{"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch the file with git lfs pull"},
	{"<", "HTML or XML", "check where the file was downloaded from"},
	{"\x1f\x8b", "a gzip file inside a compressed file", "unpack it once"},
	{"\x28\xb5\x2f\xfd", "a zstd file inside a compressed file", "unpack it once"},
}
