package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Formats for Options.Format. By default the content decides, not the file name.
const (
	FormatJSON    = "json" // array of objects, JSON Lines, one object, or one object of columns
	FormatCSV     = "csv"
	FormatParquet = "parquet"
	FormatNPY     = "npy"
	FormatPickle  = "pickle" // pandas DataFrame, list of dicts or dict of columns; also "pkl"
)

// Names of the JSON variants in Dataset.Format.
const (
	shapeArray   = "JSON array"
	shapeLines   = "JSON Lines"
	shapeColumns = "JSON columns"
)

// ErrOption is wrapped by errors about the options rather than the file.
var ErrOption = errors.New("cannot read the data set with these options")

// records iterates over the records of an opened file. Each is the JSON text of one object, whatever the file's
// format.
type records interface {
	// next returns the next record and the line it begins on (0 if the format has no lines), and io.EOF after the last.
	// The bytes are valid until the next call. Only after a *recordError can the caller continue with the next record.
	next() (record []byte, line int, err error)
	passed() int   // number of records so far, including a bad one
	shape() string // format for display
}

// recordError describes an invalid record after which reading can continue.
type recordError struct{ fault *fault }

func (e *recordError) Error() string { return e.fault.found }

// fileError describes an invalid file, or a record after which reading cannot continue.
type fileError struct {
	fault *fault
	err   error // cause, if a library reported it
}

func (e *fileError) Error() string { return e.fault.found }
func (e *fileError) Unwrap() error { return e.err }

// begin detects the format of the content and opens it.
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

// formatOf returns the requested format, or else the format detected from the first bytes.
func formatOf(wanted string, frames *framer, p *plan) (string, error) {
	known := []string{FormatJSON, FormatCSV, FormatParquet, FormatNPY, FormatPickle}
	wanted = strings.ToLower(wanted)
	if other, ok := map[string]string{FormatJSONL: FormatJSON, "pkl": FormatPickle}[wanted]; ok {
		wanted = other
	}
	if wanted != "" && wanted != "auto" && !slices.Contains(known, wanted) {
		return "", fmt.Errorf("%w: unknown format %q; use one of auto, %s, or leave it out to detect it from the content",
			ErrOption, wanted, strings.Join(known, ", "))
	}
	head := frames.head(24)
	if what, try := foreign.Kind(head); what != "" {
		return "", &fileError{fault: &fault{found: what,
			expected: "a data set in JSON, JSON Lines, CSV, Parquet, .npy or pickle", try: try}}
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		frames.take(3)
	}
	marked := markedFormat(head)
	if wanted != "" && wanted != "auto" {
		return wanted, contradiction(wanted, marked, head)
	}
	if marked != "" {
		return marked, nil
	}
	if looksLikeCSV(frames.head(64<<10), p) {
		return FormatCSV, nil
	}
	return FormatJSON, nil
}

// markedFormat returns the binary format that the first bytes of a file mark; empty: none of them.
func markedFormat(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return FormatParquet
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return FormatNPY
	case len(head) > 1 && head[0] == 0x80 && head[1] <= 9: // the opcode PROTO, since version 2
		return FormatPickle
	}
	return ""
}

// contradiction returns an error if the first bytes of a file show that it is not of the format that the user gave.
// Pickles before version 2 have no mark; like CSV and JSON they are refused only for the mark of another format.
func contradiction(wanted, marked string, head []byte) error {
	marks := wanted == FormatParquet || wanted == FormatNPY
	if marked == wanted || marked == "" && (!marks || len(head) < 4) {
		return nil
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")))
	found := "a file that does not begin like " + wanted
	switch {
	case marked != "":
		found = "a file that begins like " + marked
	case len(text) > 0 && (text[0] == '[' || text[0] == '{'):
		found = "a file that begins like json"
	}
	return &fileError{fault: &fault{found: found, expected: "the format that was given, " + wanted,
		try: "leave the format out: it is detected"}}
}
