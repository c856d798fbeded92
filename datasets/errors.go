package datasets

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// Error describes what is wrong with a data set, and where.
type Error struct {
	Path     string // path of the file; empty for a data set made in memory
	What     string // kind of the file; empty: "data set"
	Record   int    // 1-based number of the record; 0: the error concerns the whole file
	Line     int    // 1-based number of the line; 0: unknown
	Field    string // column with the fault; empty: the error concerns the whole record
	Found    string
	Expected string
	Try      string
	Err      error // cause, if another package reported it

	more int // number of further records with the same fault
}

// Error returns one paragraph: place, what was found, what was expected, what to try.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		what := e.What
		if what == "" {
			what = "data set"
		}
		b.WriteString("cannot read " + what + " " + e.Path)
	} else {
		b.WriteString("cannot use the data set in memory")
	}
	if e.Record > 0 {
		fmt.Fprintf(&b, ", record %d", e.Record)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, " (line %d)", e.Line)
	}
	if e.more > 0 {
		b.WriteString(" and " + plural.Count(e.more, "further record", "further records"))
	}
	if e.Field != "" {
		fmt.Fprintf(&b, ", field %q", e.Field)
	}
	if e.Expected == "" {
		fmt.Fprintf(&b, ": %s; %s", e.Found, e.Try)
	} else {
		fmt.Fprintf(&b, ": found %s, expected %s; %s", e.Found, e.Expected, e.Try)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fault is an Error without file, record and line. offset counts bytes from the start of the record.
type fault struct {
	offset                      int
	field, found, expected, try string
}

// shown quotes bytes of a file for an error message, at most 40 of them.
func shown(b []byte) string {
	const most = 40
	if len(b) > most {
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
